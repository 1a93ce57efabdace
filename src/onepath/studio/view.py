"""A part of a series for a figure: as it is where that is short, else the extremes of equal stretches."""

from pathlib import Path
from typing import Any

import numpy as np

STRETCHES = 800
"""Of which the lowest and the highest value are drawn, each."""


def view(path: Path, begin: float | None, end: float | None) -> dict[str, Any]:
    """Columns of a kept array between two times: {"t": ..., "columns": [...]}, at most some thousand numbers each."""
    whole = np.load(path, mmap_mode="r", allow_pickle=False)
    t = whole[:, 0]
    rising = bool(np.all(np.diff(t[:: max(1, len(t) // 1000)]) >= 0))  # records may each begin anew
    low, high = 0, len(t)
    if rising and begin is not None and end is not None:
        low = max(int(np.searchsorted(t, begin)) - 1, 0)
        high = min(int(np.searchsorted(t, end, side="right")) + 1, len(t))
    part = np.asarray(whole[low:high])
    width = -(-len(part) // STRETCHES)
    times = part[:, 0] if rising else np.arange(low, high, dtype=float)
    if width <= 2:
        return {"t": times.tolist(), "columns": [_listed(column) for column in part.T[1:]], "rising": rising}
    begins = np.arange(0, len(part), width)
    lowest = np.fmin.reduceat(part[:, 1:], begins, axis=0)
    highest = np.fmax.reduceat(part[:, 1:], begins, axis=0)
    both = np.stack([lowest, highest], axis=1).reshape(-1, part.shape[1] - 1)
    return {
        "t": np.repeat(times[begins], 2).tolist(),
        "columns": [_listed(column) for column in both.T],
        "rising": rising,
    }


def _listed(column: np.ndarray) -> list[float | None]:
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in column]
