"""`python -m onepath.paper`, the same as `onepath paper`."""

import typer

from onepath.paper.command import paper

if __name__ == "__main__":
    typer.run(paper)
