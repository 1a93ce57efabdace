"""Cures: what an estimator can be asked to learn besides, which faults suggest it, and what goes with what."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Settings = dict[str, Any]


class Cure(NamedTuple):
    """Settings of an estimator that a fault suggests; `price` is how much they complicate the answer."""

    name: str
    settings: Settings
    price: float


NOISE = Cure("noise on readings", {"measurement": "learn"}, 1.0)
EXPOSURE = Cure("full exposure", {"exposure": 1.0}, 1.0)
PART = Cure("partial exposure", {"exposure": "learn"}, 1.5)
VELOCITY = Cure("hidden velocity", {"order": 2}, 2.0)
JUMPS = Cure("jumps", {"jumps": True}, 2.0)
TAILS = Cure("heavy tails", {"tails": "learn"}, 1.0)
VOLATILITY = Cure("volatility", {"volatility": "learn"}, 2.0)
TREND = Cure("trend", {"trend": True}, 2.5)


def season(period: float | str) -> Cure:
    """A season of this period."""
    named = f"season of a {period}" if isinstance(period, str) else f"season of {period:.4g}"
    return Cure(named, {"season": period}, 2.0)


def since(when: float | str) -> Cure:
    """The record since then alone."""
    return Cure(f"since {when}", {"since": when}, 1.5)


BY_FAULT: dict[str, tuple[Cure, ...]] = {
    "measurement noise": (NOISE,),
    "blur": (EXPOSURE, VELOCITY),
    "hidden velocity": (VELOCITY, EXPOSURE),
    "jumps": (JUMPS, TAILS, VOLATILITY),
    "noise over time": (VOLATILITY, TREND),
    "drift over time": (TREND,),
    "residuals": (TAILS, VOLATILITY, JUMPS),
    "balance": (JUMPS,),
    "longer steps": (NOISE, VELOCITY, EXPOSURE),
    "markov": (NOISE, VELOCITY),
    "readings": (NOISE,),
}
"""What each fault suggests, beside seasons and times of change, which depend on the data."""

UNSPECIFIC = ("longer steps", "markov", "residuals", "balance")
"""Faults that say that something is wrong, and not what: heard where no other is."""

HIDDEN, DISTURBED = ("measurement", "exposure", "order"), ("jumps", "tails", "volatility")

Candidate = tuple[Cure, ...]
"""Cures together; none is the plain model."""


def named(candidate: Candidate) -> str:
    return " + ".join(cure.name for cure in candidate) or "plain"


def settings_of(candidate: Candidate) -> Settings:
    return {name: value for cure in candidate for name, value in cure.settings.items()}


def price_of(candidate: Candidate) -> float:
    return sum(cure.price for cure in candidate)


def command_of(settings: Settings) -> str:
    """Options of the command that ask for the same."""
    bare = ("jumps", "trend", "volatility")
    words = [f"--{name}" if name in bare else f"--{name} {value}" for name, value in settings.items()]
    return " ".join(words)


def together(candidate: Candidate, cure: Cure) -> Candidate | None:
    """A candidate with one more cure; None where they exclude each other."""
    given = set(settings_of(candidate))
    added = set(cure.settings)
    if given & added or ("trend" in given | added and "since" in given | added):
        return None
    whole = given | added
    if whole & set(HIDDEN) and whole & set(DISTURBED):
        return None
    if len(whole & set(DISTURBED)) > 1 or {"order", "exposure"} <= whole:
        return None
    return (*candidate, cure)


def refined(candidate: Candidate, faults: Sequence[str]) -> list[Candidate]:
    """The same cures told more exactly, where they leave faults that say so."""
    if EXPOSURE in candidate and {"measurement noise", "blur", "longer steps"} & set(faults):
        return [tuple(PART if cure == EXPOSURE else cure for cure in candidate)]
    return []


def for_faults(faults: Sequence[str], found: Iterable[Cure]) -> list[Cure]:
    """Cures that faults suggest, the most telling first; `found` are those that the data themselves named."""
    specific = [fault for fault in faults if fault not in UNSPECIFIC]
    wanted = [cure for fault in specific or faults for cure in BY_FAULT.get(fault, ())]
    return list({cure.name: cure for cure in (*found, *wanted)}.values())
