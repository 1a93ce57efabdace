"""What to try where a question of the diagnosis is answered with no: one click for each cure that mending knows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from onepath.after.mend.cures import Cure, for_faults, season
from onepath.studio.options import BY_NAME, Asked

MOST = 4
"""That are offered at once."""

CORRELATED = Cure("correlated noise", {"noise": "full"}, 1.0)


class Offer(NamedTuple):
    """A button: what it says, and the options that it adds."""

    label: str
    asked: Asked


def cures_for(flagged: Sequence[tuple[str, str]], asked: Asked) -> list[Offer]:
    """Cures of flagged questions, names and answers in the order of what they tell, that were not asked for already."""
    found = [season("auto")] if any(name == "season" for name, _ in flagged) else []
    found += [CORRELATED] if any("noise='full'" in answer for _, answer in flagged) else []
    offers = [offer_of(cure) for cure in for_faults([name for name, _ in flagged], found)]
    return [each for each in offers if any(asked.get(name) != text for name, text in each.asked.items())][:MOST]


def offer_of(cure: Cure) -> Offer:
    """A cure as the page has it: settings as the text that would be typed for them."""
    label = "look for a season" if cure.settings == {"season": "auto"} else cure.name
    return Offer(label[0].upper() + label[1:], {name: _typed(name, value) for name, value in cure.settings.items()})


def _typed(name: str, value: Any) -> str:
    return "yes" if BY_NAME[name].read is None else value if isinstance(value, str) else f"{value:g}"
