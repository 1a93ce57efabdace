"""What a method is given and what it gives back. NumPy alone: this file is read in every environment."""

from dataclasses import dataclass, field

import numpy as np

GAP = 1.5
"""Steps longer than this many median steps interrupt a record."""

NINETY, THREE_ERRORS = 1.6448536269514722, 3.0
"""Half widths, in standard errors, of a 90 % band and of what an honest estimate hardly ever leaves."""


@dataclass(frozen=True)
class Observed:
    """One record as somebody would hand it over: rows (n, d) with NaN where missing, and times or a constant step.

    `regime` is what the person who recorded it knows: "clean", "noisy" (measurement noise) or "coarse". Documentation
    that says "with noisy data take the other estimator" is followed. `process` is for the oracle alone.
    """

    x: np.ndarray
    t: np.ndarray | None
    dt: float | None
    regime: str
    process: str

    @property
    def dimension(self):
        return self.x.shape[1]

    @property
    def times(self):
        return self.dt * np.arange(len(self.x)) if self.t is None else self.t

    @property
    def step(self):
        return self.dt if self.t is None else float(np.median(np.diff(self.t)))

    def pieces(self):
        """The record cut at missing rows and at recording gaps: arrays of at least two rows, a constant step apart."""
        observed = ~np.isnan(self.x).any(axis=1)
        joined = observed[1:] & observed[:-1] & (np.diff(self.times) < GAP * self.step)
        cuts = np.flatnonzero(~joined) + 1
        return [piece for piece in np.split(self.x, cuts) if len(piece) > 1 and not np.isnan(piece).any()]

    def transitions(self):
        """Starts and increments (m, d) over one step, none across a gap."""
        pieces = self.pieces()
        return np.concatenate([p[:-1] for p in pieces]), np.concatenate([np.diff(p, axis=0) for p in pieces])

    def unbroken(self, method):
        """The whole record, for methods that have no way of being told about gaps."""
        if len(pieces := self.pieces()) > 1 and not np.isnan(self.x).any():
            raise Refused(f"{method} takes a constant step, and this record has {len(pieces) - 1} gaps")
        return self.x


class Refused(Exception):
    """The method's interface has no place for such a record."""


@dataclass
class Answer:
    """Drift (n, d) and covariance a = σσ' (n, d, d) at points, and bands where the method has them.

    A band is (2, n, ...): lower and upper ends. Those of the diffusion are of the entries of a ("covariance") or of
    its lower Cholesky factor ("factor"), as `kind` says.
    """

    drift: np.ndarray
    covariance: np.ndarray
    drift_90: np.ndarray | None = None
    drift_three: np.ndarray | None = None
    diffusion_90: np.ndarray | None = None
    diffusion_three: np.ndarray | None = None
    kind: str = "factor"
    flags: list = field(default_factory=list)  # what the method itself says against its answer

    def with_drift_errors(self, errors):
        """Symmetric bands from standard errors (n, d)."""
        self.drift_90, self.drift_three = (_around(self.drift, k * errors) for k in (NINETY, THREE_ERRORS))
        return self

    def with_covariance_errors(self, errors):
        """Symmetric bands from standard errors of the entries of a (n, d, d)."""
        self.kind = "covariance"
        self.diffusion_90, self.diffusion_three = (_around(self.covariance, k * errors) for k in (NINETY, THREE_ERRORS))
        return self


def _around(middle, half):
    return np.stack([middle - half, middle + half])


def diagonal(variances):
    """(n, d) -> (n, d, d)."""
    return variances[..., None] * np.eye(variances.shape[-1])
