"""
An interest rate
================

The rate of US Treasury bills, monthly from 1955 to 1999, which comes with the package (Federal Reserve Board, H.15;
in the public domain). Is a diffusion of one factor right, does its noise grow with the rate, and what is to be done
where the diagnosis says no?
"""

# %%
# The data
# --------

from importlib.resources import files

import matplotlib.pyplot as plt
import pandas as pd

from onepath import SDE

place = files("onepath") / "examples" / "treasury_bill.csv"
rate = pd.read_csv(place, comment="#", index_col="month", parse_dates=True)["rate"]
rate.tail(3)

# %%
# One factor
# ----------
# Dates need no `dt`, and `unit="year"` makes rates those per year.

one_factor = SDE().fit(rate, unit="year")
one_factor.diagnose()

# %%
# It is refused, and the questions that are flagged say where to look. Two things are known of this series beside what
# they say: its values are means over a month of daily rates, and its noise has had calm and wild decades.
#
# Means over the month
# --------------------
# `exposure=1.0` says that a reading averages over all of a step. Taken for the rate itself, means look smooth; taken
# for what they are, the noise depends on the rate, beyond doubt. `constant_noise_` is the probability that it does
# not.

averaged = SDE(exposure=1.0).fit(rate, unit="year")
print(f"evidence {averaged.evidence_ - one_factor.evidence_:+.0f} nats")
print(f"noise the same everywhere: {one_factor.constant_noise_:.2f} before, {averaged.constant_noise_:.2f} now")
averaged

# %%
# Calm and wild decades
# ---------------------
# `volatility="learn"` lets the level of the noise change with time: σ(x) is then the noise at its usual level.

changing = SDE(volatility="learn").fit(rate, unit="year")
print(f"evidence {changing.evidence_ - one_factor.evidence_:+.0f} nats")
level = changing.volatility_.frame()
figure, axes = plt.subplots(figsize=(7.6, 3), layout="constrained")
axes.fill_between(level.index, level["level_lower"], level["level_upper"], alpha=0.2, lw=0)
axes.plot(level.index, level["level"])
label = axes.set_ylabel("noise, times the usual")

# %%
# Which of them to take, the evidence says, and so does how well each foretells what it has not seen: learned from the
# years before 1985, the mean log density of the months since.

before, since = rate[:"1984"], rate["1985":]
for name, options in {"one factor": {}, "means": {"exposure": 1.0}, "volatility": {"volatility": "learn"}}.items():
    earlier = SDE(**options).fit(before, unit="year")
    print(f"{name:12} {earlier.score(since):6.3f} nats a month")

# %%
# Where it goes
# -------------
# Rates were never negative in this record, and `bounds` keeps simulations there. The forecast begins with the level
# of the noise at the end of the record. None of the three models is the whole truth of these 45 years, and the
# verdict goes on saying so:

print(changing.diagnose().verdict)
ahead = SDE(volatility="learn", bounds=(0, float("inf"))).fit(rate, unit="year").forecast(steps=24, random_state=0)
ahead.quantiles_frame().tail(3).round(2)

# %%
ahead
