"""The paper's methods as it describes them, and onepath's default: data in, drift and diffusion out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onepath.compare.baselines import GPRegression, mean_pairwise_distance
from onepath.compare.paper.cases import Data
from onepath.numerics.arrays import Floats
from onepath.sde import SDE

Function = Callable[[Floats], Floats]
Band = Callable[[Floats], tuple[Floats, Floats]]

BENCHMARK, NON_LEARNED, LEARNED, LEARNED_NEWTON, DEFAULT = METHODS = (
    "benchmark",
    "non-learned",
    "learned",
    "learned-newton",
    "default",
)

OWN_KERNEL = "own"
"""The kernel of a method that has its own and is not told which."""

PAPER_MODE: dict[str, Any] = {
    "link": "identity",
    "transition": "euler",
    "fixed": ("noise",),
    "smoothing": 0.01,
    "cells": 512,
    "random_state": 0,
}
"""σ itself is a Gaussian process, in the data's units; λ is not learned; γ = 0.01."""

PAPER_SEARCH: dict[str, dict[str, Any]] = {
    NON_LEARNED: {"solver": "newton", "learn": None, "tolerance": 1e-8},
    LEARNED: {"solver": "gradient", "learn": "bayesopt", "splits": 1, "evaluations": 75, "tolerance": 1e-5},
    LEARNED_NEWTON: {"solver": "newton", "learn": "bayesopt", "splits": 10, "evaluations": 150, "tolerance": 1e-8},
}
"""How the paper completes the graph and learns the kernels: M splits and K evaluations that go with each solver."""


@dataclass
class Estimate:
    """Learned functions of (n,) points, λ for the loss, and what else the method knows."""

    drift: Function
    diffusion: Function
    noise: float
    drift_band: Band | None = None
    diffusion_band: Band | None = None
    predictive: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)


SAID = (
    *("drift", "diffusion", "noise", "link", "transition", "solver", "learn", "fixed", "splits", "evaluations"),
    *("noise_variance", "smoothing", "tolerance", "cells", "random_state"),
)
"""Options that say what comes out; the defaults of all others leave it as it was before there were any."""


def settings_of(method: str) -> dict[str, Any]:
    """All settings of a method but its kernel, its length scale and λ, which come from the data: its fingerprint."""
    if method == BENCHMARK:
        return {"regression": "scikit-learn", "white_noise": 0.1}
    if method == DEFAULT:
        options = SDE().get_params()
        return {name: options[name] for name in SAID}
    return PAPER_MODE | PAPER_SEARCH[method]


def estimate(method: str, kernel: str, data: Data) -> Estimate:
    """Fit a method to the training transitions."""
    if method == BENCHMARK:
        return _benchmark(kernel, data)
    if method == DEFAULT:
        return _completed(SDE(progress=False), data)
    prior = paper_kernel(kernel, data.x)
    settings = settings_of(method) | {"noise_variance": data.noise, "progress": False}
    return _completed(SDE(prior, prior, **settings), data)


def paper_kernel(name: str, x: Floats) -> Any:
    """σ² Matérn-5/2 with the mean distance between points as its scale, or σ²(x·x' + c); σ = c = 1 before learning."""
    from tinygp import kernels

    if name == "matern":
        return kernels.Constant(1.0) * kernels.Matern52(mean_pairwise_distance(x))
    return kernels.Constant(1.0) * (kernels.DotProduct() + kernels.Constant(1.0))


def _benchmark(kernel: str, data: Data) -> Estimate:
    model = GPRegression(kernel).fit(data.x, data.y, data.dt)
    return Estimate(
        lambda at: model.drift(at[:, None])[:, 0],
        lambda at: model.diffusion(at[:, None])[:, 0, 0],
        data.noise,
        notes={"kernel": str(model.regressors_[0].kernel_)},
    )


def _completed(model: SDE, data: Data) -> Estimate:
    model.fit(data.train, dt=data.dt)
    notes: dict[str, Any] = {"outcome": model.outcome_, "parameters": model.parameters_}
    if model.learning_ is not None:
        notes["learning"] = model.learning_.outcome
    return Estimate(
        model.drift,
        lambda at: np.abs(model.diffusion(at)),
        float(model.noise_[0]),
        model.drift_band,
        lambda at: _unsigned(*model.diffusion_band(at)),
        # without the ½ ln 2π that the paper's L leaves out
        -model.score(data.test, dt=data.dt) - 0.5 * float(np.log(2 * np.pi)),
        notes,
    )


def _unsigned(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """The band of |σ| from that of σ, whose sign an identity link leaves open."""
    straddles = (lower < 0) & (upper > 0)
    ends = np.sort(np.abs([lower, upper]), axis=0)
    return np.where(straddles, 0.0, ends[0]), ends[1]
