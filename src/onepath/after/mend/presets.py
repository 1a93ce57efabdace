"""Presets of fields: candidates that those who know such data would try first. Data, and nothing else."""

from typing import NamedTuple

from onepath.after.mend.cures import EXPOSURE, JUMPS, NOISE, TAILS, TREND, VELOCITY, VOLATILITY, Candidate, season


class Preset(NamedTuple):
    """What is known of a field beforehand."""

    about: str
    candidates: tuple[Candidate, ...]


PRESETS = {
    "optical-trap": Preset(
        "positions of a bead: a camera averages over its exposure, and each reading has an error",
        ((EXPOSURE,), (NOISE,), (EXPOSURE, NOISE)),
    ),
    "animal-track": Preset(
        "positions by satellite or camera: readings have errors, and an animal has a velocity",
        ((NOISE,), (VELOCITY,), (VELOCITY, NOISE)),
    ),
    "interest-rate": Preset(
        "rates and spreads: they jump when they are set, and their noise has quiet and restless times",
        ((JUMPS,), (TAILS,), (VOLATILITY,)),
    ),
    "climate-index": Preset(
        "means of months or days: a year is in them, and they may drift",
        ((season("year"),), (season("year"), NOISE), (season("year"), TREND)),
    ),
}
