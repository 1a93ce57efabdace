"""The paper re-run: its printed rows, a journal that survives being killed, marks, tables, figures and the page."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import onepath
from onepath.compare.paper.cases import AS_DESCRIBED, AS_PRINTED, STEPS, Case, level
from onepath.compare.paper.command import compute, paper
from onepath.compare.paper.figures import data_figure, prediction_figure, predictions_of
from onepath.compare.paper.page import fill
from onepath.compare.paper.plan import NAMES, TABLES, plan, run_of, step_run
from onepath.compare.paper.population import population_tables
from onepath.compare.paper.printed import PRINTED, PRINTED_BY_STEP
from onepath.compare.paper.runs import row_of
from onepath.compare.paper.step_figures import step_figure
from onepath.compare.paper.tables import mark, markdown, process_table, step_table
from onepath.io.journal import Journal

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
QUIET = Console(quiet=True)
BENCHMARKS = plan(list(TABLES), ["benchmark"])
KEPT = 2
"""Runs that are finished when the process is killed."""

KILLED_IN_MID_RUN = f"""
import os, signal, sys
from pathlib import Path
from onepath.compare.paper import runs
from onepath.compare.paper.command import paper

compute, begun = runs.Run.compute, []

def compute_or_die(run):
    begun.append(run)
    return compute(run) if len(begun) <= {KEPT} else os.kill(os.getpid(), signal.SIGKILL)

runs.Run.compute = compute_or_die
paper({[*TABLES]}, method="benchmark", output=Path(sys.argv[1]))
"""


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A journal of the benchmark that was killed, torn in its last line, and finished: before and after."""
    folder = tmp_path_factory.mktemp("paper")
    path = folder / "cells.jsonl"
    environment = os.environ | {"PYTHONPATH": str(Path(onepath.__file__).parents[1])}
    ended = subprocess.run([sys.executable, "-c", KILLED_IN_MID_RUN, folder], env=environment, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    before = lines(path)
    with path.open("ab") as file:
        file.write(before[0][:40])
    journal = Journal(path)
    compute(BENCHMARKS, journal, QUIET)
    return before, path, journal


def test_a_killed_command_goes_on_without_losing_or_repeating_a_run(interrupted):
    before, path, _ = interrupted
    after = lines(path)
    assert len(before) == KEPT
    assert after[:KEPT] == before
    keys = [json.loads(line)["key"] for line in after]
    assert sorted(keys) == sorted(one.key for one in BENCHMARKS)


def test_nothing_is_left_to_do_once_all_runs_are_finished(interrupted, monkeypatch):
    _, path, _ = interrupted
    before = path.read_bytes()
    monkeypatch.setattr("onepath.compare.paper.runs.Run.compute", lambda _: pytest.fail("computed again"))
    compute(BENCHMARKS, Journal(path), QUIET)
    assert path.read_bytes() == before


def test_a_run_is_computed_again_when_its_settings_have_changed(interrupted, monkeypatch):
    _, _, journal = interrupted
    assert all(journal.finished(one) for one in BENCHMARKS)
    monkeypatch.setattr("onepath.compare.paper.runs.settings_of", lambda _: {"white_noise": 1.0})
    assert not any(journal.finished(one) for one in BENCHMARKS)


def test_forgotten_runs_are_gone_and_no_others(interrupted, tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_bytes(interrupted[1].read_bytes())
    journal = Journal(path)
    journal.forget(BENCHMARKS[1:3])
    for one in (journal, Journal(path)):
        assert [run for run in BENCHMARKS if not one.finished(run)] == BENCHMARKS[1:3]
    with journal.writing() as writer:
        writer.keep(interrupted[2].get(BENCHMARKS[1]))
    assert Journal(path).finished(BENCHMARKS[1])


def test_two_processes_cannot_write_one_journal(tmp_path):
    path = tmp_path / "cells.jsonl"
    with Journal(path).writing(), pytest.raises(BlockingIOError, match="Another process"), Journal(path).writing():
        pass


@pytest.mark.parametrize("one", BENCHMARKS, ids=lambda one: f"{one.case.trajectory}-{one.kernel}")
def test_benchmark_rows_are_those_of_the_paper(interrupted, one):
    row = row_of(interrupted[2].get(one))
    printed = PRINTED[one.case.trajectory, one.kernel, "benchmark"]
    np.testing.assert_allclose(np.round(row, 3), printed, rtol=0, atol=0.001 + 1e-9)


MATCHED = [
    run_of(case, "matern", "non-learned") for case in ("exponential-1", "exponential-2", "trigonometric-1", "ou")
]
BY_STEP = [step_run("exponential-2", "non-learned", AS_PRINTED, k) for k in (2, 3, 4, 6)]
AS_IT_SHOULD_BE = {2: (-1.570, 0.358, 0.092), 3: (-1.382, 0.335, 0.084), 6: (-1.096, 0.281, 0.182)}
"""Rows of true k-step increments, found independently of this package by minimising the profiled loss."""


@pytest.fixture(scope="module")
def not_learned(tmp_path_factory):
    journal = Journal(tmp_path_factory.mktemp("paper") / "cells.jsonl")
    described = [step_run("exponential-2", "non-learned", AS_DESCRIBED, k) for k in AS_IT_SHOULD_BE]
    compute([*MATCHED, *BY_STEP, *described], journal, QUIET)
    return journal


@pytest.mark.parametrize("one", MATCHED, ids=lambda one: one.case.trajectory)
def test_rows_of_the_kernel_that_is_not_learned_are_near_the_papers(not_learned, one):
    row, printed = row_of(not_learned.get(one)), PRINTED[one.case.trajectory, "matern", "non-learned"]
    assert np.all(np.abs(np.subtract(row, printed)) <= (0.01, 0.02, 0.02))


@pytest.mark.parametrize("one", BY_STEP, ids=lambda one: f"k={one.case.k}")
def test_one_step_increments_give_the_printed_errors_of_the_volatility(not_learned, one):
    printed = PRINTED_BY_STEP["exponential-2", "non-learned"][one.case.k - 1]
    assert row_of(not_learned.get(one)).diffusion == pytest.approx(printed.diffusion, abs=0.01)


@pytest.mark.parametrize("k", AS_IT_SHOULD_BE)
def test_increments_of_k_steps_give_the_table_as_it_should_have_been(not_learned, k):
    row = row_of(not_learned.get(step_run("exponential-2", "non-learned", AS_DESCRIBED, k)))
    np.testing.assert_allclose(row, AS_IT_SHOULD_BE[k], atol=0.006)


def test_increments_of_k_steps_are_sums_of_one_step_increments():
    fine = Case("exponential-2", AS_DESCRIBED, 1)
    points = np.concatenate([fine.data().x, fine.data().x_test])[:, 0]
    printed, described = Case("exponential-2", AS_PRINTED, 4).data(), Case("exponential-2", AS_DESCRIBED, 4).data()
    np.testing.assert_allclose(described.x[:200, 0], points[0:800:4])
    np.testing.assert_allclose(described.y[:200, 0], np.diff(points[0:801:4]))
    np.testing.assert_allclose(printed.y[:200, 0], np.diff(points)[0:800:4])
    assert printed.dt == described.dt == pytest.approx(0.04)


def test_levels_rise_by_half_the_logarithm_of_k_less_what_the_drift_takes_back():
    """Of dX = -5 X dt + noise, E[y_k²] / E[y_1²] = (1 - r^k) / (1 - r), r = 1 - 5 dt."""
    for k in STEPS[1:]:
        rise = level("exponential-2", AS_DESCRIBED, k) - level("exponential-2", AS_PRINTED, k)
        assert rise == pytest.approx(0.5 * np.log((1 - 0.95**k) / 0.05), abs=0.1)


@pytest.mark.parametrize(
    ("ours", "printed", "expected"),
    [(-2.5465, -2.547, "="), (0.0341, 0.033, "="), (0.0346, 0.033, "≈"), (0.043, 0.033, "≈"), (0.0432, 0.033, "≠")],
)
def test_marks(ours, printed, expected):
    assert mark(ours, printed) == expected


def test_tables_hold_every_printed_number(interrupted):
    journal = interrupted[2]
    methods = ["benchmark", "non-learned", "learned"]
    for name, blocks in TABLES.items():
        text = markdown(process_table(name, journal, methods))
        for block in blocks:
            for method in methods:
                assert all(f"{v:.3f}" in text for v in PRINTED[block.trajectory, block.kernel, method])
    text = markdown(step_table("multiscale-exponential", journal, "non-learned"))
    assert "| 5 | 37.778 | 0.805 | 0.370 |" in text


def test_population_tables_are_medians_over_seeds(tmp_path):
    journal = Journal(tmp_path / "population.jsonl")
    values = [3.0, 1.0, 2.0, 100.0, 0.0]
    for seed, value in enumerate(values, start=1):
        one = run_of("gbm", "matern", "default", seed)
        journal.records[one.key] = {"loss": -value, "true_loss": -value - 1, "drift": value, "diffusion": 2 * value}
    table = population_tables(["gbm"], journal, ["default"], range(1, 6))[1]
    assert table.rows[0][:2] == ("default", "5")
    assert [text.split()[0] for text in table.rows[0][-4:]] == ["-2.000", "1.000", "2.000", "4.000"]


def test_fresh_seeds_are_other_trajectories_of_the_same_process():
    own, fresh, again = (Case("ou", seed=seed).data().x for seed in (None, 1, 1))
    assert own[0] == fresh[0]
    assert not np.allclose(own, fresh)
    np.testing.assert_array_equal(fresh, again)


def test_figures_have_labelled_axes_and_a_legend(interrupted, not_learned):
    both = Journal(interrupted[1])
    both.records |= not_learned.records
    columns = predictions_of(both, "exponential-1", "matern")
    assert [column.heading for column in columns] == ["benchmark", "kernel not learned"]
    drawn = prediction_figure("title", columns)
    for figure in (data_figure("gbm"), drawn, step_figure("multiscale-exponential", both)):
        assert all(axes.get_xlabel() for axes in figure.axes)
        assert all(axes.get_ylabel() for axes in figure.axes[:: max(1, len(figure.axes) // 2)])
        assert figure.legends
    band = drawn.axes[1].collections[0].get_paths()[0].vertices
    assert np.ptp(band[:, 1]) > 0.1 * np.ptp(drawn.axes[1].get_ylim())


def test_kept_results_are_of_the_present_settings():
    journal, population = (Journal(DOCS / "paper" / name) for name in ("cells.jsonl", "population.jsonl"))
    quick = ["benchmark", "non-learned", "default"]
    assert all(journal.finished(one) for one in plan(NAMES, quick))
    assert all(population.finished(one) for one in plan(list(TABLES), quick, range(1, 21)))
    assert all(journal.finished(one) for one in plan(list(TABLES), ["learned", "learned-newton"]))


def test_kept_results_are_what_comes_out_now(interrupted, not_learned):
    kept = Journal(DOCS / "paper" / "cells.jsonl")
    for run in (*BENCHMARKS, *MATCHED, *BY_STEP):
        record = interrupted[2].get(run) or not_learned.get(run)
        np.testing.assert_allclose(row_of(record), row_of(kept.get(run)), rtol=0.01)


@pytest.mark.parametrize(("trajectory", "most"), [("exponential-2", 0.25), ("trigonometric-1", 0.12)])
def test_the_volatility_is_found_from_every_tenth_point_where_the_paper_prints_seven_tenths(trajectory, most):
    run = step_run(trajectory, "default", AS_DESCRIBED, 10)
    row = row_of(run.compute())
    assert row.diffusion <= most
    np.testing.assert_allclose(row, row_of(Journal(DOCS / "paper" / "cells.jsonl").get(run)), rtol=0.01)
    assert PRINTED_BY_STEP[trajectory, "learned"][9].diffusion > 0.69


def test_the_page_shows_the_kept_results():
    page = (DOCS / "paper.md").read_text()
    assert fill(page, DOCS / "paper") == page
    for figure in [part.split(")")[0] for part in page.split("](paper/")[1:]]:
        assert (DOCS / "paper" / figure).exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["gmb"], "no table 'gmb'"), (["gbm", "--method", "lerned"], "no method 'lerned'"), (["--seeds", "-1"], "-1")],
)
def test_wrong_names_are_refused(arguments, complaint, tmp_path):
    app = typer.Typer()
    app.command()(paper)
    result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path)], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert complaint in result.output
    assert set(NAMES) >= set(TABLES)
