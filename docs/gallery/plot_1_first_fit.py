"""
A first fit
===========

One path goes in; drift, diffusion, how sure they are, and whether to believe them come out. The path is simulated
here, so that the answer is known.
"""

# %%
# The data
# --------
# A particle in a double well, dX = (X - X³) dt + ½ √(1 + X²) dW, seen ten thousand times, every hundredth of a
# second. `Process.simulate` takes ten finer steps between two of those, so that nothing hinges on how it was made.

import numpy as np

import onepath
from onepath.compare.processes import PROCESSES

process = PROCESSES["double_well_multiplicative"]
path = process.simulate(10_000, random_state=1)[0]
print(process.equation)
print(path.shape)

# %%
# The fit
# -------
# All it needs is the path and the time between two of its points. There is no length scale to choose, no bin, no
# order of a polynomial. A fit shows itself in a notebook: whether it fits, what it found, and the two functions.

sde = onepath.SDE().fit(path, dt=process.dt, unit="second")
sde

# %%
# What was learned against the truth, which is drawn dashed:

figure = sde.plot("drift", truth=process)
figure = sde.plot("diffusion", truth=process)

# %%
# Where there are many points the bands are narrow; where there are few, they say so. Both functions are functions:
# ask them anywhere.

x = np.array([-1.0, 0.0, 1.0])
lower, upper = sde.drift_band(x, level=0.9)
for at, low, mean, high in zip(x, lower, sde.drift(x), upper, strict=True):
    print(f"drift at {at:4.1f}: {mean:5.2f}, between {low:5.2f} and {high:5.2f}; in truth {at - at**3:5.2f}")

# %%
# As a table, with bands, for a spreadsheet or a figure of your own:

sde.curves(5)

# %%
# Is it right?
# ------------
# The diagnosis looks at what is left over once the fit is taken away, and asks one question after another of it. A
# model that is wrong is called wrong before anything is made of it.

sde.diagnose()

# %%
# What follows
# ------------
# The potential, where the state spends its time, how long it takes from one well to the other: medians and bands over
# draws of both functions from what is known of them.

sde.consequences()

# %%
# And where it goes from here. Every path has its own draw of drift and diffusion, so that the fan contains what is
# not known about them.

sde.forecast(steps=200, random_state=0)

# %%
# Keep it
# -------
# A model file holds arrays and JSON, nothing that runs, and predicts what it did, to the last bit. A report is one
# page that needs no network.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    place = sde.save(Path(folder) / "double_well.onepath")
    sde.report(Path(folder) / "double_well.html", title="A double well", truth=process)
    again = onepath.load(place)

print(np.array_equal(again.drift(x), sde.drift(x)))
