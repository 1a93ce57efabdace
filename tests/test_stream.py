"""Records longer than memory: one pass over parts, the same answer, and what is a sample said to be one."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import onepath
from onepath import SDE
from onepath.cli import app
from onepath.data.boxes import Boxes
from onepath.data.streaming import BLOCK, STRETCHES, Part, Streaming, Told, joined
from onepath.io.chosen import Chosen
from onepath.io.pieces import files_in, pieces_of
from onepath.io.resume import Resume
from onepath.io.stream import is_stream, read_stream

DT, ROWS = 0.01, 60_000
LAW = ["--transition", "linearised"]


@pytest.fixture(scope="module")
def path():
    """An Ornstein–Uhlenbeck process, exactly, bent."""
    rng = np.random.default_rng(4)
    left, x = np.exp(-DT), np.zeros(ROWS)
    steps = rng.standard_normal(ROWS) * np.sqrt((1 - left**2) / 2)
    for k in range(1, ROWS):
        x[k] = left * x[k - 1] + steps[k]
    return np.sinh(x)


@pytest.fixture(scope="module")
def table(path):
    return pd.DataFrame({"t": DT * np.arange(ROWS), "x": path})


@pytest.fixture(scope="module")
def streamed(table):
    return fitted(pieces(table, [50_000, 10_000]))


def pieces(table, sizes):
    return (table.iloc[a:b] for a, b in pairwise(np.cumsum([0, *sizes])))


def fitted(x, **how):
    """Under one law: which one is taken may hang on a trifle."""
    return SDE(progress=False, transition="linearised").fit(x, **how)


def read(source, **chosen):
    """Boxes and sample."""
    return read_stream(source, Chosen(**chosen), 10.0, lambda _: 256, [], lambda *_: None)


def same(one, other):
    """What a fit is made of, to the last bit."""
    for name in ("sums", "first", "width", "squares", "location", "scale"):
        assert getattr(one.boxes, name).tolist() == getattr(other.boxes, name).tolist(), name
    for name in ("x", "t", "record", "step"):
        assert getattr(one.trajectory, name).tolist() == getattr(other.trajectory, name).tolist(), name
    assert one.trajectory.whole == other.trajectory.whole


def test_the_answer_is_that_of_the_data_in_memory(path, streamed):
    whole = fitted(path, dt=DT)
    at = np.quantile(path, [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    for name in ("drift", "diffusion"):
        lower, upper = getattr(whole, f"{name}_band")(at)
        away = np.abs(getattr(streamed, name)(at) - getattr(whole, name)(at))
        assert np.all(away < 0.1 * (upper - lower)), (name, away / (upper - lower))
    np.testing.assert_allclose(streamed.evidence_, whole.evidence_, rtol=1e-4)


@pytest.fixture(scope="module")
def at_once(table):
    return read(iter([table]))


def test_how_it_is_cut_changes_nothing(at_once, table):
    for sizes in ([1, 7, 500, 30_000, 29_492], [20_000] * 3):
        same(read(pieces(table, sizes)), at_once)
    longer = pd.concat([table, table.assign(t=table["t"] + ROWS * DT), table.assign(t=table["t"] + 2 * ROWS * DT)])
    same(read(iter([longer])), read(pieces(longer, [50_000, 3, 79_997, 50_000])))


def test_every_source_gives_the_same(at_once, table, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, piece in enumerate(pieces(table, [25_000, 35_000])):
        pq.write_table(pa.Table.from_pandas(piece, preserve_index=False), folder / f"part{k}.parquet")
    table.to_csv(tmp_path / "long.csv", index=False)
    arrow = pa.Table.from_pandas(table)
    same(read(str(folder)), at_once)
    same(read(pyarrow.dataset.dataset(folder)), at_once)
    same(read(arrow, time="t", values=("x",)), at_once)
    same(read(iter(arrow.to_batches(10_000))), at_once)
    same(read(tmp_path / "long.csv"), at_once)
    same(read(iter([table.set_index("t", drop=True)]), time="t"), at_once)


class Stopped(Exception):
    """As if the process had ended."""


@pytest.mark.parametrize("how", [{"values": ("x",)}, {"group": "run"}, {"dt": 0.02, "group": "run"}])
def test_an_interrupted_reading_goes_on(table, tmp_path, monkeypatch, how):
    own = table.assign(run=np.tile(["a", "b"], ROWS // 2)).drop(columns="t" if "dt" in how else [])
    longer = pd.concat([own.assign(**({"t": own["t"] + k * ROWS * DT} if "t" in own else {})) for k in range(4)])
    parts, state = tmp_path / "parts", tmp_path / "state"
    parts.mkdir()
    for k, piece in enumerate(pieces(longer, [70_000, 170_000])):
        pq.write_table(pa.Table.from_pandas(piece, preserve_index=False), parts / f"{k}.parquet", row_group_size=30_000)
    monkeypatch.setattr("onepath.io.resume.EVERY", 0.0)
    monkeypatch.setattr("onepath.io.pieces.ROWS", 25_000)
    whole, seen = read(parts, **how), []

    def stop(rows, _):
        seen.append(rows)
        if rows > 170_000:
            raise Stopped

    with pytest.raises(Stopped):
        read_stream(parts, Chosen(**how), 10.0, lambda _: 256, [], stop, state)
    again, notes = [], []
    found = read_stream(parts, Chosen(**how), 10.0, lambda _: 256, notes, lambda rows, _: again.append(rows), state)
    assert seen[-2] < again[0] <= seen[-1]  # nothing twice but what was under way
    assert any("reading goes on after" in note for note in notes)
    assert not state.exists()
    same(found, whole)


def test_a_reading_goes_on_with_its_own_alone(table, tmp_path, monkeypatch):
    monkeypatch.setattr("onepath.io.resume.EVERY", 0.0)
    path, state = tmp_path / "long.csv", tmp_path / "state"
    table.to_csv(path, index=False)
    streaming = Streaming(Told(("x",)))
    streaming.add(Part(table[["x"]].to_numpy(), table["t"].to_numpy(), np.zeros(ROWS, np.int64)))
    streaming.look()
    Resume(state, "of another file").keep(streaming, ROWS, {})
    same(read_stream(path, Chosen(), 10.0, lambda _: 256, [], lambda *_: None, state), read(path))
    state.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="remove it to begin anew"):
        read_stream(path, Chosen(), 10.0, lambda _: 256, [], lambda *_: None, state)
    with pytest.raises(ValueError, match="path of a file or a folder"):
        read_stream(iter([table]), Chosen(), 10.0, lambda _: 256, [], lambda *_: None, state)


def test_a_constant_step_tells_the_time(at_once, table, tmp_path):
    np.save(tmp_path / "long.npy", table["x"].to_numpy())
    same(read(tmp_path / "long.npy", dt=DT), at_once)
    runs = pd.DataFrame({"run": np.tile(["a", "b"], ROWS // 2), "x": table["x"]})
    found = read(pieces(runs, [777, ROWS - 777]), dt=2 * DT, group="run").trajectory
    for k in (0, 1):
        own = found.record == k
        np.testing.assert_allclose(
            found.x[own, 0], table["x"].to_numpy()[k::2][np.round(found.t[own] / (2 * DT)).astype(int)]
        )


def test_dates_are_times(at_once, table):
    dated = table.assign(t=pd.Timestamp("2020-01-01") + pd.to_timedelta(10 * np.arange(ROWS), unit="ms"))
    found = read(pieces(dated, [30_000, 30_000]), unit="second")
    np.testing.assert_allclose(found.boxes.sums, at_once.boxes.sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.trajectory.t, at_once.trajectory.t, rtol=1e-12)
    assert found.trajectory.dates(found.trajectory.t[:1])[0] == np.datetime64("2020-01-01")
    assert read(pieces(dated, [30_000, 30_000])).trajectory.unit == "millisecond"


def test_what_is_a_sample_is_said_to_be_one(streamed, table, tmp_path):
    trajectory = streamed.trajectory_
    assert (trajectory.rows, trajectory.transitions, trajectory.whole.records) == (ROWS, ROWS - 1, 1)
    assert trajectory.x[-1, 0] == table["x"].iloc[-1]
    assert streamed.transitions_.x.min() == table["x"].iloc[:-1].min()
    assert streamed.transitions_.x.max() == table["x"].iloc[:-1].max()
    summary = streamed.summary()
    assert f"{ROWS} rows, {ROWS - 1} transitions" in summary
    assert "all transitions are in the fit" in summary
    streamed.save(tmp_path / "model.onepath")
    again = onepath.load(tmp_path / "model.onepath")
    assert again.drift([0.5]) == streamed.drift([0.5])
    assert again.trajectory_.whole == trajectory.whole


# the pass itself


def hostile(rows, groups, rng):
    """Interleaved records with missing rows and recording gaps; and what a slow loop over them says."""
    record = rng.integers(groups, size=rows)
    t = np.cumsum(rng.exponential(size=rows)) * 0.1
    t[rows // 2 :] += 1e3
    x = rng.normal(size=(rows, 2)).cumsum(axis=0)
    x[rng.integers(rows, size=rows // 50), 1] = np.nan
    return Part(x, t, record)


def slowly(part, gap, median):
    last, starts, moves, durations, gaps = {}, [], [], [], 0
    for x, t, record in zip(*part, strict=True):
        if record in last:
            before, then = last[record]
            if not np.isnan(x + before).any():
                if t - then > gap * median:
                    gaps += 1
                else:
                    starts.append(before)
                    moves.append(x - before)
                    durations.append(t - then)
        last[record] = (x, t)
    return np.asarray(starts), np.asarray(moves), np.asarray(durations), gaps


@pytest.mark.parametrize("groups", [1, 5])
def test_all_transitions_are_counted_once(groups):
    part = hostile(3 * BLOCK + 1234, groups, np.random.default_rng(groups))
    streaming = Streaming(Told(("a", "b"), gap=8.0, cells=1024))
    for begin in range(0, len(part.t), 7777):
        streaming.add(part.rows(slice(begin, begin + 7777)))
    trajectory, boxes = streaming.end()
    x, y, dt, gaps = slowly(part, 8.0, streaming.median)
    assert (trajectory.transitions, trajectory.gaps) == (len(dt), gaps)
    assert trajectory.missing == np.isnan(part.x).any(axis=1).sum()
    assert trajectory.whole.records == groups
    totals = boxes.sums.reshape(len(boxes.sums), -1).sum(axis=1)
    products = [y[:, i] * y[:, j] for i in range(2) for j in range(2)]
    wanted = [len(dt), dt.sum(), *x.sum(axis=0), *y.sum(axis=0), *np.sum(products, axis=1)]
    np.testing.assert_allclose(totals, wanted, rtol=1e-9)
    units = boxes.units(1.0, common=False)
    np.testing.assert_allclose(units.location, x.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(units.scale, x.std(axis=0), rtol=1e-9)
    # the sample's transitions are some of them
    known = {tuple(row) for row in np.column_stack([x, y, dt])}
    step = trajectory.step
    some = np.column_stack([trajectory.x[step], np.diff(trajectory.x, axis=0)[step], np.diff(trajectory.t)[step]])
    assert {tuple(row) for row in some} <= known
    assert len(some) > 0.1 * len(dt)


def test_pieces_of_a_record_can_be_joined():
    part = hostile(3 * BLOCK, 1, np.random.default_rng(3))
    told, cuts = Told(("a", "b"), gap=8.0, cells=1024), [0, 50_000, 50_000, 50_001, 80_000, len(part.t)]
    whole = Streaming(told)
    whole.add(part)
    look = whole.look()
    apart = [Streaming(told, look) for _ in cuts[1:]]
    for one, (begin, end) in zip(apart, pairwise(cuts), strict=True):
        one.add(part.rows(slice(begin, end)))
    one, other = joined([each.finished() for each in apart]), whole.end()
    assert one.trajectory.whole[:3] == other.trajectory.whole[:3]
    assert (one.trajectory.gaps, one.trajectory.missing) == (other.trajectory.gaps, other.trajectory.missing)
    assert one.boxes.first.tolist() == other.boxes.first.tolist()
    np.testing.assert_allclose(one.boxes.sums, other.boxes.sums, rtol=1e-9, atol=1e-9)
    steps = {tuple(row) for row in np.column_stack([part.x[:-1], part.x[1:], part.t[:-1], part.t[1:]])}
    x, t, step = one.trajectory.x, one.trajectory.t, one.trajectory.step
    some = {tuple(row) for row in np.column_stack([x[step], x[step + 1], t[step], t[step + 1]])}
    assert some <= steps
    assert len(some) > 0.1 * len(steps)


def grid(rng, count=20_000, away=0.0):
    x = away + rng.normal(size=(count, 2)) * [1.0, 30.0]
    return x, rng.normal(size=(count, 2)), np.full(count, 0.5)


def test_boxes_of_parts_add_up_however_far_they_lie_and_however_coarse_they_became():
    rng = np.random.default_rng(0)
    parts = [grid(rng), grid(rng, away=50.0), grid(rng, away=-3000.0)]
    look = parts[0][0], parts[0][2]
    whole, apart = Boxes.from_look(*look, 64), [Boxes.from_look(*look, 64) for _ in parts]
    for part, one in zip(parts, apart, strict=True):
        whole.add(*part)
        one.add(*part)
    one, two, three = apart
    two.join(one)
    two.join(three)
    assert whole.sums[0].size <= whole.room
    assert two.first.tolist() == whole.first.tolist()
    np.testing.assert_allclose(two.sums, whole.sums, rtol=1e-9, atol=1e-9)
    x = np.concatenate([part[0] for part in parts])
    np.testing.assert_allclose(two.units(1.0, common=False).scale, x.std(axis=0), rtol=1e-9)


def test_boxes_stay_fine_where_a_state_wanders_off():
    """Within a box states differ by little beside how much they differ in all."""
    rng = np.random.default_rng(1)
    x = np.cumsum(rng.normal(size=400_000))[:, None]
    boxes = Boxes.from_look(x[:2000], np.ones(2000), 256)
    for part in np.array_split(x, 50):
        boxes.add(part, part, np.ones(len(part)))
    cells = boxes.cells(boxes.units(1.0, common=False))
    within = np.sqrt(cells.scatter[:, 0, 0].sum() / cells.weight.sum())
    assert within < 0.02


def test_memory_does_not_grow_with_the_stream():
    streaming, rng = Streaming(Told(("x",))), np.random.default_rng(2)
    sizes = []
    for k in range(120):
        t = np.arange(k * BLOCK, (k + 1) * BLOCK, dtype=float)
        streaming.add(Part(rng.normal(size=(BLOCK, 1)), t, np.zeros(BLOCK, np.int64)))
        kept = [part for _, part in streaming.stretches.values()] + streaming.waiting
        sizes.append(sum(array.nbytes for part in kept for array in part) + len(streaming.waiting))
        assert len(streaming.stretches) <= STRETCHES
    assert max(sizes[60:]) <= max(sizes[:60])
    assert streaming.end().trajectory.transitions == 120 * BLOCK - 1


# refusals


def test_a_file_of_many_row_groups_is_not_kept(tmp_path):
    values, path = np.random.default_rng(0).standard_normal(4_000_000), tmp_path / "long.parquet"
    pq.write_table(pa.table({"x": values}), path, row_group_size=1 << 18, use_dictionary=False, compression="none")
    before, most = pa.total_allocated_bytes(), 0
    for _ in pieces_of(path, ["x"]):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 0.3 * values.nbytes


def test_what_cannot_be_streamed_is_refused(table, tmp_path):
    def parts(**changed):
        return pieces(table.assign(**changed), [40_000, 20_000])

    infinite, back = table["x"].copy(), table["t"].copy()
    infinite[50_000], back[45_000] = np.inf, 0.0
    for wrong, said in [
        (parts(x=infinite), "row 50000 has an infinite value"),
        (parts(t=back), "time does not move forward"),
        (iter([]), "no rows"),
        (iter(["a", "b"]), "parts are tables"),
        (tmp_path / "nowhere.parquet", "does not exist"),
        (tmp_path, "folder without Parquet"),
    ]:
        with pytest.raises((ValueError, TypeError), match=said):
            fitted(wrong)
    for settings in ({"jumps": True}, {"season": 1.0}, {"measurement": "learn"}, {"learn": "crossval"}):
        with pytest.raises(ValueError, match="whole path in memory"):
            SDE(progress=False, **settings).fit(parts())
    with pytest.raises(ValueError, match="columns of a stream"):
        SDE().fit(table["x"], dt=DT, group="run")
    (tmp_path / "quoted.csv").write_text('t,x\n0,"1"\n1,2\n')
    with pytest.raises(ValueError, match="cannot be streamed"):
        fitted(tmp_path / "quoted.csv")


def test_what_is_a_stream(table, tmp_path):
    assert is_stream(iter([1]))
    assert is_stream(tmp_path)
    assert is_stream(pa.Table.from_pandas(table))
    assert not any(map(is_stream, (table, table["x"], table["x"].to_numpy(), [1.0, 2.0], {"x": 1}, 3)))
    for name in ("b.parquet", "a.parquet", "c.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in files_in(tmp_path)] == ["a.parquet", "b.parquet"]


def test_the_command_streams_folders_and_what_is_asked(table, streamed, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, piece in enumerate(pieces(table.assign(run=np.where(table["t"] < 300, "a", "b")), [25_000, 35_000])):
        pq.write_table(pa.Table.from_pandas(piece, preserve_index=False), folder / f"part{k}.parquet")
    plain = CliRunner().invoke(app, ["fit", str(folder), *LAW, "--value", "x", "--time", "t", "--json"])
    assert plain.exit_code == 0, plain.output
    facts = json.loads(plain.stdout)
    assert (facts["rows"], facts["transitions"]) == (ROWS, ROWS - 1)
    assert facts["log_evidence"] == streamed.evidence_
    assert read(folder, group="run").trajectory.transitions == ROWS - 2
    refused = CliRunner().invoke(app, ["fit", str(folder), "--drift", "matern52"])
    assert refused.exit_code == 2
