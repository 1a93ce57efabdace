"""The paper's six trajectories: default settings against the paper's printed rows, and Bayesian optimisation.

    python benchmarks/six.py

Six single trajectories say little (a drift at dt = 0.001 is luck); benchmarks/population.py is what counts.
"""

import json
from pathlib import Path

import numpy as np
from tinygp import kernels

from onepath import SDE
from onepath.baselines import LAMBDA, mean_pairwise_distance
from onepath.metrics import delta_diffusion, delta_drift, loss
from onepath.processes import PAPER_TRAJECTORIES
from onepath.transitions import random_halves

# (L, delta_f, delta_sigma) as printed; the better of the two kernels where the paper has two
PRINTED = {
    "exponential-1": {"benchmark": (-2.547, 0.394, 0.033), "learned": (-2.546, 0.388, 0.048)},
    "exponential-2": {"benchmark": (-1.887, 0.322, 0.085), "learned": (-1.900, 0.249, 0.035)},
    "trigonometric-1": {"benchmark": (-3.411, 0.327, 0.442), "learned": (-3.678, 0.269, 0.088)},
    "trigonometric-2": {"benchmark": (-3.808, 3.454, 0.198), "learned": (-3.642, 1.481, 0.242)},
    "gbm": {"benchmark": (-2.755, 2.018, 0.237), "learned": (-2.800, 0.500, 0.010)},
    "ou": {"benchmark": (-2.977, 0.212, 0.006), "learned": (-2.978, 1.066, 0.013)},
}


def scores(case, sde):
    at, y = case.x_test[:-1], np.diff(case.x_test, axis=0)
    f, s = sde.drift(at)[:, None], sde.diffusion(at)[:, None, None]
    return (
        loss(y, f, s, case.dt, float(sde.noise_[0])),
        delta_drift(f, case.drift(at)),
        delta_diffusion(s, case.diffusion(at)),
    )


def validation_loss(case, settings, splits=20):
    """Mean negative log-likelihood of one random half given the other, on the same halves for every kernel."""
    x, y = case.x_train[:-1, 0], np.diff(case.x_train[:, 0])
    rng, losses = np.random.default_rng(7), []
    for _ in range(splits):
        training, validation = random_halves(len(x), rng)
        pieces = [np.array([[x[i]], [x[i] + y[i]]]) for i in training]
        model = SDE(**settings, learn=None).fit(pieces, dt=case.dt)
        v = model.diffusion(x[validation]) ** 2 * case.dt + LAMBDA
        residual = y[validation] - model.drift(x[validation]) * case.dt
        losses.append(np.mean(residual**2 / (2 * v) + 0.5 * np.log(v)))
    return float(np.mean(losses))


def bayesian_optimisation(case):
    """The validation loss of the paper's kernel before and after K = 75 evaluations with M = 1, seed 0."""
    scale = mean_pairwise_distance(case.x_train[:-1])

    def settings(drift, diffusion):
        priors = [amplitude * kernels.Matern52(length) for amplitude, length in (drift, diffusion)]
        paper = {"link": "identity", "transition": "euler", "noise_variance": LAMBDA}
        return {"drift": priors[0], "diffusion": priors[1], **paper}

    start = settings((1.0, scale), (1.0, scale))
    model = SDE(**start, learn="bayesopt", fixed=("noise",), random_state=0, progress=False)
    found = model.fit(case.x_train, dt=case.dt).parameters_
    ends = [(found[f"{role}.constant.value"], found[f"{role}.matern52.scale"]) for role in ("drift", "diffusion")]
    return validation_loss(case, start), validation_loss(case, settings(*ends))


def main():
    results = {}
    print(f"{'':16}{'paper benchmark':>22}{'paper learned':>22}{'onepath':>22}{'validation loss, K = 75':>28}")
    for name, case in PAPER_TRAJECTORIES.items():
        ours = scores(case, SDE(progress=False).fit(case.x_train, dt=case.dt))
        before, after = bayesian_optimisation(case)
        results[name] = {"onepath": ours, "non-learned validation": before, "bayesopt validation": after}
        rows = "".join("{:>9.3f} {:>6.3f}{:>6.3f}".format(*row) for row in (*PRINTED[name].values(), ours))
        print(f"{name:16}{rows}{before:>16.4f} to {after:.4f}")
    output = Path("benchmarks/results/six.json")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
