"""Criteria of kernels as functions of their parameters θ, each with its slope.

A criterion judges the completed weights ŵ(θ). Their derivative in θ is that of one Newton step ŵ - H⁻¹∇J(ŵ, θ) with ŵ
and H held fixed: the implicit function theorem. Their value is ŵ itself, also where a solver has stopped early.
"""

from dataclasses import dataclass
from typing import NamedTuple

from onepath.data.cells import Cells
from onepath.gp.parameters import Mask
from onepath.graph.graph import Graph
from onepath.inference.completion import Completion, Objective, Place, Solver, complete
from onepath.inference.completion.features import FeatureSource
from onepath.inference.completion.objective import Cellwise
from onepath.numerics.arrays import Floats

Start = Floats | Place
"""Weights, or where another θ has led."""


class Judgement(NamedTuple):
    """A criterion's value and slope in θ, and the completion that was judged."""

    value: float
    slope: Floats
    completion: Completion


@dataclass(frozen=True, eq=False)
class Stage:
    """A graph on the same cells for any θ."""

    cellwise: Cellwise
    source: FeatureSource

    @classmethod
    def of(cls, graph: Graph, mask: Mask, cells: Cells) -> "Stage":
        return cls(Cellwise(graph, cells), FeatureSource(graph, mask, cells.x))

    def objective(self, theta: Floats) -> Objective:
        return Objective(self.cellwise, self.source.at(theta))

    def completed(self, theta: Floats, solver: Solver, start: Start) -> tuple[Objective, Completion]:
        objective = self.objective(theta)
        return objective, complete(objective, solver, start)
