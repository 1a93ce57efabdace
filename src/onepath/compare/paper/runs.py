"""The unit of work: one data set, one kernel, one method. Finished ones are kept in a journal and never redone."""

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from onepath.compare.metrics import delta_diffusion, delta_drift, loss
from onepath.compare.paper.cases import Case
from onepath.compare.paper.methods import Band, Estimate, estimate, settings_of
from onepath.compare.paper.printed import Row
from onepath.numerics.arrays import Floats

JOURNAL, POPULATION_JOURNAL = "cells.jsonl", "population.jsonl"
"""Files in an output folder: runs on the paper's own trajectories, and on those of fresh seeds."""

CURVE_POINTS = 101
DIGITS = 6


@dataclass(frozen=True)
class Run:
    """What gives three numbers in one of the paper's tables."""

    case: Case
    kernel: str
    method: str

    @property
    def key(self) -> str:
        seed = "paper" if self.case.seed is None else f"seed-{self.case.seed}"
        return "/".join([self.case.trajectory, self.case.view, f"k-{self.case.k}", seed, self.kernel, self.method])

    @property
    def recipe(self) -> str:
        """What must not have changed for a kept result to stand: the method's settings."""
        return json.dumps(settings_of(self.method), sort_keys=True, default=str)

    def compute(self) -> dict[str, Any]:
        """The record to keep: scores, seconds, notes, and for the paper's own trajectories curves to draw."""
        begun = time.perf_counter()
        result: dict[str, Any] = {"key": self.key, "recipe": self.recipe, **asdict(self.case)}
        result |= {"kernel": self.kernel, "method": self.method}
        data, record = self.case.data(), self.case.record
        try:
            found = estimate(self.method, self.kernel, data)
        except RuntimeError as error:
            return result | {"error": str(error)}
        at = data.x_test[:, 0]
        drift, diffusion = found.drift(at)[:, None], found.diffusion(at)[:, None, None]
        result |= {
            "loss": loss(data.y_test, drift, diffusion, data.dt, found.noise),
            "drift": delta_drift(drift, record.drift(data.x_test)),
            "diffusion": delta_diffusion(diffusion, record.diffusion(data.x_test)),
            "true_loss": loss(data.y_test, record.drift(data.x_test), record.diffusion(data.x_test), data.dt),
            "predictive": found.predictive,
            "seconds": round(time.perf_counter() - begun, 3),
        }
        if self.case.seed is None:
            result |= {"notes": found.notes, "curves": _curves(found, np.concatenate([data.x, data.x_test])[:, 0])}
        return result


def _curves(found: Estimate, visited: Floats) -> dict[str, Any]:
    """Drift and diffusion on a grid over all states visited, with 90 % bands where the method has them."""
    grid = np.linspace(visited.min(), visited.max(), CURVE_POINTS)
    curves: dict[str, Any] = {"x": grid, "drift": found.drift(grid), "diffusion": found.diffusion(grid)}
    bands: dict[str, Band | None] = {"drift_band": found.drift_band, "diffusion_band": found.diffusion_band}
    curves |= {name: np.stack(band(grid)) for name, band in bands.items() if band is not None}
    return {name: _rounded(values).tolist() for name, values in curves.items()}


def _rounded(values: Floats) -> Floats:
    """A few significant digits are enough to draw."""
    return np.vectorize(lambda value: float(f"{value:.{DIGITS}g}"))(values)


def row_of(record: dict[str, Any]) -> Row | None:
    """The three metrics of a record; None if the method failed."""
    return None if "error" in record else Row(record["loss"], record["drift"], record["diffusion"])
