"""onepath: learn a stochastic differential equation from one observed trajectory."""

from onepath.sde import SDE

__all__ = ["SDE"]
