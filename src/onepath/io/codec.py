"""Fitted objects as JSON and arrays, and back: only classes of a fixed list, nothing that runs.

A module, dataclass or named tuple is written as its class's name and its fields; a transition law as its name; an array
as a reference to a file of its own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import equinox as eqx
import jax
import numpy as np
from tinygp import kernels, transforms
from tinygp.kernels import base, distance, stationary

from onepath.data.calendar import Business
from onepath.data.clocks import Clock
from onepath.data.inputs import Input, Inputs
from onepath.data.trajectory import Trajectory, Whole
from onepath.data.transitions import Transitions, Units
from onepath.data.weekends import Weekends
from onepath.gp.features import Basis, Unknown
from onepath.gp.features import Known as Given
from onepath.gp.kernels import Cubic, Driven, Linear, Matern
from onepath.gp.periodic import Harmonics, PeriodicMatern
from onepath.gp.terms import Terms
from onepath.graph.formula import FUNCTIONS as OF_FORMULAS
from onepath.graph.formula import Formula
from onepath.graph.graph import Graph
from onepath.graph.laws import LAWS, Law
from onepath.graph.physics import Known, Part, Physics
from onepath.graph.velocity import itself, ones
from onepath.inference.adequacy import Stiffness
from onepath.inference.disturbance.disturbance import Banded
from onepath.inference.disturbance.jumps import Jumps
from onepath.inference.disturbance.tails import Tails
from onepath.inference.disturbance.volatility import Volatility
from onepath.inference.hidden.reading import Observed, Reading
from onepath.inference.learning.optimisers import Optimum
from onepath.inference.observation import Exact
from onepath.inference.posterior.formulas import Formulas
from onepath.inference.posterior.posterior import Member, Posterior
from onepath.inference.tried import Line, Mending, Tried
from onepath.io.errors import Damaged, Unsavable
from onepath.io.former import FORMER
from onepath.model import Methods

GENERATORS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}

LARGE = 1000
"""Entries from which a triangular matrix is packed."""

OWN: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(Matern, Linear, Cubic, PeriodicMatern, Harmonics, Driven, Basis, Unknown, Graph, Member, Posterior),
        *(Trajectory, Whole, Clock, Weekends, Business, Input, Inputs, Transitions, Units),
        *(Optimum, Stiffness, Methods, Exact),
        *(Observed, Reading, Given),
        *(Banded, Jumps, Tails, Volatility),
        *(Formulas, Terms),
        *(Mending, Tried, Line),
        *(Formula, Part, Physics),
    )
} | {"KnownPart": Known}
"""Classes of this package by the name that files call them by, wherever they live."""

FUNCTIONS: dict[str, Callable[..., Any]] = {"itself": itself, "ones": ones} | {
    f"numpy.{name}": getattr(np, name) for name in OF_FORMULAS
}
"""Known functions of this package, likewise, and those of NumPy that terms may use."""


def _modules_of(module: ModuleType) -> list[type]:
    return [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, eqx.Module)]


@cache
def known_classes() -> dict[str, type]:
    """Every class that a model file may name, by its name."""
    foreign = [found for home in (kernels, base, stationary, distance, transforms) for found in _modules_of(home)]
    return OWN | {f"tinygp.{cls.__qualname__}": cls for cls in foreign}


@cache
def _names() -> dict[type, str]:
    return {cls: name for name, cls in known_classes().items()}


def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else cls._fields  # type: ignore[attr-defined]


def encode(value: Any, keep: Callable[[np.ndarray], int], where: str = "model") -> Any:
    """A value as JSON; `keep` takes an array and gives the number of its file."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return encode(value.item(), keep, where)
    if isinstance(value, np.ndarray | jax.Array):
        return _encode_array(_plain_array(value, where), keep)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, dict):
        return {"dict": [[str(key), encode(item, keep, f"{where}[{key!r}]")] for key, item in value.items()]}
    if type(value) in (list, tuple):
        return {type(value).__name__: [encode(item, keep, f"{where}[{i}]") for i, item in enumerate(value)]}
    if isinstance(value, Law):
        if LAWS.get(value.name) != value:
            raise _unsavable(value, where)
        return {"law": value.name}
    if (known := next((name for name, function in FUNCTIONS.items() if function is value), None)) is not None:
        return {"function": known}
    if isinstance(value, np.random.Generator):
        state = encode(value.bit_generator.state, keep, where)
        return {"generator": type(value.bit_generator).__name__, "state": state}
    return _encode_object(value, keep, where)


def _encode_array(array: np.ndarray, keep: Callable[[np.ndarray], int]) -> dict[str, Any]:
    """As it is; triangular matrices, of which factors are and which are most of a file, without their zeros."""
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.size < LARGE or np.any(np.triu(array, 1)):
        return {"array": keep(array)}
    rows, columns = np.tril_indices(array.shape[-1])
    return {"lower": keep(array[..., rows, columns]), "size": array.shape[-1]}


def _lower(packed: np.ndarray, size: int) -> np.ndarray:
    if size < 1 or packed.shape[-1:] != (size * (size + 1) // 2,):
        raise Damaged("a triangular matrix has another number of entries than it should")
    array = np.zeros((*packed.shape[:-1], size, size), packed.dtype)
    array[(..., *np.tril_indices(size))] = packed
    return array


def _encode_object(value: Any, keep: Callable[[np.ndarray], int], where: str) -> dict[str, Any]:
    cls = type(value)
    if cls not in _names():
        raise _unsavable(value, where)
    parts = {name: encode(getattr(value, name), keep, f"{where}.{name}") for name in _field_names(cls)}
    return {"class": _names()[cls], "fields": parts}


def _unsavable(value: Any, where: str) -> Unsavable:
    cls = type(value)
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return Unsavable(
            f"{where} is known by a function of Python, which a model file cannot hold: opening a file never runs "
            "anybody's code. Write it as text, as in Known('-k * x', k=1.0); or keep the script that fits the model."
        )
    return Unsavable(
        f"{where} is of the class {cls.__module__}.{cls.__qualname__}, which a model file cannot hold: it names "
        "classes of tinygp and onepath only, so that opening a file never runs anybody's code. Build it from tinygp's "
        "kernels and onepath's laws to save the model, or keep the Python script that made it."
    )


def _plain_array(value: Any, where: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise Unsavable(f"{where} is an array of {array.dtype}, and a model file holds numbers only.")
    return array


def decode(code: Any, arrays: Mapping[int, np.ndarray]) -> Any:
    """The value behind a code; whatever does not fit is a sign of damage."""
    if code is None or isinstance(code, bool | int | float | str):
        return code
    if not isinstance(code, dict):
        raise Damaged("a value is written as a bare list")
    match code:
        case {"array": int(index)} if index in arrays:
            return arrays[index]
        case {"lower": int(index), "size": int(size)} if index in arrays:
            return _lower(arrays[index], size)
        case {"float": "nan" | "inf" | "-inf" as text}:
            return float(text)
        case {"dict": list(pairs)}:
            return {key: decode(item, arrays) for key, item in pairs}
        case {"list": list(items)}:
            return [decode(item, arrays) for item in items]
        case {"tuple": list(items)}:
            return tuple(decode(item, arrays) for item in items)
        case {"law": str(name)}:
            return _law(name)
        case {"function": str(name)} if name in FUNCTIONS:
            return FUNCTIONS[name]
        case {"generator": str(name), "state": state} if name in GENERATORS:
            bits = GENERATORS[name]()
            bits.state = decode(state, arrays)
            return np.random.Generator(bits)
        case {"class": str(name), "fields": dict(parts)}:
            return _object(name, {key: decode(part, arrays) for key, part in parts.items()})
    raise Damaged(f"a value is written in no known way: {str(code)[:60]}")


def _law(name: str) -> Any:
    if name not in LAWS:
        raise Damaged(f"it names the transition law {name!r}, which this version of onepath does not have")
    return LAWS[name]


def _plain(name: str) -> str:
    """Version 0.1.0 told where in tinygp a class lived."""
    return f"tinygp.{name.rsplit('.', 1)[1]}" if name.startswith("tinygp.") else name


def _object(name: str, parts: dict[str, Any]) -> Any:
    name, parts = FORMER[name](parts) if name in FORMER else (_plain(name), parts)
    cls = known_classes().get(name)
    if cls is None:
        raise Damaged(f"it names the class {name!r}, which is none of a model's")
    known = _field_names(cls)
    unknown = [part for part in parts if part not in known]
    if unknown:
        raise Damaged(f"its {cls.__name__} has the field {unknown[0]!r}, which this version of onepath does not have")
    if not is_dataclass(cls):
        missing = [part for part in known if part not in parts and part not in cls._field_defaults]  # type: ignore[attr-defined]
        if missing:
            raise Damaged(f"its {cls.__name__} lacks {missing[0]!r}")
        return cls(**parts)
    made = object.__new__(cls)
    for field in fields(cls):
        if field.name in parts:
            value = parts[field.name]
        elif field.default is not MISSING:
            value = field.default
        else:
            raise Damaged(f"its {cls.__name__} lacks {field.name!r}, which this version of onepath needs")
        object.__setattr__(made, field.name, value)
    return made
