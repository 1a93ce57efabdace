"""Fitted objects as JSON and arrays, and back: only classes of a fixed list, nothing that runs.

A module, dataclass or named tuple is written as its class's name and its fields; a transition law as its name; an array
as a reference to a file of its own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import numpy as np
from tinygp import kernels, transforms
from tinygp.kernels import base, distance, stationary

import onepath.features
import onepath.graph
import onepath.kernels
import onepath.learning.optimisers
import onepath.posterior
import onepath.stiffness
import onepath.trajectory
import onepath.transitions
from onepath.transition import LAWS, Law

GENERATORS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}


class Unsavable(TypeError):
    """Something that a model file cannot hold."""


class Damaged(ValueError):
    """A file that is no whole model file."""


def _modules_of(module: ModuleType) -> list[type]:
    return [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, eqx.Module)]


OWN: dict[str, type] = {
    "Matern": onepath.kernels.Matern,
    "Linear": onepath.kernels.Linear,
    "Cubic": onepath.kernels.Cubic,
    "Basis": onepath.features.Basis,
    "UnknownFunction": onepath.features.UnknownFunction,
    "Graph": onepath.graph.Graph,
    "Member": onepath.posterior.Member,
    "Posterior": onepath.posterior.Posterior,
    "Trajectory": onepath.trajectory.Trajectory,
    "Units": onepath.transitions.Units,
    "Found": onepath.learning.optimisers.Found,
    "Stiffness": onepath.stiffness.Stiffness,
}
"""Classes of this package by the name that files call them by, wherever they live."""

FORMER = {
    "onepath.kernels.Matern": "Matern",
    "onepath.kernels.Linear": "Linear",
    "onepath.kernels.Cubic": "Cubic",
    "onepath.features.Basis": "Basis",
    "onepath.features.UnknownFunction": "UnknownFunction",
    "onepath.graph.Graph": "Graph",
    "onepath.posterior.Member": "Member",
    "onepath.posterior.Posterior": "Posterior",
    "onepath.trajectory.Trajectory": "Trajectory",
    "onepath.transitions.Units": "Units",
    "onepath.learning.optimisers.Found": "Found",
    "onepath.stiffness.Stiffness": "Stiffness",
}
"""What version 0.1.0 called them: where they lived then."""


@cache
def known_classes() -> dict[str, type]:
    """Every class that a model file may name, by its name."""
    foreign = [found for home in (kernels, base, stationary, distance, transforms) for found in _modules_of(home)]
    return OWN | {f"tinygp.{cls.__qualname__}": cls for cls in foreign}


@cache
def _names() -> dict[type, str]:
    return {cls: name for name, cls in known_classes().items()}


def _class(name: str) -> type | None:
    """The class behind a name of today's, or of version 0.1.0's."""
    if name.startswith("tinygp."):
        name = f"tinygp.{name.rsplit('.', 1)[1]}"
    return known_classes().get(FORMER.get(name, name))


def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else cls._fields  # type: ignore[attr-defined]


def encode(value: Any, keep: Callable[[np.ndarray], int], where: str = "model") -> Any:
    """A value as JSON; `keep` takes an array and gives the number of its file."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return encode(value.item(), keep, where)
    if isinstance(value, np.ndarray | jax.Array):
        return {"array": keep(_plain_array(value, where))}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, dict):
        return {"dict": [[str(key), encode(item, keep, f"{where}[{key!r}]")] for key, item in value.items()]}
    if type(value) in (list, tuple):
        return {type(value).__name__: [encode(item, keep, f"{where}[{i}]") for i, item in enumerate(value)]}
    if isinstance(value, Law):
        return {"law": next(name for name, law in LAWS.items() if law == value)}
    if isinstance(value, np.random.Generator):
        state = encode(value.bit_generator.state, keep, where)
        return {"generator": type(value.bit_generator).__name__, "state": state}
    return _encode_object(value, keep, where)


def _encode_object(value: Any, keep: Callable[[np.ndarray], int], where: str) -> dict[str, Any]:
    cls = type(value)
    if cls not in _names():
        raise Unsavable(
            f"{where} is of the class {cls.__module__}.{cls.__qualname__}, which a model file cannot hold: it names classes of tinygp and "
            "onepath only, so that opening a file never runs anybody's code. Build the kernel from tinygp's kernels "
            "to save the model, or keep the Python script that made it."
        )
    parts = {name: encode(getattr(value, name), keep, f"{where}.{name}") for name in _field_names(cls)}
    return {"class": _names()[cls], "fields": parts}


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


def _object(name: str, parts: dict[str, Any]) -> Any:
    cls = _class(name)
    if cls is None:
        raise Damaged(f"it names the class {name!r}, which is none of a model's")
    known = _field_names(cls)
    unknown = [part for part in parts if part not in known]
    if unknown:
        raise Damaged(f"its {cls.__name__} has the field {unknown[0]!r}, which this version of onepath does not have")
    if not is_dataclass(cls):
        missing = [part for part in known if part not in parts]
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
