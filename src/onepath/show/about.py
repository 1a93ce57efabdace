"""Where the data of a report came from, and the command that made it."""

from typing import Any, NamedTuple


class About(NamedTuple):
    """What a report says beside the model; everything may be left out."""

    source: str = ""
    command: str = ""
    notes: tuple[str, ...] = ()
    first: str = ""
    last: str = ""
    true_equation: str = ""

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "About":
        """From facts that travelled with a model file; what is not known here is left out."""
        known = {name: value for name, value in facts.items() if name in cls._fields}
        return cls(**known | {"notes": tuple(facts.get("notes", ()))})
