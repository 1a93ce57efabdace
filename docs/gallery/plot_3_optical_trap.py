"""
An optical trap
===============

A bead in a laser's focus, filmed. The camera integrates over its exposure, so a reading is a mean over the time
between two frames: taken for the position itself, it gives a trap that is too soft and a diffusion that is too small.
The diagnosis says so, and one option mends it.
"""

# %%
# The data
# --------
# Positions in micrometres, dx = -k x dt + √(2D) dW, with k = 250 per second (a corner frequency of 40 Hz) and D = 0.4
# µm²/s, filmed at 1000 frames a second with the shutter always open.

import numpy as np

from onepath import SDE

STIFFNESS, DIFFUSIVITY = 250.0, 0.4  # 1/s, µm²/s
FRAME, SUBSTEPS, FRAMES = 1e-3, 40, 8000

random = np.random.default_rng(3)
h = FRAME / SUBSTEPS
fade, kick = np.exp(-STIFFNESS * h), np.sqrt(DIFFUSIVITY / STIFFNESS * -np.expm1(-2 * STIFFNESS * h))
fine = np.empty(FRAMES * SUBSTEPS)
x = 0.0
for k, push in enumerate(random.standard_normal(len(fine))):
    fine[k] = x = fade * x + kick * push
film = fine.reshape(FRAMES, SUBSTEPS).mean(axis=1)  # what the camera sees


def told(sde):
    """Stiffness and diffusivity, from the drift's slope and the noise at the centre."""
    reach = film.std()
    stiffness = -(sde.drift(reach)[0] - sde.drift(-reach)[0]) / (2 * reach)
    return f"stiffness {stiffness:.0f} per second, diffusivity {sde.diffusion(0.0)[0] ** 2 / 2:.3f} µm²/s"


# %%
# Readings taken for positions
# ----------------------------

naive = SDE().fit(film, dt=FRAME, unit="second")
print(told(naive), f"(in truth {STIFFNESS:.0f} and {DIFFUSIVITY})")
naive.diagnose()

# %%
# Means over the exposure
# -----------------------
# `exposure=1.0` is the share of a frame during which the shutter is open. The position is then a hidden state, and a
# filter takes turns with the fit.

sde = SDE(exposure=1.0).fit(film, dt=FRAME, unit="second")
print(told(sde), f"(in truth {STIFFNESS:.0f} and {DIFFUSIVITY})")
sde

# %%
# What follows for the trap
# -------------------------
# By equipartition the variance of positions is D/k, here from the learned functions and from the film, whose blur
# makes it smaller.

slope = -(sde.drift(0.02)[0] - sde.drift(-0.02)[0]) / 0.04
print(
    f"{1e6 * sde.diffusion(0.0)[0] ** 2 / 2 / slope:.0f} nm² learned, {1e6 * film.var():.0f} nm² on film, "
    f"{1e6 * DIFFUSIVITY / STIFFNESS:.0f} nm² in truth"
)

# %%
# The hidden positions, with their bands, at the end of the film:

figure = sde.plot("trajectory")

# %%
# And as a table:

sde.state_
