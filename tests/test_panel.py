"""Panels: each series as if it were alone, failures as rows with reasons, and runs that were interrupted."""

import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import onepath
import onepath.panel.panel as panels
from onepath.cli import app
from onepath.compare.processes import PROCESSES
from onepath.data.transitions import transitions_of
from onepath.inference.observation import Observation
from onepath.io.chosen import Chosen
from onepath.io.stream import read_stream
from onepath.panel.cluster import client_of
from onepath.panel.layout import read_layout, series_in
from onepath.panel.likeness import likeness
from onepath.panel.page import kinds_of

STREAM = (Chosen(), 10.0, lambda _: 256, [], lambda *_: None)
ROWS, FEW = 200, {"verdict": False, "curve_points": 3, "progress": False}
LINE = PROCESSES["double_well_multiplicative"]


def one(name, x, dt=LINE.dt):
    return pd.DataFrame({"unique_id": name, "ds": dt * np.arange(len(x)), "y": x})


@pytest.fixture(scope="module")
def hostile():
    infinite = np.cumsum(np.random.default_rng(0).normal(size=60))
    infinite[30] = np.inf
    bad = {"constant": np.ones(60), "hollow": np.full(60, np.nan), "three": np.arange(3.0), "infinite": infinite}
    unsorted = one("twice", LINE.simulate(60, random_state=9)[0].ravel()).assign(ds=1.0)
    return pd.concat([*(one(name, x) for name, x in bad.items()), unsorted])


@pytest.fixture(scope="module")
def good():
    return [one(f"good {k}", LINE.simulate(ROWS, random_state=k)[0].ravel()) for k in range(4)]


@pytest.fixture(scope="module")
def table(good, hostile):
    return pd.concat([*good[:2], hostile, *good[2:]], ignore_index=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("panel")


@pytest.fixture(scope="module")
def whole(table, folder):
    """With all that a panel can give."""
    return onepath.fit_panel(table, workers=1, folder=folder, keep=["good 1"], curve_points=5, progress=False)


def same(one, other, key="unique_id"):
    """The same rows, to the last bit, in whatever order."""
    own = [part.drop(columns="seconds", errors="ignore").sort_values(key, kind="stable") for part in (one, other)]
    pd.testing.assert_frame_equal(*(part.reset_index(drop=True) for part in own), check_exact=True)


def test_a_hostile_series_is_a_row_with_its_reason(whole):
    reasons = whole.series.set_index("unique_id")["reason"]
    assert list(reasons.index[reasons != ""]) == ["constant", "hollow", "three", "infinite", "twice"]
    for name, said in {
        "constant": "is constant",
        "hollow": "every one is missing",
        "three": "too few",
        "infinite": "1 infinite values, the first in row 30",
        "twice": "repeats 60 times",
    }.items():
        assert said in reasons[name], reasons[name]
    assert (whole.series["fitted"] == (whole.series["reason"] == "")).all()
    assert whole.series.loc[~whole.series["fitted"], "drift_q50"].isna().all()


def test_the_others_are_as_if_alone(whole, good):
    for frame in good:
        alone = onepath.SDE(progress=False).fit(frame["y"].to_numpy(), t=frame["ds"].to_numpy())
        row = whole.series.set_index("unique_id").loc[frame["unique_id"].iloc[0]]
        at = np.quantile(frame["y"].to_numpy()[:-1], [0.05, 0.5, 0.95])
        assert row[["q05", "q50", "q95"]].tolist() == at.tolist()
        assert row[["drift_q05", "drift_q50", "drift_q95"]].tolist() == alone.drift(at).tolist()
        lower, upper = alone.diffusion_band(at)
        assert row[["noise_q05_lower", "noise_q50_lower", "noise_q95_lower"]].tolist() == lower.tolist()
        assert row[["noise_q05_upper", "noise_q50_upper", "noise_q95_upper"]].tolist() == upper.tolist()
        assert row["verdict"] == alone.diagnose().verdict
        assert row["score"] == alone.score(frame["y"].to_numpy(), t=frame["ds"].to_numpy())


def test_order_and_neighbours_change_nothing(table, whole):
    mixed = table.sample(frac=1, random_state=3)
    mixed = mixed[~mixed["unique_id"].isin(["good 0", "twice", "three"])]
    part = onepath.fit_panel(mixed, workers=1, curve_points=5, progress=False)
    some = part.series["unique_id"]
    same(part.series, whole.series[whole.series["unique_id"].isin(some)])
    same(part.curves, whole.curves[whole.curves["unique_id"].isin(some)])


def test_any_model_can_be_had(whole, folder):
    again, kept = whole.fit("good 1"), onepath.load(folder / "models" / "good 1.onepath")
    row = whole.series.set_index("unique_id").loc["good 1"]
    for sde in (again, kept):
        assert sde.drift(row["q50"]).item() == row["drift_q50"]
    assert (folder / "reports" / "good 1.html").exists()
    assert not (folder / "models" / "good 0.onepath").exists()
    with pytest.raises(KeyError, match="no series 'good 7'"):
        whole.fit("good 7")


def test_curves_are_those_of_the_models(whole):
    curves = whole.curves[whole.curves["unique_id"] == "good 1"].drop(columns="unique_id").reset_index(drop=True)
    pd.testing.assert_frame_equal(curves, whole.fit("good 1").curves(5), check_exact=True)


def counting(monkeypatch):
    """Names of series as they are fitted."""
    names, fit = [], panels.fit_in_processes

    def counted(plan, batches, workers):
        for records in fit(plan, batches, workers):
            names.extend(record["key"] for record in records)
            yield records

    monkeypatch.setattr(panels, "fit_in_processes", counted)
    return names


def test_an_interrupted_panel_goes_on(table, whole, folder, tmp_path, monkeypatch):
    lines = (folder / panels.JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / panels.JOURNAL).write_bytes(b"".join(lines[:5]) + lines[5][:100])
    names = counting(monkeypatch)
    again = onepath.fit_panel(table, workers=1, folder=tmp_path, curve_points=5, progress=False)
    assert sorted(names) == sorted(json.loads(line)["key"] for line in lines[5:])
    same(again.series, whole.series)
    same(again.curves, whole.curves)
    names.clear()
    changed = table.copy()
    changed.loc[changed["unique_id"] == "three", "y"] *= 2
    onepath.fit_panel(changed, workers=1, folder=tmp_path, curve_points=5, progress=False)
    assert names == ["three"]


def test_what_is_kept_of_other_settings_does_not_count(table, folder, tmp_path, monkeypatch):
    (tmp_path / panels.JOURNAL).write_bytes((folder / panels.JOURNAL).read_bytes())
    names = counting(monkeypatch)
    only = table[table["unique_id"] == "three"]
    onepath.fit_panel(only, onepath.SDE(jumps=True), workers=1, folder=tmp_path, curve_points=5, progress=False)
    assert names == ["three"]


class Deadly(Observation):
    """Ends the process that looks at a large state: once for some, always for others."""

    name = "deadly"

    def __init__(self, folder):
        self.folder = folder

    def __repr__(self):
        return "Deadly()"

    def transitions(self, trajectory, fit):
        size = trajectory.x[0, 0]
        dead = self.folder / f"{size:g}"
        if size > 1000 or (size > 100 and not dead.exists()):
            dead.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return transitions_of(trajectory) if fit is None else None


def test_a_process_that_is_killed_costs_no_result(good, tmp_path):
    frames = [frame.assign(y=frame["y"] + shift) for frame, shift in zip(good, (0, 500, 0, 5000), strict=True)]
    table, sde = pd.concat(frames), onepath.SDE(observation=Deadly(tmp_path), learn=None)
    found = onepath.fit_panel(table, sde, workers=2, **FEW)
    assert found.series["fitted"].tolist() == [True, True, True, False]
    assert "died 2 times (signal 9)" in found.series["reason"].iloc[3]
    here = onepath.fit_panel(table[table["unique_id"] != "good 3"], sde, workers=1, **FEW)
    same(found.series.iloc[:3], here.series)


def test_settings_that_cannot_be_sent_are_refused(good):
    sde = onepath.SDE(drift=onepath.Known(lambda x, k: -k * x, k=1.0))
    with pytest.raises(ValueError, match=r"cannot be sent to other processes.*workers=1"):
        onepath.fit_panel(pd.concat(good), sde, workers=2, **FEW)


def test_columns_are_found_named_or_asked_for(good, hostile):
    plain = good[0].rename(columns={"unique_id": "series", "ds": "day", "y": "level"})
    layout = read_layout(pd.concat([hostile.rename(columns={"unique_id": "series", "ds": "day", "y": "level"}), plain]),
                         None, Chosen(), 10.0, "auto")  # fmt: skip
    assert (layout.key, layout.chosen.time, layout.chosen.values) == ("series", "day", ("level",))
    dated = good[0].assign(ds=pd.date_range("2020-01-01", periods=ROWS + 1, freq="h"))
    found = read_layout(dated, None, Chosen(), 10.0, "auto").chosen
    assert (found.time, found.values, found.unit) == ("ds", ("y",), "hour")
    with pytest.raises(ValueError, match=r"no column is called as those that name series are.*'a', 'b'"):
        read_layout(pd.DataFrame({"a": [1.0], "b": [2.0]}), None, Chosen(), 10.0, "auto")
    with pytest.raises(ValueError, match="empty in 1 rows"):
        read_layout(good[0].assign(unique_id=[None, *["a"] * ROWS]), None, Chosen(), 10.0, "auto")
    assert not onepath.fit_panel(hostile, workers=1, **FEW).series["fitted"].any()
    with pytest.raises(ValueError, match="none of the first series can be read"):
        onepath.fit_panel(hostile.rename(columns={"y": "level"}), workers=1, **FEW)


def test_names_that_are_written_alike_are_refused(good):
    both = pd.concat([good[0].assign(unique_id=1), good[1].assign(unique_id="1")])
    layout = read_layout(both, None, Chosen(), 10.0, "auto")
    with pytest.raises(ValueError, match="written alike"):
        list(series_in(both, layout, ""))


@pytest.mark.parametrize("wrong", [{"points": ["median"]}, {"points": ["q101"]}, {"curve_points": -1}, {"workers": 0}])
def test_what_means_nothing_is_refused(good, wrong):
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
        onepath.fit_panel(good[0], **wrong)


def fitted_table(count=40):
    """A table of series as if fitted, one of them ten times as noisy and two of them the same but for a trifle."""
    rng = np.random.default_rng(5)
    laws = np.column_stack(
        [rng.normal(size=count), np.exp(0.2 * rng.normal(size=(count, 2))), rng.gamma(9, size=count)]
    )
    laws[1] = laws[0] * (1 + 1e-6)
    away = 0.01 * rng.normal(size=count)
    away[1] = away[0]
    rows = []
    for k, (middle, reach, noise, back) in enumerate(laws.tolist()):
        ends = {"q05": -reach, "q50": away[k], "q95": reach}
        row = {"id": f"s{k}", "fitted": True}
        for point, place in ends.items():
            level = noise * (10 if k == 7 else 1) * (1 + 0.1 * place)
            row |= {point: middle + place, f"drift_{point}": -back * place, f"noise_{point}": level}
        rows.append(row)
    return pd.DataFrame(rows)


def test_who_is_odd_and_who_is_alike_is_found_in_any_units():
    table = fitted_table()
    found = likeness(table, "id")
    assert found.set_index("id")["odd"].loc["s7"].startswith("noise, ln: +")
    assert (found["odd"] != "").sum() == 1
    assert found["like"].tolist()[:2] == ["s1", "s0"]
    scaled = table.copy()
    for name in table.columns[2:]:
        scaled[name] *= 1e3
    scaled[["q05", "q50", "q95"]] += 7.0
    again = likeness(scaled, "id")
    assert again["like"].tolist() == found["like"].tolist()
    np.testing.assert_allclose(again["distance"], found["distance"], rtol=1e-6, atol=1e-9)
    assert len(likeness(table.iloc[:3], "id")) == 0


def test_reasons_of_one_kind_are_counted_together():
    reasons = pd.Series(["x has 3 rows", "'a b' is odd", "x has 17 rows", "x has 1.5e-3 rows"])
    assert [len(rows) for _, rows in kinds_of(reasons)] == [3, 1]


def test_the_page_says_it_and_takes_names_as_text(whole, good):
    page = whole.page()
    assert "4 of 9 series were fitted" in page
    assert "is constant in all transitions" in page
    assert 'href="reports/good%2520' not in page  # a blank is kept as it is in names of files
    assert 'href="reports/good%201.html"' in page
    named = onepath.fit_panel(good[0].assign(unique_id="<b>$x$</b>"), workers=1, **FEW)
    assert "<b>" not in named.page()


def test_the_command_writes_tables_and_goes_on(good, hostile, tmp_path):
    path, out = tmp_path / "long.csv", tmp_path / "results"
    pd.concat([good[0], hostile]).to_csv(path, index=False)
    line = ["panel", str(path), "-o", str(out), "--workers", "1", "--no-verdict", "--curve-points", "3"]
    line += ["--json", "--at", "0.5"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["series"], said["fitted"]) == (6, 1)
    assert len(said["written"]) == 4
    series = pd.read_csv(out / "series.csv")
    assert series["fitted"].sum() == 1
    assert series["drift_at_0.5"].notna().sum() == 1
    assert len(pd.read_csv(out / "curves.csv")) == 3
    assert CliRunner().invoke(app, line).exit_code == 0
    (out / panels.JOURNAL).unlink()
    kept = CliRunner().invoke(app, line)
    assert kept.exit_code == 2
    assert "exists already" in kept.output
    parquet = CliRunner().invoke(app, [*line, "--format", "parquet", "--force"])
    assert parquet.exit_code == 0, parquet.output
    assert len(pd.read_parquet(out / "series.parquet")) == 6


@pytest.mark.slow
def test_a_cluster_gives_the_same_and_loses_nothing_with_a_worker(table, whole, tmp_path):
    frames = table.assign(y=table["y"] + np.where(table["unique_id"] == "good 2", 500.0, 0.0))
    with client_of(None, 2) as client:
        found = onepath.fit_panel(table, client=client, curve_points=5, progress=False)
        same(found.series, whole.series)
        same(found.curves, whole.curves)
        deadly = onepath.SDE(observation=Deadly(tmp_path), learn=None)
        after = onepath.fit_panel(frames, deadly, client=client, **FEW)
        assert (tmp_path / f"{frames.loc[frames['unique_id'] == 'good 2', 'y'].iloc[0]:g}").exists()
        same(after.series, onepath.fit_panel(frames, deadly, workers=1, **FEW).series)
        import dask.dataframe

        parts = onepath.fit_panel(
            dask.dataframe.from_pandas(table, npartitions=3), client=client, curve_points=5, progress=False
        )
        same(parts.series.astype({"unique_id": str}), whole.series.astype({"unique_id": str}))
        # and one long record, reduced over partitions
        rng = np.random.default_rng(0)
        long = pd.DataFrame({"t": 0.1 * np.arange(40_000), "x": rng.normal(size=40_000).cumsum()})
        split = read_stream(dask.dataframe.from_pandas(long, npartitions=3), *STREAM)
        at_once = read_stream(iter([long]), *STREAM)
        totals = [one.boxes.sums.reshape(5, -1).sum(axis=1) for one in (split, at_once)]  # boxes depend on the look
        np.testing.assert_allclose(*totals, rtol=1e-9, atol=1e-9)
        assert split.trajectory.transitions == at_once.trajectory.transitions == 39_999
