"""The page around a report: its look on a screen, a phone and paper, and the HTML of its parts."""

from html import escape

from onepath.show.report.typeset import typeset
from onepath.show.report.words import AS_GIVEN, CHECKSUM, Rows

SHOWN = 16
"""Digits of a checksum that are shown."""

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1b1b; --soft: #555555; --muted: #8a8a8a; --line: #dcdcdc;
  --panel: #f6f7f9; --fit: #0072b2; --second: #c24f00; --warn: #9a3b00; --good: #00694c }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e9e9e7; --soft: #b3b6ba; --muted: #85898f;
  --line: #33383f; --panel: #1c2026; --fit: #56b4e9; --second: #f0a35c; --warn: #f0a35c; --good: #4fc9a2 } }
@media print { :root { color-scheme: light; --paper: #ffffff; --ink: #000000; --soft: #333333; --muted: #777777;
  --line: #cccccc; --panel: #ffffff; --fit: #0072b2; --second: #c24f00; --warn: #9a3b00; --good: #00694c } }
* { box-sizing: border-box }
html { background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Helvetica, Arial, sans-serif;
  -webkit-text-size-adjust: 100% }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem }
header { border-bottom: 2px solid var(--ink); margin-bottom: 1.5rem; padding-bottom: 1rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .2rem }
p { margin: .5rem 0; max-width: 46rem } p.lead { font-size: 1.08rem; color: var(--soft) }
nav { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin-top: .8rem; font-size: .92rem }
a { color: var(--fit) }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem }
figure { margin: 1rem 0; min-width: 0 } figure svg { display: block; width: 100%; height: auto }
figure svg text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif !important }
figcaption { color: var(--soft); font-size: .88rem; margin-top: .3rem; max-width: 46rem }
.scroll { overflow-x: auto; max-width: 100% }
table { border-collapse: collapse; font-size: .93rem; font-variant-numeric: tabular-nums; margin: .6rem 0 }
th, td { text-align: left; vertical-align: top; padding: .32rem 1.1rem .32rem 0; border-bottom: 1px solid var(--line) }
th { font-weight: 600 } td { overflow-wrap: anywhere; min-width: 4.5rem }
.numbers td, .answers td:nth-child(n + 3) { overflow-wrap: normal; white-space: nowrap }
.answers td:nth-child(2) { min-width: 16rem }
.phone { display: none }
.equation, code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .95rem }
.equation { background: var(--panel); border-left: 3px solid var(--fit); padding: .7rem 1rem; margin: .6rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere }
.equations td { border-bottom: 1px solid var(--line); padding: .45rem 1.6rem .45rem 0 } math { font-size: 1.12em }
pre { background: var(--panel); padding: .6rem .8rem; overflow-x: auto; font-size: .88rem }
.verdict strong { display: block; font-size: 1.2rem; color: var(--good) }
.verdict.flagged strong { color: var(--warn) }
.verdict { border-left: 3px solid var(--good); background: var(--panel); padding: .7rem 1rem; margin: .8rem 0 }
.verdict.flagged { border-color: var(--warn) }
details summary { cursor: pointer; color: var(--fit) }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; color: var(--soft);
  font-size: .88rem }
@media screen and (max-width: 34rem) { .phone { display: block } .screen { display: none }
  body { padding: 1.2rem .9rem 3rem } h1 { font-size: 1.5rem }
  thead { display: none } table, tbody, tr, th, td { display: block } tr { border-bottom: 1px solid var(--line);
    padding: .45rem 0 } th, td { border: 0; padding: 0; min-width: 0 }
  td[data-label] { display: flex; justify-content: space-between; gap: 1rem }
  td[data-label]::before { content: attr(data-label); color: var(--soft) }
  td[data-label]:empty { display: none }
  td[data-label="answer"] { display: block } td[data-label="answer"]::before { content: none }
  .numbers td, .answers td:nth-child(n + 3) { white-space: normal; text-align: right }
  .equations td { text-align: left } .equations math { font-size: 1em }
  .answers td:nth-child(2) { min-width: 0 } }
@media print { html { font-size: 11px } body { max-width: none; padding: 0 } nav { display: none }
  figure, table, .verdict { break-inside: avoid } h2 { break-after: avoid }
  a { color: inherit; text-decoration: none } }
"""


def table(rows: Rows, kind: str = "facts") -> str:
    """Rows with a heading line, or facts with their names in the first column."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows.head)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    lines = []
    labels = [f' data-label="{escape(cell)}"' for cell in rows.head[1:]]
    for first, *rest in rows.body:
        pairs = zip(rest, labels or len(rest) * [""], strict=True)
        cells = "".join(f"<td{label}>{_cell(first, cell)}</td>" for cell, label in pairs)
        lines.append(f'<tr><th scope="row">{escape(typeset(first))}</th>{cells}</tr>')
    return f'<div class="scroll"><table class="{kind}">{head}<tbody>{"".join(lines)}</tbody></table></div>'


def _cell(name: str, text: str) -> str:
    """Its text; of a checksum the beginning, and all of it for who points at it."""
    if name == CHECKSUM:
        return f'<abbr title="{escape(text)}">{escape(text[:SHOWN])}</abbr>'
    return escape(text if name in AS_GIVEN else typeset(text))


def figure(svg: str, caption: str, phone: str | None = None) -> str:
    """A picture with its caption; a wide one, too small to read on a phone, has another layout there."""
    svg = f'<div class="screen">{svg}</div><div class="phone">{phone}</div>' if phone else svg
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def section(key: str, title: str, *parts: str) -> tuple[str, str, str]:
    """Key, title and HTML of one section."""
    return key, title, f'<section id="{key}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def paragraph(text: str) -> str:
    return f"<p>{escape(typeset(text))}</p>"


def page(title: str, lead: str, banner: str, sections: list[tuple[str, str, str]], made: str) -> str:
    """The whole document, with what matters most in a banner; it loads nothing."""
    links = "".join(f'<a href="#{key}">{escape(name)}</a>' for key, name, _ in sections)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f'<body><header><h1>{escape(title)}</h1>{banner}<p class="lead">{escape(typeset(lead))}</p>'
        f"<nav>{links}</nav></header>\n<main>"
        f"{''.join(text for *_, text in sections)}</main>\n<footer>{escape(made)}</footer></body></html>\n"
    )
