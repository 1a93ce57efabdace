"""Mending: rows are scored as a slow computation scores them, choices follow their rule, and cures are proposed."""

import json
import time
from dataclasses import replace
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import onepath
from onepath import SDE
from onepath.after.diagnose import Diagnosis
from onepath.after.mend import PRESETS
from onepath.after.mend.bench import Trial
from onepath.after.mend.candidates import asked_for, seconds, suggested
from onepath.after.mend.choice import choose
from onepath.after.mend.cures import BY_FAULT, Cure, command_of, named, season, settings_of, since, together
from onepath.after.mend.densities import BLOCKS, Densities, difference, row_densities
from onepath.after.mend.timer import OutOfTime, Timer
from onepath.cli import app
from onepath.data.parts import part_of, row_since, thinned, time_of, without_clockwork
from onepath.data.trajectory import read_trajectory
from onepath.data.transitions import Transitions
from onepath.inference.fit import fit
from onepath.inference.options import read_options

STEPS, DT, NOISE = 1500, 0.05, 0.25


def relaxing(seed, steps=STEPS):
    """Exact transitions of dX = -X dt + √2 dW, from its stationary law."""
    rng, decay = np.random.default_rng(seed), np.exp(-DT)
    x = rng.standard_normal(steps + 1)
    for k in range(steps):
        x[k + 1] = decay * x[k] + np.sqrt(1 - decay**2) * x[k + 1]
    return x


def noisy(seed=3):
    return relaxing(seed) + NOISE * np.random.default_rng(100 + seed).standard_normal(STEPS + 1)


@pytest.fixture(scope="module")
def plain():
    return SDE(transition="euler", progress=False).fit(noisy(), dt=DT)


@pytest.fixture(scope="module")
def mended(plain):
    return plain.mend(budget=1e4)


# scores


def test_a_row_has_the_density_of_the_increment_that_leads_to_it(plain):
    model, trajectory = plain.model_, plain.trajectory_
    found = row_densities(model, trajectory)
    np.testing.assert_array_equal(found.rows, np.arange(1, STEPS + 1))
    x = trajectory.x
    for row in (1, 2, 700, STEPS):  # one by one, the score of that step alone
        alone = Transitions(x[row - 1 : row], x[row : row + 1] - x[row - 1 : row], np.array([DT]))
        assert found.logs[row - 1] == pytest.approx(model.score(alone), rel=1e-9)


def test_a_hidden_row_has_the_density_that_a_slow_filter_gives_it(mended):
    model, trajectory = mended.proposed.model_, mended.plain.trajectory_
    found = row_densities(model, trajectory)
    np.testing.assert_array_equal(found.rows, np.arange(1, STEPS + 1))
    z, noise = trajectory.x[:, 0], float(mended.proposed.measurement_.deviation[0]) ** 2
    state, spread, slow = z[0], noise, {}
    for row in range(1, 200):
        at = np.array([[state - 1e-4], [state], [state + 1e-4]])
        mean, variance = model.increments(at, DT)
        flow = 1.0 + (mean[2, 0] - mean[0, 0]) / 2e-4
        ahead, wide = state + mean[1, 0], flow**2 * spread + variance[1, 0, 0]
        total = wide + noise
        slow[row] = norm.logpdf(z[row], ahead, np.sqrt(total))
        state, spread = ahead + wide / total * (z[row] - ahead), wide * noise / total
    rows = range(20, 200)  # where the filter begins is forgotten by then
    np.testing.assert_allclose([found.logs[row - 1] for row in rows], [slow[row] for row in rows], atol=1e-3)


def test_a_planted_outlier_is_seen_in_its_own_rows_by_every_candidate(mended):
    trajectory = mended.plain.trajectory_
    x = np.array(trajectory.x)
    x[700] += 3.0
    spoiled = replace(trajectory, x=x)
    for sde in (mended.plain, mended.proposed):
        before, after = (row_densities(sde.model_, part_of(each, 0, 900)) for each in (trajectory, spoiled))
        lost = before.logs - after.logs
        assert before.rows[np.argmax(lost)] in (700, 701)
        # where a filter begins is guessed from all rows; later rows do not remember it
        assert np.abs(lost[(before.rows > 50) & (before.rows < 700)]).max() < 1e-3
        assert lost[before.rows == 700] > 5.0


def test_rows_after_a_gap_or_a_missing_one_are_scored_by_no_one(mended):
    x, t = noisy(), DT * np.arange(STEPS + 1)
    x[400] = np.nan
    t[800:] += 100 * DT
    with pytest.warns(UserWarning, match="recording gaps"):
        trajectory = read_trajectory(x, t=t)
    expected = [row for row in range(1, STEPS + 1) if row not in (400, 401, 800)]
    for sde in (mended.plain, mended.proposed):
        np.testing.assert_array_equal(row_densities(sde.model_, trajectory).rows, expected)


def test_differences_are_paired_over_common_rows_with_errors_from_blocks():
    rng = np.random.default_rng(0)
    one = Densities(np.arange(10, 1010), rng.standard_normal(1000))
    other = Densities(np.arange(0, 1000), rng.standard_normal(1000))
    found = difference(one, other)
    apart = [one.logs[row - 10] - other.logs[row] for row in range(10, 1000)]
    means = [np.mean(block) for block in np.array_split(apart, BLOCKS)]
    assert found.mean == pytest.approx(np.mean(apart))
    assert found.error == pytest.approx(np.std(means, ddof=1) / np.sqrt(BLOCKS))


def test_errors_of_differences_know_that_neighbours_are_alike():
    rng, logs = np.random.default_rng(1), []
    for _ in range(400):
        level = np.repeat(rng.standard_normal(100), 20)  # twenty rows in a row are the same
        logs.append(difference(Densities(np.arange(2000), level), Densities(np.arange(2000), np.zeros(2000))))
    errors = np.mean([each.error for each in logs])
    assert errors == pytest.approx(np.std([each.mean for each in logs]), rel=0.12)


# candidates


def cures():
    return [*{cure.name: cure for each in BY_FAULT.values() for cure in each}.values(), season(2.5), since(10.0)]


def accepted(settings):
    whole = SDE().get_params() | settings
    try:
        read_options(whole, Timer(1.0, None).watch)
    except (ValueError, TypeError):
        return False
    return True


def test_cures_go_together_where_an_estimator_takes_them_together():
    for cure in cures():
        assert accepted(cure.settings)
    for one, other in combinations(cures(), 2):
        pair, overlap = together((one,), other), set(one.settings) & set(other.settings)
        if pair is not None:
            assert accepted(settings_of(pair)), named(pair)
        elif not overlap and {"trend", "since"} - set(one.settings) - set(other.settings):
            assert not accepted(one.settings | other.settings), f"{one.name} and {other.name}"


def test_presets_are_candidates_that_an_estimator_takes():
    for name, preset in PRESETS.items():
        assert preset.about
        assert all(accepted(settings_of(candidate)) for candidate in preset.candidates), name


@pytest.mark.parametrize(
    ("settings", "typed"),
    [
        ({"measurement": "learn", "season": 12.0}, "--measurement learn --season 12.0"),
        ({"jumps": True}, "--jumps"),
        ({"volatility": "learn"}, "--volatility"),
        ({"since": "2008-09-15"}, "--since 2008-09-15"),
    ],
)
def test_what_to_type_is_said(settings, typed):
    assert command_of(settings) == typed


def asked(*faults):
    return Diagnosis("Does not fit." if faults else "Fits.", [], faults)


def trial(name, price, *, later=0.0, known=0.0, faults=(), spread=0.1, seed=0):
    """A candidate that foretells rows so much better than the plain one, which is 0, give or take."""
    rng, rows = np.random.default_rng(seed), np.arange(2000)
    candidate = (Cure(name, {name: True}, price),) if price else ()
    logs = later + spread * rng.standard_normal(2000)
    return Trial(
        candidate,
        "",
        diagnosis=asked(*faults),
        known=Densities(rows, logs - later + known),
        later=Densities(rows, logs),
    )


def test_specific_faults_suggest_and_unspecific_ones_are_heard_alone():
    def names(*faults):
        return [named(candidate) for candidate, _ in suggested(trial("plain", 0, faults=faults), [])]

    assert names("measurement noise", "longer steps", "markov") == ["noise on readings"]
    assert names("blur", "markov") == ["full exposure", "hidden velocity"]
    assert "hidden velocity" in names("markov")
    assert names("step size") == []


def test_pairs_come_from_what_the_most_probable_leave():
    plain = trial("plain", 0, faults=("jumps",))
    first = trial("season", 2.0, known=0.1, faults=("measurement noise",))
    pairs = [named(candidate) for candidate, _ in seconds([plain, first])]
    assert pairs == ["season + noise on readings"]
    assert seconds([plain, trial("season", 2.0, known=0.1)]) == []


def test_what_the_plain_model_shows_is_tried_beside_a_cure_that_hides_it(monkeypatch):
    monkeypatch.setattr("onepath.after.mend.candidates.season_in", lambda _: 365.0)
    plain = replace(trial("plain", 0, faults=("measurement noise", "season")), model=SimpleNamespace())
    noise = trial("noise", 1.0, known=0.1)
    assert [named(candidate) for candidate, _ in seconds([plain, noise])] == ["noise + season of 365"]


def test_the_simplest_near_the_best_is_chosen():
    plain = trial("plain", 0, faults=("blur",))
    simple, best = trial("simple", 1.0, later=0.0499, seed=1), trial("dear", 3.0, later=0.05, seed=2)
    assert choose([plain, best, simple]) is simple
    assert choose([plain, best, replace(simple, later=Densities(np.arange(2000), plain.later.logs))]) is best


def test_nothing_is_chosen_where_nothing_is_gained_or_the_verdict_is_worse_and_the_gain_not_sure():
    plain = trial("plain", 0, faults=("blur",))
    assert choose([plain, trial("worse", 1.0, later=-0.05, seed=1)]) is plain
    for later, chosen in ((0.005, False), (0.05, True)):  # unless the gain is sure: one large fault may hide others
        sick = trial("sick", 1.0, later=later, faults=("jumps", "season"), seed=1)
        assert (choose([plain, sick]) is sick) == chosen
    fits = trial("plain", 0)
    assert choose([fits, trial("alike", 1.0, later=0.001, seed=1)]) is fits


def test_what_foretells_alike_is_told_apart_by_how_probable_it_makes_all_rows():
    plain = trial("plain", 0, faults=("blur",))
    simple, dear = trial("simple", 1.0, later=0.05, seed=1), trial("dear", 2.0, later=0.05, known=0.02, seed=1)
    assert choose([plain, simple, dear]) is dear
    assert choose([plain, simple, replace(dear, known=simple.known)]) is simple


# from end to end


def test_noise_on_readings_is_found_and_mended(mended):
    assert "measurement noise" in mended.before.faults
    assert mended.proposed is not None
    assert mended.record.proposed.settings == {"measurement": "learn"}
    assert mended.after.fits
    assert mended.proposed.measurement_.deviation[0] == pytest.approx(NOISE, rel=0.2)
    assert mended.best is mended.proposed
    assert mended.proposed.get_params()["measurement"] == "learn"
    assert [row.name for row in mended.table][:2] == ["plain", "noise on readings"]
    assert mended.record.rows == pytest.approx(STEPS / 2, abs=2)
    frame = mended.frame()
    assert frame.loc["noise on readings", "gain"] > 2 * frame.loc["noise on readings", "gain_error"]
    assert "* noise on readings" in str(mended)


def test_scores_are_those_of_fits_to_the_rows_before(mended):
    """Made again by hand: an estimator fitted to the first rows, and its own score on those that follow."""
    x, cuts = noisy(), mended.record.cuts
    total = 0.0
    for cut, end in pairwise(cuts):
        earlier = SDE(transition="euler", progress=False).fit(x[:cut], dt=DT)
        total += earlier.score(x[cut - 1 : end], dt=DT) * (end - cut)
    assert mended.record.plain.score == pytest.approx(total / mended.record.rows, rel=1e-9)


def test_what_was_tried_is_in_summary_report_and_file(mended, tmp_path):
    sde = mended.proposed
    assert mended.record.said in sde.summary()
    page = sde.report(tmp_path / "report.html").read_text()
    assert "What was tried" in page
    assert "in its place" in page
    again = onepath.load(sde.save(tmp_path / "model.onepath"))
    assert again.model_.mending.said == mended.record.said
    assert again.model_.mending.proposed.settings == {"measurement": "learn"}
    np.testing.assert_array_equal(again.model_.mending.before[0].drift, mended.record.before[0].drift)
    assert "Mended" in again.summary()


def test_nothing_is_tried_where_the_plain_model_fits():
    sde = SDE(progress=False).fit(relaxing(1), dt=DT)
    assert sde.diagnose().fits
    found = sde.mend()
    assert found.proposed is None
    assert found.best.model_.mending.said == "Nothing to mend: the plain model fits."
    assert len(found.table) == 1


def test_a_budget_is_kept(plain):
    begun = time.process_time()  # on a machine that others use too
    found = plain.mend(budget=0.0)
    assert found.proposed is None
    assert found.record.tried[1].problem == "out of time"
    assert "time was not enough" in str(found)
    assert time.process_time() - begun < 10.0


def test_a_search_is_stopped_at_the_deadline():
    options = read_options(SDE().get_params(), Timer(0.0, None).watch)
    with pytest.raises(OutOfTime):
        fit(read_trajectory(relaxing(8, 300), dt=DT), options)


def test_progress_says_what_is_done_and_how_long_it_takes(plain):
    stages = []
    plain.mend(budget=0.05, progress=stages.append)
    assert all(stage.total > 0 and stage.left <= 0.05 for stage in stages)


def test_series_of_differences_are_not_mended():
    with pytest.warns(UserWarning, match="relaxation times"):
        found = SDE(progress=False).fit(np.diff(relaxing(2)), dt=DT)
    assert found.diagnose().faults[0] == "differences"
    assert "x.cumsum()" in found.diagnose().verdict
    assert "differences of" in str(found.mend())


def test_what_cannot_be_mended_is_refused(plain):
    with pytest.raises(ValueError, match="preset='trap' is not known"):
        plain.mend(preset="trap")
    with pytest.raises(ValueError, match="budget=-1"):
        plain.mend(budget=-1)
    with pytest.raises(ValueError, match="name mesurement"):
        plain.mend(cures=[{"mesurement": 0.1}])
    assert asked_for([{"measurement": 0.1}], None)[0][0].settings == {"measurement": 0.1}
    with pytest.raises(TypeError, match="typo"):
        onepath.mend(noisy(), dt=DT, typo=1)


# parts of a record


def test_a_part_is_what_its_rows_are_by_themselves():
    rng = np.random.default_rng(4)
    x, t = rng.standard_normal((300, 2)).cumsum(axis=0), 0.1 * np.arange(300)
    x[120, 1] = np.nan
    whole = read_trajectory(x, t=t, inputs=rng.standard_normal(300))
    part, alone = part_of(whole, 50, 200), read_trajectory(x[50:200], t=t[50:200])
    np.testing.assert_array_equal(part.step, alone.step)
    np.testing.assert_array_equal(part.x, alone.x)
    assert (part.gaps, part.missing) == (alone.gaps, alone.missing)
    assert len(part.inputs.values) == 150


def test_every_third_row_has_a_step_where_all_between_count():
    x, t = relaxing(9, 300), 0.1 * np.arange(301)
    x[100] = np.nan
    whole = read_trajectory(x, t=t)
    third = thinned(whole, 3)
    assert len(third.t) == 101
    expected = [k for k in range(100) if all(row in whole.step for row in range(3 * k, 3 * k + 3))]
    np.testing.assert_array_equal(third.step, expected)
    np.testing.assert_allclose(np.diff(third.t), 0.3)


def test_since_is_a_fit_to_the_rows_from_then_on():
    x = relaxing(5, 400)
    late = SDE(learn=None, since=5.0, progress=False).fit(x, dt=DT)
    alone = SDE(learn=None, progress=False).fit(x[100:], dt=DT)
    assert late.evidence_ == pytest.approx(alone.evidence_, rel=1e-10)
    dates = pd.Series(x, pd.date_range("2020-01-01", periods=401))
    dated = SDE(learn=None, since="2020-04-10", progress=False).fit(dates)
    assert dated.trajectory_.dates(dated.trajectory_.t[:1])[0] == np.datetime64("2020-04-10")
    for since_, message in ((1e9, "leaves 0 steps"), ("soon", "no dates")):
        with pytest.raises(ValueError, match=message):
            SDE(since=since_).fit(x, dt=DT)
    with pytest.raises(ValueError, match="is no date"):
        SDE(since="soon").fit(dates)
    with pytest.raises(ValueError, match="several"):
        SDE(since=1.0).fit([x, x], dt=DT)


def test_times_are_told_as_short_as_they_may_be():
    trajectory = read_trajectory(relaxing(6, 400), t=np.arange(401) / 3)
    for row in (1, 100, 380):
        told = time_of(trajectory, row)
        assert row_since(trajectory, told) == row
        assert len(str(told)) < 8
    dated = read_trajectory(pd.Series(relaxing(6, 400), pd.date_range("2020-01-01", periods=401, freq="h")))
    assert time_of(dated, 24) == "2020-01-02"
    assert row_since(dated, time_of(dated, 25)) == 25


def test_clockwork_is_taken_out_again():
    x = read_trajectory(relaxing(7, 100), dt=DT, inputs=np.arange(101.0))
    from onepath.data.seasons import with_clockwork

    assert [one.name for one in without_clockwork(with_clockwork(x, 1.0, True)).inputs.variables] == ["u"]
    bare = read_trajectory(relaxing(7, 100), dt=DT)
    assert without_clockwork(with_clockwork(bare, 1.0, False)).inputs is None


# the command


def test_the_command_mends(tmp_path, mended):
    table = tmp_path / "table.csv"
    pd.DataFrame({"t": DT * np.arange(STEPS + 1), "x": noisy()}).to_csv(table, index=False)
    done = CliRunner().invoke(app, ["fit", str(table), "--mend", "--json", "--transition", "euler"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["fits"]
    assert facts["mended"]["command"] == "--measurement learn"
    assert facts["mended"]["tried"][0]["score"] == pytest.approx(mended.record.plain.score, rel=1e-6)
    refused = CliRunner().invoke(app, ["fit", str(table), "--preset", "optical-trap"])
    assert refused.exit_code == 2
    assert "--mend" in refused.output
    unknown = CliRunner().invoke(app, ["fit", "nowhere.csv", "--mend", "--preset", "trap"])
    assert "'trap' is not known" in unknown.output
