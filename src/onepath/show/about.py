"""Where the data of a report came from, and the command that made it."""

import os
from datetime import UTC, datetime
from typing import Any, NamedTuple


def today() -> str:
    """The day, or that of SOURCE_DATE_EPOCH, by which a page can be made again to the last byte."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdecimal() else datetime.now().astimezone()
    return f"{now:%Y-%m-%d}"


class About(NamedTuple):
    """What a report says beside the model; everything may be left out."""

    source: str = ""
    command: str = ""
    notes: tuple[str, ...] = ()
    first: str = ""
    last: str = ""
    true_equation: str = ""
    made: str = ""  # the day on which it was learned
    sha256: str = ""  # of the data file

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "About":
        """From facts that travelled with a model file; what is not known here is left out."""
        known = {name: value for name, value in facts.items() if name in cls._fields}
        return cls(**known | {"notes": tuple(facts.get("notes", ()))})
