"""Examples to begin with: a real series that ships with the package, and simulated ones whose truth is known."""

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from onepath.compare.processes import PROCESSES, Process

SEED = 1


class Example(NamedTuple):
    """A file that can be made, what is said of it, and the process that it is simulated from, if it is."""

    title: str
    told: str
    file: str
    unit: str | None = None
    process: str | None = None
    steps: int = 0


EXAMPLES = {
    "treasury": Example(
        "Treasury bill rate", "US three-month rate, monthly, 1955 to 1999, a real series", "treasury_bill.csv", "year"
    ),
    "double_well": Example(
        "Double well",
        "simulated, noise that grows outwards",
        "double_well.csv",
        None,
        "double_well_multiplicative",
        5000,
    ),
    "wiggly": Example("Wiggly drift", "simulated, waves on a slope", "wiggly.csv", None, "wiggly", 5000),
    "oscillator": Example(
        "Oscillator", "simulated, two coordinates, a limit cycle", "oscillator.csv", None, "van_der_pol", 2000
    ),
}


def process_of(example: str | None) -> Process | None:
    """What an example was simulated from."""
    name = EXAMPLES[example].process if example else None
    return None if name is None else PROCESSES[name]


def write_example(key: str, path: Path) -> None:
    """Write its file."""
    example, process = EXAMPLES[key], process_of(key)
    if process is None:
        path.write_bytes(files("onepath").joinpath("examples", example.file).read_bytes())
        return
    import numpy as np

    values = process.simulate(example.steps, random_state=SEED)[0]
    t = process.dt * np.arange(len(values))
    names = ["x", "y", "z"][: process.dimension]
    np.savetxt(path, np.column_stack([t, values]), "%.10g", ",", header=",".join(["t", *names]), comments="")
