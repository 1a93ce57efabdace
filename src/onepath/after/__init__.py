"""Questions to a fitted model: forecasts, consequences, equations, diagnosis."""
