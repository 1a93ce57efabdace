"""The structure of a result as data, and back: which classes of known packages hold which arrays, nothing that runs."""

import dataclasses
from importlib import import_module
from typing import Any

PLAIN = (bool, int, float, str, type(None))
KNOWN = {"onepath", "tinygp", "equinox"}
"""Packages whose classes results are made of."""


class Slot:
    """Stands for an array in the result of a program."""


class Unknown(Exception):
    """A structure that is none of a result's."""


def as_data(node: Any) -> Any:
    """A result with slots in the place of arrays, as JSON."""
    if isinstance(node, Slot):
        return {"slot": 0}
    if isinstance(node, PLAIN):
        return {"plain": node}
    if type(node) in (list, tuple):
        return {type(node).__name__: [as_data(item) for item in node]}
    if type(node) is dict and all(isinstance(key, str) for key in node):
        return {"dict": {key: as_data(item) for key, item in node.items()}}
    cls = type(node)
    if cls.__module__.split(".")[0] not in KNOWN or "<locals>" in cls.__qualname__:
        raise Unknown(f"{cls.__module__}.{cls.__qualname__}")
    parts = {name: as_data(getattr(node, name)) for name in _fields(cls)}
    return {"class": f"{cls.__module__}:{cls.__qualname__}", "fields": parts}


def from_data(code: Any) -> Any:
    """The result that `as_data` has written."""
    match code:
        case {"slot": 0}:
            return Slot()
        case {"plain": bool() | int() | float() | str() | None as value}:
            return value
        case {"list": list(items)}:
            return [from_data(item) for item in items]
        case {"tuple": list(items)}:
            return tuple(from_data(item) for item in items)
        case {"dict": dict(items)}:
            return {key: from_data(item) for key, item in items.items()}
        case {"class": str(name), "fields": dict(parts)}:
            return _object(name, {key: from_data(part) for key, part in parts.items()})
    raise Unknown(str(code)[:60])


def _fields(cls: type) -> tuple[str, ...]:
    """Names of what an object of this class holds: a dataclass's or a named tuple's."""
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return tuple(cls._fields)
    raise Unknown(cls.__qualname__)


def _object(name: str, parts: dict[str, Any]) -> Any:
    module, _, path = name.partition(":")
    if module.split(".")[0] not in KNOWN:
        raise Unknown(name)
    cls: Any = import_module(module)
    for part in path.split("."):
        cls = getattr(cls, part)
    if not isinstance(cls, type) or set(parts) != set(_fields(cls)):
        raise Unknown(name)
    if not dataclasses.is_dataclass(cls):
        return cls(**parts)
    made = object.__new__(cls)
    for key, part in parts.items():
        object.__setattr__(made, key, part)
    return made
