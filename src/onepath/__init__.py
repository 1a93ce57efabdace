"""onepath: learn a stochastic differential equation from one observed trajectory."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onepath.sde import SDE

__all__ = ["SDE", "load"]


def load(path: str | Path) -> "SDE":
    """The model in a file written by `SDE.save`; it predicts what it did before, to the last bit."""
    from onepath.files import load_model
    from onepath.sde import SDE

    sde = SDE()
    load_model(sde, path)
    return sde


def __getattr__(name: str) -> Any:
    """The estimator is imported when it is first asked for: the command answers quickly where it needs no numerics."""
    if name == "SDE":
        from onepath.sde import SDE

        return SDE
    raise AttributeError(f"module 'onepath' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
