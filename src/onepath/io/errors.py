"""What is wrong with a file."""


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
