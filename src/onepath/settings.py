"""An estimator's settings, refused where they mean nothing, before any work."""

from typing import Any

import numpy as np

from onepath.completion import SOLVERS
from onepath.graph import LINKS, NOISES
from onepath.learning.learn import LEARNERS
from onepath.transition import LAWS


def is_papers_way(sde: Any) -> bool:
    """The paper's solvers and smoothing put the drift at its best in one step, which takes Euler's law."""
    return sde.solver != "fisher" or sde.smoothing > 0


def check_settings(sde: Any) -> None:
    """Refuse settings that mean nothing, before any work."""
    known_values = {"noise": ("auto", *NOISES), "link": LINKS, "transition": ("auto", *LAWS), "solver": SOLVERS}
    for name, known in known_values.items():
        if getattr(sde, name) not in tuple(known):
            choices = ", ".join(map(repr, known))
            raise ValueError(f"{name}={getattr(sde, name)!r} is not known. Choose one of {choices}.")
    if is_papers_way(sde) and sde.transition not in ("auto", "euler"):
        raise ValueError(
            f"transition={sde.transition!r} needs solver='fisher' and smoothing=0: the paper's solvers and "
            "smoothing rest on Euler's law, under which the best drift is found in one step. Use "
            "transition='euler'."
        )
    if sde.learn is not None and sde.learn not in LEARNERS:
        choices = ", ".join(map(repr, LEARNERS))
        raise ValueError(f"learn={sde.learn!r} is not known. Choose one of {choices}, or None.")
    for name in ("noise_variance", "smoothing", "tolerance"):
        value = getattr(sde, name)
        if value is not None and not (isinstance(value, int | float | np.number) and 0 <= value < np.inf):
            raise ValueError(f"{name}={value!r} cannot be used: it must be a finite number, not negative.")
    for name, least in (("cells", 16), ("splits", 1), ("evaluations", 10)):
        value = getattr(sde, name)
        if value is not None and not (isinstance(value, int | np.integer) and value >= least):
            raise ValueError(f"{name}={value!r} cannot be used: give a whole number of at least {least}, or None.")
    if isinstance(sde.fixed, str) or not all(isinstance(name, str) for name in sde.fixed):
        raise ValueError(f"fixed={sde.fixed!r} cannot be used: give a sequence of parameter names.")
