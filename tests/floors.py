"""Print the lowest versions that pyproject.toml allows, as pins for pip: `python tests/floors.py [extra ...]`."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]


def floors(extras):
    wanted = [*PROJECT["dependencies"], *(each for extra in extras for each in PROJECT["optional-dependencies"][extra])]
    pins = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement) for requirement in wanted]
    return [f"{pin[1]}=={pin[2]}" for pin in pins if pin]


if __name__ == "__main__":
    print(*floors(sys.argv[1:]), sep="\n")
