"""The report: whole, self-contained, without fault in a browser; and the figures behind it."""

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from onepath.after.diagnose import CheckResult, Diagnosis, diagnose
from onepath.after.equation import expansion_point
from onepath.after.forecast import Paths
from onepath.compare.processes import PROCESSES
from onepath.show.about import About
from onepath.show.plots import FIGURES, draw, figures_of
from onepath.show.plots.curves import fan_of
from onepath.show.report import report_page
from onepath.show.sentences import caution

matplotlib.use("Agg")

ABOUT = About("<b>odd & name</b>.csv", "onepath fit 'a b.csv'", ("time from 't'",))
VOID = {"meta", "br", "img", "use", "path", "rect"}


def stand_in(model):
    """The same model with a forecast and a diagnosis of known content, in the place where answers are kept."""
    x = np.random.default_rng(0).standard_normal((50, 21, model.dimension)).cumsum(axis=1)
    fan = Paths(model.trajectory.t[-1] + np.arange(21.0), x, np.zeros(50), np.zeros(50, bool))
    asked = [("Markov?", "the past matters", 12.3, 0.001, True), ("Gaussian?", "yes", np.nan, np.nan, False)]
    diagnosis = Diagnosis("Doubtful: <memory>", [CheckResult(*each) for each in asked], ("Markov?",))
    answers = {
        f"{each.__module__}.{each.__qualname__}()": said for each, said in ((fan_of, fan), (diagnose, diagnosis))
    }
    model = replace(model)
    model.answers.update(answers)
    return model


@pytest.fixture(scope="module")
def pages(line, plane):
    models = {"line": line.model_, "plane": plane.model_}
    return {name: report_page(stand_in(model), about=ABOUT) for name, model in models.items()}


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
        {"line": "of the density", "plane": "Rate of mode 1"}[which],
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
    for model in (stand_in(line.model_), stand_in(plane.model_)):
        for name in figures_of(model):
            figure = Figure(layout="constrained")
            draw(model, name, figure)
            assert figure.axes
            for axes in figure.axes:
                assert axes.get_xlabel() or axes.get_ylabel() or axes.get_label() == "<colorbar>"
                assert axes.has_data() or axes.get_label() == "<colorbar>"
    with pytest.raises(ValueError, match="has no figure 'field'"):
        draw(line.model_, "field", Figure())


def drawn_lines(model, name, truth=None):
    """Every labelled line of a figure: (x, y)."""
    figure = Figure()
    draw(model, name, figure, truth)
    return {one.get_label(): one.get_xydata().T for axes in figure.axes for one in axes.lines}


def test_curves_show_the_numbers_of_the_model_and_the_truth(line):
    process = PROCESSES["double_well_multiplicative"]
    for name, method, true in (
        ("drift", line.drift, lambda x: process.drift(x[:, None])[:, 0]),
        ("diffusion", line.diffusion, lambda x: process.diffusion(x[:, None])[:, 0, 0]),
    ):
        found = drawn_lines(line.model_, name, process)
        for label, values in (("learned", method), ("truth", true)):
            x, y = found[label]
            np.testing.assert_allclose(y, values(x), rtol=1e-9)
    assert "truth" not in drawn_lines(line.model_, "drift")
    assert all(FIGURES[name].shows_truth for name in ("potential", "density", "field"))


def test_plot_gives_the_overview_with_every_figure(line):
    import matplotlib.pyplot as plt

    figure = line.plot()
    titles = {axes.get_title(loc="left") for axes in figure.axes}
    assert {"Trajectory", "Drift", "Diffusion", "Stationary density", "Forecast"} <= titles
    plt.close(figure)


def test_typos_are_refused(line, tmp_path):
    with pytest.raises(TypeError, match="titel"):
        line.report(tmp_path / "r.html", titel="x")
    with pytest.raises(TypeError, match="trueth"):
        line.plot("drift", trueth=None)
    assert list(tmp_path.iterdir()) == []


def test_a_large_share_of_noise_outside_the_diffusion_is_told(line):
    model = line.model_
    assert caution(model) is None
    graph = model.graph
    wanted = 0.5 * np.mean(np.square(model.transitions.y), axis=0)
    share = wanted / np.asarray(graph.noise_unit) / np.square(model.units.scale)
    with jax.enable_x64(True):
        graph = replace(jax.tree.map(jnp.asarray, graph), noise=jnp.asarray(share[0]))
        noisy = replace(model, posterior=replace(jax.tree.map(jnp.asarray, model.posterior), graph=graph))
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
