"""The studio's server: what it understands and says, whom it refuses, and that nothing is left of it."""

import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onepath
from onepath.after.forecast import forecast
from onepath.after.lagged import implied_moments, lagged, lags_in
from onepath.after.mend.cures import BY_FAULT, PART, season, since
from onepath.numerics.memory import GIGABYTE, MEMORY_VARIABLE, available, check_memory
from onepath.studio import shown
from onepath.studio import told as in_words
from onepath.studio.cures import CORRELATED, cures_for, offer_of
from onepath.studio.guard import Opening, elsewhere
from onepath.studio.look import ASKS, look
from onepath.studio.options import OPTIONS, Refused, read_asked, settings_of, with_cure, words_of
from onepath.studio.plane import plane as draw_plane
from onepath.studio.said import Said, command, read_said
from onepath.studio.store import shown_name
from onepath.studio.view import STRETCHES, view

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import Client

MEGABYTE = 1 << 20


def walk(rows=300, seed=0, columns=("t", "x")):
    """A table of a stationary path, as text."""
    noise = np.random.default_rng(seed).standard_normal((rows, len(columns) - 1))
    x = np.zeros_like(noise)
    for k in range(1, rows):
        x[k] = 0.9 * x[k - 1] + noise[k]
    body = np.column_stack([0.1 * np.arange(rows), x])
    text = io.StringIO()
    np.savetxt(text, body, "%.6f", ",", header=",".join(columns), comments="")
    return text.getvalue()


def temporary():
    return set(Path(tempfile.gettempdir()).glob("onepath-studio-*"))


@pytest.fixture(scope="module")
def studio():
    before = temporary()
    client = Client("--largest", "4", "--fits", "1")
    client.folder = next(iter(temporary() - before))
    yield client
    client.close()
    assert not client.folder.exists()


# what is asked for


def test_every_option_is_one_of_sde_and_of_the_command():
    known = set(onepath.SDE().get_params())
    told = subprocess.run(
        [sys.executable, "-m", "onepath", "fit", "--help"], capture_output=True, text=True, check=True
    )
    for option in OPTIONS:
        assert option.name in known
        assert option.flag in told.stdout


@pytest.mark.parametrize(
    ("asked", "settings", "words"),
    [
        ({"measurement": "learn"}, {"measurement": "learn"}, "--measurement learn"),
        ({"measurement": "0.1,0.2"}, {"measurement": (0.1, 0.2)}, "--measurement 0.1,0.2"),
        ({"order": "yes", "exposure": ""}, {"order": 2}, "--order 2"),
        ({"jumps": "yes", "trend": "no"}, {"jumps": True}, "--jumps"),
        ({"bounds": "-1,1; 0,inf"}, {"bounds": [(-1.0, 1.0), (0.0, np.inf)]}, "--bounds=-1,1 --bounds 0,inf"),
        ({"periodic": "360; none"}, {"periodic": [360.0, None]}, "--periodic 360 --periodic none"),
        ({"season": "year", "noise": "auto"}, {"season": "year"}, "--season year"),
        ({"since": "2008-09-15"}, {"since": "2008-09-15"}, "--since 2008-09-15"),
        ({"volatility": "yes"}, {"volatility": "learn"}, "--volatility"),
    ],
)
def test_what_is_typed_becomes_settings_and_words(asked, settings, words):
    assert settings_of(read_asked(asked)) == settings
    assert " ".join(words_of(read_asked(asked))) == words


@pytest.mark.parametrize(
    "asked",
    [[], {"progress": "yes"}, {"jumps": True}, {"jumps": "perhaps"}, {"bounds": "a,b"}, {"noise": "loud"},
     {"measurement": "x" * 1000}],
)  # fmt: skip
def test_what_means_nothing_is_refused(asked):
    with pytest.raises(Refused):
        read_asked(asked)


@pytest.mark.parametrize(
    "said",
    [{"roles": {"a": "king"}}, {"roles": {"a": "time", "b": "time"}}, {"dt": "soon"}, {"dt": "1/0"}, {"dt": "nan"},
     {"gap": -1}, {"calendar": "moon"}, {"path": "/etc/passwd"}, {"unit": 7}, []],
)  # fmt: skip
def test_what_cannot_be_said_of_a_table_is_refused(said):
    with pytest.raises(Refused):
        read_said(said)


def test_names_that_look_like_options_are_not_taken_for_some():
    said = Said(roles={"-x": "state", "--report": "time"}, missing=("-9",))
    text = command("-rf.csv", said, {})
    assert "./-rf.csv" in text
    assert "--value=-x" in text
    assert "--time=--report" in text
    assert "--na=-9" in text


def test_every_cure_is_an_option_of_the_page():
    for cure in _every_cure():
        asked = offer_of(cure).asked
        assert settings_of(read_asked(asked)) == cure.settings


def _every_cure():
    return [
        *(cure for cures in BY_FAULT.values() for cure in cures),
        PART,
        CORRELATED,
        season("auto"),
        season(12.5),
        since(3.5),
        since("2008-09-15"),
    ]


def test_cures_are_those_of_the_faults_and_none_that_was_tried():
    flagged = [("jumps", "Jumps: 3 of 100"), ("residuals", "not normal")]
    assert [cure.asked for cure in cures_for(flagged, {})][:2] == [{"jumps": "yes"}, {"tails": "learn"}]
    assert {"jumps": "yes"} not in [cure.asked for cure in cures_for(flagged, {"jumps": "yes"})]
    assert cures_for([("season", "A season")], {})[0].asked == {"season": "auto"}
    assert cures_for([("residuals", "correlated (try noise='full')")], {})[0].asked == {"noise": "full"}
    assert cures_for([("step size", "too long")], {}) == []


@pytest.mark.parametrize("before", [{"jumps": "yes"}, {"tails": "learn"}, {"order": "yes"}, {"exposure": "1"}])
@pytest.mark.parametrize("cure", [{"measurement": "learn"}, {"order": "yes"}, {"volatility": "yes"}, {"exposure": "1"}])
def test_a_cure_leaves_out_what_does_not_go_with_it(before, cure):
    from onepath.inference.options import read_options

    asked = with_cure(before | {"trend": "yes"}, cure)
    assert cure.items() <= asked.items()
    assert asked["trend"] == "yes"
    read_options(onepath.SDE(**settings_of(asked)).get_params(), lambda *_: None)


def test_who_listens_is_told_how_far_learning_is():
    heard = []
    onepath.SDE(progress=heard.append).fit(np.random.default_rng(0).standard_normal(300).cumsum(), dt=1.0)
    assert heard
    assert all(text.startswith("learning: ") for text in heard)


def test_a_process_takes_no_more_memory_than_it_may(monkeypatch):
    before = available()
    monkeypatch.setenv(MEMORY_VARIABLE, "3")
    assert available() < 3 * GIGABYTE
    with pytest.raises(ValueError, match="would take 4 GB"):
        check_memory("this", 4 * GIGABYTE, "take less")
    monkeypatch.setenv(MEMORY_VARIABLE, "much")
    assert before is None or available() == pytest.approx(before, rel=0.5)


# what is understood


@pytest.mark.parametrize(
    ("text", "said", "control"),
    [
        ("a,b\n1,2\n2,1\n3,5\n", {}, "dt"),
        ("t,a,b,c\n0,1,2,3\n1,2,3,5\n2,1,1,1\n", {}, "state"),
        ("t,x\n0,1\n1,n.d.\n2,3\n", {}, "missing"),
    ],
)
def test_what_is_unclear_is_asked(tmp_path, text, said, control):
    path = tmp_path / "data.csv"
    path.write_text(text)
    found = look(path, "mine.csv", read_said(said))
    assert not found["ready"]
    assert control in found["question"]["controls"]
    assert "--" not in found["question"]["told"]
    assert str(tmp_path) not in json.dumps(found)


def test_every_option_that_a_question_stands_for_is_one_of_the_command():
    told = subprocess.run(
        [sys.executable, "-m", "onepath", "fit", "--help"], capture_output=True, text=True, check=True
    )
    assert all(option in told.stdout for option in ASKS)


def test_what_is_understood_is_told(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(walk().replace("t,x", "time [s],level"))
    found = look(path, "mine.csv", Said())
    assert found["ready"]
    assert found["roles"] == {"time [s]": "time", "level": "state"}
    assert ["Step", "0.1 seconds"] in [list(fact) for fact in found["facts"]]
    arrays = tmp_path / "data.npy"
    np.save(arrays, np.random.default_rng(0).standard_normal((50, 1)).cumsum(axis=0))
    assert look(arrays, "speed.npy", Said(dt=1.0))["roles"] == {"speed": "state"}


def test_names_of_files_are_names():
    assert shown_name("../../etc/passwd") == "passwd"
    assert shown_name("C:\\data\\a.csv") == "a.csv"
    assert shown_name("..") == "data"
    assert shown_name("a\x00\n\u202eb.csv") == "ab.csv"
    assert len(shown_name("x" * 5000 + ".csv")) <= 120
    assert shown_name("x" * 5000 + ".csv").endswith(".csv")


# longer steps


@pytest.mark.parametrize("steps", [1, 5, 30])
def test_moments_of_an_ornstein_uhlenbeck_process_at_any_lag(steps):
    rate, sigma, dt = 3.0, 0.7, 0.05

    def law(x, each):
        variance = sigma**2 * -np.expm1(-2 * rate * each) / (2 * rate)
        return x * np.expm1(-rate * each[:, None]), variance[:, None, None]

    drift, noise = implied_moments(law, (-0.6, 0.6), dt, steps)
    x, lag = np.linspace(-0.6, 0.6, len(drift)), steps * dt
    np.testing.assert_allclose(drift, x * np.expm1(-rate * lag) / lag, atol=1e-9)
    np.testing.assert_allclose(noise, np.sqrt(sigma**2 * -np.expm1(-2 * rate * lag) / (2 * rate * lag)), rtol=1e-9)


def test_increments_at_a_lag_are_those_of_steps_that_follow_each_other():
    x = np.random.default_rng(3).standard_normal(400).cumsum()
    x[[100, 250]] = np.nan
    t = np.arange(400.0)
    t[300:] += 500.0
    with pytest.warns(UserWarning, match="median step"):
        model = onepath.SDE(learn=None, transition="euler", cells=32, progress=False).fit(x, t=t).model_
    assert lags_in(model)[:3] == [1, 2, 3]
    found = lagged(model, 0, 3)
    low, high = np.quantile([x[i] for i in range(397) if _joined(model, i, 3)], [0.005, 0.995])
    edges = np.linspace(low, high, 25)
    for at, drift, noise in zip(found.at, found.drift, found.noise, strict=True):
        k = int(np.argmin(np.abs((edges[1:] + edges[:-1]) / 2 - at)))
        y = [
            x[i + 3] - x[i] for i in range(397) if _joined(model, i, 3) and edges[k] <= x[i] < edges[k + 1] + (k == 23)
        ]
        assert drift == pytest.approx(np.mean(y) / 3)
        assert noise == pytest.approx(np.std(y) / np.sqrt(3))


def _joined(model, i, steps):
    return set(range(i, i + steps)) <= set(model.trajectory.step.tolist())


def test_the_model_at_a_lag_is_what_its_paths_do(line):
    """Means of many paths from three starts, within four standard errors."""
    model, steps, count = line.model_, 10, 4000
    found = lagged(model, 0, steps)
    for start in found.grid[[30, 80, 130]]:
        paths = line.simulate(start, steps, paths=count, random_state=1, uncertain=False).x[:, -1, 0]
        drift, noise = (np.interp(start, found.grid, part) for part in (found.drift_implied, found.noise_implied))
        assert (paths.mean() - start) / found.length == pytest.approx(
            drift, abs=4 * noise / np.sqrt(count * found.length)
        )
        assert paths.std() / np.sqrt(found.length) == pytest.approx(noise, rel=4 / np.sqrt(2 * count))


def several():
    """Two records, of which one has a gap, and one of dates with an input."""
    random = np.random.default_rng(0)
    plain = {"learn": None, "transition": "euler", "cells": 32, "progress": False}
    records = onepath.SDE(**plain).fit([random.standard_normal(60).cumsum() for _ in range(2)], dt=0.1)
    days = pd.date_range("2020-01-01", periods=200)
    dated = pd.Series(random.standard_normal(200).cumsum(), days, name="level")
    driven = onepath.SDE(**plain).fit(dated, inputs={"heat": random.standard_normal(200)}, unit="day")
    return [records.model_, driven.model_]


def test_everything_that_is_shown_can_be_written(plane):
    for model in (*several(), plane.model_):
        values, about = shown.readings(model)
        ahead = forecast(model, 5, None, 20, 0, True)
        parts = [about, shown.curves(model, None), shown.lags(model), shown.forecast(model, ahead)]
        parts += [in_words.verdict(model, {}), in_words.follows(model, None), in_words.tables(model)]
        parts += [draw_plane(model, None)] if model.dimension == 2 else []
        for part in parts:
            assert json.loads(json.dumps(part, allow_nan=False)) is not None
        assert values.shape[1] == 1 + model.dimension
        assert len(values) >= len(model.trajectory.t)


def test_a_part_of_a_long_series_keeps_its_extremes(tmp_path):
    x = np.random.default_rng(0).standard_normal(100_000)
    x[[777, 55_555]] = 50.0, -50.0
    x[1000:1003] = np.nan
    t = np.arange(len(x)) * 0.5
    np.save(tmp_path / "series.npy", np.column_stack([t, x]))
    whole = view(tmp_path / "series.npy", None, None)
    shown = np.array([np.nan if each is None else each for each in whole["columns"][0]])
    assert (np.nanmax(shown), np.nanmin(shown)) == (50.0, -50.0)
    assert len(whole["t"]) <= 2 * STRETCHES
    part = view(tmp_path / "series.npy", 499.0, 503.0)
    inside = [value for time, value in zip(part["t"], part["columns"][0], strict=True) if 499.0 <= time <= 503.0]
    wanted = x[(t >= 499.0) & (t <= 503.0)]
    np.testing.assert_allclose([np.nan if value is None else value for value in inside], wanted, rtol=1e-5)


# from a file to what is taken away


def test_a_fit_is_that_of_the_command_and_of_the_python_lines(studio, tmp_path):
    text = walk(300).replace("t,x", "t,x,y", 1).replace("\n", ",9\n").replace("x,y,9", "x,y", 1)
    status, file = studio.upload("my%20table.csv", text.replace("9\n", "-999\n", 5))
    assert status == 200
    said = {"roles": {"t": "time", "x": "state"}, "missing": "-999", "unit": "minute", "gap": "20"}
    assert studio.post(f"files/{file['id']}/look", said)[1]["looked"]["ready"]
    fit = studio.fit(file["id"], bounds="-100,100")
    told = studio.ended(fit)
    assert told["state"] == "done", told
    (tmp_path / "my table.csv").write_text(text.replace("9\n", "-999\n", 5))
    kept = {"model": "kept.onepath", "report": "kept.html", "curves.csv": "curves.csv", "forecast.csv": "ahead.csv"}
    for part, name in kept.items():
        status, headers, body = studio.ask(f"fits/{fit}/{part}")
        assert status == 200
        assert "attachment" in headers["content-disposition"]
        (tmp_path / name).write_bytes(body)
    mine = onepath.load(tmp_path / "kept.onepath")
    typed = [sys.executable, "-m", *told["command"].split(" --model")[0].replace("'", "").split(" ")]
    place = typed.index("my")
    typed[place : place + 2] = ["my table.csv"]
    done = subprocess.run([*typed, "--json"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout)["log_evidence"] == mine.evidence_
    here = {"print": lambda *_: None}
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(told["python"], here)
    finally:
        os.chdir(before)
    assert here["sde"].evidence_ == mine.evidence_
    assert here["sde"].model_.bounds.tolist() == [[-100.0, 100.0]]
    assert "my table.csv" in (tmp_path / "kept.html").read_text()
    assert (tmp_path / "curves.csv").read_text().startswith("x,drift,drift_lower,drift_upper,diffusion")
    curves = studio.get(f"fits/{fit}/curves")
    points = np.array(curves["along"][0]["at"])
    np.testing.assert_allclose(curves["along"][0]["drift"]["mean"], mine.drift(points), rtol=1e-4, atol=1e-5)
    assert studio.get(f"fits/{fit}/verdict")["verdict"][:3] in ("Fit", "Doe")
    assert studio.post(f"fits/{fit}/ahead", {"steps": 7})[0] == 200
    assert len(studio.get(f"fits/{fit}/forecast")["t"]) == 8


def test_a_fit_can_be_stopped_and_another_one_begun(studio):
    file = studio.upload("long.csv", walk(20_000))[1]["id"]
    fit = studio.fit(file, measurement="learn")
    waiting = studio.fit(file)
    studio.until(fit, lambda each: "learning" in each["doing"])
    assert studio.state(waiting)["state"] == "waiting"
    begun = time.monotonic()
    assert studio.post(f"fits/{waiting}/stop")[0] == 200
    assert studio.post(f"fits/{fit}/stop")[0] == 200
    assert {studio.ended(each)["state"] for each in (fit, waiting)} == {"stopped"}
    assert time.monotonic() - begun < 5.0
    short = studio.fit(studio.upload("short.csv", walk())[1]["id"])
    assert "curves" in studio.until(short, lambda each: "curves" in each["made"])["made"]
    assert studio.ask(f"fits/{short}", "DELETE")[0] == 200
    assert studio.ask(f"fits/{short}/curves")[0] == 404


def test_data_that_cannot_be_fitted_are_refused_in_words(studio):
    file = studio.upload("short.csv", walk())[1]["id"]
    told = studio.ended(studio.fit(file, periodic="0"))
    assert told["state"] == "refused"
    assert "periodic" in told["trouble"]
    assert studio.post("fits", {"file": file, "asked": {"measurement": "loud"}})[0] == 400
    assert studio.post("fits", {"file": 10**9})[0] == 404


# whom it refuses


def test_only_the_page_itself_is_answered(studio):
    good = {"Content-Type": "application/json"}
    assert studio.ask("")[0] == 200
    for whole in ("/", "/state", "/wrong/state", "/open/guess", f"/{'x' * 5000}/", studio.path[:-3] + "/"):
        assert studio.ask("", whole=whole)[0] == 404
    strangers = [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://{studio.host}"},
        {"Host": "evil.example"},
        {"Host": f"evil.example:{studio.host.split(':')[1]}"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ]
    for headers in strangers:
        assert studio.ask("state", headers=headers)[0] == 403
        assert studio.ask("quit", "POST", b"{}", good | headers)[0] == 403
    assert studio.ask("state", headers={"Origin": f"http://{studio.host}", "Sec-Fetch-Site": "same-origin"})[0] == 200
    assert studio.ask("files", "OPTIONS", headers={"Origin": "http://evil.example"})[0] == 403
    assert studio.ask("fits", "POST", b"{}", {"Content-Type": "text/plain"})[0] == 415


def test_what_is_answered_cannot_be_framed_sniffed_or_kept(studio):
    _, headers, _ = studio.ask("")
    headers = {name.lower(): value for name, value in headers.items()}
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_the_code_of_the_first_opening_opens_once():
    opening = Opening("code")
    assert not opening.used("guess")
    assert opening.used("code")
    assert not opening.used("code")
    assert elsewhere({"host": "[::1]:80"}, "GET", "state") is None
    assert elsewhere({"host": "127.0.0.1.evil.example:80"}, "GET", "") is not None
    followed = {"host": "localhost:80", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert elsewhere(followed, "GET", "") is None
    assert elsewhere(followed, "GET", "state") is not None


def test_no_path_is_the_clients(studio):
    for path in ("static/../server.py", "static/..%2f..%2fserver.py", "fits/1/../../state", "fits/1/%2e%2e", "files/..",
                 "fits/1/series.npy", "static/%2fetc%2fpasswd"):  # fmt: skip
        assert studio.ask(path)[0] in (404, 405)
    status, file = studio.upload("..%2f..%2f..%2fhome%2fx.csv", walk())
    assert status == 200
    assert file["name"] == "x.csv"
    assert (studio.folder / f"file{file['id']}" / "data.csv").exists()
    assert not any(path.name == "x.csv" for path in studio.folder.rglob("*"))
    assert studio.folder.stat().st_mode & 0o077 == 0


def test_a_file_of_five_gigabytes_is_refused_before_it_is_sent(studio):
    with socket.create_connection(studio.host.split(":"), timeout=20) as line:
        head = (
            f"POST {studio.path}files?name=big.csv HTTP/1.1\r\nHost: {studio.host}\r\nContent-Length: {5 << 30}\r\n\r\n"
        )
        line.sendall(head.encode())
        assert line.recv(100).split()[1] == b"413"
    assert studio.get("state")["version"] >= 0


def test_a_file_that_hides_its_size_is_cut_off(studio):
    kept = set(studio.folder.iterdir())
    with socket.create_connection(studio.host.split(":"), timeout=20) as line:
        head = f"POST {studio.path}files?name=big.csv HTTP/1.1\r\nHost: {studio.host}\r\n"
        line.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b"1" * 0x10000 + b"\r\n"
        try:
            for _ in range(200):
                line.sendall(chunk)
            answer = line.recv(100)
        except OSError:
            answer = b"HTTP/1.1 413"
        assert b"413" in answer
    assert set(studio.folder.iterdir()) == kept


def bomb():
    """An NPZ archive of a few kilobytes that unpacks to eight gigabytes of zeros."""
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % (1 << 30)  # noqa: UP031
    header = header.ljust(117) + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo("x.npy")
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(1 << 20))
    content = packed.getvalue()
    # the directory's word for its size, which is what a reader goes by
    size = struct.pack("<I", (1 << 20) + 10 + len(header))
    return content.replace(size, struct.pack("<I", (1 << 32) - 8))


@pytest.mark.parametrize(
    "content",
    [bomb(), b"PK\x03\x04 no archive", b"\x93NUMPY\x01\x00", b"PAR1 no table PAR1", b"\x1f\x8b" + bytes(100), b"",
     bytes(1000), b"import os\nos.system('touch owned')\n", b"\xff\xfe" * 50],
)  # fmt: skip
def test_files_that_are_no_tables_are_told_so(studio, content):
    for name in ("a.npz", "a.csv", "a.parquet"):
        status, told = studio.upload(name, content)
        assert status == 200
        assert not told["looked"]["ready"]
        assert told["looked"].get("error") or told["looked"].get("question")
        assert str(studio.folder) not in json.dumps(told)
        assert studio.ask(f"files/{told['id']}", "DELETE")[0] == 200


def test_objects_in_arrays_are_not_opened(studio, tmp_path):
    class Owned:
        def __reduce__(self):
            return (os.system, (f"touch {tmp_path / 'owned'}",))

    np.save(tmp_path / "a.npy", np.array([Owned()], dtype=object), allow_pickle=True)
    told = studio.upload("a.npy", (tmp_path / "a.npy").read_bytes())[1]
    assert not told["looked"]["ready"]
    assert not (tmp_path / "owned").exists()


def memory(process):
    """Bytes that a process has, and those that it started."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        told = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        if int(told["PPid"]) == process.pid or int(told["Pid"]) == process.pid:
            found += 1024 * int(told.get("VmRSS", "0 kB").split()[0])
    return found


def test_fifty_uploads_at_once_are_taken_or_refused_and_memory_is_bounded(studio):
    content = walk(60_000)[: int(1.5 * MEGABYTE)].rpartition("\n")[0]
    counts = Path("/proc").is_dir() and memory(studio.process)
    with ThreadPoolExecutor(50) as several:
        answers = list(several.map(lambda k: studio.upload(f"a{k}.csv", content), range(50)))
    assert {status for status, _ in answers} <= {200, 429, 507}
    taken = [told["id"] for status, told in answers if status == 200]
    assert taken
    if counts:
        assert memory(studio.process) - counts < 400 * MEGABYTE
    for key in taken:
        assert studio.ask(f"files/{key}", "DELETE")[0] == 200
    assert studio.ask("")[0] == 200


def test_fits_beyond_the_queue_are_refused(studio):
    file = studio.upload("long.csv", walk(20_000))[1]["id"]
    answers = [studio.post("fits", {"file": file, "asked": {"measurement": "learn"}}) for _ in range(20)]
    assert [status for status, _ in answers] == [200] * 17 + [429] * 3
    assert studio.ask(f"files/{file}", "DELETE")[0] == 200
    for _, begun in answers[:17]:
        assert studio.ended(begun["id"])["state"] == "stopped"
        studio.ask(f"fits/{begun['id']}", "DELETE")


def test_slow_and_broken_requests_leave_others_alone(studio):
    lines = [socket.create_connection(studio.host.split(":"), timeout=20) for _ in range(60)]
    for k, line in enumerate(lines):
        line.sendall(
            f"POST {studio.path}files?name=s.csv HTTP/1.1\r\nHost: {studio.host}\r\nContent-Le".encode()[: 40 + k]
        )
    lines[0].sendall(b"\x00\xff nonsense\r\n\r\n")
    begun = time.monotonic()
    assert studio.ask("state")[0] == 200
    assert time.monotonic() - begun < 2.0
    for line in lines:
        line.close()


# how it ends


LONGER = [pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGINT, getattr(signal, "SIGHUP", "quit"))]


@pytest.mark.parametrize("how", [signal.SIGTERM, getattr(signal, "SIGKILL", "quit"), "quit", *LONGER])
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_nothing_is_left_however_it_ends(how, tmp_path):
    before = temporary()
    (tmp_path / "given.csv").write_text(walk())
    client = Client("--fits", "1", file=tmp_path / "given.csv")
    folder = next(iter(temporary() - before))
    if how is signal.SIGTERM:
        ends = time.monotonic() + 60
        while not client.get("state")["files"][0]["ready"] and time.monotonic() < ends:
            time.sleep(0.05)
        assert client.get("state")["files"][0]["name"] == "given.csv"
    if how == "quit":
        assert client.post("quit")[0] == 200
    else:
        client.process.send_signal(how)
    _, said = client.process.communicate(timeout=30)
    assert said.strip() == ""
    ends = time.monotonic() + 30
    while folder.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    assert not folder.exists()
    assert (tmp_path / "given.csv").exists()


def test_it_listens_to_this_machine_alone(studio):
    assert studio.address.startswith("http://127.0.0.1:")
    own = socket.gethostbyname(socket.gethostname())
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((own, int(studio.host.split(":")[1])), timeout=5)


def test_what_cannot_be_served_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "onepath", "studio", "--no-browser", "--port", str(port)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "choose another with --port" in done.stderr
