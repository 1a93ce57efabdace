"""Which equations were asked for: refused where they mean nothing, left out where they do not go with the rest."""

from collections.abc import Callable, Mapping
from typing import Any

from onepath.data.inputs import NUMBER, SEASON, Variables
from onepath.graph.physics import Known
from onepath.inference.equations.beside import EquationOptions
from onepath.inference.observation import Exact

CHOICES = ("auto", "off", "only")
ROLES = ("drift", "diffusion")

APART: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("learn other than 'evidence'", lambda given: given["learn"] != "evidence"),
    ("a solver other than 'fisher'", lambda given: given["solver"] != "fisher"),
    ("smoothing", lambda given: given["smoothing"] > 0),
    ("a link other than 'softplus' or 'exp'", lambda given: given["link"] == "identity"),
    ("coordinates that are known rates", lambda given: _is(given, dict)),
    ("a kernel of your own", lambda given: any(_is_kernel(given[role]) for role in ROLES)),
    ("order=2", lambda given: given["order"] == 2),
    ("exposure", lambda given: given["exposure"] is not None),
    ("an observation of your own", lambda given: not isinstance(given["observation"], Exact | None)),
    ("periodic", lambda given: given["periodic"] is not None),
    ("trend", lambda given: bool(given["trend"])),
)
"""What equations do not go together with, in words."""

NOISY = ("measurement", "errors of readings")
"""What "only" does not go together with; else equations are beside what is filtered, as far as that tells of them."""

BESIDE: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("what is known of drift or diffusion", lambda given: _is(given, Known)),
    *((name, lambda given, name=name: bool(given[name])) for name in ("jumps", "volatility", "tails")),
)
"""Beside what they are asked for, but not alone, and not of terms of the user's own."""

DRIVEN = (NUMBER, SEASON)
"""Inputs that equations have terms of."""


def with_inputs(options: EquationOptions, variables: Variables) -> EquationOptions | None:
    """The same, or none where an input is a class or a trend."""
    other = [one for one in variables if one.kind not in DRIVEN]
    if not other:
        return options
    if options.alone or options.own:
        asked = "equations='only'" if options.alone else "terms"
        raise ValueError(f"Equations have no terms of a {other[0].kind} yet, as {other[0].name} is: leave out {asked}.")
    return None


def _is(given: Mapping[str, Any], kind: type) -> bool:
    return any(isinstance(given[role], kind) for role in ROLES)


def _is_kernel(given: Any) -> bool:
    return given is not None and not isinstance(given, Known | dict)


def chosen_equations(given: Mapping[str, Any], data: Mapping[str, bool]) -> EquationOptions | None:
    """From settings by name, and what the data come with (errors, inputs); None for none."""
    asked = given["equations"]
    if asked not in CHOICES:
        raise ValueError(f"equations={asked!r} is not known. Choose one of {', '.join(map(repr, CHOICES))}.")
    own, data = given["terms"] is not None, {**data, "measurement": given["measurement"] is not None}
    there = [name for name, is_there in data.items() if is_there]
    never = [name for name, holds in APART if holds(given)] + [name for name in there if name not in NOISY]
    against = never + [name for name, holds in BESIDE if holds(given)]
    noisy = [name for name in there if name in NOISY]
    if asked == "only" and against + noisy:
        raise ValueError(
            f"equations='only' does not go together with {(against + noisy)[0]} yet: leave one of them out, or take "
            "equations='auto', which leaves the equations out where they cannot be asked for."
        )
    if asked == "only" and given["noise"] == "full":
        raise ValueError(
            "equations='only' has no equation for correlated noise: use noise='diagonal', or equations='auto', whose "
            "Gaussian process says what the noise is."
        )
    if own and asked == "off":
        raise ValueError("terms are given with equations='off', which looks at none: leave one of them out.")
    if own and against:
        raise ValueError(f"terms do not go together with {against[0]} yet: leave one of them out.")
    return None if asked == "off" or never else EquationOptions(asked == "only")
