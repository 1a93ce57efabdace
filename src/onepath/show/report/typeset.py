"""Numbers as they are printed: minus signs, powers of ten, thin spaces in counts, and decimals that the band allows."""

import math
import re

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
POWER = re.compile(r"(?<=\d)e([+-]\d+)\b")
ZERO = re.compile(r"(?<![\w.)\]-])-(?=0(?:\.0+)?(?![\d.e]))")
MINUS = re.compile(r"(?<![\w.)\]-])-(?=\s?\d)")
COUNT = re.compile(r"(?<![\w.:/-])\d{5,}(?![\w]|[.:/-]\d)")
THIN = "\u2009"

UNKNOWN = "not known"
MOST_DECIMALS, LARGEST = 6, 1e6
"""Beyond which numbers are written with a power of ten."""


def typeset(text: str) -> str:
    """1e-05 as 1×10⁻⁵, -1 with a minus sign and -0.0 without, 10000 with a thin space."""
    text = POWER.sub(lambda found: f"×10{str(int(found[1])).translate(RAISED)}", MINUS.sub("−", ZERO.sub("", text)))
    return COUNT.sub(lambda found: f"{int(found[0]):,}".replace(",", THIN), text)


def number(value: float, digits: int = 4) -> str:
    """So many digits; "not known" where it is no number."""
    return f"{value:.{digits}g}" if math.isfinite(value) else UNKNOWN


def banded(value: float, lower: float, upper: float) -> tuple[str, str]:
    """A value and its band with the same decimals: as many as show two digits of the band's width."""
    width, largest = upper - lower, max(map(abs, (value, lower, upper)))
    if not (math.isfinite(width) and math.isfinite(value) and width > 0):
        known = math.isfinite(lower) and math.isfinite(upper)
        return number(value, 3), f"{number(lower, 3)} to {number(upper, 3)}" if known else UNKNOWN
    decimals = 1 - math.floor(math.log10(width))
    if decimals > MOST_DECIMALS or largest >= LARGEST:
        return number(value, 3), f"{number(lower, 3)} to {number(upper, 3)}"
    parts = [f"{round(part, decimals) + 0.0:.{max(decimals, 0)}f}" for part in (value, lower, upper)]
    return parts[0], f"{parts[1]} to {parts[2]}"
