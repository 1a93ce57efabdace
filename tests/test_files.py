"""Tables are read as they are meant or refused; model files come back to the last bit, and damage is told apart."""

import io
import json
import pickle
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pandas as pd
import pytest
import tinygp
from tinygp import kernels

import onepath
from onepath.io.atomic import write_atomically
from onepath.io.codec import decode, encode
from onepath.io.columns import Chosen, choose_columns
from onepath.io.errors import BadTable, Damaged, Kept, Unsavable
from onepath.io.model import save_model
from onepath.io.tables import read_table

DAYS = pd.date_range("2020-01-01", periods=40, freq="D")
VALUES = np.round(np.random.default_rng(0).normal(size=40).cumsum(), 6)
ROWS = [f"{day:%Y-%m-%d},{value!r}" for day, value in zip(DAYS, VALUES.tolist(), strict=True)]
GOOD = "\n".join(["date,x", *ROWS]) + "\n"


def observed(path: Path, content: str | bytes, **chosen):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = read_table(path)
    return choose_columns(table.frame, Chosen(**chosen)), table.notes


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace(",", "\t"),
        GOOD.replace(",", ";").replace(".", ","),
        GOOD.replace("date,x\n", ""),
        "# a comment\n#another\n\n" + GOOD,
        "\n".join(["date,x", *ROWS[::-1]]),
        GOOD.replace("2020-", "2020/").replace("-", "/", 0),
        ",date,x,station\n" + "\n".join(f"{i},{row},Kiel" for i, row in enumerate(ROWS)),
        "date,x\n" + "\n".join(f"{day:%d.%m.%Y},{value}" for day, value in zip(DAYS, VALUES, strict=True)),
        "date,x\n" + "\n".join(f"{day:%Y%m%d},{value}" for day, value in zip(DAYS, VALUES, strict=True)),
        "date,x\n" + "\n".join(f"{day:%m/%d/%Y},{value}" for day, value in zip(DAYS, VALUES, strict=True)),
        "date,x\n" + "\n".join(f"{day:%Y-%m-%dT00:00:00Z},{value}" for day, value in zip(DAYS, VALUES, strict=True)),
    ],
)
def test_the_same_series_is_read_from_every_dialect(tmp_path, content):
    if isinstance(content, str) and "2020/" in content:
        content = content.replace("2020/01-", "2020/01/").replace("2020/02-", "2020/02/")
    seen, _ = observed(tmp_path / "series.csv", content)
    assert np.array_equal(seen.x.to_numpy()[:, 0], VALUES)
    assert np.array_equal(seen.t.to_numpy().astype("datetime64[s]"), DAYS.to_numpy().astype("datetime64[s]"))


def test_missing_values_of_many_spellings_stay_missing(tmp_path):
    marks = [".", "", "NA", "NaN", "null", "-"]
    text = "t,x\n" + "\n".join(f"{i},{marks[i] if i < len(marks) else i % 5}" for i in range(30))
    seen, _ = observed(tmp_path / "x.csv", text)
    assert np.isnan(seen.x["x"]).tolist() == [True] * len(marks) + [False] * (30 - len(marks))


@pytest.mark.parametrize(("name", "unit"), [("year", "year"), ("t_s", "second"), ("time [h]", "hour"), ("t", None)])
def test_the_name_of_a_time_column_may_tell_its_unit(tmp_path, name, unit):
    seen, _ = observed(tmp_path / "x.csv", f"{name},x\n" + "\n".join(f"{i},{i % 5}" for i in range(20)))
    assert seen.unit == unit


def test_a_second_clock_is_left_out_and_groups_become_trajectories(tmp_path):
    lines = [f"2020-01-01T00:00:{2 * i:02d},{2 * i},{v},{'ab'[i // 15]}" for i, v in enumerate(VALUES[:30])]
    seen, _ = observed(tmp_path / "x.csv", "when,t_s,x,run\n" + "\n".join(lines), group="run")
    assert [len(part) for part in seen.x] == [15, 15] == [len(part) for part in seen.t]
    assert list(seen.x[0].columns) == ["x"]


def test_binary_tables(tmp_path):
    frame = pd.DataFrame({"x": VALUES}, index=pd.Index(DAYS, name="when"))
    frame.to_parquet(tmp_path / "x.parquet")
    seen = choose_columns(read_table(tmp_path / "x.parquet").frame, Chosen())
    assert np.array_equal(seen.x["x"], VALUES)
    assert np.array_equal(seen.t.to_numpy(), DAYS.to_numpy())
    np.save(tmp_path / "x.npy", VALUES)
    assert np.array_equal(choose_columns(read_table(tmp_path / "x.npy").frame, Chosen(dt=0.5)).x["x"], VALUES)
    np.savez_compressed(tmp_path / "x.npz", t=np.arange(40.0), x=np.stack([VALUES, -VALUES], axis=1))
    both = choose_columns(read_table(tmp_path / "x.npz").frame, Chosen())
    assert np.array_equal(both.x.to_numpy(), np.stack([VALUES, -VALUES], axis=1))
    assert np.array_equal(both.t, np.arange(40.0))


HOSTILE = {
    "empty": (b"", "is empty"),
    "header only": ("date,x\n", "header and no rows"),
    "one row": ("date,x\n2020-01-01,3\n", "one row only"),
    "text in the value column": (GOOD.replace(ROWS[3], "2020-01-04,oops"), "'oops' in row 4"),
    "mixed separators": (GOOD.replace(ROWS[5], ROWS[5].replace(",", ";")), "line 7"),
    "UTF-16": (GOOD.encode("utf-16"), "UTF-16"),
    "Latin-1": (GOOD.replace("x\n", "Höhe\n", 1).encode("latin-1"), "--encoding latin-1"),
    "a million columns": (",".join(["1"] * 10**6), "1000000 columns in line 1"),
    "a million columns in the second row": (f"date,x\n{ROWS[0]}\n" + ",".join(["1"] * 10**6), "columns in line 3"),
    "NaN only": ("date,x\n" + "\n".join(f"{day:%Y-%m-%d},NaN" for day in DAYS), "no value in any row"),
    "several date formats": (GOOD.replace("2020-01-15", "15/01/2020"), "several formats"),
    "day or month first": ("date,x\n01/02/2020,1\n01/02/2020,2\n", "day/month or month/day"),
    "duplicate names": ("date,x,x\n" + "\n".join(f"{row},1" for row in ROWS), "several columns called 'x'"),
    "no time": ("a,b\n" + "\n".join(f"{i % 3},{i % 5}" for i in range(20)), "--dt"),
    "many values": ("t,a,b,c\n" + "\n".join(f"{i},1,2,{i % 3}" for i in range(20)), "Choose with --value"),
    "hidden groups": ("t,x,who\n" + "\n".join(f"{i},1.5,{'ab'[i % 2]}" for i in range(20)), "--group who"),
    "times repeated": ("t,x\n" + "\n".join(f"{i % 9},{i % 5}" for i in range(20)), "repeats"),
    "bytes": (bytes(range(256)), "no text"),
    "gzip": (b"\x1f\x8b" + bytes(50), "unpack it first"),
    "comments only": ("# nothing\n# at all\n", "comments only"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_tables_are_refused_with_the_reason(tmp_path, what):
    content, reason = HOSTILE[what]
    with pytest.raises(BadTable) as error:
        observed(tmp_path / "hostile.csv", content)
    assert reason in str(error.value)


def test_places_that_are_no_tables(tmp_path, monkeypatch):
    with pytest.raises(BadTable, match="folder"):
        read_table(tmp_path)
    with pytest.raises(BadTable, match="does not exist"):
        read_table(tmp_path / "nowhere.csv")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(BadTable, match="Parquet"):
        read_table(tmp_path / "x.parquet")
    forged = io.BytesIO()
    np.save(forged, VALUES)
    (tmp_path / "x.npy").write_bytes(forged.getvalue().replace(b"(40,), ", b"(999999999,), ".ljust(7))[: 128 + 320])
    with pytest.raises(BadTable):
        read_table(tmp_path / "x.npy")
    (tmp_path / "x.csv").write_text(GOOD)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(BadTable, match="may not be read"):
        read_table(tmp_path / "x.csv")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["line", "plane"])
def test_a_loaded_model_predicts_the_same_bits(tmp_path, request, which):
    sde = request.getfixturevalue(which)
    loaded = onepath.load(sde.save(tmp_path / "model.onepath"))
    grid = sde.transitions_.x[:200] + 0.1
    for name in ("drift", "diffusion", "drift_band", "diffusion_band"):
        assert np.array_equal(getattr(sde, name)(grid), getattr(loaded, name)(grid))
    if which == "line":
        for first, second in zip(sde.functions(grid, 400, 0), loaded.functions(grid, 400, 0), strict=True):
            assert np.array_equal(first, second)
    assert loaded.get_params() == sde.get_params()
    assert loaded.summary() == sde.summary()
    assert jax.tree.structure(loaded.posterior_) == jax.tree.structure(sde.posterior_)
    loaded.save(tmp_path / "again.onepath")
    assert (tmp_path / "again.onepath").read_bytes() == (tmp_path / "model.onepath").read_bytes()
    pickled = onepath.load(pickle.loads(pickle.dumps(sde)).save(tmp_path / "pickled.onepath"))
    assert np.array_equal(pickled.drift(grid), sde.drift(grid))


def test_kernels_of_tinygp_and_generators_come_back():
    arrays = []
    kernel = tinygp.transforms.Linear(np.array([1.0, 2.0]), kernels.Matern32(0.3)) * kernels.Polynomial(order=2)
    whole = {"kernel": kernel + kernels.RationalQuadratic(alpha=np.float64(2.0)), "odd": [float("nan"), (1, None, "é")]}
    code = encode(whole, lambda array: arrays.append(array) or len(arrays) - 1)
    back = decode(json.loads(json.dumps(code)), dict(enumerate(arrays)))
    assert jax.tree.structure(back["kernel"]) == jax.tree.structure(whole["kernel"])
    assert all(
        np.array_equal(*pair) for pair in zip(*map(jax.tree.leaves, (back["kernel"], whole["kernel"])), strict=True)
    )
    assert np.isnan(back["odd"][0])
    assert back["odd"][1] == (1, None, "é")
    drawn = np.random.default_rng(7)
    twin = decode(encode(drawn, lambda array: arrays.append(array) or len(arrays) - 1), dict(enumerate(arrays)))
    assert drawn.random() == twin.random()


class Homemade(kernels.Kernel):
    scale: float = 1.0

    def evaluate(self, X1, X2):  # noqa: ARG002
        return self.scale


def test_a_users_own_kernel_is_refused_and_nothing_is_written(tmp_path, line):
    line = onepath.load(line.save(tmp_path / "model.onepath")).set_params(drift=Homemade())
    with pytest.raises(Unsavable, match="Homemade"):
        line.save(tmp_path / "other.onepath")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onepath"]


def forged(path: Path, edit) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(buffer, "w") as copy:
        for name in whole.namelist():
            copy.writestr(name, edit(whole.read(name)))
    return buffer.getvalue()


def both_shapes(content: bytes) -> bytes:
    """A shape that the array's header and the text agree on, and that nothing else fits."""
    content = content.replace(b"'shape': (501, 1)", b"'shape': (1, 501)")
    text = content.replace(b"501,\n    1\n", b"1,\n    501\n")
    return text


DAMAGE = {
    "empty": (lambda _: b"", "is empty"),
    "foreign": (lambda _: b"GIF89a", "no model file"),
    "truncated": (lambda path: path.read_bytes()[:5000], "cut short or damaged"),
    "one bit": (lambda path: path.read_bytes().replace(b"\x00\x00\x00", b"\x00\x00\x01", 1)[:-1], "damaged"),
    "newer": (lambda path: forged(path, lambda c: c.replace(b'"version": 2', b'"version": 9')), "newer onepath"),
    "class": (
        lambda path: forged(path, lambda c: c.replace(b'"class": "Cubic"', b'"class": "os.system"')),
        "os.system",
    ),
    "law": (lambda path: forged(path, lambda c: c.replace(b'"law": "', b'"law": "un')), "transition law"),
    "shape": (lambda path: forged(path, lambda c: c.replace(b"(501, 1)", b"(1, 501)")), "shape"),
    "huge shape": (lambda path: forged(path, lambda c: c.replace(b"(501, 1)", b"(10**15)"[:8])), "array"),
    "both shapes": (lambda path: forged(path, both_shapes), "shapes do not fit"),
    "no JSON": (lambda path: forged(path, lambda c: c.replace(b'{\n "format"', b"{{")), "no JSON"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_model_files_say_what_is_wrong(tmp_path, line, what):
    damage, reason = DAMAGE[what]
    content = damage(line.save(tmp_path / "good.onepath"))
    (tmp_path / "bad.onepath").write_bytes(content)
    with pytest.raises(Damaged, match=reason):
        onepath.load(tmp_path / "bad.onepath")


@pytest.mark.parametrize("part", ["members.theta", "members.weights", "members.lower", "mass", "band_mass"])
def test_a_posterior_whose_parts_do_not_fit_together_is_refused(tmp_path, line, part):
    spoiled = eqx.tree_at(attrgetter(part), line.posterior_, replace_fn=lambda whole: whole[..., :-1])
    save_model(replace(line.model_, posterior=spoiled), line.get_params(), tmp_path / "bad.onepath")
    with pytest.raises(Damaged, match="damaged or forged"):
        onepath.load(tmp_path / "bad.onepath")


def test_files_are_deflated_and_what_they_hold_is_the_same_to_the_last_bit(tmp_path, line, plane):
    for sde in (line, plane):
        path = sde.save(tmp_path / f"{sde.model_.dimension}.onepath")
        with zipfile.ZipFile(path) as archive:
            assert path.stat().st_size < 0.6 * sum(item.file_size for item in archive.infolist())
        model, again = sde.model_, onepath.load(path).model_
        pairs = [(one.posterior, one.transitions.x, one.trajectory.t) for one in (model, again)]
        for mine, yours in zip(*map(jax.tree.leaves, pairs), strict=True):
            assert np.asarray(mine).tobytes() == np.asarray(yours).tobytes()
        at = model.transitions.x[:20]
        for what in ("drift", "diffusion", "drift_band", "diffusion_band"):
            np.testing.assert_array_equal(getattr(again, what)(at), getattr(model, what)(at))


def test_files_that_are_not_deflated_load_too(tmp_path, line):
    with (
        zipfile.ZipFile(line.save(tmp_path / "new.onepath")) as new,
        zipfile.ZipFile(tmp_path / "old.onepath", "w") as old,
    ):
        for item in new.infolist():
            old.writestr(zipfile.ZipInfo(item.filename), new.read(item))
    assert onepath.load(tmp_path / "old.onepath").evidence_ == line.evidence_


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "bomb.onepath", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("model.json", "{}")
        bomb.writestr("0.npy", bytes(50 << 20))
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(Damaged, match="more than 100 times as many"):
        onepath.load(tmp_path / "bomb.onepath")


def test_existing_files_are_kept_unless_forced(tmp_path):
    write_atomically(tmp_path / "file", b"first")
    with pytest.raises(Kept, match="exists already"):
        write_atomically(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    write_atomically(tmp_path / "file", b"second", force=True)
    assert (tmp_path / "file").read_bytes() == b"second"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


KILLED = """
import os, random, signal, sys, time
random.seed(0)
from pathlib import Path
from onepath.io.atomic import write_atomically
place = Path(sys.argv[1])
contents = [bytes([letter]) * (3 << 20) for letter in b"ab"]
write_atomically(place, contents[0])
kills = 0
for _ in range(15):
    child = os.fork()
    if child == 0:
        while True:
            for content in contents:
                write_atomically(place, content, force=True)
    time.sleep(random.uniform(0.005, 0.06))
    os.kill(child, signal.SIGKILL)
    kills += os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert place.read_bytes() in contents
print(kills)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_while_writing_the_file_is_the_old_or_the_new_one(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path / "file")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["15"]


def test_triangular_matrices_are_kept_without_their_zeros():
    lower = np.tril(np.random.default_rng(0).normal(size=(3, 40, 40)))
    kept = []
    code = encode({"lower": lower, "full": lower + 1.0}, lambda array: kept.append(array) or len(kept) - 1)
    assert [array.size for array in kept] == [3 * 820, 3 * 1600]
    back = decode(code, dict(enumerate(kept)))
    np.testing.assert_array_equal(back["lower"], lower)
    np.testing.assert_array_equal(back["full"], lower + 1.0)
    with pytest.raises(Damaged, match="triangular"):
        decode({"lower": 0, "size": 41}, dict(enumerate(kept)))
