"""From a trajectory and an estimator's settings to a model, a season that is looked for included."""

import time
from collections.abc import Mapping
from typing import Any

from onepath.data.parts import part_of, row_since
from onepath.data.seasons import with_clockwork
from onepath.data.trajectory import Trajectory, read_bounds, with_period
from onepath.graph.velocity import rates_of
from onepath.inference.equations.expressions import named_terms
from onepath.inference.fit import cautions, fit
from onepath.inference.options import FitOptions
from onepath.model import Methods, Model, model_of


def learn(
    trajectory: Trajectory, settings: Mapping[str, Any], options: FitOptions, begun: float
) -> tuple[Model, list[str]]:
    """The model, and what must be said of it at once. `options` are what the settings stand for."""
    if settings["since"] is not None:
        trajectory = part_of(trajectory, row_since(trajectory, settings["since"]), len(trajectory.t))
    bounds = read_bounds(settings["bounds"], trajectory)
    trajectory = with_period(trajectory, settings["periodic"], bounds)
    methods = Methods(settings["solver"], settings["learn"], options.observation.name)
    looking = settings["season"] == "auto"
    trajectory = with_clockwork(trajectory, None if looking else settings["season"], settings["trend"])
    rates = rates_of(settings["drift"], trajectory.names)
    options = options._replace(graph=options.graph._replace(drift=rates))
    if options.equations is not None:
        own = named_terms(settings["terms"], trajectory)
        options = options._replace(equations=options.equations._replace(own=own))
    found = fit(trajectory, options)
    if looking:
        from onepath.after.diagnose.seasons import season_in

        period = season_in(model_of(trajectory, found, methods, 0.0, bounds))
        if period is not None:
            trajectory = with_clockwork(trajectory, period, False)
            found = fit(trajectory, options)
    return model_of(trajectory, found, methods, time.perf_counter() - begun, bounds), cautions(found)
