"""Long records: what is looked at part by part is what is seen at once, and planted faults are seen in a part of it."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from scipy.stats import norm

from onepath import SDE
from onepath.after.diagnose import diagnosis_of, law_checks, residuals_of, whitened
from onepath.after.diagnose.memory import _local_scale
from onepath.after.diagnose.residuals import whole_of
from onepath.after.diagnose.table import Table, tabled
from onepath.data.stretches import MOST, STRETCHES, rows_looked_at
from onepath.data.transitions import Transitions
from onepath.inference.fit import _looked_at
from onepath.io import plain, tables
from onepath.io.errors import BadTable
from onepath.io.text import read_text

STEPS, DECAY, SIZE = 400_000, 0.99, 0.1


def planted(fault, rng, steps=STEPS):
    """A linear process at equal steps, with something wrong."""
    kick, k = SIZE * rng.standard_normal(steps + 1), np.arange(steps + 1)
    if fault == "jumps":
        kick += 6 * SIZE * rng.choice([-1, 1], steps + 1) * (rng.uniform(size=steps + 1) < 0.002)
    if fault == "season":
        kick += 0.1 * SIZE * np.cos(2 * np.pi * k / 365)
    if fault == "long season":
        kick += 0.2 * SIZE * np.cos(2 * np.pi * k / 30_000)
    if fault == "drift over time":
        kick += 0.1 * SIZE * np.where(k < steps / 2, -1.0, 1.0)
    if fault == "noise over time":
        kick *= np.where(k < steps / 2, 1.0, 1.1)
    # a state that follows a slow season explains it: one that soon forgets does not
    x = lfilter([1.0], [1.0, -0.9 if fault == "long season" else -DECAY], kick)
    return x + 0.5 * SIZE * rng.standard_normal(steps + 1) if fault == "measurement noise" else x


def asked(x, dt):
    """What is found under the law of a linear regression."""
    transitions = Transitions(x[:-1, None], np.diff(x)[:, None], dt)
    slope, level = np.polyfit(x[:-1], np.diff(x), 1)
    variance = np.var(np.diff(x) - slope * x[:-1] - level)

    def law(at, _):
        return slope * at + level, np.full((len(at), 1, 1), variance)

    residuals = residuals_of(transitions, np.arange(len(dt)), law)
    return residuals, law_checks(residuals, "steps")


@pytest.mark.parametrize("equal", [True, False], ids=["equal", "unequal"])
@pytest.mark.parametrize(
    "fault", ["", "measurement noise", "jumps", "season", "drift over time", "noise over time", "long season"]
)
def test_planted_faults_are_seen_in_a_part(fault, equal):
    """At equal steps sums run over all of the record; at others long seasons are not looked for, and that is said."""
    rng = np.random.default_rng(1)
    dt = np.ones(STEPS) if equal else rng.uniform(0.9, 1.1, STEPS)
    residuals, checks = asked(planted(fault, rng), dt)
    assert (residuals.sample.whole is not None) == equal
    assert len(residuals.z) == MOST
    season = next(check for check in checks if check.name == "season")
    assert ("Periods of up to 512 steps" in season.fine) == (not equal)
    faults = diagnosis_of(checks).faults
    if fault == "long season":
        assert ("season" in faults) == equal
        assert not equal or season.statistic == pytest.approx(30_000, rel=0.05)
    elif fault == "season":
        assert faults[0] == "season"
        assert season.statistic == pytest.approx(365, rel=0.01 if equal else 0.1)
    else:
        assert faults[:1] == ((fault,) if fault else ())


def test_stretches_are_of_consecutive_steps_and_cover_the_record():
    assert rows_looked_at(MOST) is None
    rows = rows_looked_at(10_000_000)
    stretches = rows.reshape(STRETCHES, -1)
    assert rows[0] == 0
    assert rows[-1] == 10_000_000 - 1
    assert np.all(np.diff(stretches, axis=1) == 1)
    assert np.ptp(np.diff(stretches[:, 0])) <= 1


def test_clustering_is_asked_of_stretches_each_of_which_begins_anew():
    n = 2 * MOST
    line, dt = np.arange(n, dtype=float), np.ones(n)
    some, apart = _looked_at(Transitions(line[:, None], line[:, None], dt), dt)
    begins = np.isinf(apart).reshape(STRETCHES, -1)
    assert np.all(begins[:, 0])
    assert not begins[:, 1:].any()
    assert np.all(np.diff(some.x[:, 0].reshape(STRETCHES, -1), axis=1) == 1)
    few = Transitions(line[:9, None], line[:9, None], dt[:9])
    assert _looked_at(few, dt[:9])[0] is few


@pytest.mark.parametrize("weighted", [False, True])
def test_what_streams_is_what_is_computed_at_once(weighted):
    rng, n = np.random.default_rng(2), 100_001
    x, y, dt = rng.standard_normal((n, 2)), rng.standard_normal((n, 2)), rng.uniform(0.5, 1.5, n)
    weights = rng.uniform(0, 2, n) if weighted else None
    transitions = Transitions(x, y, dt, weights)

    def law(at, dt):
        return np.sin(at) * dt[:, None], (1 + np.square(at[:, :, None])) * np.eye(2) * dt[:, None, None]

    whole = whole_of(transitions, law, 1000)
    w = np.ones(n) if weights is None else weights
    mean, variance = np.sin(x) * dt[:, None], (1 + np.square(x)) * dt[:, None]
    np.testing.assert_allclose(whole.sums.gap, np.sum(w[:, None] * (y - mean), axis=0))
    np.testing.assert_allclose(whole.sums.variance, np.sum(w[:, None] ** 2 * variance, axis=0))
    np.testing.assert_allclose(whole.sums.drift, np.sum(w[:, None] * mean, axis=0))
    assert whole.sums.time == pytest.approx(w @ dt)
    assert whole.sums.total == pytest.approx(w.sum())
    z = np.sqrt(w)[:, None] * (y - mean) / np.sqrt(variance)
    blocks = [z[i : i + whole.block].sum(axis=0) / np.sqrt(whole.block) for i in range(0, n - 128, whole.block)]
    assert whole.block == 128
    np.testing.assert_allclose(whole.series, blocks, atol=1e-12)


def test_a_table_is_as_good_as_the_law_or_is_not_used():
    rng = np.random.default_rng(3)
    x = np.sort(rng.standard_normal(20_000))[:, None]
    steps = Transitions(x, x, np.full(len(x), 0.1))
    calls = []

    def smooth(at, dt):
        calls.append(len(at))
        return np.sin(3 * at) * dt[:, None], ((2 + np.cos(at)) * dt[:, None])[:, :, None]

    def kinked(at, dt):
        return np.abs(at - 0.1) * dt[:, None], smooth(at, dt)[1]

    table = tabled(steps, smooth)
    assert isinstance(table, Table)
    assert sum(calls) < len(x) / 4
    beyond = np.vstack([x, [[9.0], [-9.0]]])
    found, wanted = table(beyond, np.full(len(beyond), 0.1)), smooth(beyond, np.full(len(beyond), 0.1))
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-7)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-7)
    assert tabled(steps, kinked) is kinked
    assert tabled(Transitions(x, x, rng.uniform(1, 2, len(x))), smooth) is smooth


@pytest.mark.parametrize("n", [30, 100, 101, 102, 5000])
def test_running_medians(n):
    column = np.random.default_rng(4).standard_normal(n)
    size = min(101, n)
    middle = [np.median(np.abs(column[i : i + size])) / norm.isf(0.25) for i in range(n - size + 1)]
    before = (n - len(middle)) // 2
    middle = [middle[0]] * before + middle + [middle[-1]] * (n - len(middle) - before)
    local = _local_scale(column)
    above = local > local.min()
    np.testing.assert_allclose(local[above], np.asarray(middle)[above])
    assert np.all(local >= np.asarray(middle))


def test_a_million_steps_take_little_memory():
    x = planted("", np.random.default_rng(5), 1_000_000)
    transitions = Transitions(x[:-1, None], np.diff(x)[:, None], np.broadcast_to(1.0, 1_000_000))
    row = np.arange(1_000_000)

    def law(at, _):
        return (DECAY - 1) * at, np.full((len(at), 1, 1), SIZE**2)

    tracemalloc.start()
    law_checks(residuals_of(transitions, row, law), "steps")
    _, sampled = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    whitened(transitions, row, law)
    _, whole = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sampled < 6 * 8 * 1_000_000 < whole + 8 * 2_000_000


def test_it_is_said_how_much_was_looked_at():
    sde = SDE(progress=False).fit(planted("", np.random.default_rng(6), 140_000), dt=0.01)
    told = "looked at 131 072 of 140 000 steps, in 32 stretches"
    assert sde.diagnose().looked == told
    assert f"({told})" in str(sde.diagnose())
    assert f"Diagnosis   {told}" in sde.summary()


# Tables


@pytest.fixture
def in_parts(monkeypatch):
    """Every file is long, and read in small parts."""
    monkeypatch.setattr(tables, "LEAST_BYTES", 1)
    monkeypatch.setattr(plain, "PART", 4096)


def lines(n=1000):
    x = np.random.default_rng(7).standard_normal(n).cumsum().round(4)
    return [f"{k / 4},{value},{k % 7}" for k, value in enumerate(x)]


PLAIN = {
    "comma": "\n".join(["time,x,kind", *lines()]),
    "ended": "\n".join(["time,x,kind", *lines(), ""]),
    "windows": "\r\n".join(["time,x,kind", *lines(), ""]),
    "tabs": "\n".join(["time,x,kind", *lines()]).replace(",", "\t"),
    "decimal commas": "\n".join(["time;x;kind", *(line.replace(",", ";").replace(".", ",") for line in lines())]),
    "no header": "\n".join(lines()),
    "comments": "\n".join(["# missing values: -999", "% of a probe", "time,x,T (°C)", *lines()]),
    "missing": "\n".join(["time,x,kind", *lines()[:700], "175,,3", "175.25,n.d.,NA", *lines()[702:]]),
    "whole, then not": "\n".join(["time,x", *(f"{k},{k if k < 900 else k + 0.5}" for k in range(1000))]),
    "dates": "\n".join(["date,x", *(f"{day:%Y-%m-%d},1.5" for day in pd.date_range("1990-01-01", periods=999))]),
    "words": "\n".join(["time,x,probe", *(f"{line[: line.rindex(',')]},probe {line[-1]}" for line in lines())]),
}


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_a_long_table_in_parts_is_the_table(text, tmp_path):
    path, missing = tmp_path / "long.csv", ("n.d.",)
    path.write_bytes(text.encode())
    assert plain.read_plain(path, missing) is not None
    found, (frame, notes, marks) = tables.read_table(path, None, missing), read_text(path, text.encode(), None, missing)
    if "date" in frame:
        frame["date"] = pd.to_datetime(frame["date"], format="%Y-%m-%d")
    pd.testing.assert_frame_equal(found.frame, frame)
    assert (found.notes, found.missing) == (notes, marks)


ODD = {
    "uneven": "\n".join(["time,x,kind", *lines(), "1,2", "3,4,5,6"]),
    "quotes": "\n".join(["time,x,kind", *lines(), '250,"1.5",2']),
    "letters": "\n".join(["time,x,kind", *lines(), "250,µ,2"]),
    "blank lines": "\n".join(["time,x,kind", *lines(), "", "250,1.5,2"]),
    "old line ends": "\n".join(["time,x,kind", *lines()]) + "\r250,1.5,2",
    "zero bytes": "\n".join(["time,x,kind", *lines(), "250,\0,2"]),
    "words at the end": "\n".join(["time,x,kind", *lines(), "250,none of it,2"]),
    "blanks": "\n".join(["time,x,kind", *lines()]).replace(",", "  "),
    "a mark before": "\ufeff" + "\n".join(["time,x,kind", *lines()]),
    "short": "\n".join(["time,x,kind", *lines(100)]),
}


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_what_is_not_plain_is_read_with_care(text, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(text.encode())
    assert plain.read_plain(path, ()) is None
    assert outcome(lambda: tables.read_table(path)) == outcome(lambda: read_text(path, text.encode(), None))


def outcome(read):
    """A table as text, with what was decided; or why it is refused."""
    try:
        frame, notes, _ = read()
    except BadTable as error:
        return str(error)
    return frame.to_csv(), [str(dtype) for dtype in frame.dtypes], notes
