"""What to try where a question of the diagnosis is answered with no: one click for each cure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from onepath.studio.options import Asked


class Cure(NamedTuple):
    """Options to add, and in a few words what they stand for."""

    label: str
    asked: Asked


NOISE = Cure("Learn the noise of the readings", {"measurement": "learn"})
BLUR = Cure("Readings average over the step", {"exposure": "1"})
VELOCITY = Cure("Velocities are hidden", {"order": "yes"})
JUMPS = Cure("Learn jumps", {"jumps": "yes"})
TAILS = Cure("Learn heavy tails", {"tails": "learn"})
VOLATILITY = Cure("Learn a volatility", {"volatility": "yes"})
SEASON = Cure("Look for a season", {"season": "auto"})
TREND = Cure("Allow a trend", {"trend": "yes"})
CORRELATED = Cure("Correlated noise", {"noise": "full"})

CURES: dict[str, tuple[Cure, ...]] = {
    "measurement noise": (NOISE,),
    "blur": (BLUR, VELOCITY),
    "hidden velocity": (VELOCITY,),
    "jumps": (JUMPS, TAILS),
    "season": (SEASON,),
    "drift over time": (TREND,),
    "noise over time": (VOLATILITY, TREND),
}
"""By the name of the question that is flagged."""

BY_WORDS = {
    "residuals": (
        ("volatility='learn'", VOLATILITY),
        ("tails='learn'", TAILS),
        ("noise='full'", CORRELATED),
        ("skewed", JUMPS),
    ),
    "readings": (("Rounded values", NOISE),),
    "balance": (("jumps", JUMPS),),
}
"""Questions whose answers have several reasons, each by what it says."""

APART = (("measurement", "exposure", "order"), ("jumps", "tails", "volatility"), ("season", "trend"))
"""Families of options. Of the first two, one leaves out the other; within a family of these, one option another."""

MOST = 4


def cures_for(flagged: Sequence[tuple[str, str]], asked: Asked) -> list[Cure]:
    """Cures of flagged questions, names and answers in the order of what they tell, that were not asked for already."""
    found: dict[tuple[tuple[str, str], ...], Cure] = {}
    for name, answer in flagged:
        named = (cure for words, cure in BY_WORDS.get(name, ()) if words in answer)
        for cure in (*CURES.get(name, ()), *named):
            if any(asked.get(option) != text for option, text in cure.asked.items()):
                found.setdefault(tuple(cure.asked.items()), cure)
    return list(found.values())[:MOST]


def with_cure(asked: Asked, cure: Mapping[str, str]) -> Asked:
    """The options with those of a cure, less what does not go together with them."""
    hidden, increments, _ = APART
    left_out: set[str] = set()
    if set(cure) & set(hidden):
        left_out |= set(increments)
        left_out |= {"order", "exposure"} if set(cure) & {"order", "exposure"} else set()
    if set(cure) & set(increments):
        left_out |= set(hidden) | set(increments)
    if "order" in cure:
        left_out.add("noise")
    return {name: text for name, text in asked.items() if name not in left_out} | dict(cure)
