"""The pictures of README.md and docs/studio.md, made anew: a fit over its truth, a report and the studio in a browser.

    python benchmarks/pictures.py docs

Needs Chromium or Chrome, and playwright, which comes with the test extra.
"""

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from serving import Client

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "double_well.py"
WIDTH, LAST = 1060, "Drift and diffusion"
"""Of the window, in pixels, and the last section of the report that is shown."""


STUDIO = {
    "studio.png": ("Double well", 1280, "light", 1480),
    "studio_phone.png": ("Double well", 390, "dark", 1690),
    "studio_plane.png": ("Oscillator", 1280, "light", "In the plane"),
}
"""Pictures of the studio: example, width, colours, and height from the top, or the chart that is all of it."""


@contextmanager
def browser():
    from playwright.sync_api import sync_playwright

    found = next(path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    with sync_playwright() as started:
        window = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield window
        window.close()


def photographed(window, report, picture):
    """A report from its top to the end of the section called LAST."""
    page = window.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
    page.goto(report.as_uri())
    box = page.locator("section", has=page.get_by_role("heading", name=LAST, exact=True)).bounding_box()
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"]}
    page.screenshot(path=picture, full_page=True, clip=clip)


def photographed_studio(window, address, picture):
    """An example's fit, when all of it is there."""
    example, width, colours, part = STUDIO[picture.name]
    page = window.new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
    page.set_default_timeout(240_000)
    page.goto(address)
    page.locator("#examples button", has_text=example).click()
    page.wait_for_selector("text=Open the report")
    page.wait_for_selector("text=Steps ahead")
    page.wait_for_function("() => !document.querySelector('.progress')")
    page.wait_for_timeout(500)
    if isinstance(part, str):
        page.locator("figure.chart", has=page.locator(f".chart-title:text-is('{part}')")).first.screenshot(path=picture)
    else:
        page.screenshot(path=picture, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": part})


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs").resolve()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        subprocess.run([sys.executable, "-m", "onepath", "demo", "--folder", "out"], check=True)
        shutil.copyfile("out/double_well.png", folder / "double_well.png")
        with browser() as window:
            photographed(window, Path("out/treasury_bill.html").resolve(), folder / "report.png")
            for name in STUDIO:
                studio = Client("--fits", "1")
                photographed_studio(window, studio.address, folder / name)
                studio.close()
        os.chdir(folder)


if __name__ == "__main__":
    main()
