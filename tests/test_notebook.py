"""What notebooks show: whole pieces of HTML, coloured as the page around them, with the results' own numbers."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from onepath import SDE
from onepath.show.notebook import as_html


def parsed(html):
    """As a tree: it raises where an element is left open."""
    return ElementTree.fromstring(html.replace("<br>", "<br/>").replace("&nbsp;", " "))


@pytest.fixture(scope="module")
def shown(line):
    return {
        "sde": (line, line._repr_html_()),
        "model": (line.model_, line.model_._repr_html_()),
        "diagnosis": (line.diagnose(), line.diagnose()._repr_html_()),
        "consequences": (line.consequences(), line.consequences()._repr_html_()),
        "paths": (line.forecast(5, paths=9, random_state=0), line.forecast(5, paths=9, random_state=0)._repr_html_()),
    }


def test_every_result_is_one_whole_element_that_loads_nothing(shown):
    for name, (_, html) in shown.items():
        root = parsed(html)
        assert root.get("class") == "onepath", name
        assert not re.search(r"<script|https?://(?!www\.w3\.org)|url\((?!#)|@import", html), name


def test_ids_are_not_shared_by_figures_of_one_page_and_the_same_each_time(shown, line):
    ids = [each.get("id") for name in ("sde", "consequences", "paths") for each in parsed(shown[name][1]).iter()]
    ids = [each for each in ids if each]
    assert len(ids) == len(set(ids)) > 50
    assert line._repr_html_() == shown["sde"][1]


def test_a_fit_shows_its_verdict_and_its_drift_and_is_its_model(shown, line):
    html = shown["sde"][1]
    assert html == shown["model"][1]
    assert line.diagnose().verdict.split(":")[0].split(".")[0] in html
    titles = [each.text for each in parsed(html).iter() if each.tag.endswith("title")]
    assert titles == ["drift", "diffusion"]


def test_ink_is_that_of_the_page_and_no_colour_of_a_white_sheet_is_left(shown):
    html = shown["sde"][1]
    assert "--ink: currentColor" in html
    assert not re.search("#1b1b1b|#dcdcdc|#8a8a8a", html)


def test_the_numbers_of_paths_are_their_quantiles(shown):
    paths, html = shown["paths"]
    cells = [each.text for each in parsed(html).iter("td")]
    wanted = np.quantile(paths.x[:, -1, 0], [0.05, 0.5, 0.95])
    np.testing.assert_allclose([float(cell.replace("−", "-")) for cell in cells], wanted, rtol=1e-3)


def test_a_plane_shows_its_field_and_settings_show_themselves(plane):
    titles = [each.text for each in parsed(plane._repr_html_()).iter() if each.tag.endswith("title")]
    assert titles == ["field"]
    assert SDE(jumps=True)._repr_html_() is None
    assert as_html(3.0) is None


def test_what_a_column_is_called_cannot_break_the_page(line):
    from dataclasses import replace

    paths = replace(line.forecast(3, paths=5, random_state=0), names=("<b>$x_1&",))
    assert "<b>" not in paths._repr_html_()
    parsed(paths._repr_html_())
