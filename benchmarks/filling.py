"""Tables in pages: between `<!-- name -->` and `<!-- end -->` stands what a command made, around it words of ours."""

import re

PLACE = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def fill(page, parts):
    """The page with every part made anew; `parts` maps names to functions that give text."""

    def made(place):
        name = place.group(1)
        if name not in parts:
            raise ValueError(f"The page asks for {name!r}. There are {', '.join(parts)}.")
        return f"<!-- {name} -->\n{parts[name]()}\n<!-- end -->"

    return PLACE.sub(made, page)


def markdown(head, rows):
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
