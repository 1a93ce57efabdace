"""Pages that are named in a text, as `hidden.md` or `docs/hidden.md`, are links to them in the book."""

import re

from docutils import nodes

PAGE = re.compile(r"(?:docs/)?([a-z-]+)\.md")


def link(app, doctree, docname):
    for literal in list(doctree.findall(nodes.literal)):
        named = PAGE.fullmatch(literal.astext())
        page = named[1] if named else None
        if page in app.env.found_docs and page != docname and not isinstance(literal.parent, nodes.reference):
            title = app.env.titles[page].astext()
            uri = app.builder.get_relative_uri(docname, page)
            literal.replace_self(nodes.reference("", title, refuri=uri, internal=True))


def setup(app):
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
