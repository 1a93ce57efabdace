"""Refusals that many questions share: what was got, why it cannot work, what to give instead."""

from typing import Any

import numpy as np


def check_probability(name: str, value: Any) -> None:
    """Refuse what is no probability strictly between 0 and 1."""
    if not (isinstance(value, int | float | np.number) and 0.0 < value < 1.0):
        raise ValueError(f"{name}={value!r} cannot be used: it is a probability, between 0 and 1.")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number of at least `least`."""
    if isinstance(value, bool) or not (isinstance(value, int | np.integer) and value >= least):
        raise ValueError(f"{name}={value!r} cannot be used: give a whole number of at least {least}.")


def check_not_negative(name: str, value: Any) -> None:
    """Refuse what is no finite number from 0 on."""
    if isinstance(value, bool) or not (isinstance(value, int | float | np.number) and 0 <= value < np.inf):
        raise ValueError(f"{name}={value!r} cannot be used: it must be a finite number, not negative.")
