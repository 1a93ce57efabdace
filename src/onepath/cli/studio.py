"""onepath studio: a page in the browser to drop a file on."""

from pathlib import Path
from typing import Annotated

import typer

from onepath.cli.console import ending, say

FileArgument = Annotated[Path | None, typer.Argument(help="Table to begin with.", show_default=False)]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 is any that is free.")]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")]
LargestOption = Annotated[int, typer.Option("--largest", min=1, max=8192, help="Megabytes of the largest upload.")]
FitsOption = Annotated[
    int | None, typer.Option("--fits", min=1, max=16, help="Fits at the same time.", show_default=False)
]


def studio(
    file: FileArgument = None,
    port: PortOption = 0,
    browser: BrowserOption = True,
    largest: LargestOption = 256,
    fits: FitsOption = None,
) -> None:
    """Open a page in the browser to fit tables on: for this machine only, and nothing is kept but what you save.

    Example:  onepath studio
    """
    with ending():
        from onepath.numerics.extras import needs

        for module in ("starlette", "uvicorn"):
            needs(module, "to serve the page", "studio")
        from onepath.studio.serve import serve
        from onepath.studio.server import MEGABYTE, Limits

        if file is not None and not file.is_file():
            raise FileNotFoundError(f"{file} does not exist, or is no file: give the name of a table")
        limits = Limits(largest * MEGABYTE)
        limits = limits if fits is None else limits._replace(fits=fits)
        serve(say, port=port, browser=browser, limits=limits, opened=file)
