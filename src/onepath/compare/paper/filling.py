"""Tables in pages: between `<!-- name -->` and `<!-- end -->` stands what a command made, around it words of ours."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

PLACE = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def fill(page: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """The page with every part made anew."""

    def made(place: re.Match[str]) -> str:
        name = place.group(1)
        if name not in parts:
            raise ValueError(f"The page asks for {name!r}. There are {', '.join(parts)}.")
        return f"<!-- {name} -->\n{parts[name]()}\n<!-- end -->"

    return PLACE.sub(made, page)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column is text, the others are numbers."""
    rule = ("---", *("--:",) * (len(columns) - 1))
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, rule, *rows))
