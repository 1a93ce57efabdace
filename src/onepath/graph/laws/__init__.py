"""Transition laws, one file each, from the cheapest on."""

from onepath.graph.laws.euler import Euler
from onepath.graph.laws.law import Law
from onepath.graph.laws.linearised import Linearised

EULER, LINEARISED = Euler(), Linearised()

LAWS: dict[str, Law] = {law.name: law for law in (EULER, LINEARISED)}

__all__ = ["EULER", "LAWS", "LINEARISED", "Law"]
