"""The command: what it takes and writes, its exit codes, and that it starts without the numerics."""

import hashlib
import json
import re
import subprocess
import sys
from datetime import datetime
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tinygp import kernels
from typer.testing import CliRunner

import onepath
from onepath.cli import app
from onepath.cli.kernels import kernel_by_name
from onepath.compare.processes import PROCESSES
from onepath.data.transitions import Transitions
from onepath.io.columns import Chosen, choose_columns
from onepath.io.tables import read_table
from onepath.sde import SDE

DEMO = import_module("onepath.cli.demo")


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """A table of one trajectory."""
    process = PROCESSES["double_well_multiplicative"]
    path = tmp_path_factory.mktemp("data") / "series.csv"
    x = process.simulate(500, random_state=1)[0, :, 0]
    pd.DataFrame({"t_s": process.dt * np.arange(501), "height": x}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(series):
    """What `onepath fit --json` says and writes."""
    folder = series.parent
    files = ("--model", folder / "m.onepath", "--report", folder / "r.html")
    result = run("fit", series, *files, "--learn", "none", "--json")
    assert result.exit_code == 0, result.stderr
    return folder, json.loads(result.stdout)


def test_fit_learns_what_the_estimator_learns(fitted, series):
    folder, facts = fitted
    table = pd.read_csv(series)
    sde = SDE(learn=None).fit(table["height"].to_numpy(), t=table["t_s"].to_numpy(), unit="second")
    assert facts["names"] == ["height"]
    assert facts["unit"] == "second"
    assert facts["transitions"] == 500
    assert facts["drift"]["mean"] == sde.drift(facts["points"]).tolist()
    assert facts["diffusion"]["band_90"] == [part.tolist() for part in sde.diffusion_band(facts["points"])]
    assert facts["diffusion"]["is"].startswith("Noise is the diffusion σ")
    assert [Path(path).name for path in facts["written"]] == ["m.onepath", "r.html"]
    assert onepath.load(folder / "m.onepath").evidence_ == facts["log_evidence"]


def test_info_says_where_a_model_came_from(fitted):
    folder, facts = fitted
    said = json.loads(run("info", folder / "m.onepath", "--json").stdout)
    assert said["data"]["source"].endswith("series.csv")
    assert said["log_evidence"] == facts["log_evidence"]
    assert said["constant_noise"] is facts["constant_noise"] is None
    shown = run("info", folder / "m.onepath")
    assert shown.exit_code == 0
    assert "Equation" in shown.stdout
    assert "series.csv" in shown.stdout


def test_the_verdict_comes_first_everywhere_and_strict_fails_where_the_model_does(fitted, tmp_path):
    folder, facts = fitted
    assert facts["verdict"].startswith("Fits: " if facts["fits"] else "Does not fit. ")
    assert facts["fits"] == (not any(question["flagged"] for question in facts["questions"]))
    assert {"name", "verdict", "statistic", "p_value", "flagged"} <= set(facts["questions"][0])
    assert (facts["diffusion_within"] is not None) == facts["fits"]
    assert facts["verdict"] in run("info", folder / "m.onepath").stdout
    walk = np.random.default_rng(0).standard_normal(501).cumsum()
    noisy = tmp_path / "noisy.csv"
    pd.DataFrame({"x": walk + 3.0 * np.random.default_rng(1).standard_normal(501)}).to_csv(noisy, index=False)
    for strict, code in ((), 0), (("--strict",), 3):
        result = run("fit", noisy, "--dt", "0.01", "--learn", "none", *strict)
        assert result.exit_code == code
        assert "Does not fit. " in result.stdout


def test_the_data_are_known_again_by_their_checksum(fitted, series):
    folder, facts = fitted
    whole = hashlib.sha256(series.read_bytes()).hexdigest()
    said = json.loads(run("info", folder / "m.onepath", "--json").stdout)
    assert facts["data"]["sha256"] == said["data"]["sha256"] == whole
    assert facts["data"]["made"] == said["data"]["made"] == f"{datetime.now().astimezone():%Y-%m-%d}"
    assert f'<abbr title="{whole}">{whole[:16]}</abbr>' in (folder / "r.html").read_text(encoding="utf-8")


def test_what_comes_after_a_fit_is_told_on_the_standard_error_stream_only(series, tmp_path):
    words = ("fit", series, "--learn", "none", "--report")
    said = run(*words, tmp_path / "one.html")
    told = said.stderr.splitlines()
    assert told.index("checking whether the model fits …") < told.index("drawing the report …")
    assert "…" not in said.stdout
    machine = run(*words, tmp_path / "two.html", "--json")
    assert machine.stderr == ""
    assert json.loads(machine.stdout)["written"]


def test_info_reads_neither_arrays_nor_the_engine(fitted):
    script = f"""
import sys, zipfile
from onepath.cli import main
read, names = zipfile.ZipFile.read, []
zipfile.ZipFile.read = lambda self, name, *rest: names.append(name) or read(self, name, *rest)
sys.argv = ["onepath", "info", {str(fitted[0] / "m.onepath")!r}]
try:
    main()
finally:
    print("READ", names, "jax" in sys.modules, "pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "READ ['model.json'] False False" in done.stdout, done.stderr


def test_existing_files_are_kept(fitted):
    folder, _ = fitted
    before = (folder / "r.html").read_bytes()
    kept = run("report", folder / "m.onepath", "--out", folder / "r.html")
    assert kept.exit_code == 2
    assert "--force" in kept.stderr
    assert (folder / "r.html").read_bytes() == before
    assert run("fit", folder / "series.csv", "--model", folder / "m.onepath").exit_code == 2
    assert run("report", folder / "m.onepath", "--out", folder / "r.html", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        (b"", (), "is empty"),
        (b"t,x\n1,2\n", (), "one row only"),
        (b"t,x\n" + b"\n".join(b"%d,1" % i for i in range(30)), (), "constant"),
        (b"t,x\n" + b"\n".join(b"%d,%d" % (i, i % 3) for i in range(6)), (), "too few"),
        (b"t,x\n" + b"\n".join(b"%d,%d" % (i, i % 3) for i in range(30)), ("--value", "y"), "no column 'y'"),
        (b"t,x\n" + b"\n".join(b"%d,%d" % (i, i % 3) for i in range(30)), ("--noise", "pink"), "'pink' is not known"),
        (b"t,x\n" + b"\n".join(b"%d,%d" % (i, i % 3) for i in range(30)), ("--drift", "exec('1')"), "no kernel 'exec'"),
        (b"x\n" + b"\n".join(b"%d" % (i % 3) for i in range(30)), ("--dt", "-1"), "dt > 0"),
        (b"x,H\xf6he\n1,2\n", (), "--encoding"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(tmp_path, content, options, reason):
    data = tmp_path / "data.csv"
    data.write_bytes(content)
    result = run("fit", data, "--model", tmp_path / "m.onepath", "--report", tmp_path / "r.html", *options)
    assert result.exit_code == 2
    assert reason in re.sub(r"\s+", " ", result.stderr)
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == [data]


def test_a_failure_ends_with_1(monkeypatch, series):
    def fails(*_, **__):
        raise RuntimeError("no finite loss was found")

    monkeypatch.setattr(SDE, "fit", fails)
    result = run("fit", series, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"error": "RuntimeError: no finite loss was found", "kind": "failed"}


def test_models_that_are_none(tmp_path):
    (tmp_path / "x.onepath").write_text("hello")
    for path, reason in (
        (tmp_path / "x.onepath", "no model file"),
        (tmp_path, "folder"),
        (tmp_path / "y", "not exist"),
    ):
        result = run("info", path)
        assert result.exit_code == 2
        assert reason in re.sub(r"\s+", " ", result.stderr)


@pytest.mark.parametrize("command", ["fit", "simulate", "forecast", "curves", "states", "report", "info", "demo"])
def test_every_command_helps_with_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"onepath {command}" in result.stdout


def test_the_command_starts_without_the_numerics():
    script = "import sys, onepath.cli; print([name for name in ('jax', 'pandas', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_kernels_by_name():
    rng = np.random.default_rng(0)
    moved = Transitions(2 * rng.standard_normal((100, 1)), rng.standard_normal((100, 1)), np.full(100, 0.25))
    assert kernel_by_name("default", "drift", moved) is None
    given = kernel_by_name("4*Matern52(0.5) + linear()", "drift", moved)
    wanted = 4.0 * kernels.Matern52(0.5) + kernels.DotProduct()
    x = np.linspace(-1, 1, 5)[:, None]
    np.testing.assert_allclose(given(x, x), wanted(x, x))
    sized = kernel_by_name("rbf", "drift", moved)
    noise = np.mean(np.square(moved.y)) / 0.25
    np.testing.assert_allclose(np.diag(sized(x, x)), (noise / (2 * np.std(moved.x))) ** 2, rtol=1e-6)
    for text in ("Matern52(", "Nothing()", "Matern52('x')", "__import__('os')", "Matern52(1, 2, 3, 4)", "a.b"):
        with pytest.raises(ValueError, match=r"(?i)kernel"):
            kernel_by_name(text, "drift", moved)


def test_the_treasury_series_is_whole():
    source = Path(onepath.__file__).parent / "examples" / "treasury_bill.csv"
    seen = choose_columns(read_table(source).frame, Chosen())
    assert np.array_equal(seen.t, pd.date_range("1955-01-01", "1999-12-01", freq="MS"))
    assert seen.x["rate"].between(0.8, 16.5).all()
    # the peak, the trough and the last value, as the Federal Reserve has them
    assert seen.x["rate"].max() == seen.x["rate"][seen.t == "1981-05-01"].item() == 16.3
    assert seen.x["rate"].min() == seen.x["rate"][seen.t == "1958-06-01"].item() == 0.83
    assert seen.x["rate"].iloc[-1] == 5.2


class Headings(HTMLParser):
    text = ""

    def handle_data(self, data):
        self.text += data


def test_demo_needs_no_file(tmp_path, monkeypatch):
    def quickly(seen, *_):
        return SDE(learn=None, progress=False).fit(**seen.arguments)

    monkeypatch.setattr(DEMO, "learned", quickly)
    monkeypatch.setattr(DEMO, "STEPS", 500)
    result = run("demo", "--folder", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "double_well.html",
        "treasury_bill.html",
        "treasury_bill.onepath",
    ]
    page = Headings()
    page.feed((tmp_path / "out" / "double_well.html").read_text())
    assert "truth" in page.text
    assert run("demo", "--folder", tmp_path / "out").exit_code == 2


def test_simulated_paths(fitted):
    folder, _ = fitted
    result = run("simulate", folder / "m.onepath", "--steps", 20, "--paths", 3, "--out", folder / "paths.csv")
    assert result.exit_code == 0, result.stderr
    drawn = pd.read_csv(folder / "paths.csv")
    assert list(drawn.columns) == ["path", "t", "height"]
    assert len(drawn) == 3 * 21
    assert (drawn["height"][drawn["t"] == 0] == pd.read_csv(folder / "series.csv")["height"].iloc[-1]).all()
    again = run("simulate", folder / "m.onepath", "--steps", 20, "--paths", 3)
    assert again.stdout == (folder / "paths.csv").read_text()


def test_forecasts(fitted):
    folder, _ = fitted
    result = run("forecast", folder / "m.onepath", "--steps", 20, "--paths", 100, "--json")
    assert result.exit_code == 0, result.stderr
    fan = json.loads(result.stdout)
    quantiles = np.asarray(fan["quantiles"])
    assert quantiles.shape == (5, 21, 1)
    assert (np.diff(quantiles, axis=0) >= 0).all()
    assert run("forecast", folder / "m.onepath", "--level", 2).exit_code == 2


def test_what_is_kept_of_compiled_programs_is_said_and_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("ONEPATH_CACHE", str(tmp_path))
    (tmp_path / f"{64 * 'a'}.program").write_bytes(bytes(3 << 20))
    assert "1 files, 3.0 MB kept, of at most 200 MB" in run("info", "--cache").stdout
    assert json.loads(run("info", "--clear-cache", "--json").stdout)["bytes"] == 3 << 20
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("ONEPATH_CACHE", "off")
    assert "not kept" in run("info", "--cache").stdout
    refused = run("info")
    assert refused.exit_code == 2
    assert "give a model file" in refused.stderr


def test_an_angle_is_said_on_the_command(tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "heading.csv"
    heading = np.mod(np.cumsum(4.0 + 10.0 * rng.standard_normal(400)), 360.0)
    pd.DataFrame({"heading": heading}).to_csv(path, index=False)
    result = run("fit", path, "--dt", "1", "--periodic", "360", "--learn", "none", "--transition", "euler", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["diffusion"]["mean"][2] == pytest.approx(10.0, rel=0.15)
    assert run("fit", path, "--dt", "1", "--periodic", "full").exit_code == 2
