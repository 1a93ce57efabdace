"""The problems: equations with known truth, observed well at two lengths, and with ordinary trouble."""

from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO

import numpy as np
from contract import Observed

from onepath.compare.processes import PROCESSES
from onepath.io.atomic import write_atomically

SHORT, LONG = 500, 10_000
POINTS = 1000
"""Observed states at which errors weighted by the data's density are taken, and held-out transitions."""

SUBSTEPS = 10
QUANTILES = (0.01, 0.99)


@dataclass(frozen=True)
class Problem:
    """A process, how it is observed, and what is wrong with the record: "", "gaps", "missing", "noise" or "coarse"."""

    name: str
    process: str
    n: int
    dt: float
    trouble: str = ""

    @property
    def truth(self):
        return PROCESSES[self.process]

    def sample(self, seed, cache=None):
        """The record of this seed; paths take seconds to simulate and are kept in a folder, if one is given."""
        ours, rest = np.random.default_rng([seed, *self.name.encode()]).spawn(2)
        file = cache and cache / "paths" / f"{self.name}-{seed}.npy"
        if file and file.exists():
            states = np.load(file)
        else:
            substeps = 2 * SUBSTEPS if self.trouble == "coarse" else SUBSTEPS
            states = self.truth.simulate(self.n, dt=self.dt, substeps=substeps, random_state=ours)[0]
            if file:
                file.parent.mkdir(parents=True, exist_ok=True)
                np.save(whole := BytesIO(), states)
                write_atomically(file, whole.getvalue(), force=True)
        return Sample(self, states, _spoilt(self, states, rest), rest)


def _spoilt(problem, states, rng):
    """The record that is handed over."""
    clean = Observed(states, None, problem.dt, "clean", problem.process)
    if problem.trouble == "gaps":
        return _with_gaps(clean, rng)
    if problem.trouble == "missing":
        x = states.copy()
        x[rng.choice(len(x), len(x) // 20, replace=False)] = np.nan
        return replace(clean, x=x)
    if problem.trouble == "noise":
        half = 0.5 * np.std(np.diff(states, axis=0), axis=0)
        return replace(clean, x=states + half * rng.standard_normal(states.shape), regime="noisy")
    return replace(clean, regime="coarse") if problem.trouble == "coarse" else clean


def _with_gaps(clean, rng, gaps=20):
    """A fifth of the record cut out in pieces; the rest keeps its times."""
    n = len(clean.x)
    length, starts = n // (5 * gaps), np.sort(rng.choice(n // 100, gaps, replace=False)) * 100
    keep = np.ones(n, bool)
    for start in starts:
        keep[start + 1 : start + 1 + length] = False
    return replace(clean, x=clean.x[keep], t=(clean.dt * np.arange(n))[keep], dt=None)


@dataclass
class Sample:
    """One record, with where and how answers to it are judged."""

    problem: Problem
    states: np.ndarray  # what the process really did, without noise or gaps
    observed: Observed
    rng: np.random.Generator

    @cached_property
    def box(self):
        return np.quantile(self.states, QUANTILES, axis=0)

    @cached_property
    def weighted(self):
        """States of the record inside the box of its 1-99 % quantiles: points spread like the data."""
        inside = self.states[np.all((self.states >= self.box[0]) & (self.states <= self.box[1]), axis=1)]
        return inside[np.linspace(0, len(inside) - 1, min(len(inside), POINTS)).round().astype(int)]

    @cached_property
    def uniform(self):
        """Points spread evenly over where data are: a grid in 1-D, a state from each occupied cell of a grid above."""
        low, high = self.box
        if len(low) == 1:
            return np.linspace(low, high, 200)
        inside = self.states[np.all((self.states >= low) & (self.states <= high), axis=1)]
        cells = np.floor((inside - low) / (high - low) * (20 if len(low) == 2 else 8)).astype(int)
        _, first = np.unique(cells, axis=0, return_index=True)
        return inside[np.sort(first)]

    @cached_property
    def held_out(self):
        """Fresh transitions: starts spread like the data, and their increments over one step."""
        starts = self.weighted[self.rng.integers(0, len(self.weighted), POINTS)]
        truth, dt = self.problem.truth, self.problem.dt
        ends = truth.simulate(1, dt=dt, paths=POINTS, substeps=2 * SUBSTEPS, start=starts, random_state=self.rng)
        return starts, ends[:, 1] - starts


def _both_lengths(process, dt=None):
    own = PROCESSES[process].dt
    return [Problem(f"{process}-{n}", process, n, (dt or {}).get(n, own)) for n in (SHORT, LONG)]


_NAMES = ("exponential", "trigonometric", "gbm", "ou", "double_well", "double_well_multiplicative", "wiggly", "cir")
_CATALOGUE = [
    # GBM at ten thousand points covers the same time twice, not six decades: the paper's step, shortened
    *(p for name in _NAMES for p in _both_lengths(name, {LONG: 1e-4} if name == "gbm" else None)),
    *_both_lengths("van_der_pol"),
    *_both_lengths("linear_3d"),
    Problem("gaps", "double_well_multiplicative", LONG, 0.01, "gaps"),
    Problem("missing", "double_well_multiplicative", LONG, 0.01, "missing"),
    Problem("noise", "double_well_multiplicative", LONG, 0.01, "noise"),
    Problem("coarse", "double_well_multiplicative", LONG, 0.2, "coarse"),
    Problem("short", "cir", 200, 0.05),
]
PROBLEMS = {problem.name: problem for problem in _CATALOGUE}
