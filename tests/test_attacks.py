"""What an attack on the package found: writing, memory, numbers, messages, model files and logs."""

import gc
import io
import json
import os
import re
import stat
import subprocess
import sys
import warnings
import weakref
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import onepath
from onepath.after.consequences import passage_time
from onepath.after.equation import equations
from onepath.cli import app
from onepath.cli.console import _clean
from onepath.data.reading import printable
from onepath.data.trajectory import read_trajectory
from onepath.inference.progress import Progress
from onepath.io.atomic import check_places, write_atomically
from onepath.io.columns import Chosen, choose_columns
from onepath.io.errors import BadTable, Damaged, Kept, Unwritten
from onepath.io.tables import read_table
from onepath.numerics import extras, memory
from onepath.numerics.memory import check_memory
from onepath.sde import SDE

sys.path.insert(0, str(Path(__file__).parent))

from floors import PROJECT, floors

WALK = np.random.default_rng(0).normal(size=200).cumsum()
ONEPATH = [sys.executable, "-m", "onepath"]


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result


def shell(command, **environment):
    """A command line as a user types it, in a shell, on this machine's CPU."""
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=os.environ | environment, check=False
    )


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    path = tmp_path_factory.mktemp("attack") / "series.csv"
    pd.DataFrame({"t": 0.1 * np.arange(200), "x": WALK}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted():
    return SDE(learn=None, transition="euler", progress=False).fit(WALK, dt=0.1)


@pytest.fixture(scope="module")
def model(fitted, tmp_path_factory):
    return fitted.save(tmp_path_factory.mktemp("model") / "m.onepath")


# Writing


def test_only_regular_files_are_written_over(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    device = tmp_path / "device"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # a device that nobody misses if this fails
    except PermissionError:
        device = Path("/dev/null")  # who may make no device could not replace one either
    for place in (device, tmp_path / "pipe"):
        with pytest.raises(Kept, match="no file"):
            write_atomically(place, b"x", force=True)
    assert device.is_char_device()


def test_input_and_output_and_two_outputs_are_different_files(series, tmp_path):
    before = series.read_bytes()
    os.link(series, tmp_path / "also.csv")
    for place in (series, tmp_path / "also.csv"):
        result = run("fit", series, "--model", place, "--force")
        assert result.exit_code == 2
        assert "the file that is read" in result.stderr
    (tmp_path / "link").symlink_to(tmp_path / "new.html")
    result = run("fit", series, "--model", tmp_path / "new.html", "--report", tmp_path / "link", "--force")
    assert "two files" in result.stderr
    assert series.read_bytes() == before
    with pytest.raises(Kept, match="two files"):
        check_places([tmp_path / "b", tmp_path / "." / "b"], force=True)


def test_permissions_and_links_stay(tmp_path):
    place, link, dangling = tmp_path / "kept", tmp_path / "link", tmp_path / "dangling"
    place.write_bytes(b"old")
    place.chmod(0o640)
    link.symlink_to(place)
    write_atomically(link, b"new", force=True)
    assert (place.read_bytes(), stat.S_IMODE(place.stat().st_mode)) == (b"new", 0o640)
    assert link.is_symlink()
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(Kept, match="not there"):
        write_atomically(dangling, b"x")
    write_atomically(dangling, b"x", force=True)
    assert (tmp_path / "nowhere").read_bytes() == b"x"


def test_a_full_disk_does_not_lose_a_fit(series, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("onepath.io.atomic.os.fsync", full)
    words = ("fit", series, "--learn", "none", "--transition", "euler", "--model", tmp_path / "m.onepath")
    said = run(*words)
    assert said.exit_code == 1
    assert "Equation" in said.stdout
    assert "No space left" in said.stderr
    facts = json.loads(run(*words, "--json").stdout)
    assert (facts["written"], facts["kind"]) == ([], "failed")
    assert len(facts["drift"]["mean"]) == 5
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Unwritten, match="nothing there was changed"):
        write_atomically(tmp_path / "x", b"x")
    monkeypatch.setattr("onepath.io.model.check_free", lambda path, **_: write_atomically(path / "gone", b""))
    facts = json.loads(run(*words, "--json").stdout)  # the folder went while it was fitted
    assert "does not exist" in facts["error"]
    assert len(facts["drift"]["mean"]) == 5


# Memory


def test_what_needs_more_memory_than_there_is_is_refused_from_its_header(tmp_path, monkeypatch, fitted):
    content = io.BytesIO()
    np.savez_compressed(content, x=np.zeros(1_000_000))
    (tmp_path / "x.npz").write_bytes(content.getvalue())
    pd.DataFrame({"t": np.arange(500_000.0), "x": 0.0}).to_parquet(tmp_path / "x.parquet")
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 4_000_000
    monkeypatch.setattr(memory, "available", lambda: 50e6)
    for name in ("x.npz", "x.parquet"):
        with pytest.raises(BadTable, match=r"0\.07\d* GB of memory, and 0\.0466 GB are free"):
            read_table(tmp_path / name)
    with pytest.raises(ValueError, match="fewer steps or paths"):
        fitted.simulate(0.0, steps=10_000_000, paths=1)


def test_small_numbers_are_counted_as_what_they_become(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(1_000_000, np.int8))
    monkeypatch.setattr(memory, "available", lambda: 50e6)
    with pytest.raises(BadTable, match=r"7\.63 MB unpacked"):
        read_table(tmp_path / "x.npz")


def test_one_text_for_many_rows_is_counted_for_each(tmp_path, monkeypatch):
    """Parquet keeps it once, and a table has it in every row."""
    words = pd.DataFrame({"t": np.arange(2000.0), "x": 1.0, "word": 2000 * ["a" * 10_000]})
    words.to_parquet(tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    assert len(read_table(tmp_path / "x.parquet").frame) == 2000
    monkeypatch.setattr(memory, "available", lambda: 100e6)
    with pytest.raises(BadTable, match=r"19\.1 MB unpacked"):
        read_table(tmp_path / "x.parquet")


def test_a_pipe_without_end_is_left_in_time(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("onepath.io.tables.available", lambda: 1e6)
    with subprocess.Popen(["bash", "-c", f"yes 1.0 > {tmp_path / 'pipe'} 2> /dev/null"]) as endless:
        with pytest.raises(BadTable, match=r"has more than 0\.0954 MB"):
            read_table(tmp_path / "pipe")
        endless.wait(10)


def test_a_hundred_million_steps_are_refused_at_once(model):
    said = run("simulate", model, "--steps", 10**11)
    assert said.exit_code == 2
    assert "GB of memory" in said.stderr


def test_a_model_and_its_answers_go_when_nobody_holds_them():
    """At once, and not when Python next looks for circles: in four dimensions they are 50 MB."""
    sde = SDE(learn=None, transition="euler", progress=False).fit(WALK, dt=0.1)
    sde.summary()
    model = weakref.ref(sde.model_)
    gc.disable()
    try:
        del sde
        assert model() is None
    finally:
        gc.enable()


def test_memory_is_that_of_the_container_if_it_has_less(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert memory.available() == 600000.0
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() > 600000.0
    monkeypatch.setattr(memory, "available", lambda: None)
    check_memory("anything", 1e30, "do less")


# Numbers


@pytest.mark.parametrize(
    ("x", "dt", "words"),
    [
        (1e160 * WALK, 1.0, "of the size 1.*another unit"),
        (1e-300 * WALK, 1.0, "of the size .*another unit"),
        (WALK, 1e-200, "the step between times is of the size"),
        (1e100 * WALK, 1e-100, "units in which they are nearer to 1"),
        (np.r_[np.zeros(50), 1.0], 1.0, "until the last step"),
        (np.stack([WALK, WALK[::-1], 3.6 * WALK + 1], axis=1), 1.0, "x0 and x2 move together exactly: one is a copy"),
        (
            np.stack([WALK, WALK[::-1], 1 - WALK - WALK[::-1]], axis=1),
            1.0,
            "x0 and x1 and x2 .* from the others",
        ),
    ],
)
def test_what_double_precision_cannot_hold_is_refused(x, dt, words):
    with pytest.raises(ValueError, match=words):
        read_trajectory(x, dt=dt)


def test_offsets_that_eat_the_digits_are_said(recwarn):
    read_trajectory(WALK + 1e13, dt=1.0)
    read_trajectory(WALK, t=1.7e9 + 1e-6 * np.arange(200))
    said = [str(one.message) for one in recwarn]
    assert [text.split(" lies")[0] for text in said] == ["x", "The time"]
    assert all("decimal digits" in text for text in said)


def test_answers_are_the_same_at_any_scale(fitted):
    large = SDE(learn=None, transition="euler", progress=False).fit(1e110 * WALK, dt=0.1)
    assert large.summary().splitlines()[0] == fitted.summary().splitlines()[0]
    np.testing.assert_allclose(large.drift(1e110 * WALK[:5]), 1e110 * fitted.drift(WALK[:5]), rtol=1e-6)
    for one, other in zip(equations(large.model_).drift, equations(fitted.model_).drift, strict=True):
        np.testing.assert_array_equal(one.exponents, other.exponents)
        np.testing.assert_allclose(
            one.coefficients * 1e110 ** (one.exponents[:, 0] - 1.0), other.coefficients, rtol=1e-5
        )
    here, there = fitted.consequences(), large.consequences()
    np.testing.assert_allclose(there.density.median, here.density.median / 1e110, rtol=1e-5)


def test_a_passage_longer_than_any_number_takes_for_ever():
    x = np.linspace(-1.5, 1.5, 301)
    assert passage_time(x, 4000 * (x - x**3), np.ones_like(x), -1.0, 1.0) == np.inf


def test_completion_that_has_not_converged_warns(monkeypatch):
    monkeypatch.setattr("onepath.inference.completion.fisher.PATIENCE", 0)
    with pytest.warns(UserWarning, match="has not converged"):
        SDE(learn=None, transition="euler", progress=False, cells=17).fit(WALK, dt=0.1)


def test_warnings_point_at_the_callers_line(fitted):
    gappy = np.r_[np.arange(100.0), np.arange(200.0, 300.0)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.score(WALK, t=gappy)
        SDE(learn=None, transition="euler", progress=False).fit(WALK, t=gappy)
    assert [one.filename for one in caught] == [__file__] * 2


# Messages


def parquet(path, frame):
    frame.to_parquet(path)
    return path


def test_an_unclosed_quote_is_found(tmp_path):
    path = tmp_path / "quote.csv"
    path.write_text("t,x\n" + "\n".join(f"{i},{'' if i != 7 else chr(34)}{i * 0.3}" for i in range(40)))
    with pytest.raises(BadTable, match="line 9 has a quotation mark that is not closed"):
        read_table(path)


def test_columns_that_parquet_has_and_a_state_has_not(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    for column in ([[1.0, 2.0]] * 40, [{"a": 1.0}] * 40):
        pq.write_table(pa.table({"t": np.arange(40.0), "x": column}), path)
        with pytest.raises(BadTable, match=r"'x' holds .*each row needs one number"):
            read_table(path)
    pq.write_table(pa.Table.from_arrays([pa.array(np.arange(40.0))] * 2, names=["x", "x"]), path)
    with pytest.raises(BadTable, match="several columns called 'x'"):
        read_table(path)


def test_durations_are_times(tmp_path):
    frame = pd.DataFrame({"since": pd.to_timedelta(np.arange(40), unit="h"), "x": WALK[:40]})
    seen = choose_columns(read_table(parquet(tmp_path / "d.parquet", frame)).frame, Chosen())
    read = read_trajectory(**seen.arguments)
    assert read.unit == "hour"
    np.testing.assert_allclose(np.diff(read.t), 1.0)
    with pytest.raises(BadTable, match="holds durations"):
        choose_columns(frame, Chosen(values=("since",), dt=1.0))


def test_whole_times_keep_their_digits_or_are_refused():
    nanoseconds = 1_700_000_000_000_000_000 + 1000 * np.arange(40)
    seen = choose_columns(pd.DataFrame({"t": nanoseconds, "x": WALK[:40]}), Chosen())
    np.testing.assert_array_equal(np.diff(seen.t), 1000)
    huge = np.uint64(2**63) + np.arange(40, dtype=np.uint64)
    with pytest.raises(BadTable, match=r"beyond 2\^63.*count from its first row"):
        choose_columns(pd.DataFrame({"t": huge, "x": WALK[:40]}), Chosen())


def test_a_platform_that_is_not_there(series):
    said = shell(f"{' '.join(ONEPATH)} fit {series} --learn none", JAX_PLATFORMS="tpu")
    assert said.returncode == 1
    assert "unset JAX_PLATFORMS" in said.stderr
    assert "fault" not in said.stderr


@pytest.mark.parametrize("stdout", [">&-", "> /dev/full", "| head -c 0"])
def test_a_standard_output_that_cannot_be_written(model, stdout):
    said = shell(f"set -o pipefail; {' '.join(ONEPATH)} simulate {model} --steps 20000 {stdout}")
    assert said.returncode == 1
    assert "Traceback" not in said.stderr
    assert "fault" not in said.stderr
    assert ("standard output" in said.stderr) == ("head" not in stdout)


def test_help_into_a_full_disk():
    said = shell(f"{' '.join(ONEPATH)} --help > /dev/full")
    assert said.returncode != 0
    assert "Traceback" not in said.stderr


def test_names_of_files_and_columns_do_not_reach_the_terminal_raw(tmp_path):
    assert printable("a\x1b[31mb\u202ec\udcff") == "a\\x1b[31mb\\u202ec\\udcff"
    assert printable("σ in °C, 温度") == "σ in °C, 温度"
    assert _clean("one\ntwo\x07") == "one\ntwo\\x07"
    read = read_trajectory(pd.DataFrame({"x\x1b[2J": WALK}), dt=0.1)
    assert read.names == ("x\\x1b[2J",)
    path = os.fsencode(tmp_path / "latin") + b"\xe9.csv"
    Path(os.fsdecode(path)).write_bytes(b"only text\n")
    said = subprocess.run([*map(os.fsencode, ONEPATH), b"fit", path], capture_output=True, check=False)
    assert said.returncode == 2
    assert b"latin\\udce9.csv" in said.stderr


def test_a_header_is_no_formula(tmp_path):
    frame = pd.DataFrame({"=1+1": WALK}, index=pd.date_range("2020-01-01", periods=200))
    sde = SDE(learn=None, transition="euler", progress=False).fit(frame)
    sde.save(tmp_path / "m.onepath")
    said = run("simulate", tmp_path / "m.onepath", "--steps", 3)
    assert said.stdout.splitlines()[0] == "path,date,t,'=1+1"


def test_a_zip_of_another_kind(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"0")
    content = bytearray(path.read_bytes())
    for record, at in ((b"PK\x01\x02", 10), (b"PK\x03\x04", 8)):
        content[content.index(record) + at] = 97  # a method of packing that Python does not know
    path.write_bytes(bytes(content))
    with pytest.raises(BadTable, match="packed in a way"):
        read_table(path)


def test_packages_that_are_missing_are_named_with_the_command(monkeypatch, tmp_path):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    parquet(tmp_path / "x.parquet", pd.DataFrame({"t": np.arange(40.0), "x": WALK[:40]}))
    monkeypatch.setattr(extras, "import_module", absent)
    with pytest.raises(ModuleNotFoundError, match=r"pyarrow is needed to read Parquet files .*onepath\[parquet\]"):
        read_table(tmp_path / "x.parquet")
    with pytest.raises(ModuleNotFoundError, match=r"bayes_opt is needed .*pip install 'onepath\[paper\]'"):
        SDE(learn="bayesopt").fit(WALK, dt=0.1)


def test_every_requirement_has_a_floor_that_make_floors_installs():
    asked = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["parquet"]
    pins = floors(["parquet"])
    assert len(pins) == len(asked)
    assert [pin.split("==")[0] for pin in pins] == [requirement.split(">=")[0] for requirement in asked]
    least = int(re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])[1])
    said = {each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if "Python :: 3." in each}
    assert {f"3.{least}", "3.12", "3.13"} <= said


# Model files


def remade(path, target, change):
    """A copy of a model file in which one member is another."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for item in old.infolist():
            new.writestr(zipfile.ZipInfo(item.filename), change(item.filename, old.read(item)))
    return target


def test_model_files_with_impossible_content(model, tmp_path):
    def spoiled(name, content):
        if not name.endswith(".npy"):
            return content
        array = np.load(io.BytesIO(content))
        if array.dtype.kind != "f" or array.ndim != 3:
            return content
        buffer = io.BytesIO()
        np.save(buffer, np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array))
        return buffer.getvalue()

    with pytest.raises(Damaged, match="not finite"):
        onepath.load(remade(model, tmp_path / "nan", spoiled))
    for version in (0, -1, True, "2", 1.5, None):
        forged = remade(
            model,
            tmp_path / f"v{version}",
            lambda name, content, version=version: (
                json.dumps(json.loads(content) | {"version": version}).encode() if name == "model.json" else content
            ),
        )
        with pytest.raises(Damaged, match="its format is"):
            onepath.load(forged)


@pytest.mark.parametrize(("before", "after"), [(b"", b"x"), (b"", b"\x00" * 100), (b"PK\x03\x04 more ", b"")])
def test_model_files_with_more_bytes(model, tmp_path, before, after):
    (tmp_path / "longer").write_bytes(before + model.read_bytes() + after)
    with pytest.raises(Damaged):
        onepath.load(tmp_path / "longer")


# Logs


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_drawn_on_terminals_and_told_now_and_then_elsewhere(monkeypatch):
    clock = iter(np.arange(0.0, 100.0, 0.5))
    monkeypatch.setattr("onepath.inference.progress.time.monotonic", lambda: float(next(clock)))
    written = {}
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress(True) as watch:
            for count in range(90):
                watch(count, 1.0)
        written[type(stream)] = stream.getvalue()
    assert written[Terminal].count("\r") > 80
    assert "\r" not in written[io.StringIO]
    assert written[io.StringIO].count("\n") == 1
