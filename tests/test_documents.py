"""Tables of the pages on learning and on steps: the right numbers in the right places."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import documents  # noqa: E402
import stiff  # noqa: E402

from onepath.compare.paper.filling import fill  # noqa: E402


def step_cell(drift, diffusion, **more):
    scores = {"drift_coverage": 0.9, "diffusion_coverage": 0.8, "change": 0.1, "second": 1.0, "seconds": 1.0}
    return {"drift": drift, "diffusion": diffusion, **scores, **more}


def test_the_table_of_steps_has_medians_in_the_order_of_its_columns():
    results = {
        f"steps/ou/{law}/{k}/{seed}": step_cell(
            0.1 * n + 0.01 * k, 0.2 + 0.1 * n + seed, second=float(seed < 1), seconds=2.0 + 1.5 * n
        )
        for n, law in enumerate(stiff.LAWS)
        for k in (10, 2)
        for seed in (0, 1, 2)
    }
    first, second = documents.step_table(results).splitlines()[2:]
    assert first == "| ou | 2 | 0.1 | 1.200 | 1.300 | 1.400 | .020 | .120 | .220 | 11.00 | 33 % | 2.5 |"
    assert second.startswith("| ou | 10 |")


def test_coverage_is_averaged():
    results = {}
    for place, (name, dt) in enumerate(stiff.COVERAGE.items()):
        for law in stiff.COVERAGE_LAWS:
            share = place / 10 if law == "auto" else 0.5
            results[f"coverage/{name}/{law}/{dt}/0"] = step_cell(1, 1, diffusion_coverage=share)
    lines = documents.coverage_table(results).splitlines()
    assert lines[3] == "| washboard | 0.02 | 0.1 | .50 | .10 | .90 | .90 |"
    assert lines[-1] == "| **average** |  |  | **.500** | **.450** | **.900** | **.900** |"


def test_the_least_gap_is_bold_and_failed_cells_are_left_out():
    ours = {"gap": 0.02, "gap_inside": 0.004, "predictive_gap": 0.01, "diffusion": 0.3, "drift": 0.4}
    ours |= {"drift_coverage": 0.9, "diffusion_coverage": 0.8}
    results = {
        "zeta/onepath/0": ours,
        "ou/onepath/0": ours,
        "ou/gp-regression/0": {"gap": 0.01, "diffusion": 0.2, "drift": 1.0},
        "ou/told/0": {"gap": 0.003, "diffusion": 0.1, "drift": 0.5},
        "ou/kramersmoyal/0": {"error": "ValueError: only used in one dimension here"},
    }
    table = documents.gap_table(results).splitlines()
    assert table[2] == "| ou | .0200 | **.0100** |  |  | .0030 | .0040 | .0200 | .0100 |"
    assert table[3].startswith("| zeta | **.0200** |")
    assert documents.error_table(results).splitlines()[-1].endswith("| **.900** | **.800** |")


@pytest.mark.parametrize("page", sorted(documents.pages()))
def test_the_pages_hold_what_the_kept_results_say(page):
    text = (ROOT / "docs" / page).read_text()
    assert fill(text, documents.pages()[page]) == text
