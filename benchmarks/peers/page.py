"""The tables and the picture of docs/peers.md, made from kept results, so that page and results cannot drift apart.

    python benchmarks/peers/page.py docs/peers.md

The words around the tables are not made here.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import board
import speeds
from picture import draw
from resumable import kept
from summary import cells, share_first, silent
from tables import board_table, failure_table, lost_table, method_table

from onepath.compare.paper.filling import fill, markdown


def makers(results, speed):
    """What makes each part, by the name that the page calls it by."""
    return {
        "board": lambda: board_table(results),
        "methods": lambda: method_table(results),
        "lost": lambda: lost_table(results),
        "failures": lambda: failure_table(results),
        "speed": lambda: speeds.speed_table(speed),
        "versions": lambda: version_table(results),
        "count": lambda: count(results),
    }


def version_table(results):
    rows = [
        [key.removeprefix("versions/"), ", ".join(f"{package} {version}" for package, version in found.items())]
        for key, found in results.items()
        if key.startswith("versions/")
    ]
    return markdown(["method", "versions"], rows)


def count(results):
    """One sentence: how much there is, and how onepath stands."""
    found = cells(results)
    seeds = sorted({cell.seeds for cell in found.values()})
    won, of = share_first(found, "onepath")
    many = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else "one seed" if seeds == [1] else f"{seeds[0]} seeds"
    return (
        f"{len(found)} cells, {many} each. onepath is first or within 5 % of the first in {won} of {of} medians "
        f"(drift and diffusion of each problem), and silently wrong in {silent(found)['onepath']} of its "
        f"{sum(cell.seeds for (method, _), cell in found.items() if method == 'onepath')} fits."
    )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    everything = kept(board.OUTPUT)
    target.write_text(fill(target.read_text(), makers(everything, kept(speeds.OUTPUT))))
    draw(everything, target.with_name("peers.png"))
