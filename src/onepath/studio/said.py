"""What the page says of a table, and the command and the Python lines that say the same."""

import math
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from onepath.io.chosen import Chosen
from onepath.studio.options import Asked, Refused, settings_of, words_of

ROLES = ("time", "state", "input", "error", "group", "unused")
MOST_COLUMNS, LONGEST = 2000, 500

CALENDARS = ("auto", "business", "all")


class Said(NamedTuple):
    """Roles of columns that were said, and what numbers there are beside them."""

    roles: dict[str, str] = {}  # noqa: RUF012 (never changed)
    dt: float | None = None
    unit: str | None = None
    time_unit: str | None = None
    wide: bool = False
    missing: tuple[str, ...] = ()
    gap: float = 10.0
    calendar: str = "auto"
    encoding: str | None = None

    def of_role(self, role: str) -> tuple[str, ...]:
        return tuple(name for name, each in self.roles.items() if each == role)

    def chosen(self, found: tuple[str, ...] = ()) -> Chosen:
        """As the readers of tables take it; `found` are further spellings of missing values."""
        time, group = (next(iter(self.of_role(role)), None) for role in ("time", "group"))
        return Chosen(
            time,
            self.of_role("state"),
            group,
            self.dt,
            self.unit,
            self.time_unit,
            self.wide,
            (*self.missing, *found),
            self.of_role("error"),
            self.of_role("input"),
        )

    @property
    def times(self) -> dict[str, Any]:
        """Arguments of `SDE.fit` beside the columns."""
        return {"gap": self.gap, "calendar": self.calendar}


def read_said(given: Any) -> Said:
    """From the page's JSON, checked."""
    if not isinstance(given, dict) or set(given) - set(Said._fields):
        raise Refused("what is said of the table must be names and values")
    given = {name: value for name, value in given.items() if value not in (None, "")}
    return Said(
        roles=_roles(given.get("roles", {})),
        dt=_step(given.get("dt")),
        wide=given.get("wide") is True,
        missing=_spellings(given.get("missing", "")),
        gap=_positive(given.get("gap", 10.0), "Gap"),
        calendar=_one_of(given.get("calendar", "auto"), CALENDARS, "Calendar"),
        **{name: _text(given[name]) for name in ("unit", "time_unit", "encoding") if name in given},
    )


def _roles(given: Any) -> dict[str, str]:
    if not isinstance(given, dict) or len(given) > MOST_COLUMNS:
        raise Refused("roles must be columns and their roles")
    roles = {_text(name): _one_of(role, ROLES, "A role") for name, role in given.items()}
    for role in ("time", "group"):
        if sum(each == role for each in roles.values()) > 1:
            raise Refused(f"only one column can have the role {role}: choose one of them")
    return roles


def _text(given: Any) -> str:
    if not isinstance(given, str) or len(given) > LONGEST:
        raise Refused("a text is expected, of a few hundred characters at most")
    return given


def _one_of(given: Any, known: tuple[str, ...], what: str) -> str:
    if given not in known:
        raise Refused(f"{what} is one of {', '.join(known)}")
    return str(given)


def _step(given: Any) -> float | None:
    """A number, or a fraction of two such as 1/252."""
    if given is None:
        return None
    above, slash, below = str(given)[:LONGEST].partition("/")
    try:
        step = float(above) / float(below if slash else 1)
    except (ValueError, ZeroDivisionError):
        raise Refused(
            f"The step {str(given)[:40]!r} is neither a number nor a fraction: write 0.004 or 1/252"
        ) from None
    return _positive(step, "The step")


def _positive(given: Any, what: str) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise Refused(f"{what} must be a number") from None
    if not (math.isfinite(number) and number > 0):
        raise Refused(f"{what} must be a positive number; got {number:g}")
    return number


def _spellings(given: Any) -> tuple[str, ...]:
    """Between commas or blanks."""
    return tuple(_text(given).replace(",", " ").split())


def command(name: str, said: Said, asked: Asked) -> str:
    """What to type for the same fit."""
    words = ["onepath", "fit", name if not name.startswith("-") else f"./{name}"]
    many = (("--value", "state"), ("--input", "input"), ("--error", "error"), ("--time", "time"), ("--group", "group"))
    for flag, role in many:
        for column in said.of_role(role):
            words += [f"{flag}={column}"] if column.startswith("-") else [flag, column]
    numbers = (("--dt", said.dt), ("--unit", said.unit), ("--time-unit", said.time_unit), ("--encoding", said.encoding))
    for flag, value in numbers:
        words += [] if value is None else [flag, str(value)]
    words += ["--wide"] if said.wide else []
    for spelling in said.missing:
        words.append(f"--na={spelling}")
    words += [] if said.gap == Said().gap else ["--gap", str(said.gap)]
    words += [] if said.calendar == "auto" else ["--calendar", said.calendar]
    stem = name.rpartition(".")[0] or name
    return shlex.join([*words, *words_of(asked), "--model", f"{stem}.onepath", "--report", f"{stem}.html"])


def python(name: str, said: Said, asked: Asked) -> str:
    """Lines that do the same."""
    chosen = {key: value for key, value in said.chosen()._asdict().items() if value != Chosen()._asdict()[key]}
    chosen.pop("missing", None)
    marks = "table.missing" if not said.missing else f"({_listed(said.missing)}*table.missing)"
    read = [repr(name)]
    read += [f"encoding={said.encoding!r}"] if said.encoding else []
    read += [f"missing={said.missing!r}"] if said.missing else []
    fit = {key: value for key, value in said.times.items() if value != Said().times[key]}
    return "\n".join(
        [
            "import onepath",
            "from onepath.io.columns import Chosen, choose_columns",
            "from onepath.io.tables import read_table",
            "",
            f"table = read_table({', '.join(read)})",
            f"seen = choose_columns(table.frame, Chosen({_arguments(chosen)}missing={marks}))",
            f"sde = onepath.SDE({_arguments(settings_of(asked))}random_state=0)",
            f"sde.fit({_arguments(fit)}**seen.arguments)",
            "print(sde.summary())",
        ]
    )


def _listed(values: tuple[str, ...]) -> str:
    return "".join(f"{value!r}, " for value in values)


def _arguments(values: Mapping[str, Any]) -> str:
    return "".join(f"{key}={_python(value)}, " for key, value in values.items())


def _python(value: Any) -> str:
    """As Python has it; infinity too."""
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_python, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)
