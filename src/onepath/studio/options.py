"""What may be chosen on the page about a fit: one table, from which the form, the settings, the command and the Python
lines are made."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

LEARN = "learn"


class Refused(ValueError):
    """Something that cannot be done as it was asked for, and why."""


class Option(NamedTuple):
    """A setting of `SDE`: its name there, its option in the command, and how it is asked for on the page."""

    name: str
    flag: str
    label: str
    help: str
    read: Callable[[str], Any] | None = None  # from text; None is a switch
    on: Any = True  # what a switch stands for, when it is on
    typed: str = ""  # what follows the option in the command, when a switch is on
    choices: tuple[str, ...] = ()
    repeated: bool = False  # whether the command takes it once for each part between semicolons

    @property
    def kind(self) -> str:
        return "choice" if self.choices else "switch" if self.read is None else "text"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refused(f"{text!r} is no number") from None


def _learned_or_numbers(text: str) -> Any:
    if text == LEARN:
        return text
    numbers = tuple(_number(part) for part in text.split(","))
    return numbers[0] if len(numbers) == 1 else numbers


def _learned_or_number(text: str) -> Any:
    return text if text == LEARN else _number(text)


def _season(text: str) -> Any:
    return text if text.isalpha() else _number(text)


def _since(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _bounds(text: str) -> Any:
    return [tuple(_number(part) for part in pair.split(",")) for pair in text.split(";")]


def _periods(text: str) -> Any:
    return [None if part.strip() == "none" else _number(part) for part in text.split(";")]


OPTIONS = (
    Option(
        "measurement",
        "--measurement",
        "Noise of the readings",
        "Readings are the state plus an error: learn, or its standard deviation, such as 0.1.",
        _learned_or_numbers,
    ),
    Option(
        "exposure",
        "--exposure",
        "Exposure",
        "Readings average over this share of the step before them, as a camera's: 1 is all of it; or learn.",
        _learned_or_number,
    ),
    Option(
        "order",
        "--order",
        "Velocities are hidden",
        "Readings are positions of a body that has a velocity: dx = v dt, dv = f(x, v) dt + σ(x, v) dW.",
        on=2,
        typed="2",
    ),
    Option("season", "--season", "Season", "Its period in the unit of time; auto, day, week or year.", _season),
    Option("trend", "--trend", "Trend", "Drift and diffusion may change with time."),
    Option("since", "--since", "Since", "Rows before this date or time are left out, such as 2008-09-15.", _since),
    Option("jumps", "--jumps", "Jumps", "Increments jump now and then: learn how often, how far and when."),
    Option(
        "tails",
        "--tails",
        "Heavy tails",
        "Increments are Student's: learn, or degrees of freedom, such as 4.",
        _learned_or_number,
    ),
    Option(
        "volatility",
        "--volatility",
        "Volatility",
        "The level of the noise changes with time, in a way of its own.",
        on=LEARN,
    ),
    Option(
        "noise",
        "--noise",
        "Noise of several coordinates",
        "Diagonal: each its own. Full: correlated.",
        str,
        choices=("auto", "diagonal", "isotropic", "full"),
    ),
    Option(
        "bounds",
        "--bounds",
        "Bounds",
        "Values that the state cannot leave: 0,1 or 0,inf; of several coordinates 0,1; 0,inf.",
        _bounds,
        repeated=True,
    ),
    Option(
        "periodic",
        "--periodic",
        "Period of an angle",
        "6.2832 or 360; of several coordinates 360; none.",
        _periods,
        repeated=True,
    ),
)

BY_NAME = {option.name: option for option in OPTIONS}
LONGEST = 200
"""Characters of a text that is typed."""

Asked = dict[str, str]
"""Options by name, as text that was typed; "yes" is a switch that is on. What is not in it is left as it is."""


def read_asked(given: Any) -> Asked:
    """What a page asks for, checked: names that there are, and texts that can be read."""
    if not isinstance(given, dict):
        raise Refused("settings must be names and texts")
    asked = {}
    for name, value in given.items():
        option = BY_NAME.get(name)
        if option is None or not isinstance(value, str) or len(value) > LONGEST:
            raise Refused(f"there is no setting {str(name)[:40]!r} like that")
        text = value.strip()
        if text in ("", "no") or (option.choices and text == option.choices[0]):
            continue
        _check(option, text)
        asked[name] = text
    return asked


def _check(option: Option, text: str) -> None:
    if option.read is None and text != "yes":
        raise Refused(f"{option.label} is on or off")
    if option.choices and text not in option.choices:
        raise Refused(f"{option.label} is one of {', '.join(option.choices)}")
    if option.read is not None:
        try:
            option.read(text)
        except Refused as error:
            raise Refused(f"{option.label}: {error}. {option.help}") from None


def settings_of(asked: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `SDE`."""
    found = {}
    for name, text in asked.items():
        option = BY_NAME[name]
        found[name] = option.on if option.read is None else option.read(text)
    return found


def words_of(asked: Mapping[str, str]) -> list[str]:
    """What is typed in the command for it."""
    words = []
    for name, text in asked.items():
        option = BY_NAME[name]
        if option.read is None:
            words += [option.flag, *([option.typed] if option.typed else [])]
        else:
            parts = [part.strip() for part in text.split(";")] if option.repeated else [text]
            words += [word for part in parts for word in _pair(option, part)]
    return words


def _pair(option: Option, part: str) -> list[str]:
    return [f"{option.flag}={part}"] if part.startswith("-") else [option.flag, part]


def form() -> list[dict[str, Any]]:
    """The table as the page shows it."""
    return [
        {"name": each.name, "label": each.label, "help": each.help, "kind": each.kind, "choices": each.choices}
        for each in OPTIONS
    ]


HIDDEN, DISTURBED = {"measurement", "exposure", "order"}, {"jumps", "tails", "volatility"}
"""Families of options of which one leaves out the other, and within which not all go together."""


def with_cure(asked: Asked, cure: Mapping[str, str]) -> Asked:
    """The options with those of a cure, less what does not go together with them."""
    left_out: set[str] = set()
    if set(cure) & HIDDEN:
        left_out |= DISTURBED
        left_out |= {"order", "exposure"} if set(cure) & {"order", "exposure"} else set()
    if set(cure) & DISTURBED:
        left_out |= HIDDEN | DISTURBED
    if "order" in cure:
        left_out.add("noise")
    return {name: text for name, text in asked.items() if name not in left_out} | dict(cure)
