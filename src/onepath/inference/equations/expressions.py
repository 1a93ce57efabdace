"""Terms of the user's own: functions by name, or formulas such as "sin(x)", which are read and not executed."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from onepath.data.trajectory import Trajectory
from onepath.graph.formula import FUNCTIONS, STATE, Formula
from onepath.graph.physics import Traced, plain
from onepath.numerics.arrays import Floats, evenly

Own = tuple[tuple[str, Callable[[Any], Any]], ...]
"""Terms by name: functions of a state, a number in one dimension and an array (d,) above, which give a number."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "trigonometric": ("sin({})", "cos({})"),
    "rational": ("1/(1 + {0}**2)", "{0}/(1 + {0}**2)"),
    "saturating": ("tanh({})", "exp(-{}**2)"),
}
"""Named libraries: these formulas of each coordinate."""

LOOKED_AT = 64
"""Points at which a term must be finite."""


@dataclass(frozen=True)
class ByNumPy:
    """A function of the user's that is written with NumPy, as one that JAX can follow."""

    function: Callable[[Any], Any]

    def __call__(self, x: Any) -> Any:
        return plain(self.function(Traced(x)))


def named_terms(terms: Any, trajectory: Trajectory) -> Own:
    """Terms as `SDE` takes them, by name; refused where they are no function of the data's states."""
    if terms is None:
        return ()
    names = tuple(trajectory.names)
    if isinstance(terms, str):
        if terms not in LIBRARIES:
            raise ValueError(
                f"terms={terms!r} is no library: choose one of {', '.join(LIBRARIES)}, or give a list of formulas."
            )
        places = [STATE] if len(names) == 1 else [f"{STATE}[{i}]" for i in range(len(names))]
        each = zip(names, places, strict=True)
        terms = {text.format(name): text.format(at) for name, at in each for text in LIBRARIES[terms]}
    if not isinstance(terms, Mapping):
        if not isinstance(terms, Sequence) or not all(isinstance(each, str) for each in terms):
            raise ValueError(
                f"terms={terms!r} cannot be used: give a dictionary of functions by name, a list of formulas such as "
                f"'sin({names[0]})', or one of {', '.join(LIBRARIES)}."
            )
        terms = {each: each for each in terms}
    x = trajectory.x[np.all(np.isfinite(trajectory.x), axis=1)]
    points = x[evenly(len(x), LOOKED_AT)]
    return tuple((str(name), _function(str(name), each, names, points)) for name, each in terms.items())


def _function(name: str, given: Any, names: tuple[str, ...], points: Floats) -> Callable[[Any], Any]:
    """One term, that has been evaluated at some of the data."""
    if isinstance(given, np.ufunc) and len(names) == 1 and given.__name__ in FUNCTIONS:
        given = f"{given.__name__}({STATE})"
    if not (isinstance(given, str) or callable(given)):
        raise ValueError(f"The term {name!r} is {given!r}: give a function of the state, or a formula as text.")
    tried: list[Callable[[Any], Any]] = [by_place(given, names)] if isinstance(given, str) else [given, ByNumPy(given)]
    errors: list[Exception] = []
    states = jnp.asarray(points[:, 0] if len(names) == 1 else points)
    for each in tried:
        try:
            values = np.asarray(jax.vmap(lambda x, each=each: jnp.asarray(each(x), float))(states))
        except Exception as error:
            errors.append(error)
            continue
        if values.shape != (len(points),) or not np.all(np.isfinite(values)):
            raise ValueError(f"The term {name!r} is not one finite number at each of the data.")
        return each
    raise ValueError(f"The term {name!r} cannot be evaluated: {errors[0]}.") from errors[0]


class _Renamed(ast.NodeTransformer):
    """Names of coordinates by what stands for them."""

    def __init__(self, places: Mapping[str, ast.expr]) -> None:
        self.places = places

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self.places.get(ast.unparse(node), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.places.get(node.id, node)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise ValueError(f"{text!r} is no formula") from error


def by_place(text: str, names: tuple[str, ...]) -> Formula:
    """A formula of the state, from one in the names of its coordinates."""
    if len(names) == 1:
        places = {names[0]: _parsed(STATE)}
    else:
        places = {name: _parsed(f"{STATE}[{i}]") for i, name in enumerate(names)}
    return Formula(ast.unparse(_Renamed(places).visit(_parsed(text))))


def as_python(formula: Formula, names: Sequence[str]) -> str:
    """The same as an expression of Python in these names, with functions of NumPy as np."""
    if len(names) == 1:
        places = {STATE: _parsed(names[0])}
    else:
        places = {f"{STATE}[{i}]": _parsed(name) for i, name in enumerate(names)}
    functions = {name: _parsed(f"np.{name}") for name in FUNCTIONS}
    return f"({ast.unparse(_Renamed(places | functions).visit(_parsed(formula.text)))})"
