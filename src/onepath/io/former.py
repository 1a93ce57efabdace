"""What version 0.1.0 wrote: classes by where they lived then, and fields by what they were called."""

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]


def _as(name: str, **renamed: str) -> Callable[[Fields], tuple[str, Fields]]:
    """Today's name of a class, and its fields under today's names."""
    return lambda fields: (name, {renamed.get(field, field): value for field, value in fields.items()})


def _graph(fields: Fields) -> tuple[str, Fields]:
    """Drift and diffusion were one unknown function each."""
    return "Graph", fields | {"drift": (fields["drift"],), "diffusion": (fields["diffusion"],)}


FORMER: dict[str, Callable[[Fields], tuple[str, Fields]]] = {
    "onepath.kernels.Matern": _as("Matern"),
    "onepath.kernels.Linear": _as("Linear"),
    "onepath.kernels.Cubic": _as("Cubic"),
    "onepath.features.Basis": _as("Basis"),
    "onepath.features.UnknownFunction": _as("Unknown"),
    "onepath.graph.Graph": _graph,
    "onepath.posterior.Member": _as("Member", logarithms="theta"),
    "onepath.posterior.Posterior": _as("Posterior", which="mask", cautious_mass="band_mass"),
    "onepath.trajectory.Trajectory": _as("Trajectory"),
    "onepath.transitions.Units": _as("Units"),
    "onepath.learning.optimisers.Found": _as("Optimum", parameters="theta"),
    "onepath.stiffness.Stiffness": _as("Stiffness"),
}
"""From a class and its fields as they were to what they are."""


def former_model(settings: Fields, learned: Fields) -> Fields:
    """Fields of a model from the learned attributes of an estimator; transitions are the trajectory's own."""
    return {
        "trajectory": learned["trajectory_"],
        "units": learned["units_"],
        "posterior": learned["posterior_"],
        "loss": learned["loss_"],
        "evidence": learned["evidence_"],
        "outcome": learned["outcome_"],
        "optimum": learned["learning_"],
        "stiffness": learned["stiffness_"],
        "methods": (settings["solver"], settings["learn"]),
        "seconds": learned["seconds_"],
    }
