"""Completing the graph: minimise the MAP loss J over the weights of its unknown functions."""

from onepath.completion.fisher import FisherScoring
from onepath.completion.gradient import GradientDescent
from onepath.completion.loop import Completion, Solver, complete
from onepath.completion.newton import Newton
from onepath.completion.objective import Objective, objective_of
from onepath.completion.start import initial_weights, quadratic_variation_start, smoothed_diffusion

SOLVERS: dict[str, Solver] = {"fisher": FisherScoring(), "newton": Newton(), "gradient": GradientDescent()}

__all__ = [
    "SOLVERS",
    "Completion",
    "Objective",
    "Solver",
    "complete",
    "initial_weights",
    "objective_of",
    "quadratic_variation_start",
    "smoothed_diffusion",
]
