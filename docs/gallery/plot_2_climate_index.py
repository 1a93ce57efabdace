"""
A climate index with a season
=============================

Monthly anomalies of a sea surface: how fast they decay, and how strongly they are stirred, depends on the month. A
model without a season is refused, one with a season is not, and its forecasts know which month it is.
"""

# %%
# The data
# --------
# An index in the manner of El Niño's, simulated: anomalies decay within three months in spring and linger through
# autumn, and the noise is nearly twice as strong in January as in July. Sixty years of months, as a pandas Series with
# dates.

import numpy as np
import pandas as pd

from onepath import SDE

SUBSTEPS = 20
MONTHS = 12 * 60


def decay(month):
    """Per month."""
    return 0.18 + 0.15 * np.cos(2 * np.pi * (month - 4.0) / 12)


def stirring(month):
    """Degrees per root month."""
    return 0.26 + 0.08 * np.cos(2 * np.pi * month / 12)


random = np.random.default_rng(7)
h, x, values = 1 / SUBSTEPS, 0.0, []
for k in range(MONTHS * SUBSTEPS):
    if k % SUBSTEPS == 0:
        values.append(x)
    month = (k * h) % 12
    x += -decay(month) * x * h + stirring(month) * np.sqrt(h) * random.standard_normal()

index = pd.Series(values, pd.date_range("1960-01-01", periods=MONTHS, freq="MS"), name="anomaly")
index.tail(3)

# %%
# Without a season
# ----------------
# Dates need no `dt`: months on the same day are whole months apart, whatever their lengths.

plain = SDE().fit(index, unit="month")
print(plain.diagnose().verdict)

# %%
# With one
# --------
# `season="auto"` looks for a sharp line in what the fit leaves over, in its mean and in its size, and fits once more
# with that period; who knows it says `season=12` or `season="year"`. Drift and diffusion are then functions of the
# state and of the phase of the year.

sde = SDE(season="auto").fit(index, unit="month")
print(sde.diagnose().verdict)
print("evidence for the season:", round(sde.evidence_ - plain.evidence_), "nats")

# %%
figure = sde.plot("inputs")

# %%
# The drift at one degree, by month, beside the truth. The time of a season is that since its cycle began: with dates
# and a year, since January.

months = np.arange(0.5, 12)
at_one = np.ones_like(months)
lower, upper = sde.drift_band(at_one, inputs={"season": months})
table = pd.DataFrame({"learned": sde.drift(at_one, inputs={"season": months}), "lower": lower, "upper": upper})
table["truth"] = -decay(months)
table.set_index(pd.Index(["J", "F", "M", "A", "M", "J", "J", "A", "S", "O", "N", "D"], name="month")).round(2)

# %%
# A forecast
# ----------
# Seasons are known for ever, so that forecasts need nothing. `quantiles_frame` is the fan as a table, by date.

ahead = sde.forecast(steps=18, random_state=0)
ahead.quantiles_frame([0.05, 0.5, 0.95]).tail(4).round(2)

# %%
ahead
