"""What is wrong with a file."""

from collections.abc import Iterable


class BadTable(ValueError):
    """A table that cannot be used, with the reason and what to do."""


class Damaged(ValueError):
    """A file that is no whole model file."""


class Unsavable(TypeError):
    """Something that a model file cannot hold."""


class Kept(FileExistsError):
    """A file is there already, and nobody said that it may go."""


class Unwritten(OSError):
    """A file that could not be written: the disk is full, or gone."""


def listed(names: Iterable[object]) -> str:
    """Names in a sentence, the first dozen of them."""
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")
