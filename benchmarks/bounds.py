"""What nobody can do better: bounds and oracles that the pages set beside what onepath does.

    python benchmarks/bounds.py [season] [tails] [blur] [velocity]

- season: a drift without a season, where the noise has one: the error of a straight line that is fitted with the true
  noise's weights, by that of one without weights; paths of `inputs.py`, 200 seeds from 100 on.
- tails: Fisher's information of ln of a scale and of ν, of Student's law: the error of the scale, by a normal law's.
- blur: stiffness and σ² of an Ornstein–Uhlenbeck process from means over whole steps, by maximum likelihood under an
  exact Kalman filter, and by a fit that is told the exposure; paths of `hidden_kinds.py`, seeds 0 to 3.
- velocity: friction by a filter less that of least squares told the velocities and the form, from the kept results of
  `hidden_kinds.py`.
"""

import json
import sys
from pathlib import Path

import hidden_kinds
import inputs
import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import digamma
from scipy.stats import t as student

KEPT = Path(__file__).with_name("results") / "hidden-kinds.json"


def season(seeds=range(100, 300)):
    f, g = inputs.SEASONS["noise"]
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x = inputs.path(
            lambda x, _, t: f(x, *inputs.waves(t)), lambda x, _, t: g(x, *inputs.waves(t)), inputs.MONTHS, 1.0, rng
        )
        at, sizes = x[:-1], g(x[:-1], *inputs.waves(np.arange(inputs.MONTHS) + 0.5))
        row = []
        for columns in (at[:, None], np.stack([at, np.ones_like(at)], axis=1)):
            for sigma in (sizes, np.ones_like(sizes)):
                # the next state is e^(-k) x + (1 - e^(-k)) m
                left, *level = inputs.regression(columns, x[1:], 1.0, sigma)
                middle = level[0] / (1 - left) if level else 0.0
                row.append(inputs.share(np.log(left) * (at - middle), -0.3 * at))
        rows.append(row)
    rows = np.array(rows)
    for name, (weighted, plain) in (("through zero", rows[:, :2].T), ("with a level", rows[:, 2:].T)):
        print(
            f"season, a line {name}: {np.median(weighted):.3f} with weights, {np.median(plain):.3f} without, "
            f"median ratio {np.median(weighted / plain):.2f}, {len(rows)} paths"
        )


def tails(freedoms=(4, 6)):
    for nu in freedoms:
        density = student(nu).pdf

        def scores(z, nu=nu):
            """Of ln of the scale and of ν."""
            square = z * z / nu
            scale = (nu + 1) * square / (1 + square) - 1
            known = 0.5 * (digamma((nu + 1) / 2) - digamma(nu / 2) - 1 / nu)
            return scale, known - 0.5 * np.log1p(square) + 0.5 * (nu + 1) / nu * square / (1 + square)

        information = np.array(
            [
                [2 * quad(lambda z: density(z) * scores(z)[i] * scores(z)[j], 0, np.inf)[0] for j in range(2)]  # noqa: B023
                for i in range(2)
            ]
        )
        free, known = np.linalg.inv(information)[0, 0], 1 / information[0, 0]
        print(
            f"tails, {nu} degrees of freedom: {np.sqrt(2 * free):.2f} times, {np.sqrt(2 * known):.2f} if they are known"
        )


def blur(seeds=range(4), dt=0.02):
    import onepath

    for seed in seeds:
        z, _ = hidden_kinds.averaged("ou", dt, seed)
        best = minimize(unlikely, np.log([5.0, 1.0]), (z, dt), method="Nelder-Mead", options={"xatol": 1e-4})
        stiffness, square = np.exp(best.x)
        sde = onepath.SDE(exposure=1.0, progress=False).fit(z, dt=dt)
        at = z[::40]
        slope = sde.drift(at) @ (-5.0 * at) / (25.0 * at @ at)
        ours = np.mean(np.square(sde.diffusion(at)))
        print(
            f"blur, seed {seed}: by likelihood and by the fit, stiffness {stiffness / 5 - 1:+.2%}, {slope - 1:+.2%}, "
            f"σ² {square - 1:+.2%}, {ours - 1:+.2%}",
            flush=True,
        )


def unlikely(theta, z, dt):
    """-ln p(z): means over steps of dX = -k X dt + σ dW, by Kalman's filter of the state where each begins."""
    k, square = np.exp(theta)
    left = np.exp(-k * dt)
    share = (1 - left) / (k * dt)
    spread = square * (1 - left**2) / (2 * k)
    # of the state's noise and of the mean's, ∫ (1 - e^(-k (Δt - s)))/k dW / Δt
    both = square / (2 * k * k * dt) * (1 - left) ** 2
    own = square / (k * dt) ** 2 * (dt - 2 * (1 - left) / k + (1 - left**2) / (2 * k))
    mean, variance, value = 0.0, square / (2 * k), 0.0
    for reading in z.tolist():
        rest, size = reading - share * mean, share * share * variance + own
        gain = (left * share * variance + both) / size
        value += 0.5 * (np.log(size) + rest * rest / size)
        mean, variance = left * mean + gain * rest, left * left * variance + spread - gain * gain * size
    return value


def velocity():
    kept = json.loads(KEPT.read_text())
    apart = {}
    for key, one in kept.items():
        if key.startswith("velocity/"):
            apart.setdefault(key.rpartition("/")[0], []).append(one["filtered"]["friction"] - one["told"]["friction"])
    for case, each in apart.items():
        print(f"{case}: {np.median(each):+.1%} in the median, {np.mean(each):+.1%} on average, {len(each)} paths")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("season", "tails", "blur", "velocity"):
        {"season": season, "tails": tails, "blur": blur, "velocity": velocity}[name]()
