"""Packages that only some need: imported where they are used, and named with the command that installs them."""

from importlib import import_module
from typing import Any


def needs(module: str, purpose: str, extra: str) -> Any:
    """The module; without it, an error that says what it is needed for and how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]
        if package != module.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{package} is needed {purpose} and is not installed: pip install 'onepath[{extra}]'", name=package
        ) from None
