"""The report: whole, self-contained, without fault in a browser; and the figures behind it."""

import copy
import re
import shutil
from html.parser import HTMLParser
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from onepath.findings import expansion_point
from onepath.plots import draw, figures_of
from onepath.report import report_page
from onepath.report.words import caution

matplotlib.use("Agg")

ABOUT = {"source": "<b>odd & name</b>.csv", "command": "onepath fit 'a b.csv'", "notes": ["time from 't'"]}
VOID = {"meta", "br", "img", "use", "path", "rect"}


def stand_in(sde):
    """The same model with a forecast and a diagnosis of known content."""
    sde, d = copy.copy(sde), sde.n_features_in_
    t = sde.trajectory_.t[-1] + np.arange(21.0)
    x = np.random.default_rng(0).standard_normal((50, 21, d)).cumsum(axis=1)
    fan = SimpleNamespace(t=t, x=x, quantiles=lambda levels: np.quantile(x, levels, axis=0))
    asked = [("Markov?", "the past matters", 12.3, 0.001, True), ("Gaussian?", "yes", None, None, False)]
    questions = [SimpleNamespace(name=n, verdict=v, statistic=s, p_value=p, flagged=f) for n, v, s, p, f in asked]
    sde.forecast = lambda steps, paths, random_state: fan  # noqa: ARG005
    sde.diagnose = lambda: SimpleNamespace(verdict="Doubtful: <memory>", questions=questions)
    return sde


@pytest.fixture(scope="module")
def pages(line, plane):
    return {"line": report_page(stand_in(line), **ABOUT), "plane": report_page(stand_in(plane), **ABOUT)}


class Reader(HTMLParser):
    """Tags that close what they open, ids, references, and the text of every element."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.references, self.text, self.tags = [], [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href"):
                self.references.append(value)
            self.references += [f"#{found}" for found in re.findall(r"url\(#([^)]+)\)", value or "")]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("which", ["line", "plane"])
def test_the_page_is_whole_and_loads_nothing(pages, which):
    read = Reader(pages[which])
    assert read.open == []
    assert len(set(read.ids)) == len(read.ids)
    assert {reference for reference in read.references if not reference.startswith("#")} == set()
    assert {reference[1:] for reference in read.references} <= set(read.ids)
    assert not {"script", "link", "iframe", "img", "object"} & set(read.tags)
    assert "@import" not in pages[which]
    assert read.tags.count("svg") == {"line": 6, "plane": 7}[which]


@pytest.mark.parametrize("which", ["line", "plane"])
def test_the_page_says_what_it_must(pages, request, which):
    sde, text = request.getfixturevalue(which), " ".join(Reader(pages[which]).text)
    for part in (
        "The data",
        "The learned equation",
        "Drift and diffusion",
        "What follows",
        {"line": "point of", "plane": "Rate of mode 1"}[which],
        "Forecast",
        "Learned parameters",
        "Versions",
    ):
        assert part in text
    assert "<b>odd & name</b>.csv" in text  # escaped in the page, so it is text and not bold
    assert "onepath fit 'a b.csv'" in text
    assert "Doubtful: <memory>" in text
    assert "⚠ Markov?" in text
    assert "Missing rows" in text
    assert f"{sde.trajectory_.transitions} observed steps" in text
    per = {"line": "per second", "plane": "per unit of time"}[which]
    assert f"drift, {per}" in text
    assert text.count("90 % band") >= 2


def test_every_figure_by_itself_and_none_that_a_model_lacks(line, plane):
    for sde in (stand_in(line), stand_in(plane)):
        for name in figures_of(sde):
            figure = Figure(layout="constrained")
            draw(sde, name, figure)
            assert figure.axes
            assert all(axes.get_xlabel() or axes.get_ylabel() or axes.get_label() for axes in figure.axes)
    with pytest.raises(ValueError, match="has no figure 'field'"):
        draw(line, "field", Figure())


def test_plot_gives_the_overview(line):
    import matplotlib.pyplot as plt

    figure = line.plot()
    assert len(figure.subfigs) >= 3
    plt.close(figure)


def test_a_large_share_of_noise_outside_the_diffusion_is_told(line):
    assert caution(line) is None
    noisy = copy.copy(line)
    noisy.noise_ = 0.5 * np.mean(np.square(line.transitions_.y), axis=0)
    assert "50% of the mean square" in caution(noisy)


def test_equations_are_written_around_the_mean_where_it_is_far_from_zero():
    x = np.random.default_rng(0).standard_normal((1000, 2)) * [0.02, 3.0] + [50.0, 1.0]
    origin = expansion_point(x)
    assert abs(origin[0] - 50.0) < 0.005
    assert origin[1] == 0.0


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("the page is opened in Chromium or Chrome, and neither is installed here")
    with playwright.sync_playwright() as started:
        window = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield window
        window.close()


@pytest.mark.parametrize("which", ["line", "plane"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(browser, pages, tmp_path, which, scheme):
    path = tmp_path / "report.html"
    path.write_text(pages[which], encoding="utf-8")
    for width in (1280, 390):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page, said, asked = context.new_page(), [], []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri())
        assert said == []
        assert asked == [path.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        over = "[...document.querySelectorAll('figure, p, h1, h2, nav, .equation, .scroll')]"
        assert page.evaluate(f"{over}.filter(e => e.getBoundingClientRect().right > innerWidth + 1).length") == 0
        ink, paper = page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]"
        )
        brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
        assert abs(brightness[0] - brightness[1]) > 400
        assert (brightness[1] < 380) == (scheme == "dark")
        context.close()
