"""
A panel
=======

Many short records of the same kind instead of a long one: cells, patients, shops, fish. Each says little; one
equation is learned from all of them, and no step leads from the end of one to the beginning of the next.
"""

# %%
# The data
# --------
# Sixty colonies, weighed at uneven times over ten days, 12 to 30 times each: logistic growth, dX = X (1 - X) dt +
# 0.15 X dW, in units of what the dish can hold. A long table, as it is kept.

import numpy as np
import pandas as pd

from onepath import SDE
from onepath.compare.processes import Process

logistic = Process(
    "logistic",
    drift=lambda x: x * (1 - x),
    diffusion=lambda x: 0.15 * x[..., None],
    start=np.array([0.1]),
    dt=0.05,
    equation="dX = X (1 - X) dt + 0.15 X dW",
)
random = np.random.default_rng(5)
starts = random.uniform(0.03, 0.3, (60, 1))
fine = logistic.simulate(200, paths=60, start=starts, random_state=random)[:, :, 0]
rows = []
for colony, x in enumerate(fine):
    seen = np.sort(random.choice(201, random.integers(12, 31), replace=False))
    rows.append(pd.DataFrame({"colony": colony, "day": 0.05 * seen, "biomass": x[seen]}))
panel = pd.concat(rows, ignore_index=True)
panel.head(3)

# %%
# The fit
# -------
# A list of records, and a list of their times. Steps between weighings are uneven, and long beside what happens in
# them, so that the paper's law of a step is too coarse: `transition_` says which was taken, and `stiffness_` why.
# None of them is a gap of the recording, and `gap=np.inf` keeps all.

colonies = [group for _, group in panel.groupby("colony")]
sde = SDE(bounds=(0, np.inf)).fit(
    [group["biomass"] for group in colonies],
    t=[group["day"] for group in colonies],
    unit="day",
    gap=np.inf,
)
print(sde.trajectory_.transitions, "steps in", len(colonies), "records;", "law of a step:", sde.transition_)
sde

# %%
# Against the truth:

figure = sde.plot("drift", truth=logistic)
figure = sde.plot("diffusion", truth=logistic)

# %%
# One more colony
# ---------------
# Ten days of a new colony from 0.05 on, five hundred times, with what is not known of drift and diffusion in it:

sde.simulate(0.05, steps=100, dt=0.1, paths=500, random_state=0)

# %%
# How well is a colony foretold that was not learned from? The mean log density of its steps, in nats, beside that of
# a colony of the panel:

new = logistic.simulate(200, start=[0.1], random_state=99)[0, ::10, 0]
print(
    f"{sde.score(new, dt=0.5):.2f} nats a step, new;",
    f"{sde.score(colonies[0]['biomass'], t=colonies[0]['day']):.2f}, of the panel",
)
