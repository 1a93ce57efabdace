"""onepath: learn a stochastic differential equation from one observed trajectory."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onepath.after.forecast import Paths
    from onepath.graph.physics import Known
    from onepath.model import Model
    from onepath.panel.panel import Panel, fit_panel
    from onepath.sde import SDE

__all__ = ["SDE", "Known", "Model", "Panel", "Paths", "__version__", "fit_panel", "load"]

_HOMES = {
    "SDE": "onepath.sde",
    "Known": "onepath.graph.physics",
    "Model": "onepath.model",
    "Paths": "onepath.after.forecast",
    "Panel": "onepath.panel.panel",
    "fit_panel": "onepath.panel.panel",
}


def load(path: str | Path) -> "SDE":
    """The model in a file written by `SDE.save`; it predicts what it did before, to the last bit."""
    from onepath.io.model import load_model
    from onepath.sde import SDE

    return SDE.from_model(*load_model(path)[:2])


def __getattr__(name: str) -> Any:
    """Names are imported when they are first asked for: the command answers quickly where it needs no numerics."""
    if name == "__version__":
        from importlib.metadata import version

        return version("onepath")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'onepath' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
