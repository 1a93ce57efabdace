"""Which disturbance an estimator's settings ask for, or why not."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from onepath.inference.disturbance.clustered import first_volatility
from onepath.inference.disturbance.far import first_jumps
from onepath.inference.disturbance.tails import LEAST, first_tails
from onepath.inference.disturbance.turns import Guess

LEARN = "learn"


def chosen_disturbance(settings: Mapping[str, Any]) -> Guess | None:
    """The first guess of what was asked for; None if nothing was."""
    jumps, tails, volatility = settings["jumps"], settings["tails"], settings["volatility"]
    _check(jumps, tails, volatility)
    if jumps:
        return first_jumps
    if volatility is not None:
        return first_volatility
    return None if tails is None else partial(first_tails, None if tails == LEARN else float(tails))


def _check(jumps: Any, tails: Any, volatility: Any) -> None:
    """Refuse what means nothing, or means the same twice."""
    if not isinstance(jumps, bool):
        raise TypeError(f"jumps={jumps!r} cannot be used: give True to learn jumps, or False.")
    if volatility not in (None, LEARN):
        raise ValueError(f"volatility={volatility!r} cannot be used: give 'learn', or None for a level that stays.")
    number = isinstance(tails, int | float) and not isinstance(tails, bool) and LEAST <= tails < float("inf")
    if not (tails is None or tails == LEARN or number):
        raise ValueError(
            f"tails={tails!r} cannot be used: give 'learn', degrees of freedom from {LEAST:g} on such as 4, or None "
            "for normal increments."
        )
    if jumps and tails is not None:
        raise ValueError(
            "jumps=True and tails cannot be learned together: both explain the same large increments. Choose jumps "
            "where they are few and apart from the rest, tails where sizes run on without a gap."
        )
    if volatility is not None and (jumps or tails is not None):
        raise ValueError(
            "volatility='learn' cannot be learned together with jumps or tails: learn the one that the diagnosis names "
            "first, and look whether it names another then."
        )
