"""A fitted model for people: numbers, sentences, the summary, figures, the report."""
