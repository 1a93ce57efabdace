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

from onepath.after.diagnose import CheckResult, Diagnosis, diagnose, whitened
from onepath.after.diagnose.change import clear_season, lines_of, without_seasons_and_changes
from onepath.after.diagnose.picture import STEPS, picture_of
from onepath.after.equation import expansion_point
from onepath.after.forecast import Paths
from onepath.compare.processes import PROCESSES
from onepath.data.transitions import transitions_of
from onepath.show.about import About
from onepath.show.plots import FIGURES, draw, figures_of
from onepath.show.plots.curves import fan_of
from onepath.show.report import report_page
from onepath.show.report.typeset import banded, typeset
from onepath.show.sentences import caution

matplotlib.use("Agg")

ABOUT = About(
    "<b>odd & name</b>.csv",
    "onepath fit 'a b.csv'",
    ("time from 't'",),
    made="2024-02-29",
    sha256="0123456789abcdef" * 4,
)
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
    assert read.tags.count("svg") == {"line": 13, "plane": 15}[which]  # wide ones twice, for a phone too


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


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("1e-05 to -2.5e+07", "1×10⁻⁵ to −2.5×10⁷"),
        (
            "10000 of 1234567 steps, -0.00 and -0.5, x - 1.9(2)",
            "10\u2009000 of 1\u2009234\u2009567 steps, 0.00 and −0.5, x − 1.9(2)",
        ),
        ("2024-02-29 12:30:00, run-12345, v1.10000", "2024-02-29 12:30:00, run-12345, v1.10000"),
    ],
)
def test_numbers_are_typeset_and_dates_and_names_are_not(written, printed):
    assert typeset(written) == printed


@pytest.mark.parametrize(
    ("numbers", "printed"),
    [
        ((0.123456, 0.1, 0.25), ("0.12", "0.10 to 0.25")),
        ((-12.3456, -40.0, 20.0), ("-12", "-40 to 20")),
        ((1.5e-9, 1e-9, 2e-9), ("1.5e-09", "1e-09 to 2e-09")),
        ((1.0, np.nan, np.nan), ("1", "not known")),
        ((np.nan, np.nan, np.nan), ("not known", "not known")),
    ],
)
def test_a_value_and_its_band_have_the_same_decimals(numbers, printed):
    assert banded(*numbers) == printed


@pytest.mark.parametrize("which", ["line", "plane"])
def test_the_page_begins_with_the_verdict_and_ends_with_technicalities(pages, request, which):
    page, text = pages[which], "|".join(Reader(pages[which]).text)
    order = ["What moves", "Doubtful:", "A stochastic differential", "Is this model right?", "Log evidence"]
    begins = [text.index(order[0], 100), *(text.index(part) for part in order[1:])]
    assert begins == sorted(begins)
    assert "J = " not in text[: text.rindex("How this was made")]
    assert f'<abbr title="{ABOUT.sha256}">0123456789abcdef</abbr>' in page
    assert "2024-02-29" in text
    assert not re.search(
        r"\bnan\b|\d+e[+-]\d", " ".join(Reader(re.sub("<svg.*?</svg>", "", page, flags=re.DOTALL)).text[2:])
    )
    said = re.findall(r"the others stand at their median: ([^|]*)\.\|", text)
    if which == "plane":
        model = request.getfixturevalue(which).model_
        middle = dict(zip(model.names, np.median(model.transitions.x, axis=0), strict=True))
        found = {
            name: float(value.replace("−", "-")) for name, value in (one.split(" = ") for one in said[0].split(", "))
        }
        assert found == pytest.approx(middle, rel=6e-3)
    else:
        assert said == []


def test_a_page_can_be_made_again_to_the_last_byte(plane, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    first, second = (report_page(stand_in(plane.model_), about=ABOUT) for _ in range(2))
    assert first == second
    assert "on 1970-01-02." in first


def test_the_figure_of_the_diagnosis_shows_what_numpy_finds(line, plane):
    for model in (line.model_, plane.model_):
        found = picture_of(model)
        mean, covariance = model.increments(model.transitions.x, model.transitions.dt)
        z = np.linalg.solve(np.linalg.cholesky(covariance), (model.transitions.y - mean)[:, :, None])[:, :, 0]
        np.testing.assert_allclose(found.z, z, rtol=1e-6)
        # the variance of sums of neighbours, over that of as many alone; ends of the record count less in a window
        residuals = whitened(model.transitions, model.trajectory.step, model.increments)
        clean = without_seasons_and_changes(residuals, clear_season(lines_of(residuals)))
        windows = [np.lib.stride_tricks.sliding_window_view(clean, k, axis=0).sum(axis=-1) for k in STEPS]
        sums = [np.mean(np.square(window), axis=0) / k for window, k in zip(windows, STEPS, strict=True)]
        np.testing.assert_allclose(found.ratios, sums / np.mean(np.square(clean), axis=0), atol=10 / len(z))
        assert np.all(found.ratio_errors[0] == 0.0)
        assert np.all(np.diff(found.ratio_errors, axis=0) > 0.0)
        np.testing.assert_allclose(found.errors, 1 / np.sqrt(len(z)), rtol=0.35)
        figure = Figure()
        draw(model, "diagnosis", figure)
        assert len(figure.axes) == 4
        heights = [bar.get_segments() for bar in figure.axes[1].collections if hasattr(bar, "get_segments")]
        np.testing.assert_allclose([s[1, 1] for s in heights[0]], found.correlations[:, 0])


def test_long_and_broken_records_are_diagnosed_in_few_dots(line, monkeypatch):
    observed = line.model_.trajectory
    step = np.delete(observed.step, [100, 200])
    record = (np.arange(len(observed.t)) > 200).astype(np.int32)
    broken = replace(observed, step=step, record=record)
    model = replace(line.model_, trajectory=broken, transitions=transitions_of(broken))
    figure = Figure()
    draw(model, "diagnosis", figure)
    dots = figure.axes[0].lines[0].get_xydata()
    assert figure.axes[0].get_xlabel() == "transition"
    z = picture_of(model).z[:, 0]
    assert len(z) == len(step)
    assert np.abs(dots[:, 1]).max() == np.abs(z).max()
    monkeypatch.setattr("onepath.show.plots.residuals.MOST_DOTS", 100)
    draw(model, "diagnosis", figure := Figure())
    few = figure.axes[0].lines[0].get_xydata()[:, 1]
    assert 100 <= len(few) <= 150
    assert np.abs(few).max() == np.abs(z).max()
    assert np.mean(np.abs(few) < 0.5) > 0.1  # the middle is not left empty


@pytest.mark.parametrize(("stretch", "equal"), [(1.0, True), (100.0, False)])
def test_planes_have_equal_units_where_ranges_are_comparable(plane, stretch, equal):
    model = plane.model_
    shown = replace(
        model,
        trajectory=replace(model.trajectory, x=model.trajectory.x * [1.0, stretch]),
        transitions=replace(model.transitions, x=model.transitions.x * [1.0, stretch]),
        units=model.units._replace(
            location=model.units.location * [1.0, stretch], scale=model.units.scale * [1.0, stretch]
        ),
    )
    for name in ("field", "ellipses"):
        figure = Figure()
        draw(shown, name, figure)
        assert (figure.axes[0].get_aspect() == 1.0) == equal


def test_legends_are_off_the_data(line):
    for name in ("drift", "diffusion", "potential", "density", "forecast"):
        figure = Figure(figsize=(5.0, 3.6), layout="constrained")
        draw(stand_in(line.model_), name, figure)
        figure.draw_without_rendering()
        axes = figure.axes[0]
        assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1


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
        over = "[...document.querySelectorAll('figure, svg, p, h1, h2, nav, td, th, .equation, .scroll')]"
        assert page.evaluate(f"{over}.filter(e => e.getBoundingClientRect().right > innerWidth + 1).length") == 0
        # nothing in a figure is drawn smaller than it was set, 8.5 and more
        scale = "e.getBoundingClientRect().width / e.viewBox.baseVal.width"
        scales = page.evaluate(f"[...document.querySelectorAll('figure svg')].map(e => {scale}).filter(s => s > 0)")
        assert min(scales) > 0.95
        narrowest = (
            "[...document.querySelectorAll('.answers td:nth-child(2)')].map(e => e.getBoundingClientRect().width)"
        )
        assert min(page.evaluate(narrowest)) > 240
        first = page.evaluate("document.querySelector('.verdict').getBoundingClientRect().top")
        assert first < min(page.evaluate("[...document.querySelectorAll('p.lead, nav, main')].map(e => e.offsetTop)"))
        ink, paper = page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]"
        )
        brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
        assert abs(brightness[0] - brightness[1]) > 400
        assert (brightness[1] < 380) == (scheme == "dark")
        context.close()
