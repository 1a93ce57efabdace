"""What a user hands in as numbers, checked: real, finite in number, one for each thing that needs one."""

import unicodedata
from typing import Any

import numpy as np

REAL = "iuf"  # NumPy's letters for the kinds of real numbers, and below for other kinds
KINDS = {"b": "booleans", "c": "complex numbers", "O": "objects", "U": "text", "M": "dates", "m": "durations"}
CURES = {
    "b": "two states are no diffusion, but if 0 and 1 were measured, pass x.astype(float)",
    "c": "pass two real columns, np.stack([z.real, z.imag], axis=1)",
    "M": "pass times as t=",
}


def read_scalar(value: Any, what: str) -> float:
    array = np.asarray(value)
    if array.ndim > 0 or array.dtype.kind not in REAL:
        raise TypeError(f"{what} is of type {type(value).__name__}, but the same for all steps: pass one number")
    return float(array)


def is_from_pandas(data: Any) -> bool:
    return type(data).__module__.startswith("pandas")


def read_array(data: Any, what: str) -> np.ndarray:
    try:
        return np.asarray(data)
    except ValueError as error:
        raise ValueError(f"{what} makes no array ({error}): pass rows of equal length") from error


def read_numbers(data: Any, what: str) -> np.ndarray:
    array = read_array(data, what)
    if array.dtype.kind not in REAL:
        got = KINDS.get(array.dtype.kind, array.dtype)
        cure = CURES.get(array.dtype.kind, "convert with np.asarray(x, dtype=float), missing values as NaN")
        raise TypeError(f"{what} holds {got}, but a diffusion moves among real numbers: {cure}")
    numbers = array.astype(float, copy=False)
    return np.where(np.ma.getmaskarray(data), np.nan, numbers) if np.ma.isMaskedArray(data) else numbers


def printable(text: str) -> str:
    """Control characters as Python writes them, so that none reaches a terminal; everything else as it is."""
    return "".join(repr(one)[1:-1] if unicodedata.category(one) in ("Cc", "Cf", "Cs") else one for one in text)


def spaced(count: int) -> str:
    """Such as 10 000 000."""
    return f"{count:,}".replace(",", " ")
