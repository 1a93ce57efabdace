"""Whether all links of the built book lead somewhere in it, and no page loads anything from elsewhere.

python docs/_ext/links.py out/book
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img", "script", "link", "iframe", "source", "object", "embed"}


class Page(HTMLParser):
    """Ids of a page, and what it leads to (tag, target)."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.targets = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        rel = given.get("rel") or ""
        self.targets += [(tag, given[name]) for name in ("href", "src") if given.get(name) and rel != "canonical"]


def faults(book):
    """Sentences, one for each link that leads nowhere or outside where it must not."""
    pages = {path.resolve(): Page(path) for path in book.rglob("*.html")}
    for path, page in pages.items():
        for tag, target in page.targets:
            parts = urlsplit(target)
            if parts.scheme in ("data", "mailto") or (parts.scheme and tag not in LOADED):
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            name = path.relative_to(book.resolve())
            if parts.scheme or parts.netloc:
                yield f"{name} loads {target}"
            elif not place.exists():
                yield f"{name} leads to {target}, which is not there"
            elif parts.fragment and place in pages and unquote(parts.fragment) not in pages[place].ids:
                yield f"{name} leads to {target}, and there is no such place on that page"


if __name__ == "__main__":
    found = sorted(set(faults(Path(sys.argv[1]))))
    sys.exit("\n".join(found) or None)
