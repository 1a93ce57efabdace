"""θ: the parameters of kernels as one vector of logarithms, and what each entry of it is.

A class says what its fields are: `parameter(LENGTH)`, with a spread of its own or one from `spreads`, a static field
that has an entry for each of them. What says nothing, such as a kernel of the user's, is learned under a weak prior.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp import kernels
from tinygp.kernels import Kernel

from onepath.numerics.linalg import constant, has_floats

Tree = TypeVar("Tree")
Mask = tuple[bool, ...]
"""Which leaves of a tree are learned."""

AMPLITUDE, LENGTH, REACH, LEVEL, NOISE = "amplitude", "length", "reach", "level", "noise"
STRUCTURE, GIVEN = "structure", "given"
"""Roles: how large, how smooth, how far an input must move to matter, a link's level, λ, what is never learned, and
what nobody has said anything of."""

GIVEN_SPREAD = 3.0
"""Standard deviation of the logarithm of a parameter of which nothing is said."""

COUNTS: dict[type, str] = {kernels.Polynomial: "order"}
"""Fields of tinygp's that say what a kernel is, not how large or how smooth."""


def parameter(role: str, spread: float | None = None) -> Any:
    """A field of a module that is a parameter: its role, and the standard deviation of its logarithm beforehand."""
    return eqx.field(metadata={"role": role, "spread": spread})


class Parameter(NamedTuple):
    """One entry of θ."""

    name: str  # as users write it: "drift.matern.scale[0,1]"
    stem: str  # without its index
    function: str  # the field of the whole that it is in: "drift", "diffusion", "level", "noise"
    owner: str  # the kernel that it belongs to: "drift.matern"
    role: str
    spread: float
    place: tuple[int, ...]  # output first, then input


class Leaf(NamedTuple):
    """A leaf of a tree of parameters, and what its class says of it."""

    name: str
    owner: str
    value: Any
    role: str
    spread: float


def _leaves(
    node: Any, path: str, seen: dict[str, int], role: str = GIVEN, spread: float = GIVEN_SPREAD
) -> Iterator[Leaf]:
    """Leaves in flattening order, named by class and field; sums, products and tuples leave no trace in the name."""
    if isinstance(node, kernels.Sum | kernels.Product):
        for part in (node.kernel1, node.kernel2):
            yield from _leaves(part, path, seen)
    elif isinstance(node, tuple):
        for part in node:
            yield from _leaves(part, path, seen)
    elif isinstance(node, Kernel):
        name = f"{path}.{type(node).__name__.lower()}"
        seen[name] = seen.get(name, 0) + 1
        name += f"_{seen[name]}" if seen[name] > 1 else ""
        yield from _fields(node, name, seen)
    elif isinstance(node, eqx.Module):
        yield from _fields(node, path, seen)
    else:
        owner = path.rsplit(".", 1)[0]
        yield from (Leaf(path, owner, leaf, role, spread) for leaf in jax.tree.leaves(node))


def _fields(node: Any, path: str, seen: dict[str, int]) -> Iterator[Leaf]:
    assert is_dataclass(node)
    spreads = iter(getattr(node, "spreads", ()))
    for field in fields(node):
        if field.metadata.get("static", False):
            continue
        name = f"{path}.{field.name}" if path else field.name
        role = STRUCTURE if COUNTS.get(type(node)) == field.name else field.metadata.get("role", GIVEN)
        spread = field.metadata.get("spread")
        if spread is None:
            spread = next(spreads, GIVEN_SPREAD) if role not in (GIVEN, STRUCTURE) else GIVEN_SPREAD
        yield from _leaves(getattr(node, field.name), name, seen, role, spread)


def learnable(tree: Any) -> Mask:
    """Which leaves are parameters: positive floats, so that their logarithm exists, and not structure."""

    def counts(leaf: Leaf) -> bool:
        if leaf.role == STRUCTURE or not has_floats(leaf.value):
            return False
        return bool(np.all(np.asarray(leaf.value) > 0.0))

    return tuple(counts(leaf) for leaf in _leaves(tree, "", {}))


def parameters_of(tree: Any, mask: Mask) -> tuple[Parameter, ...]:
    """What each entry of the parameter vector is; entries of an array are numbered, a lone one is not."""
    found = []
    for leaf, used in zip(_leaves(tree, "", {}), mask, strict=True):
        if not used:
            continue
        function = leaf.name.split(".")[0]
        for index in np.ndindex(leaf.value.shape):
            number = "" if leaf.value.size == 1 else f"[{','.join(map(str, index))}]"
            found.append(Parameter(leaf.name + number, leaf.name, function, leaf.owner, leaf.role, leaf.spread, index))
    return tuple(found)


def pack(tree: Any, mask: Mask) -> Float[np.ndarray, " k"]:
    """θ: all parameters as one vector of logarithms."""
    chosen = [np.log(np.asarray(leaf)).ravel() for leaf, used in zip(jax.tree.leaves(tree), mask, strict=True) if used]
    return constant(np.concatenate(chosen) if chosen else [])


def unpack(tree: Tree, mask: Mask, theta: Float[Array | np.ndarray, " k"]) -> Tree:
    """The same tree with the parameters of this vector."""
    leaves, structure = jax.tree.flatten(tree)
    values, start = jnp.exp(theta) if isinstance(theta, jax.core.Tracer) else np.exp(np.asarray(theta)), 0
    for i, used in enumerate(mask):
        if used:
            own = values[start : start + leaves[i].size].reshape(leaves[i].shape)
            leaves[i] = own if isinstance(own, jax.Array) else constant(own)
            start += leaves[i].size
    return jax.tree.unflatten(structure, leaves)
