"""The studio's page in a browser, by pointer, finger and keyboard: from a file to what is taken away."""

import io
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import onepath
from onepath.compare.processes import PROCESSES

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import Client

PATIENCE = 240_000
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")

DROP = """([name, text]) => {
  const data = new DataTransfer(), zone = document.getElementById("drop");
  data.items.add(new File([text], name, { type: "text/csv" }));
  for (const kind of ["dragenter", "dragover", "drop"])
    zone.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""

FAULTS = Path(__file__).with_name("data").joinpath("page_faults.js").read_text()
"""Names, ids, headings, contrast and width: what is wrong with the page as it stands."""


def csv(values, names, dt):
    text = io.StringIO()
    table = np.column_stack([dt * np.arange(len(values)), values])
    np.savetxt(text, table, "%.8g", ",", header=",".join(["t", *names]), comments="")
    return text.getvalue()


@pytest.fixture(scope="module")
def window():
    playwright = pytest.importorskip("playwright.sync_api")
    named = (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    if (found := next(named, None)) is None:
        pytest.skip("the page is opened in Chromium or Chrome, and neither is installed here")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=[*QUIET])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def studio():
    client = Client("--fits", "1", "--largest", "8")
    yield client
    client.close()


@pytest.fixture
def tab(window, studio):
    """Opens a page of this width, and sees to it that it says nothing on the console and asks nobody else."""
    opened = []

    def open_tab(width=1280, scheme="light", **more):
        context = window.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True, **more
        )
        page, said, others = context.new_page(), [], []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(studio.address) or others.append(asked.url))
        page.on("dialog", lambda dialog: dialog.accept())
        opened.append((context, said, others))
        page.goto(studio.address)
        page.wait_for_selector("#examples button")
        page.wait_for_selector("#shelf a")
        return page

    yield open_tab
    for context, said, others in opened:
        context.close()
        assert said == []
        assert others == []


def whole(page):
    """Wait until everything is made, and see to it that there is no fault."""
    page.wait_for_selector("text=Open the report")
    page.wait_for_selector("text=Steps ahead")
    page.wait_for_function("() => !document.querySelector('.progress')")
    for details in page.query_selector_all("main details:not([open]) > summary"):
        details.click()
    page.wait_for_timeout(200)
    check(page)


def check(page):
    assert page.evaluate(FAULTS) == []
    axe = os.environ.get("AXE_CORE")  # where axe.min.js lies, if it is there
    if axe:
        page.evaluate(Path(axe).read_text())
        found = page.evaluate("axe.run().then(r => r.violations.filter(v => v.impact !== 'minor').map(v => v.id))")
        assert found == []


def view_of(page, title):
    """The ticks along a chart."""
    chart = page.locator("figure.chart", has=page.locator(f".chart-title:text-is('{title}')")).first
    return chart, chart.locator("svg text.tick[text-anchor=middle]").all_text_contents()


def test_from_a_file_that_is_dropped_to_a_model_that_is_loaded(tab, tmp_path):
    page = tab(**({"bypass_csp": True} if os.environ.get("AXE_CORE") else {}))
    check(page)
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") < 5000
    # dropped, asked and answered: two columns that may be the state are too many with a third
    x = PROCESSES["ou_slow"].simulate(600, random_state=1)[0]
    noise = np.random.default_rng(0).standard_normal((601, 2))
    page.evaluate(DROP, ["three.csv", csv(np.hstack([x, noise]), ["x", "a", "b"], 0.05)])
    page.wait_for_selector("text=Which columns are the state?")
    check(page)
    for column, role in (("t", "time"), ("x", "state"), ("a", "unused"), ("b", "unused")):
        page.select_option(f"select[data-column={column}]", role)
    page.fill("input[name=unit]", "day")
    page.click("text=Read it like this")
    page.wait_for_selector("text=0.05 days")
    # a fit that takes its time is stopped
    page.click("summary:has-text('Options of the fit')")
    page.fill("input[name=measurement]", "learn")
    page.click("button:text-is('Fit')")
    page.wait_for_selector("progress")
    page.wait_for_selector(".steps [aria-current]")
    page.click("button:text-is('Stop')")
    page.wait_for_selector("text=The fit was stopped.")
    check(page)
    # and another is begun
    page.fill("input[name=measurement]", "")
    page.click("button:text-is('Fit again')")
    page.wait_for_selector(".verdict")
    whole(page)
    assert page.locator(".verdict strong").text_content() in ("Fits", "Does not fit")
    assert "per day" in page.locator("svg text.axis").all_text_contents()
    _reads_off_and_zooms(page)
    _asks_at_longer_steps(page)
    page.fill("#ahead", "30")
    page.click("button:text-is('Forecast')")
    page.wait_for_selector("text=After 1.5 days")
    with page.expect_download() as model:
        page.click("a:text-is('Model')")
    model.value.save_as(tmp_path / "three.onepath")
    with page.expect_download() as report:
        page.click("a:text-is('Report')")
    report.value.save_as(tmp_path / "three.html")
    assert [model.value.suggested_filename, report.value.suggested_filename] == ["three.onepath", "three.html"]
    assert "onepath fit three.csv --value x --time t --unit day" in (tmp_path / "three.html").read_text()
    sde = onepath.load(tmp_path / "three.onepath")
    assert sde.trajectory_.names == ("x",)
    assert sde.drift([0.5])[0] < 0 < sde.drift([-0.5])[0]
    with page.context.expect_page() as opened:
        page.click("text=Open the report")
    opened.value.wait_for_selector("h1")
    assert "What moves x" in opened.value.title()


def _reads_off_and_zooms(page):
    """By the pointer and by the keyboard; what belongs together moves together."""
    drift, before = view_of(page, "Drift")
    drift.scroll_into_view_if_needed()
    box = drift.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 80)
    told = re.fullmatch(
        r"x = (\S+): 90 % (\S+) to (\S+), learned (\S+?)(, .*)?", drift.locator("output").text_content()
    )
    low, high, mean = (float(told[k].replace("−", "-").rstrip(",")) for k in (2, 3, 4))
    assert low < mean < high
    assert view_of(page, "Diffusion")[0].locator("output").text_content().startswith(f"x = {told[1]}")
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 90, steps=4)
    page.mouse.up()
    near = view_of(page, "Drift")[1]
    span = lambda texts: float(texts[-1].replace("−", "-")) - float(texts[0].replace("−", "-"))  # noqa: E731
    assert span(near) < 0.4 * span(before)
    assert view_of(page, "Diffusion")[1] == near
    svg = drift.locator("svg")
    svg.focus()
    svg.press("0")
    assert view_of(page, "Drift")[1] == before
    svg.press("End")
    last = drift.locator("output").text_content()
    svg.press("ArrowLeft")
    assert drift.locator("output").text_content() not in (last, "\u00a0")
    assert drift.locator("[aria-live]").text_content() == drift.locator("output").text_content()
    svg.press("+")
    assert span(view_of(page, "Drift")[1]) < 0.8 * span(before)
    drift.locator("button:text-is('All')").click()
    assert view_of(page, "Drift")[1] == before


def _asks_at_longer_steps(page):
    slider = page.locator("input[type=range]")
    dots = page.locator(".chart g.dots.second circle")
    first = dots.first.get_attribute("cy")
    slider.focus()
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "2 steps"
    page.wait_for_selector("text=Lag of 2 steps (0.1 days)")
    assert dots.first.get_attribute("cy") != first
    page.click("text=Show the data at this lag")
    assert dots.count() == 0


@pytest.mark.slow
def test_a_cure_is_one_click_and_fits_stand_side_by_side(tab):
    page = tab()
    random = np.random.default_rng(2)
    x = PROCESSES["ou_slow"].simulate(800, random_state=1)[0]
    x += 3.0 * (random.random((801, 1)) < 0.02).cumsum(axis=0) * random.choice([-1.0, 1.0])
    page.evaluate(DROP, ["jumps.csv", csv(x, ["x"], 0.05)])
    page.wait_for_selector("text=Does not fit")
    page.click("button:text-is('Jumps')")
    page.wait_for_selector("text=With jumps.")
    page.wait_for_selector("text=Open the report")
    page.wait_for_selector(".verdict")
    assert "rate" in page.locator("article").text_content()
    page.click("summary:has-text('Other fits beside')")
    page.locator(".choices input[type=checkbox]").last.check()
    page.wait_for_selector("text=log evidence a step")
    assert page.locator(".legend li.green").count() == 2
    check(page)
    assert page.locator("#shelf .fits a").count() >= 2


def test_two_coordinates_on_a_phone_in_the_dark(tab):
    page = tab(390, "dark", has_touch=True)
    process = PROCESSES["van_der_pol"]
    page.evaluate(DROP, ["plane.csv", csv(process.simulate(400, random_state=1)[0], ["x", "y"], process.dt)])
    page.wait_for_selector(".arrows")
    whole(page)
    plane = page.locator("figure.chart", has=page.locator(".chart-title:text-is('In the plane')"))
    for choice, drawn in (("Noise", ".ellipses ellipse"), ("Drift of x", ".map rect"), ("Drift", ".arrows path")):
        plane.locator("label", has_text=re.compile(f"^ {choice}$")).click()
        assert plane.locator(drawn).count() > 10
    svg = plane.locator("svg")
    svg.scroll_into_view_if_needed()
    svg.focus()
    svg.press("ArrowUp")
    assert re.match(
        r"x = .*, y = .*: drift of x .* \(.* to .*\), noise .*; drift of y", plane.locator("output").text_content()
    )
    ticks = svg.locator("text.tick").all_text_contents()
    svg.press("+")
    assert svg.locator("text.tick").all_text_contents() != ticks
    # a finger reads off
    drift = view_of(page, "Drift of x along x")[0]
    drift.scroll_into_view_if_needed()
    box = drift.locator("svg").bounding_box()
    page.touchscreen.tap(box["x"] + 0.5 * box["width"], box["y"] + 60)
    assert drift.locator("output").text_content().startswith("x = ")
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]"
    )
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert brightness[0] > brightness[1] + 400


def test_a_second_tab_sees_the_same_and_does_not_wait(tab, studio):
    first, second = tab(), tab(700, "dark")
    page = "() => document.querySelectorAll('#shelf a').length"
    begun = first.evaluate(page)
    assert second.evaluate(page) == begun
    x = PROCESSES["ou_slow"].simulate(6000, random_state=3)[0]
    first.evaluate(DROP, ["slow.csv", csv(x, ["x"], 0.05)])
    first.wait_for_selector(".progress")
    at = second.evaluate("performance.now()")
    second.reload()
    second.wait_for_selector("#shelf a:has-text('slow.csv')")
    assert second.evaluate("performance.now()") < at + 5000
    check(second)
    # names in a file are text, wherever they are shown
    odd = "<img src=x onerror=window.owned=1>"
    second.evaluate(DROP, [f"{odd}.csv", f"t,{odd}\n" + "\n".join(f"{k},{(k * k) % 17}" for k in range(60))])
    second.wait_for_selector(f'h2:has-text("{odd}")')
    assert second.evaluate("window.owned") is None
    assert second.locator("main img").count() == 0
    for fit in studio.get("state")["fits"]:
        studio.post(f"fits/{fit['id']}/stop")


def test_the_end_of_the_studio(window):
    client = Client("--fits", "1")
    page = window.new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(client.address)
    page.wait_for_selector("#shelf a")
    page.click("text=End the studio")
    page.wait_for_selector("text=The studio has ended")
    client.process.wait(timeout=20)
    assert client.process.returncode == 0
    page.close()
    client.close()
