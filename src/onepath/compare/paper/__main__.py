"""`python -m onepath.compare.paper`, the same as `onepath paper`."""

import typer

from onepath.compare.paper.command import paper

if __name__ == "__main__":
    typer.run(paper)
