"""Functions that are written as text, such as "-k * (x - level)": read and computed, nothing of them is executed."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature
from typing import Any

import jax.numpy as jnp

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(jnp, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs")},
    **{name: getattr(jnp, name) for name in ("arcsin", "arccos", "arctan", "sign", "minimum", "maximum", "where")},
}
CONSTANTS = {"pi": 3.141592653589793}
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}
COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}

LONGEST, LARGEST_POWER = 2000, 12
"""Characters of a formula, and a whole power up to which it is multiplied out."""

STATE, INPUTS = "x", "u"


@dataclass(frozen=True)
class Formula:
    """A function of the state x, of parameters and of inputs by their names, as text.

    In several dimensions the state is x[0], x[1], and values stand with commas between them. An input whose name is no
    word is u["its name"].
    """

    text: str
    parameters: tuple[str, ...] = ()

    def __call__(self, x: Any, u: dict[str, Any] | None = None, **parameters: Any) -> Any:
        known = CONSTANTS | (u or {}) | parameters | {STATE: x, INPUTS: u or {}}
        return _value(_tree(self.text), known, self.text)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names that are neither the state's nor a parameter's."""
        own = {STATE, *FUNCTIONS, *CONSTANTS, *self.parameters}
        names = (node.id for node in ast.walk(_tree(self.text)) if isinstance(node, ast.Name))
        return tuple(dict.fromkeys(name for name in names if name not in own))

    @property
    def __signature__(self) -> Signature:
        names = [STATE, *(["u"] if self.inputs else []), *self.parameters]
        return Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])


@cache
def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ValueError(f"A formula of {len(text)} characters cannot be used: at most {LONGEST}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise ValueError(f"{text!r} is no formula: {_example()}") from error


def _example() -> str:
    return (
        "write it like -k * x**3 + sin(level), with x[0], x[1] and commas between values in several dimensions. "
        f"Functions are {', '.join(FUNCTIONS)}"
    )


def _value(node: ast.expr, known: dict[str, Any], text: str) -> Any:
    def value(node: ast.expr) -> Any:
        return _value(node, known, text)

    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number):
            return jnp.asarray(float(number))
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Name(id=name) if name not in FUNCTIONS:
            raise ValueError(
                f"{name!r} in {text!r} is neither a parameter, which begins at a number as in Known({text!r}, "
                f"{name}=1.0), nor an input"
            )
        case ast.Subscript(value=ast.Name(id="x"), slice=ast.Constant(value=int() as i)) if i < known[STATE].size:
            return jnp.ravel(known[STATE])[i]
        case ast.Subscript(value=ast.Name(id="u"), slice=ast.Constant(value=str() as name)) if name in known[INPUTS]:
            return known[INPUTS][name]
        case ast.Tuple(elts=parts):
            return [value(part) for part in parts]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return value(operand)
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int() as n)) if 0 <= n <= LARGEST_POWER:
            return value(left) ** n
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            return jnp.power(value(left), value(right))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](value(left), value(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            return COMPARED[type(op)](value(left), value(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*map(value, args))
    raise ValueError(f"{ast.unparse(node)!r} in {text!r} cannot be read: {_example()}")
