"""Kernels by name: `matern52`, `4*Matern52(0.5) + DotProduct()`. Names, numbers, + and * only; nothing is executed."""

import ast
from typing import Any

import numpy as np

ALLOWED = (
    *("Constant", "Cosine", "DotProduct", "Exp", "ExpSineSquared"),
    *("ExpSquared", "Matern32", "Matern52", "Polynomial", "RationalQuadratic"),
)
SYNONYMS = {"rbf": "ExpSquared", "gaussian": "ExpSquared", "linear": "DotProduct", "matern": "Matern52"}


def kernel_by_name(text: str | None, role: str, transitions: Any) -> Any:
    """The tinygp kernel that a text describes, or None for the default prior.

    A name alone takes its length scale and its size from the data: sd(x), and σ²/(2 sd(x)) for a drift, σ/3 for a
    diffusion, σ being the root mean square of increments per root of time.
    """
    if text is None or text.lower() == "default":
        return None
    from onepath.numerics.precision import in_double

    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"--{role} {text!r} cannot be read: {_example()}") from error
    return in_double(_evaluate)(tree, role, transitions, text)


def _example() -> str:
    return f"write it like matern52, or 4*Matern52(0.5) + DotProduct(). Kernels are {', '.join(ALLOWED)}"


def _evaluate(node: ast.expr, role: str, transitions: Any, text: str) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -float(number)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _evaluate(left, role, transitions, text) + _evaluate(right, role, transitions, text)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return _evaluate(left, role, transitions, text) * _evaluate(right, role, transitions, text)
        case ast.Name(id=name):
            return _sized(name, role, transitions)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            _class(name)
            given = [_number(arg, text) for arg in args]
            named = {str(item.arg): _number(item.value, text) for item in keywords}
            return _made(name, transitions.points.shape[1], *given, **named)
    raise ValueError(f"--{role} {text!r} cannot be read: {_example()}")


def _number(node: ast.expr, text: str) -> float:
    try:
        value = ast.literal_eval(node)
    except ValueError as error:
        raise ValueError(f"the kernel {text!r} has something other than a number in brackets: {_example()}") from error
    if not isinstance(value, int | float):
        raise ValueError(f"the kernel {text!r} has {value!r} where a number should be: {_example()}")
    return value


def _class(name: str) -> Any:
    from tinygp import kernels

    known = {item.lower(): item for item in ALLOWED} | SYNONYMS
    if name.lower() not in known:
        raise ValueError(f"there is no kernel {name!r}: {_example()}")
    return getattr(kernels, known[name.lower()])


def _made(name: str, dimension: int, *given: float, **named: float) -> Any:
    from tinygp.kernels.distance import L2Distance

    cls = _class(name)
    extra = {"distance": L2Distance()} if dimension > 1 and "distance" in cls.__dataclass_fields__ else {}
    try:
        return cls(*given, **named, **extra)
    except TypeError as error:
        raise ValueError(f"the kernel {name} does not take these numbers: {error}") from error


def _sized(name: str, role: str, transitions: Any) -> Any:
    """A kernel without brackets, as large and as long as the data suggest."""
    d = transitions.points.shape[1]
    spread = float(np.sqrt(np.mean(np.var(transitions.x, axis=0))))
    noise = float(np.sqrt(np.mean(np.square(transitions.y) / transitions.dt[:, None])))
    size = noise**2 / (2 * spread) if role == "drift" else noise / 3
    kernel = _made(name, d)
    if "scale" in kernel.__dataclass_fields__:
        kernel = _made(name, d, scale=spread) if "gamma" not in kernel.__dataclass_fields__ else kernel
    return size**2 * kernel
