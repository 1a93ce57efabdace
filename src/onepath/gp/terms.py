"""Terms of equations: monomials about the zero of the user's own coordinates, and functions that the user names.

Coordinates are in standard deviations, z = x / scale: then an equation is the same one in other units, and zero stays
where it is. Those after the state's are columns of inputs, along which no derivatives are taken.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.gp.jets import jet_of, packed
from onepath.numerics.arrays import Floats, Integers
from onepath.numerics.compiled import compiled
from onepath.numerics.modules import Module

Exponents = tuple[tuple[int, ...], ...]
"""Of each monomial, one for each coordinate."""


def monomials(dimension: int, degree: int) -> Exponents:
    """All up to a total degree, the constant first."""
    picks = [pick for total in range(degree + 1) for pick in combinations_with_replacement(range(dimension), total)]
    return tuple(tuple(pick.count(i) for i in range(dimension)) for pick in picks)


class Terms(Module):
    """Functions of a point: monomials in z = origin + u, and the user's own, of a state x = scale z.

    A user's function takes a state in the data's units, a number in one dimension, and gives a number. `state` is how
    many of the coordinates are the state's; None for all.
    """

    origin: Float[Array | np.ndarray, " dq"]
    scale: Float[Array | np.ndarray, " dq"]
    exponents: Exponents = eqx.field(static=True)
    own: tuple[tuple[str, Callable[[Any], Any]], ...] = eqx.field(static=True, default=())  # with their names
    state: int | None = eqx.field(static=True, default=None)

    @property
    def dimension(self) -> int:
        """Of the state."""
        return len(self.exponents[0]) if self.state is None else self.state

    @property
    def count(self) -> int:
        return len(self.exponents) + len(self.own)

    @property
    def degrees(self) -> Integers:
        """Of each term; the user's own count as straight lines."""
        return np.asarray([*map(sum, self.exponents), *[1] * len(self.own)])

    def jets(self, u: Floats, order: int = 0) -> Floats:
        """Values at points (n, dq), with derivatives up to this order, 0 or 2, packed as in a jet: (n, k, terms)."""
        parts = [self._powers(u, order, np)]
        if self.own:
            parts.append(np.asarray(_own_jets(u, self, order)))
        return np.concatenate(parts, axis=2)

    def traced(self, u: Float[Array, "n dq"], order: int = 0) -> Float[Array, "n k terms"]:
        """The same inside of a compiled program."""
        parts = [self._powers(u, order, jnp)]
        return jnp.concatenate([*parts, self._own(u, order)] if self.own else parts, axis=2)

    def units(self) -> Floats:
        """What a coefficient of each term in z is divided by for one in x."""
        ln = np.log(np.asarray(self.scale))
        return np.exp([*(np.asarray(powers) @ ln for powers in self.exponents), *[0.0] * len(self.own)])

    def _powers(self, u: Any, order: int, xp: Any) -> Any:
        """Monomials are products of powers, and so are their derivatives."""
        factors, exponents = _derivatives(self.exponents, order, self.dimension)
        z, most = u + self.origin, int(exponents.max(initial=0))
        powers = [xp.ones_like(z)]
        for _ in range(most):
            powers.append(powers[-1] * z)
        table = xp.stack(powers, axis=2)
        value = factors * table[:, 0, exponents[..., 0]]
        for i in range(1, exponents.shape[2]):
            value = value * table[:, i, exponents[..., i]]
        return value

    def _own(self, u: Float[Array, "n dq"], order: int) -> Float[Array, "n k own"]:
        d = self.dimension

        def value(one: Array) -> Array:
            x = self.scale[:d] * (one[:d] + self.origin[:d])
            state = x[0] if len(x) == 1 else x
            return jnp.stack([jnp.asarray(function(state), x.dtype) for _, function in self.own])

        if order == 0:
            return jax.vmap(value)(u)[:, None]
        return jax.vmap(lambda one: packed(jet_of(value, one, d)))(u)


@compiled
def _own_jets(u: Float[Array, "n dq"], terms: Terms, order: int) -> Float[Array, "n k own"]:
    return terms._own(jnp.asarray(u), order)


def _derivatives(exponents: Exponents, order: int, d: int) -> tuple[Floats, Integers]:
    """Factors (k, terms) and exponents (k, terms, dq) of monomials and of their derivatives, packed as in a jet."""
    powers = np.asarray(exponents)
    factors, found = [np.ones(len(powers))], [powers]
    if order:
        one = np.eye(powers.shape[1], dtype=int)
        factors += [powers[:, i].astype(float) for i in range(d)]
        found += [powers - one[i] for i in range(d)]
        pairs = [(i, j) for i in range(d) for j in range(i, d)]
        factors += [powers[:, i] * (powers[:, j] - float(i == j)) for i, j in pairs]
        found += [powers - one[i] - one[j] for i, j in pairs]
    return np.stack(factors), np.maximum(np.stack(found), 0)
