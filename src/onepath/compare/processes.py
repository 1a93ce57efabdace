"""Stochastic differential equations dX = f(X) dt + σ(X) dW whose drift and diffusion are known.

Drifts map (..., d) to (..., d) and diffusions map (..., d) to (..., d, d), for every d from 1 on.
`PROCESSES` holds the equations, `PAPER_TRAJECTORIES` the six records of the one-shot paper.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onepath.numerics.arrays import Floats

Field = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Process:
    """dX = f(X) dt + σ(X) dW with known f and σ; σ may be signed or lower triangular."""

    name: str  #: a word
    drift: Field  #: f, from (..., d) to (..., d)
    diffusion: Field  #: σ, from (..., d) to (..., d, d)
    start: Floats  #: (d,), where paths begin unless told otherwise
    dt: float  #: time between observations unless told otherwise
    equation: str  #: as it is printed

    @property
    def dimension(self) -> int:
        """Of the state."""
        return len(self.start)

    def simulate(
        self,
        steps: int,
        *,
        dt: float | None = None,
        paths: int = 1,
        substeps: int = 10,
        start: npt.ArrayLike | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Floats:
        """Observe `paths` Euler-Maruyama paths every `dt`: (paths, steps + 1, d).

        Each observed step takes `substeps` fine steps h = dt / substeps,  X ← X + f(X) h + σ(X) √h ξ.
        `start` is one point (d,) for all paths or one per path (paths, d).
        """
        if substeps < 1:
            raise ValueError(f"substeps is {substeps}, but a step needs at least one fine step; use 1 for plain Euler")
        fine_dt = (self.dt if dt is None else dt) / substeps
        if fine_dt <= 0:
            raise ValueError(f"dt is {dt}, but time must move forward; give a positive step")
        random = np.random.default_rng(random_state)
        observed = np.empty((paths, steps + 1, self.dimension))
        observed[:, 0] = self.start if start is None else start
        x = observed[:, 0].copy()
        for step in range(steps):
            for noise in random.standard_normal((substeps, paths, self.dimension)):
                x = euler_step(x, self.drift(x), self.diffusion(x), fine_dt, noise)
            observed[:, step + 1] = x
        return observed


def euler_step(x: Floats, drift: Floats, diffusion: Floats, dt: float, noise: Floats) -> Floats:
    """X + f dt + σ √dt ξ."""
    return x + drift * dt + np.sqrt(dt) * (diffusion @ noise[..., None])[..., 0]


def _diagonal(scale: Field) -> Field:
    """σ(x) = diag(scale(x)): every coordinate has its own Brownian motion."""
    return lambda x: scale(x)[..., None] * np.eye(x.shape[-1])


def _constant(matrix: npt.ArrayLike) -> Field:
    """σ(x) = matrix, everywhere."""
    sigma = np.asarray(matrix, dtype=float)
    return lambda x: np.broadcast_to(sigma, (*x.shape, x.shape[-1]))


def _linear(matrix: npt.ArrayLike) -> Field:
    """f(x) = matrix · x."""
    coefficients = np.asarray(matrix, dtype=float)
    return lambda x: x @ coefficients.T


def _van_der_pol(state: Floats) -> Floats:
    x, y = state[..., 0], state[..., 1]
    return np.stack([y, (1 - x**2) * y - x], axis=-1)


def _double_well_2d(state: Floats) -> Floats:
    """Minus the gradient of (x² - 1)²/4 + (x - y)²/2."""
    x, y = state[..., 0], state[..., 1]
    return np.stack([y - x**3, x - y], axis=-1)


def _lorenz(state: Floats) -> Floats:
    x, y, z = state[..., 0], state[..., 1], state[..., 2]
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=-1)


def _process(
    name: str, equation: str, drift: Field, diffusion: Field, start: tuple[float, ...] = (0.0,), dt: float = 0.01
) -> Process:
    return Process(name, drift, diffusion, np.array(start), dt, equation)


_CATALOGUE = [
    # the paper's families
    _process("exponential", "dX = -5 X dt + exp(-X²) dW", lambda x: -5 * x, _diagonal(lambda x: np.exp(-(x**2)))),
    _process(
        "trigonometric",
        "dX = sin(2πX) dt + cos(2πX) dW",
        lambda x: np.sin(2 * np.pi * x),
        _diagonal(lambda x: np.cos(2 * np.pi * x)),
        start=(0.4,),
        dt=0.001,
    ),
    _process("gbm", "dX = 2 X dt + X dW", lambda x: 2 * x, _diagonal(lambda x: x), start=(1.0,), dt=0.001),
    _process("ou", "dX = -5 X dt + dW", lambda x: -5 * x, _constant([[1.0]]), start=(1.0,), dt=0.001),
    # one dimension
    _process("ou_slow", "dX = -X dt + 0.7 dW", lambda x: -x, _constant([[0.7]]), dt=0.05),
    _process("double_well", "dX = (X - X³) dt + 0.5 dW", lambda x: x - x**3, _constant([[0.5]]), start=(1.0,)),
    _process(
        "double_well_multiplicative",
        "dX = (X - X³) dt + 0.5 √(1 + X²) dW",
        lambda x: x - x**3,
        _diagonal(lambda x: 0.5 * np.sqrt(1 + x**2)),
        start=(1.0,),
    ),
    _process(
        "wiggly",
        "dX = (-X + 1.5 sin 4X) dt + (0.6 + 0.25 tanh 3X) dW",
        lambda x: -x + 1.5 * np.sin(4 * x),
        _diagonal(lambda x: 0.6 + 0.25 * np.tanh(3 * x)),
    ),
    _process(
        "cir",
        "dX = 2 (1 - X) dt + 0.8 √max(X, 0) dW",
        lambda x: 2 * (1 - x),
        _diagonal(lambda x: 0.8 * np.sqrt(np.maximum(x, 0))),
        start=(1.0,),
    ),
    _process(
        "quadratic_noise", "dX = -X dt + √(0.3 + X²/2) dW", lambda x: -x, _diagonal(lambda x: np.sqrt(0.3 + x**2 / 2))
    ),
    _process(
        "logistic", "dX = X (1 - X) dt + 0.4 X dW", lambda x: x * (1 - x), _diagonal(lambda x: 0.4 * x), start=(1.0,)
    ),
    _process(
        "washboard",
        "dX = -2 sin 2X dt + (0.8 + 0.2 cos 2X) dW",
        lambda x: -2 * np.sin(2 * x),
        _diagonal(lambda x: 0.8 + 0.2 * np.cos(2 * x)),
        dt=0.02,
    ),
    # two and three dimensions
    _process(
        "spiral",
        "dX = (-0.5 X - 2 Y) dt + 0.5 dW₁,  dY = (2 X - 0.5 Y) dt + 0.3 dW₁ + 0.4 dW₂",
        _linear([[-0.5, -2.0], [2.0, -0.5]]),
        _constant([[0.5, 0.0], [0.3, 0.4]]),
        start=(1.0, 0.0),
        dt=0.02,
    ),
    _process(
        "van_der_pol",
        "dX = Y dt + 0.2 √(1 + X²/4) dW₁,  dY = ((1 - X²) Y - X) dt + 0.2 √(1 + Y²/4) dW₂",
        _van_der_pol,
        _diagonal(lambda x: 0.2 * np.sqrt(1 + x**2 / 4)),
        start=(2.0, 0.0),
        dt=0.02,
    ),
    _process(
        "double_well_2d",
        "dX = (Y - X³) dt + 0.5 √(1 + X²/2) dW₁,  dY = (X - Y) dt + 0.5 √(1 + Y²/2) dW₂",
        _double_well_2d,
        _diagonal(lambda x: 0.5 * np.sqrt(1 + x**2 / 2)),
        start=(1.0, 1.0),
        dt=0.02,
    ),
    _process(
        "linear_3d",
        "dX = (-X + 0.5 Y) dt + 0.6 dW₁,  dY = (-0.5 X - Y + Z) dt + 0.3 dW₁ + 0.5 dW₂,  "
        "dZ = (0.3 X - Y - 0.8 Z) dt - 0.2 dW₁ + 0.2 dW₂ + 0.4 dW₃",
        _linear([[-1.0, 0.5, 0.0], [-0.5, -1.0, 1.0], [0.3, -1.0, -0.8]]),
        _constant([[0.6, 0.0, 0.0], [0.3, 0.5, 0.0], [-0.2, 0.2, 0.4]]),
        start=(0.0, 0.0, 0.0),
        dt=0.05,
    ),
    _process(
        "lorenz",
        "dX = 10 (Y - X) dt + √(1 + X²/100) dW₁,  dY = (X (28 - Z) - Y) dt + √(1 + Y²/100) dW₂,  "
        "dZ = (X Y - 8/3 Z) dt + √(1 + Z²/100) dW₃",
        _lorenz,
        _diagonal(lambda x: np.sqrt(1 + x**2 / 100)),
        start=(1.0, 1.0, 25.0),
    ),
]

PROCESSES = {process.name: process for process in _CATALOGUE}


@dataclass(frozen=True, eq=False)
class PaperTrajectory:
    """One record of the paper: dX = f(X) dt + b σ(X) dW, 2n Euler steps, half to train on and half to test on."""

    process: Process  #: of which it is a path
    scale: float  #: b, a factor of σ
    seed: int  #: of NumPy's legacy generator
    start: float  #: X₀
    dt: float  #: length of Euler's steps
    n: int  #: of steps to train on, and as many to test on

    def points(self) -> Floats:
        """X₀ ... X_2n as (2n + 1, 1), σ signed; NumPy's legacy generator draws the paper's noise."""
        noise = np.random.RandomState(self.seed).standard_normal((2 * self.n, 1))
        x = np.full((2 * self.n + 1, 1), self.start)
        for step in range(2 * self.n):
            sigma = self.scale * self.process.diffusion(x[step])
            x[step + 1] = euler_step(x[step], self.process.drift(x[step]), sigma, self.dt, noise[step])
        return x

    @property
    def x_train(self) -> Floats:
        """X₀ ... X_n, that is, transitions 0 to n - 1."""
        return self.points()[: self.n + 1]

    @property
    def x_test(self) -> Floats:
        """X_n ... X_2n, that is, transitions n to 2n - 1."""
        return self.points()[self.n :]

    def drift(self, x: Floats) -> Floats:
        """f(x): (n, 1) -> (n, 1)."""
        return self.process.drift(x)

    def diffusion(self, x: Floats) -> Floats:
        """`|b σ(x)|`: (n, 1) -> (n, 1, 1)."""
        return np.abs(self.scale * self.process.diffusion(x))


PAPER_TRAJECTORIES = {
    "exponential-1": PaperTrajectory(PROCESSES["exponential"], 0.5, seed=0, start=0.0, dt=0.01, n=500),
    "exponential-2": PaperTrajectory(PROCESSES["exponential"], 1.0, seed=2022, start=0.0, dt=0.01, n=500),
    "trigonometric-1": PaperTrajectory(PROCESSES["trigonometric"], 1.0, seed=2022, start=0.4, dt=0.001, n=501),
    "trigonometric-2": PaperTrajectory(PROCESSES["trigonometric"], 0.5, seed=11, start=0.6, dt=0.001, n=501),
    "gbm": PaperTrajectory(PROCESSES["gbm"], 1.0, seed=2020, start=1.0, dt=0.001, n=501),
    "ou": PaperTrajectory(PROCESSES["ou"], 1.0, seed=0, start=1.0, dt=0.001, n=501),
}
