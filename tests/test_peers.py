"""The scoreboard's own parts: problems, scores, the words for what went wrong, and the tables. No peer is needed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path[:0] = [str(FOLDER / "peers"), str(FOLDER)]

import adapters  # noqa: E402
import judge  # noqa: E402
import page  # noqa: E402
import running  # noqa: E402
import speeds  # noqa: E402
import summary  # noqa: E402
import tables  # noqa: E402
import worker  # noqa: E402
from adapters.oracle import FORMS  # noqa: E402
from board import rounds  # noqa: E402
from contract import Answer, Observed, Refused  # noqa: E402
from problems import PROBLEMS, Problem  # noqa: E402

from onepath.compare.processes import PROCESSES  # noqa: E402


def record(x, t=None, dt=None):
    return Observed(np.asarray(x, float).reshape(len(x), -1), t, dt, "clean", "ou")


def true_answer(process, x, error=0.0):
    """The truth itself, with drift and diffusion off by this share."""
    sigma = (1 + error) * process.diffusion(x)
    return Answer((1 + error) * process.drift(x), sigma @ np.swapaxes(sigma, 1, 2))


@pytest.fixture(scope="module")
def sample():
    return Problem("test", "cir", 300, 0.01).sample(0)


def test_all_problems_are_there():
    assert {p.n for p in PROBLEMS.values()} == {200, 500, 10_000}
    assert {p.trouble for p in PROBLEMS.values()} == {"", "gaps", "missing", "noise", "coarse"}
    assert sorted({p.truth.dimension for p in PROBLEMS.values()}) == [1, 2, 3]
    assert {p.process for p in PROBLEMS.values() if p.truth.dimension == 1} == set(FORMS)


def test_the_oracle_knows_the_true_forms():
    true = {
        "exponential": (5, 1, 1),
        "trigonometric": (1, 1),
        "gbm": (2, 1),
        "ou": (5, 1),
        "double_well": (1, 1, 0.5),
        "double_well_multiplicative": (1, 1, 0.5, 1),
        "wiggly": (1, 1.5, 0.6, 0.25),
        "cir": (2, 1, 0.8),
    }
    x = np.linspace(0.1, 1.3, 7)[:, None]
    for name, parameters in true.items():
        drift, diffusion, count = FORMS[name]
        assert count == len(parameters)
        np.testing.assert_allclose(drift(x, parameters), PROCESSES[name].drift(x))
        np.testing.assert_allclose(diffusion(x, parameters)[..., None], np.abs(PROCESSES[name].diffusion(x)))


def test_seeds_are_kept_and_differ(tmp_path):
    problem = Problem("test", "ou", 50, 0.001)
    first, again, other = (problem.sample(seed, tmp_path) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.states, again.states)
    np.testing.assert_array_equal(first.held_out[1], again.held_out[1])
    assert np.all(first.states[1:] != other.states[1:])
    np.testing.assert_array_equal(first.states, problem.sample(0).states)


@pytest.mark.parametrize("trouble", ["gaps", "missing", "noise", "coarse"])
def test_trouble_is_what_it_says(trouble):
    made = Problem("test", "ou_slow", 2000, 0.05, trouble).sample(3)
    observed, states = made.observed, made.states
    if trouble == "gaps":
        kept = np.round(observed.t / 0.05).astype(int)
        np.testing.assert_array_equal(observed.x, states[kept])
        assert 0.75 < len(kept) / len(states) < 0.85
        assert 5 <= np.sum(np.diff(kept) > 1) <= 20
    elif trouble == "missing":
        assert np.isnan(observed.x).sum() == len(states) // 20
    elif trouble == "noise":
        ratio = np.std(observed.x - states) / np.std(np.diff(states, axis=0))
        assert ratio == pytest.approx(0.5, rel=0.1)
        assert observed.regime == "noisy"
    else:
        assert observed.regime == "coarse"


def test_a_record_is_cut_at_gaps_and_missing_rows():
    x = np.arange(10.0)
    x[4] = np.nan
    cut = record(x, dt=0.1)
    assert [piece.ravel().tolist() for piece in cut.pieces()] == [[0, 1, 2, 3], [5, 6, 7, 8, 9]]
    starts, increments = cut.transitions()
    assert starts.ravel().tolist() == [0, 1, 2, 5, 6, 7, 8]
    assert np.all(increments == 1)
    with_gap = record(np.arange(6.0), t=np.array([0, 1, 2, 7, 8, 9.0]))
    assert [len(piece) for piece in with_gap.pieces()] == [3, 3]
    with pytest.raises(Refused, match="1 gaps"):
        with_gap.unbroken("this method")


def test_points_lie_where_the_data_are(sample):
    low, high = np.quantile(sample.states, (0.01, 0.99))
    for points in (sample.weighted, sample.uniform, sample.held_out[0]):
        assert low <= points.min() <= points.max() <= high
    assert np.ptp(np.diff(sample.uniform[:, 0])) < 1e-12
    plane = Problem("test", "van_der_pol", 400, 0.02).sample(0)
    cells = np.floor((plane.uniform - plane.box[0]) / (plane.box[1] - plane.box[0]) * 20).astype(int)
    assert len(np.unique(cells, axis=0)) == len(cells) > 50


def test_the_truth_scores_best(sample):
    truth = sample.problem.truth
    sets = sample.weighted, sample.uniform, sample.held_out[0]
    right = judge.judge(sample, *(true_answer(truth, x) for x in sets))
    off = judge.judge(sample, *(true_answer(truth, x, 0.2) for x in sets))
    assert right["status"] == off["status"] == judge.OK
    assert right["drift"] == right["gap"] == 0
    assert right["diffusion"] < 1e-12
    for name in ("drift", "diffusion", "drift_uniform", "diffusion_uniform"):
        assert off[name] == pytest.approx(0.2)
    # E ln N(y; σ) - E ln N(y; sσ) = ln s + 1/(2 s²) - 1/2, and drift is nearly nothing at this step
    assert off["gap"] == pytest.approx(np.log(1.2) + 0.5 / 1.44 - 0.5, abs=0.01)


def test_no_noise_has_no_likelihood(sample):
    answers = [true_answer(sample.problem.truth, x) for x in (sample.weighted, sample.uniform, sample.held_out[0])]
    answers[2].covariance = 0 * answers[2].covariance
    assert judge.judge(sample, *answers)["gap"] is None
    answers[0].drift = np.nan * answers[0].drift
    assert judge.judge(sample, *answers)["status"] == judge.CRASHED


def test_a_covariance_that_is_none_is_mended():
    given = np.array([[[4.0, 0.0], [0.0, -1.0]], [[4.0, 2.0], [2.0, 5.0]]])
    root = judge.square_root(given)
    np.testing.assert_allclose(root[0], [[2, 0], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(root[1], np.linalg.cholesky(given[1]))


@pytest.mark.parametrize(
    ("share", "error", "wrong"),
    # off by 10 % with standard errors of 5 % (two of them) or 2 % (five); without errors a factor of two counts
    [(0.05, 0.1, False), (0.02, 0.1, True), (None, 0.1, False), (None, 0.9, False), (None, 1.1, True)],
)
def test_what_counts_as_wrong(share, error, wrong):
    process, x = PROCESSES["ou"], np.linspace(0.5, 1, 40)[:, None]
    answer = true_answer(process, x, error)
    if share is not None:
        answer.with_drift_errors(share * np.abs(process.drift(x)))
        sigma = process.diffusion(x)
        answer.with_covariance_errors(2 * share * sigma @ sigma)
    assert judge.is_wrong(answer, process.drift(x), process.diffusion(x)) is wrong


def test_half_of_the_points_decide():
    process, x = PROCESSES["ou"], np.linspace(0.5, 1, 40)[:, None]
    for off, wrong in ((19, False), (21, True)):
        answer = true_answer(process, x)
        answer.drift[:off] += 1.0
        answer.with_drift_errors(np.full_like(answer.drift, 0.1))
        assert judge.is_wrong(answer, process.drift(x), process.diffusion(x)) is wrong


def test_coverage_counts_the_lower_triangle():
    truth = np.array([[[1.0, 9.0], [0.5, 2.0]]])
    band = np.stack([truth - 0.1, truth + 0.1])
    band[:, 0, 0, 1] = 0
    assert judge.share_inside(band, truth) == 1
    band[:, 0, 1, 0] = 7
    assert judge.share_inside(band, truth) == pytest.approx(2 / 3)
    assert judge.share_inside(None, truth) is None


def breaks():
    return np.zeros(3) + np.zeros(4)


def declines():
    return np.asarray_chkfinite([np.nan])


def has_no_place_for_gaps():
    return record(np.arange(6.0), t=np.array([0, 1, 2, 7, 8, 9.0])).unbroken("this method")


@pytest.mark.parametrize(("act", "refused"), [(breaks, False), (declines, True), (has_no_place_for_gaps, True)])
def test_refusing_is_not_crashing(act, refused):
    with pytest.raises((ValueError, Refused)) as caught:
        act()
    assert worker.refuses(caught.value) is refused


def test_seeds_after_one_over_time_are_not_run():
    late = {"m/p/1": {"status": judge.LATE}, "m/p/0": {"status": judge.OK}}
    assert list(running.given_up("m", "p", [0, 1, 2, 3], late)) == ["m/p/2", "m/p/3"]
    assert running.given_up("m", "p", [0, 1], {"m/p/0": {"status": judge.OK}}) == {}
    assert [list(r) for r in rounds(5)] == [[0], [1, 2, 3], [4]]


@pytest.fixture(scope="module")
def results():
    """A small scoreboard: onepath is first in the drift, a peer in the diffusion, and another crashes."""
    made = {"versions/onepath": {"onepath": "0.1"}}
    for seed, error in enumerate((0.1, 0.2, 0.6)):
        for method, drift, diffusion in (("onepath", error, 0.2), ("kramersmoyal", 2 * error, 0.1)):
            status = judge.SILENT if (method, seed) == ("kramersmoyal", 2) else judge.OK
            made[f"{method}/ou-500/{seed}"] = {
                "status": status, "drift": drift, "diffusion": diffusion, "gap": None, "drift_coverage": 0.9,
                "seconds": 1.0 + seed, "first": seed == 0, "memory": 100.0, **({"cold": 5.0} if seed == 0 else {}),
            }  # fmt: skip
        made[f"jumpdiff/ou-500/{seed}"] = {"status": judge.CRASHED, "message": "IndexError: x", "first": True}
    return made


def test_cells_are_medians_with_failures(results):
    board = summary.cells(results)
    cell = board["kramersmoyal", "ou-500"]
    assert (cell.seeds, cell.failures, cell.medians["drift"]) == (3, 1, 0.4)
    assert (cell.medians["warm"], cell.medians["cold"], cell.medians["gap"]) == (2.5, 5.0, None)
    assert board["jumpdiff", "ou-500"].failures == 3
    assert summary.share_first(board, "onepath") == (1, 2)
    assert summary.lost(board) == [("ou-500", "diffusion", 0.2, "kramersmoyal", 0.1)]


def test_no_failure_is_left_out_of_the_tables(results):
    table = tables.board_table(results)
    row = next(line for line in table.splitlines() if line.startswith("| ou-500"))
    assert row == "| ou-500 | **.200** / .200 | .400 / **.100** (1✗) | crashed, 3 of 3 |"
    assert "IndexError" in tables.failure_table(results)
    assert "1 crashed" not in tables.text_table(results)
    assert "3 crashed" in tables.text_table(results)


def test_the_page_is_filled_and_knows_its_names(results):
    parts = page.makers(results, {"onepath/10000": {"warm": 0.5, "cold": 9.0, "memory": 800.0}})
    text = page.fill("a\n<!-- speed -->\nbefore\n<!-- end -->\nb", parts)
    assert "before" not in text
    assert "| onepath | .500 | 9.00 | 800 |" in text
    for name in parts:
        assert parts[name]()
    with pytest.raises(ValueError, match="asks for 'nothing'"):
        page.fill("<!-- nothing -->\n<!-- end -->", parts)


def test_numbers_are_short():
    shown = {None: "–", 0.1284: ".128", 1.284: "1.28", 12.84: "12.8", 128.4: "128", 2e7: "2e+07", -0.0026: "-0.003"}
    assert {value: tables.digits(value) for value in shown} == shown


def test_every_method_has_an_adapter_that_says_how_it_is_set():
    folder = FOLDER / "peers" / "adapters"
    for module, _ in adapters.METHODS.values():
        text = (folder / f"{module}.py").read_text()
        assert text.startswith('"""')
        assert "def fit(observed" in text
        assert "PACKAGES = " in text
    assert speeds.LENGTHS == (10_000, 1_000_000)


def test_kept_results_are_valid_json_line_by_line(tmp_path):
    from resumable import kept, save

    file = tmp_path / "results.json"
    save(file, {"b": {"x": 1.5}, "a": {"x": None}})
    assert kept(file) == json.loads(file.read_text()) == {"a": {"x": None}, "b": {"x": 1.5}}
    assert len(file.read_text().splitlines()) == 4
