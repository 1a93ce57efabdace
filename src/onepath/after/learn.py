"""From a trajectory and an estimator's settings to a model, a season that is looked for included."""

import time
from collections.abc import Mapping
from typing import Any

from onepath.data.parts import part_of, row_since
from onepath.data.seasons import with_clockwork
from onepath.data.streaming import Streamed
from onepath.data.trajectory import Trajectory, read_bounds, with_period
from onepath.graph.velocity import rates_of
from onepath.inference.equations.choice import with_inputs
from onepath.inference.equations.expressions import named_terms
from onepath.inference.fit import cautions, fit, fit_streamed
from onepath.inference.options import FitOptions
from onepath.inference.result import Fit
from onepath.model import Methods, Model, model_of
from onepath.numerics.arrays import Floats


def learn(
    trajectory: Trajectory, settings: Mapping[str, Any], options: FitOptions, begun: float
) -> tuple[Model, list[str]]:
    """The model, and what must be said of it at once. `options` are what the settings stand for."""
    if settings["since"] is not None:
        trajectory = part_of(trajectory, row_since(trajectory, settings["since"]), len(trajectory.t))
    bounds = read_bounds(settings["bounds"], trajectory)
    trajectory = with_period(trajectory, settings["periodic"], bounds)
    looking = settings["season"] == "auto"
    trajectory = with_clockwork(trajectory, None if looking else settings["season"], settings["trend"])
    options = _by_name(options, settings, trajectory)
    found = fit(trajectory, options)
    if looking:
        from onepath.after.diagnose.seasons import season_in

        period = season_in(model_of(trajectory, found, _methods(settings, options), 0.0, bounds))
        if period is not None:
            trajectory = with_clockwork(trajectory, period, False)
            found = fit(trajectory, options)
    return _told(trajectory, found, settings, options, bounds, begun)


def learn_streamed(
    streamed: Streamed, settings: Mapping[str, Any], options: FitOptions, begun: float
) -> tuple[Model, list[str]]:
    """The same of a stream, all of whose transitions are in its cells."""
    bounds = read_bounds(settings["bounds"], streamed.trajectory)
    options = _by_name(options, settings, streamed.trajectory)
    found = fit_streamed(streamed, options)
    return _told(streamed.trajectory, found, settings, options, bounds, begun)


def _by_name(options: FitOptions, settings: Mapping[str, Any], trajectory: Trajectory) -> FitOptions:
    """With what settings say by the names of coordinates: which are known rates, and terms of equations."""
    rates = rates_of(settings["drift"], trajectory.names)
    options = options._replace(graph=options.graph._replace(drift=rates))
    if options.equations is None:
        return options
    own = named_terms(settings["terms"], trajectory)
    variables = () if trajectory.inputs is None else trajectory.inputs.variables
    return options._replace(equations=with_inputs(options.equations._replace(own=own), variables))


def _methods(settings: Mapping[str, Any], options: FitOptions) -> Methods:
    return Methods(settings["solver"], settings["learn"], options.observation.name)


def _told(
    trajectory: Trajectory,
    found: Fit,
    settings: Mapping[str, Any],
    options: FitOptions,
    bounds: Floats | None,
    begun: float,
) -> tuple[Model, list[str]]:
    methods, seconds = _methods(settings, options), time.perf_counter() - begun
    return model_of(trajectory, found, methods, seconds, bounds), cautions(found)
