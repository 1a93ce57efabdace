"""Kernels are tinygp's; here they become several outputs, terms of a sum, and one named vector of logarithms."""

from collections.abc import Iterator
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp import kernels
from tinygp.kernels import Kernel

from onepath.linalg import constant

Tree = TypeVar("Tree")

STRUCTURAL = ("order", "lower", "upper")
"""Fields that say what a kernel is, not how large or how smooth: never learned."""


class Matern(Kernel):
    """amplitude² (1 + √5 r + 5r²/3) exp(-√5 r) with one length scale per dimension: r² = Σ ((x - x') / scale)²."""

    amplitude: Float[Array, ""]
    scale: Float[Array, " d"]

    def evaluate(self, X1: Array, X2: Array) -> Array:
        square = 5.0 * jnp.sum(jnp.square((X1 - X2) / self.scale))
        apart = square > 0.0
        r = jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), 0.0)
        return jnp.square(self.amplitude) * (1.0 + r + square / 3.0) * jnp.exp(-r)


class Linear(Kernel):
    """amplitude² (1 + x·x'): straight lines; written for x in standard deviations."""

    amplitude: Float[Array, ""]

    def evaluate(self, X1: Array, X2: Array) -> Array:
        return jnp.square(self.amplitude) * (1.0 + X1 @ X2)


class Cubic(Kernel):
    """amplitude² (1 + x·x' / 4)³: cubic polynomials of order 1 two standard deviations from the mean.

    Beyond the box from `lower` to `upper`, which holds the data, they stay what they are at its edge: a cubic that is
    known only inside says nothing outside.
    """

    amplitude: Float[Array, ""]
    lower: Float[Array, " d"]
    upper: Float[Array, " d"]

    def evaluate(self, X1: Array, X2: Array) -> Array:
        X1, X2 = jnp.clip(X1, self.lower, self.upper), jnp.clip(X2, self.lower, self.upper)
        return jnp.square(self.amplitude) * (1.0 + X1 @ X2 / 4.0) ** 3


def default_drift_kernel(lower: Float[Array, " d"], upper: Float[Array, " d"]) -> Kernel:
    """Simple laws as simple laws (a line, a cubic), and a smooth rest; standardised, the data from lower to upper."""
    smooth = Matern(constant(0.5), constant(np.full(len(lower), 1.5)))
    return Linear(constant(0.7)) + Cubic(constant(0.2), lower, upper) + smooth


def default_diffusion_kernel(dimension: int) -> Kernel:
    """A slope and a smooth rest, around the level that the link's offset sets; in standardised units."""
    return Linear(constant(0.15)) + Matern(constant(0.15), constant(np.full(dimension, 1.5)))


def check_kernel(kernel: Any, role: str, dimension: int) -> None:
    """Refuse what is not a kernel, or does not take points of this dimension, before any work is done."""
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"{role} must be a tinygp kernel such as tinygp.kernels.Matern52(scale=0.5), or None for the default "
            f"prior; got {type(kernel).__name__}."
        )
    point = jnp.zeros(dimension)
    try:
        shape = jnp.shape(kernel.evaluate(point, point))
    except Exception as error:
        raise ValueError(
            f"The kernel given as {role} cannot be evaluated on points of shape ({dimension},)."
        ) from error
    if shape != ():
        raise ValueError(
            f"The kernel given as {role} returns an array of shape {shape} for one pair of points of shape "
            f"({dimension},); it must return one number. Length scales per dimension go into "
            "tinygp.transforms.Linear."
        )
    points = jnp.asarray(np.random.default_rng(0).standard_normal((64, dimension)))
    values = np.linalg.eigvalsh(np.asarray(kernel(points, points)))
    if not values[0] >= -1e-6 * values.sum():
        raise ValueError(
            f"The kernel given as {role} is no covariance in {dimension} dimensions: a sum of its values would have a "
            "negative variance. Most of tinygp's stationary kernels measure distances by L1, which is only good in one "
            "dimension; pass distance=tinygp.kernels.distance.L2Distance()."
        )


def stacked(kernel: Kernel, outputs: int) -> Kernel:
    """The same kernel for several outputs: every float parameter gets a leading axis of that size."""

    def spread(leaf: Any) -> Any:
        if not eqx.is_inexact_array_like(leaf):
            return leaf
        return constant(np.broadcast_to(leaf, (outputs, *np.shape(leaf))))

    return jax.tree.map(spread, kernel)


def output(kernel: Kernel, index: int) -> Kernel:
    """The kernel of one output of a stacked kernel."""
    return jax.tree.map(lambda leaf: leaf[index] if eqx.is_inexact_array(leaf) else leaf, kernel)


def terms(kernel: Kernel) -> tuple[Kernel, ...]:
    """The terms of a sum, however it is nested; anything else is one term."""
    if isinstance(kernel, kernels.Sum):
        return terms(kernel.kernel1) + terms(kernel.kernel2)
    return (kernel,)


def _named_leaves(node: Any, path: str, seen: dict[str, int]) -> Iterator[tuple[str, Any]]:
    """Leaves in flattening order, named by class and field; sums and products leave no trace in the name."""
    if isinstance(node, kernels.Sum | kernels.Product):
        for part in (node.kernel1, node.kernel2):
            yield from _named_leaves(part, path, seen)
    elif isinstance(node, Kernel):
        name = f"{path}.{type(node).__name__.lower()}"
        seen[name] = seen.get(name, 0) + 1
        name += f"_{seen[name]}" if seen[name] > 1 else ""
        yield from _fields(node, name, seen)
    elif isinstance(node, eqx.Module):
        yield from _fields(node, path, seen)
    else:
        yield from ((path, leaf) for leaf in jax.tree.leaves(node))


def _fields(node: Any, path: str, seen: dict[str, int]) -> Iterator[tuple[str, Any]]:
    for field in node.__dataclass_fields__.values():
        if not field.metadata.get("static", False):
            name = f"{path}.{field.name}" if path else field.name
            yield from _named_leaves(getattr(node, field.name), name, seen)


def learnable(tree: Any) -> tuple[bool, ...]:
    """Which leaves are parameters: positive floats, so that their logarithm exists, and not structure."""

    def counts(name: str, leaf: Any) -> bool:
        if name.rsplit(".", 1)[-1] in STRUCTURAL or not eqx.is_inexact_array(leaf):
            return False
        return bool(np.all(np.asarray(leaf) > 0.0))

    return tuple(counts(name, leaf) for name, leaf in _named_leaves(tree, "", {}))


def parameter_names(tree: Any, which: tuple[bool, ...]) -> tuple[str, ...]:
    """One name for each entry of the parameter vector; entries of an array are numbered, a lone one is not."""
    names = []
    for (name, leaf), used in zip(_named_leaves(tree, "", {}), which, strict=True):
        if used and leaf.size == 1:
            names.append(name)
        elif used:
            names += [f"{name}[{','.join(map(str, index))}]" for index in np.ndindex(leaf.shape)]
    return tuple(names)


def pack(tree: Any, which: tuple[bool, ...]) -> Float[Array, " k"]:
    """All parameters as one vector of logarithms."""
    chosen = [np.log(np.asarray(leaf)).ravel() for leaf, used in zip(jax.tree.leaves(tree), which, strict=True) if used]
    return constant(np.concatenate(chosen) if chosen else [])


def unpack(tree: Tree, which: tuple[bool, ...], logarithms: Float[Array, " k"]) -> Tree:
    """The same tree with the parameters of this vector."""
    leaves, structure = jax.tree.flatten(tree)
    start = 0
    for i, used in enumerate(which):
        if used:
            size = leaves[i].size
            leaves[i] = jnp.exp(logarithms[start : start + size]).reshape(leaves[i].shape)
            start += size
    return jax.tree.unflatten(structure, leaves)
