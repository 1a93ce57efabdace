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

    source: str = ""  #: where the data came from, in words
    command: str = ""  #: that made the model
    notes: tuple[str, ...] = ()  #: how the data were read
    first: str = ""  #: date of the first row
    last: str = ""  #: date of the last row
    true_equation: str = ""  #: of a simulated path
    made: str = ""  #: the day on which it was learned
    sha256: str = ""  #: of the data file

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "About":
        """From facts that travelled with a model file; what is not known here is left out."""
        known = {name: value for name, value in facts.items() if name in cls._fields}
        return cls(**known | {"notes": tuple(facts.get("notes", ()))})
