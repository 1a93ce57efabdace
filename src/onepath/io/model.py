"""Models in files: what a model is made of, as JSON and arrays, and back, checked."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import numpy as np

from onepath.data.inputs import outside
from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions, transitions_of
from onepath.inference.disturbance.disturbance import Disturbance, Steps
from onepath.inference.posterior.increments import mean_law
from onepath.inference.posterior.posterior import Posterior
from onepath.io.atomic import check_free, write_atomically
from onepath.io.codec import decode, encode
from onepath.io.container import container, open_container
from onepath.io.errors import Damaged
from onepath.io.former import former_model
from onepath.model import Methods, Model
from onepath.numerics.precision import in_double

WRITTEN = tuple(field.name for field in fields(Model) if field.init and field.name != "transitions")
"""Fields of a model that are written as they are."""


def save_model(
    model: Model,
    settings: dict[str, Any],
    path: str | Path,
    *,
    force: bool = False,
    facts: dict[str, Any] | None = None,
) -> Path:
    """Write a model and the settings of its estimator.

    `facts` is JSON that travels with it, such as where its data came from. Transitions that are the trajectory's own
    are not written.
    """
    check_free(path, force=force)
    arrays: list[np.ndarray] = []

    def keep(array: np.ndarray) -> int:
        arrays.append(array)
        return len(arrays) - 1

    exact = model.methods.observation == "exact"
    learned = {name: getattr(model, name) for name in WRITTEN}
    learned["transitions"] = None if exact else model.transitions
    text = {
        "facts": facts or {},
        "settings": encode(settings, keep, "SDE"),
        "model": encode(learned, keep, "SDE"),
    }
    return write_atomically(path, container(text, arrays), force=force)


def load_model(path: str | Path) -> tuple[Model, dict[str, Any], dict[str, Any]]:
    """The model in a file, the settings of its estimator, and the file's facts."""
    text, arrays = open_container(path)
    try:
        settings = decode(text["settings"], arrays)
        learned = decode(text["model"], arrays) if text["version"] > 1 else _former(settings, text, arrays)
        _check_trajectory(learned["trajectory"])
        if learned["transitions"] is None:
            learned["transitions"] = transitions_of(learned["trajectory"])
        model = Model(**learned)
        _check(model)
    except (Damaged, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Damaged(f"{path} is a damaged or forged model file: {error}") from error
    return model, settings, text["facts"]


def _former(settings: dict[str, Any], text: dict[str, Any], arrays: dict[int, np.ndarray]) -> dict[str, Any]:
    learned = former_model(settings, decode(text["learned"], arrays))
    return learned | {"methods": Methods(*learned["methods"]), "transitions": None}


def _check_trajectory(trajectory: Trajectory) -> None:
    n, d = trajectory.x.shape
    shapes = [trajectory.t.shape, trajectory.record.shape, len(trajectory.names)]
    if shapes != [(n,), (n,), d]:
        raise Damaged(f"the trajectory's shapes do not fit together: {[trajectory.x.shape, *shapes]}")
    step = trajectory.step
    if step.ndim != 1 or step.dtype.kind != "i" or len(step) == 0 or step.min() < 0 or step.max() > n - 2:
        raise Damaged("the trajectory's steps point outside of it")
    if not (np.all(np.isfinite(trajectory.t)) and not np.any(np.isinf(trajectory.x))):
        raise Damaged("the trajectory has times or values that are infinite")
    if trajectory.whole is not None:
        counts = [n, len(step), 1, 0]
        if not all(type(each) is int and each >= least for each, least in zip(trajectory.whole, counts, strict=True)):
            raise Damaged("the counts of what the trajectory is a sample of cannot be")
    trajectory.dates(trajectory.t[-1:])


@in_double
def _check(model: Model) -> None:
    """Whether all shapes fit together: of the units, the transitions, and the posterior's own arithmetic."""
    order = 1 if model.observed is None else model.observed.reading.order
    units, d = model.units, order * model.trajectory.dimension
    if [units.location.shape, units.scale.shape, np.shape(units.time)] != [(d,), (d,), ()]:
        raise Damaged("the units are not of the state's dimension")
    parts = (model.posterior, units, vars(model.transitions), model.loss, model.evidence)
    if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(parts) if np.asarray(leaf).dtype.kind == "f"):
        raise Damaged("it holds numbers that are not finite")
    if not (np.all(units.scale > 0) and units.time > 0 and np.all(model.transitions.dt > 0)):
        raise Damaged("its units or steps are not positive")
    _check_transitions(model.transitions, len(model.trajectory.step), d)
    _check_inputs(model)
    _check_posterior(model.posterior, d)
    if model.disturbance is not None:
        _check_disturbance(model.disturbance, d)


def _check_inputs(model: Model) -> None:
    """Of trajectory, transitions, units and graph: as many columns in each."""
    inputs, units, columns = model.trajectory.inputs, model.units, model.graph.inputs
    if inputs is None:
        if columns or units.input_location is not None or model.transitions.inputs is not None:
            raise Damaged("it reads inputs that the trajectory does not have")
        return
    if model.transitions.inputs is None or units.input_location is None or units.input_scale is None:
        raise Damaged("its trajectory has inputs that nothing reads")
    count, places = sum(one.columns for one in inputs.variables), len(model.trajectory.t)
    shapes = [model.transitions.inputs.shape[1:], units.input_location.shape, units.input_scale.shape, (columns,)]
    if shapes != [(count,)] * 4 or inputs.values.shape != (places, len(outside(inputs.variables))):
        raise Damaged(f"the shapes of inputs do not fit together: {shapes}")
    if not np.all(units.input_scale > 0):
        raise Damaged("the units of inputs are not positive")


def _check_posterior(posterior: Posterior, d: int) -> None:
    """Of its members, and of the increments that they say."""
    members, (count,), functions = posterior.members, posterior.mass.shape, posterior.graph.functions
    width = posterior.graph.layout.width
    shapes = [members.theta.shape[:1], members.weights.shape, members.lower.shape, posterior.for_bands.shape]
    wanted = [(count,), (count, functions, width), (count, functions * width, functions * width), (count,)]
    points = (jax.ShapeDtypeStruct(shape, np.float64) for shape in ((4, posterior.graph.width), (4,)))
    said = jax.eval_shape(lambda posterior, *at: mean_law(posterior, noise_grows=False)(*at), posterior, *points)
    shapes += [part.shape for part in said]
    if shapes != [*wanted, (4, d), (4, d, d)]:
        raise Damaged(f"the posterior's shapes do not fit together: {shapes}")


def _check_disturbance(disturbance: Any, d: int) -> None:
    """Whether it says something of increments in so many dimensions."""
    two = Steps(np.zeros((2, d)), np.tile(np.eye(d), (2, 1, 1)), np.ones(2), np.array([np.inf, 1.0]), np.ones(2))
    if not isinstance(disturbance, Disturbance) or not np.all(np.isfinite(disturbance.log_density(two))):
        raise Damaged("the law of its increments says nothing of them")


def _check_transitions(transitions: Transitions, count: int, d: int) -> None:
    shapes = [transitions.x.shape, transitions.y.shape, transitions.dt.shape, transitions.weight.shape]
    if shapes != [(count, d), (count, d), (count,), (count,)]:
        raise Damaged(f"the transitions' shapes do not fit together: {shapes}")
