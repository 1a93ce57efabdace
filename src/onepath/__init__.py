"""onepath: learn a stochastic differential equation from one observed trajectory."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onepath.after.forecast import Paths
    from onepath.after.mend import Mended
    from onepath.graph.physics import Known
    from onepath.model import Model
    from onepath.panel.panel import Panel, fit_panel
    from onepath.sde import SDE

__all__ = ["SDE", "Known", "Mended", "Model", "Panel", "Paths", "__version__", "fit_panel", "load", "mend"]

_HOMES = {
    "SDE": "onepath.sde",
    "Known": "onepath.graph.physics",
    "Model": "onepath.model",
    "Paths": "onepath.after.forecast",
    "Mended": "onepath.after.mend",
    "Panel": "onepath.panel.panel",
    "fit_panel": "onepath.panel.panel",
}


def load(path: str | Path) -> "SDE":
    """The model in a file written by `SDE.save`; it predicts what it did before, to the last bit.

    Parameters
    ----------
    path : str or Path
        The file. One that is damaged, forged or of a newer onepath is refused; nothing in it runs.

    Returns
    -------
    SDE
        Fitted, with the settings that it was learned with.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import onepath
    >>> from onepath.compare.processes import PROCESSES
    >>> truth = PROCESSES["ou_slow"]
    >>> sde = onepath.SDE().fit(truth.simulate(500, random_state=0)[0], dt=truth.dt)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = onepath.load(sde.save(Path(folder) / "ou.onepath"))
    >>> bool(again.drift(0.5)[0] == sde.drift(0.5)[0])
    True
    """
    from onepath.io.model import load_model
    from onepath.sde import SDE

    return SDE.from_model(*load_model(path)[:2])


def mend(x: Any, **given: Any) -> "Mended[SDE]":
    """Fit, and try what the diagnosis suggests: `SDE(...).fit(x, ...).mend(...)`, each option where it belongs.

    Options are those of `SDE.fit`, such as `t`, `dt` and `unit`, those of `SDE.mend`, `cures`, `preset`, `budget` and
    `progress`, and settings of `SDE`.
    """
    from inspect import signature

    from onepath.sde import SDE

    parts: list[dict[str, Any]] = []
    for method in (SDE.mend, SDE.fit):
        known = list(signature(method).parameters)[1:]
        parts.append({name: given.pop(name) for name in known if name in given})
    return SDE(**given).fit(x, **parts[1]).mend(**parts[0])


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
