"""Options of a fit: an estimator's settings, refused where they mean nothing, before any work."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from onepath.graph.default import GraphOptions
from onepath.graph.graph import NOISES
from onepath.graph.laws import EULER, LAWS, Law
from onepath.graph.links import LINKS
from onepath.graph.physics import Known
from onepath.inference.completion import SOLVERS, Solver
from onepath.inference.disturbance.choice import chosen_disturbance
from onepath.inference.disturbance.turns import Guess
from onepath.inference.equations.beside import EquationOptions
from onepath.inference.equations.choice import chosen_equations
from onepath.inference.hidden.observation import Hidden
from onepath.inference.hidden.reading import reading_of
from onepath.inference.learning.optimisers import bayesian_optimisation
from onepath.inference.learning.search import LEARNERS, SearchOptions
from onepath.inference.observation import Exact, Observation
from onepath.numerics.checks import check_not_negative, check_whole


class FitOptions(NamedTuple):
    """All that may be chosen about a fit. Without a law the data decide; without a search θ is used as given."""

    graph: GraphOptions
    observation: Observation
    law: Law | None
    solver: Solver
    search: SearchOptions | None
    fixed: Sequence[str] = ()
    cells: int | None = None
    tolerance: float = 1e-5
    smoothing: float = 0.0
    disturbance: Guess | None = None
    equations: EquationOptions | None = None


def read_options(settings: Mapping[str, Any], watch: Callable[[int, float], None], errors: bool = False) -> FitOptions:
    """The options that settings of `SDE`, by name, stand for; `errors` is whether readings come with their own."""
    _check(settings)
    learn, search = settings["learn"], None
    if learn is not None:
        splits = settings["splits"] or (1 if learn == "bayesopt" else 10)
        evaluations = settings["evaluations"] or (75 if splits == 1 else 150)
        search = SearchOptions(learn, splits, evaluations, settings["random_state"], watch)
    return FitOptions(
        graph=GraphOptions(**{name: settings[name] for name in GraphOptions._fields}),
        observation=_observation(settings, errors),
        # functions of a hidden velocity are completed under Euler's law, whatever steps are filtered by
        law=EULER if settings["order"] == 2 else _law(settings),
        solver=SOLVERS[settings["solver"]],
        search=search,
        disturbance=chosen_disturbance(settings),
        equations=chosen_equations(settings, {"errors of readings": errors}),
        **{name: settings[name] for name in ("fixed", "cells", "tolerance", "smoothing")},
    )


def _observation(settings: Mapping[str, Any], errors: bool) -> Observation:
    """Readings are the state itself unless something says that they are not."""
    reading = reading_of(settings["measurement"], settings["order"], settings["exposure"])
    if reading.is_exact and not errors:
        return settings["observation"] or Exact()
    if reading.order == 2 and (
        settings["transition"] not in ("auto", "linearised")
        or settings["noise"] not in ("auto", "diagonal")
        or settings["smoothing"] > 0
    ):
        raise ValueError(
            "order=2 takes the linearised law and diagonal noise: leave out transition, noise and smoothing, or give "
            "velocities as readings of their own"
        )
    if reading.order == 2 and reading.exposure is not None:
        raise ValueError("order=2 and exposure are both given, which is not offered: leave out the shorter of the two")
    if settings["observation"] is not None:
        raise ValueError("observation is given beside measurement, order, exposure or error, which are one: give one")
    if chosen_disturbance(settings) is not None:
        raise ValueError(
            "jumps, volatility or tails are asked for beside a hidden state, but its filter takes noise for normal: "
            "leave one of them out"
        )
    if settings["periodic"] is not None:
        raise ValueError(
            "periodic and a hidden state are both asked for, but a filter does not know angles: unwrap the angle with "
            "np.unwrap and leave periodic out, or take readings for the state itself"
        )
    return Hidden(reading)


def check_streamable(options: FitOptions, settings: Mapping[str, Any]) -> None:
    """Refuse what needs the whole path at once, where it comes as a stream."""
    asked = {
        "a hidden state, or an observation of your own": not isinstance(options.observation, Exact),
        "jumps, volatility or tails": options.disturbance is not None,
        "since": settings["since"] is not None,
        "a season or a trend": settings["season"] is not None or settings["trend"],
        "an angle (periodic)": settings["periodic"] is not None,
        f"learn={settings['learn']!r}": options.search is not None and options.search.method != "evidence",
    }
    wanted = [name for name, is_asked in asked.items() if is_asked]
    if wanted:
        raise ValueError(
            f"{' and '.join(wanted)}: this needs the whole path in memory, and a stream passes by once. Leave it out, "
            "or fit a part of the record that memory holds"
        )


def _is_papers_way(settings: Mapping[str, Any]) -> bool:
    """The paper's solvers and smoothing put the drift at its best in one step, which takes Euler's law."""
    return bool(settings["solver"] != "fisher" or settings["smoothing"] > 0)


def _law(settings: Mapping[str, Any]) -> Law | None:
    """The transition law that was asked for; None where the data decide."""
    asked = settings["transition"]
    if isinstance(asked, Law):
        return asked
    if asked == "auto":
        return EULER if _is_papers_way(settings) else None
    return LAWS[asked]


def _check(settings: Mapping[str, Any]) -> None:
    """Refuse what means nothing."""
    known_values = {"noise": ("auto", *NOISES), "link": (*LINKS,), "solver": (*SOLVERS,), "learn": (*LEARNERS, None)}
    if not isinstance(settings["transition"], Law):
        known_values["transition"] = ("auto", *LAWS)
    for name, known in known_values.items():
        if settings[name] not in known:
            choices = ", ".join(map(repr, known))
            raise ValueError(f"{name}={settings[name]!r} is not known. Choose one of {choices}.")
    if settings["learn"] == "bayesopt":
        bayesian_optimisation()
    if not (settings["observation"] is None or isinstance(settings["observation"], Observation)):
        raise TypeError(
            f"observation={settings['observation']!r} cannot be used: give an instance of a subclass of "
            "onepath.inference.observation.Observation, or None to take readings for the state itself."
        )
    for name in ("smoothing", "tolerance", "noise_variance"):
        if settings[name] is not None or name != "noise_variance":
            check_not_negative(name, settings[name])
    for name, least in (("cells", 16), ("splits", 1), ("evaluations", 10)):
        if settings[name] is not None:
            check_whole(name, settings[name], least)
    fixed: Sequence[Any] = settings["fixed"]
    if isinstance(fixed, str) or not all(isinstance(name, str) for name in fixed):
        raise ValueError(f"fixed={fixed!r} cannot be used: give a sequence of parameter names.")
    has_known = any(isinstance(settings[role], Known | dict) for role in ("drift", "diffusion"))
    if has_known and settings["order"] == 2:
        raise ValueError("What is known of drift or diffusion does not go together with order=2 yet: leave out one.")
    if has_known and _is_papers_way(settings):
        raise ValueError("What is known of drift or diffusion needs solver='fisher' and smoothing=0.")
    if _is_papers_way(settings) and _law(settings) != EULER:
        raise ValueError(
            f"transition={settings['transition']!r} needs solver='fisher' and smoothing=0: the paper's solvers and "
            "smoothing rest on Euler's law, under which the best drift is found in one step. Use transition='euler'."
        )
