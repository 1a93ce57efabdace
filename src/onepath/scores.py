"""How good a forecast was: its intervals' coverage and its continuous ranked probability score.

Shapes: an ensemble is (paths, ...), what happened (...).
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def interval_coverage(ensemble: Array, truth: Array, level: float = 0.9) -> float:
    """Share of entries within the ensemble's central interval of this level."""
    _require(ensemble, truth)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r} cannot be used: it is a probability, between 0 and 1")
    lower, upper = np.quantile(ensemble, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return float(np.mean((lower <= truth) & (truth <= upper)))


def crps(ensemble: Array, truth: Array) -> Array:
    """E|X - y| - ½ E|X - X'| for each entry, in its units; lower is better, and a sure forecast has |X - y|.

    X' is another path than X, so that the size of the ensemble does not matter on average.
    """
    _require(ensemble, truth)
    paths = len(ensemble)
    # Σ over pairs |x_i - x_j| = Σ (2i - n + 1) x_(i) of the ordered values
    rank = (2.0 * np.arange(paths) - paths + 1).reshape(-1, *[1] * truth.ndim)
    pairs = np.sum(rank * np.sort(ensemble, axis=0), axis=0) / (paths * (paths - 1) / 2)
    return np.asarray(np.mean(np.abs(ensemble - truth), axis=0) - pairs / 2)


def _require(ensemble: Array, truth: Array) -> None:
    if ensemble.shape[1:] != truth.shape or len(ensemble) < 2:
        raise ValueError(
            f"the ensemble has shape {ensemble.shape} and what happened {truth.shape}, but (paths, ...) and (...) are "
            "needed, with two paths at least"
        )
    if not (np.all(np.isfinite(ensemble)) and np.all(np.isfinite(truth))):
        raise ValueError("scores need finite numbers; paths that exploded are NaN, and `quantiles` knows what to do")
