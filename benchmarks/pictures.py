"""The pictures of README.md, made anew: a fit over its truth, and the top of a report as a browser shows it.

    python benchmarks/pictures.py docs

Needs Chromium or Chrome, and playwright, which comes with the test extra.
"""

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "double_well.py"
WIDTH, LAST = 1060, "Drift and diffusion"
"""Of the window, in pixels, and the last section of the report that is shown."""


def photographed(report, picture):
    """A report from its top to the end of the section called LAST."""
    from playwright.sync_api import sync_playwright

    browser = next(path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    with sync_playwright() as started:
        window = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
        page.goto(report.as_uri())
        box = page.locator("section", has=page.get_by_role("heading", name=LAST, exact=True)).bounding_box()
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"]}
        page.screenshot(path=picture, full_page=True, clip=clip)
        window.close()


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs").resolve()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        subprocess.run([sys.executable, "-m", "onepath", "demo", "--folder", "out"], check=True)
        shutil.copyfile("out/double_well.png", folder / "double_well.png")
        photographed(Path("out/treasury_bill.html").resolve(), folder / "report.png")
        os.chdir(folder)


if __name__ == "__main__":
    main()
