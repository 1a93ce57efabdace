"""What a completed graph says of the steps from its cells."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from onepath.data.cells import Cells
from onepath.graph.graph import Graph
from onepath.numerics.arrays import Floats
from onepath.numerics.blocks import Blocks
from onepath.numerics.compiled import Bound, Fixed, compiled


class Steps(NamedTuple):
    """Means (c, d) and variances (c, d) of increments, entries of σ (c, entries) over their units, and λ (d,)."""

    mean: Floats
    variance: Floats
    sigma: Floats
    noise: Floats


@compiled
def _steps(
    latent: Float[Array, "c f k"], u: Float[Array, "c d"], dt: Float[Array, " c"], graph: Graph
) -> tuple[Array, Array, Array]:
    mean, covariance = jax.vmap(graph.gaussian)(latent, u, dt)
    values = latent[:, graph.drifts : graph.drifts + len(graph.unit), 0]
    sigma = graph.entries(values) / graph.unit
    return mean, jnp.diagonal(covariance, axis1=1, axis2=2), sigma


def steps_at(graph: Graph, latent: Floats, cells: Cells) -> Steps:
    """At latents (c, functions, k) of cells."""
    bare = graph.bare
    blocks = Blocks.of(*np.shape(cells.x))
    program = Bound(_steps, Fixed(bare))
    parts = [program(*part) for part in zip(*(blocks.cut(each) for each in (latent, cells.x, cells.dt)), strict=True)]
    mean, variance, sigma = (blocks.joined(list(each)) for each in zip(*parts, strict=True))
    return Steps(mean, variance, sigma, np.asarray(graph.noise) * np.asarray(graph.noise_unit))
