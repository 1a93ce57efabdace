"""python -m onepath: the command."""

from onepath.cli import main

main()
