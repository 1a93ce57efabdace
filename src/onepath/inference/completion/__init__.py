"""Completing the graph: minimise the MAP loss J over the weights of its unknown functions."""

from onepath.inference.completion.fisher import FisherScoring
from onepath.inference.completion.gradient import GradientDescent
from onepath.inference.completion.loop import Completion, Solver, complete
from onepath.inference.completion.newton import Newton
from onepath.inference.completion.objective import Block, Objective, Place, objective_of
from onepath.inference.completion.start import initial_weights, smoothed_diffusion

SOLVERS: dict[str, Solver] = {"fisher": FisherScoring(), "newton": Newton(), "gradient": GradientDescent()}

__all__ = [
    "SOLVERS",
    "Block",
    "Completion",
    "Objective",
    "Place",
    "Solver",
    "complete",
    "initial_weights",
    "objective_of",
    "smoothed_diffusion",
]
