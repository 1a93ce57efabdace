"""The systems of `equations.py`: ten whose drift and squared noise are polynomials, six of which something is none."""

from typing import NamedTuple

import numpy as np

from onepath.compare.processes import PROCESSES, Process


class System(NamedTuple):
    """A process, and the terms of each drift and each squared noise as exponents; None for what is no polynomial."""

    process: Process
    drift: list | None
    noise: list | None


def _columns(*parts):
    return np.stack(np.broadcast_arrays(*parts), axis=-1)


def _diagonal(parts):
    return lambda x: parts(x)[..., None] * np.eye(x.shape[-1])


def _one(name, drift, squared, start=1.0, dt=0.01):
    return Process(name, drift, _diagonal(lambda x: np.sqrt(squared(x))), np.array([start]), dt, name)


def _several(name, drift, sigma, start, dt):
    def field(x):
        return _columns(*drift(*np.moveaxis(x, -1, 0)))

    return Process(name, field, _diagonal(lambda x: np.broadcast_to(sigma, x.shape)), np.array(start), dt, name)


def _powers(*terms):
    return [(term,) for term in terms]


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)

POLYNOMIAL = [
    System(PROCESSES["double_well"], [_powers(1, 3)], [_powers(0)]),
    System(PROCESSES["double_well_multiplicative"], [_powers(1, 3)], [_powers(0, 2)]),
    System(PROCESSES["cir"], [_powers(0, 1)], [_powers(1)]),
    System(PROCESSES["van_der_pol"], [[(0, 1)], [(0, 1), (2, 1), (1, 0)]], [[(0, 0), (2, 0)], [(0, 0), (0, 2)]]),
    System(
        PROCESSES["lorenz"],
        [[X, Y], [X, Y, (1, 0, 1)], [(1, 1, 0), Z]],
        [[(0, 0, 0), (2, 0, 0)], [(0, 0, 0), (0, 2, 0)], [(0, 0, 0), (0, 0, 2)]],
    ),
    System(
        _one("tilted_well", lambda x: 0.3 + x - x**3, lambda x: 0.16 + 0.1 * x**2),
        [_powers(0, 1, 3)],
        [_powers(0, 2)],
    ),
    System(
        _one("quintic_well", lambda x: -0.5 * x + 2 * x**3 - x**5, lambda x: 0.25 + 0 * x, dt=0.02),
        [_powers(1, 3, 5)],
        [_powers(0)],
    ),
    System(
        _several(
            "stuart_landau",
            lambda x, y: (x - 2 * y - x * (x**2 + y**2), 2 * x + y - y * (x**2 + y**2)),
            (0.4, 0.4),
            (1.0, 0.0),
            0.02,
        ),
        [[(1, 0), (0, 1), (3, 0), (1, 2)], [(1, 0), (0, 1), (2, 1), (0, 3)]],
        [[(0, 0)], [(0, 0)]],
    ),
    System(
        _several(
            "fitzhugh_nagumo",
            lambda x, y: (x - x**3 / 3 - y + 0.5, 0.2 * (x + 0.7 - 0.8 * y)),
            (0.25, 0.1),
            (0.0, 0.0),
            0.05,
        ),
        [[(0, 0), (1, 0), (0, 1), (3, 0)], [(0, 0), (1, 0), (0, 1)]],
        [[(0, 0)], [(0, 0)]],
    ),
    System(
        _several(
            "well_with_followers",
            lambda x, y, z: (x - x**3 + 0.5 * y, x - y, x * y - 2 * z),
            (0.5, 0.4, 0.5),
            (1.0, 0.0, 0.0),
            0.02,
        ),
        [[X, Y, (3, 0, 0)], [X, Y], [(1, 1, 0), Z]],
        [[(0, 0, 0)]] * 3,
    ),
]

OTHER = [
    System(PROCESSES["wiggly"], None, None),
    System(PROCESSES["washboard"], None, None),
    System(PROCESSES["exponential"], [_powers(1)], None),
    System(
        _one("switch", lambda x: 0.1 + 2 * x**4 / (1 + x**4) - x, lambda x: 0.04 + 0 * x, dt=0.05), None, [_powers(0)]
    ),
    System(_one("saturating", lambda x: -2 * np.tanh(3 * x), lambda x: 0.5 / (1 + x**2), dt=0.02), None, None),
    System(
        _several("pendulum", lambda x, v: (v, -4 * np.sin(x) - 0.5 * v), (0.1, 1.5), (0.0, 0.0), 0.02),
        None,
        [[(0, 0)], [(0, 0)]],
    ),
]

SYSTEMS = {each.process.name: each for each in POLYNOMIAL + OTHER}
