"""Modules as equinox's, without what those do whenever they are read or changed."""

from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx

Some = TypeVar("Some", bound=eqx.Module)


class Module(eqx.Module):
    """A frozen dataclass whose fields JAX sees.

    Methods are Python's own, and no trees of their own: a fit reads fields and methods ten thousand times.
    """

    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__


def changed(module: Some, **fields: Any) -> Some:
    """The same with other fields: `dataclasses.replace` for modules, which have nothing to check a second time."""
    other = object.__new__(type(module))
    vars(other).update(vars(module) | fields)
    return other
