"""Warnings for users, at the line of theirs that brought them about."""

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parents[1])


def caution(text: str) -> None:
    """Warn where the package was called from, however deep inside of it this is."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)
