"""Terms of the user's own: functions by name, or expressions such as "sin(x)", read without running anything."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from onepath.data.trajectory import Trajectory
from onepath.graph.physics import Traced, plain
from onepath.numerics.arrays import Floats, evenly

FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sinh", "cosh", "arctan", "abs", "sign")
"""That an expression may use; of NumPy."""

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}

Own = tuple[tuple[str, Callable[[Any], Any]], ...]
"""Terms by name: functions of a state (d,), which give a number."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "trigonometric": ("sin({})", "cos({})"),
    "rational": ("1/(1 + {0}**2)", "{0}/(1 + {0}**2)"),
    "saturating": ("tanh({})", "exp(-{}**2)"),
}
"""Named libraries: these expressions of each coordinate."""

LOOKED_AT = 64
"""Points at which a term must be finite."""


@dataclass(frozen=True)
class Expression:
    """A function of a state (d,), written in the names of its coordinates: numbers, + - * / **, and `FUNCTIONS`."""

    text: str
    names: tuple[str, ...]

    @cached_property
    def tree(self) -> ast.expr:
        return ast.parse(self.text.strip(), mode="eval").body

    @property
    def numpy(self) -> str:
        """As an expression of Python, of coordinates by their names and of NumPy as np."""
        calls = {name: f"np.{name}" for name in FUNCTIONS}
        tree = ast.parse(self.text.strip(), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                node.func.id = calls.get(node.func.id, node.func.id)
        return f"({ast.unparse(tree.body)})"

    def __call__(self, x: Any) -> Any:
        return self._value(self.tree, x)

    def _value(self, node: ast.expr, x: Any) -> Any:
        match node:
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.Name(id=name) if name in self.names:
                return x[self.names.index(name)]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self._value(left, x), self._value(right, x))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand, x)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand, x)
            case ast.Call(func=ast.Name(id=name), args=[one], keywords=[]) if name in FUNCTIONS:
                return getattr(jnp, name)(self._value(one, x))
        raise ValueError(
            f"the term {self.text!r} has {ast.unparse(node)!r}, which is not read: terms are written in "
            f"{', '.join(self.names)}, numbers, + - * / **, and {', '.join(FUNCTIONS)}"
        )


@dataclass(frozen=True)
class OfState:
    """A user's function of a state, as one of an array (d,)."""

    function: Callable[[Any], Any]
    by_numpy: bool
    alone: bool  # the state is a number

    def __call__(self, x: Any) -> Any:
        state = x[0] if self.alone else x
        return plain(self.function(Traced(state))) if self.by_numpy else self.function(state)


def named_terms(terms: Any, trajectory: Trajectory) -> Own:
    """Terms as `SDE` takes them, by name; refused where they are no function of the data's states."""
    if terms is None:
        return ()
    names = tuple(trajectory.names)
    if isinstance(terms, str):
        if terms not in LIBRARIES:
            raise ValueError(
                f"terms={terms!r} is no library: choose one of {', '.join(LIBRARIES)}, or give a list of expressions."
            )
        terms = [each.format(name) for name in names for each in LIBRARIES[terms]]
    if not isinstance(terms, Mapping):
        if not isinstance(terms, Sequence) or not all(isinstance(each, str) for each in terms):
            raise ValueError(
                f"terms={terms!r} cannot be used: give a dictionary of functions by name, a list of expressions such "
                f"as 'sin({names[0]})', or one of {', '.join(LIBRARIES)}."
            )
        terms = {each: each for each in terms}
    x = trajectory.x[np.all(np.isfinite(trajectory.x), axis=1)]
    points = x[evenly(len(x), LOOKED_AT)]
    return tuple((str(name), _function(str(name), each, names, points)) for name, each in terms.items())


def _function(name: str, given: Any, names: tuple[str, ...], points: Floats) -> Callable[[Any], Any]:
    """One term, that has been evaluated at some of the data."""
    if isinstance(given, np.ufunc) and len(names) == 1 and given.__name__ in FUNCTIONS:
        given = f"{given.__name__}({names[0]})"
    if not (isinstance(given, str) or callable(given)):
        raise ValueError(f"The term {name!r} is {given!r}: give a function of the state, or an expression in words.")
    tried: list[Callable[[Any], Any]] = (
        [Expression(given, names)]
        if isinstance(given, str)
        else [OfState(given, by_numpy, len(names) == 1) for by_numpy in (False, True)]
    )
    errors: list[Exception] = []
    for each in tried:
        try:
            values = np.asarray(jax.vmap(lambda x, each=each: jnp.asarray(each(x), float))(jnp.asarray(points)))
        except Exception as error:
            errors.append(error)
            continue
        if values.shape != (len(points),) or not np.all(np.isfinite(values)):
            raise ValueError(f"The term {name!r} is not one finite number at each of the data.")
        return each
    raise ValueError(f"The term {name!r} cannot be evaluated: {errors[0]}.") from errors[0]
