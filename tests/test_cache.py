"""The folder of compiled programs: only the user's own, nothing planted runs, and it does not grow for ever."""

import hashlib
import json
import os
import pickle
import time
import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.testing
import pytest
from tinygp import kernels

from onepath.graph.laws import EULER
from onepath.inference.learning.optimisers import Optimum
from onepath.numerics import cache
from onepath.numerics.cache import CACHE_VARIABLE, cache_folder, cache_root, kept, prune
from onepath.numerics.compiled import PROGRAMS, compiled
from onepath.numerics.structure import Slot, Unknown, as_data, from_data

posix = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")


@pytest.fixture(autouse=True)
def nothing_said():
    cache._SAID.clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "cache"
    made.mkdir(mode=0o700)
    monkeypatch.setenv(CACHE_VARIABLE, str(made))
    return made


@pytest.fixture
def doubled():
    @compiled
    def doubled(x):
        return 2.0 * x

    doubled.__wrapped__.__module__ = "onepath.test"  # or it would be somebody's own code, which is not kept
    yield doubled
    PROGRAMS.clear()


class Planted:
    """Touches a file when it is unpickled."""

    def __init__(self, place, by=os.system):
        self.place, self.by = place, by

    def __reduce__(self):
        if self.by is os.system:
            return os.system, (f"touch {self.place}",)
        return self.by, (f"open({str(self.place)!r}, 'w')", {})


@pytest.mark.parametrize("what", ["a pickle", "in the place of JAX's part", "by a name of NumPy's"])
def test_a_planted_file_does_not_run(folder, doubled, tmp_path, what):
    """With the right name and a right digest."""
    np.testing.assert_array_equal(doubled(jnp.ones(2)), [2.0, 2.0])
    (file,) = folder.glob("*.program")
    numpy_runs = pickle.dumps(Planted(tmp_path / "ran", numpy.testing.runstring))
    planted = numpy_runs if "NumPy" in what else pickle.dumps(Planted(tmp_path / "ran"))
    head = file.read_bytes()[32:].partition(b"\n")[0]
    body = planted if what == "a pickle" else head + b"\n" + planted
    file.write_bytes(hashlib.sha256(file.stem.encode() + body).digest() + body)
    PROGRAMS.clear()
    np.testing.assert_array_equal(doubled(jnp.ones(2)), [2.0, 2.0])
    assert not (tmp_path / "ran").exists()
    PROGRAMS.clear()
    np.testing.assert_array_equal(doubled(jnp.ones(2)), [2.0, 2.0])  # it was written anew


def test_a_program_under_another_ones_name_is_not_taken(folder):
    """One that takes the same arrays, and gives another answer."""

    @compiled
    def scaled(x, factor):
        return factor * x

    scaled.__wrapped__.__module__ = "onepath.test"
    scaled(jnp.ones(2), 2.0)
    (first,) = folder.glob("*.program")
    scaled(jnp.ones(2), 3.0)
    (second,) = set(folder.glob("*.program")) - {first}
    second.write_bytes(first.read_bytes())
    PROGRAMS.clear()
    np.testing.assert_array_equal(scaled(jnp.ones(2), 3.0), [3.0, 3.0])


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_not_used_and_said_once(folder, doubled, mode):
    folder.chmod(mode)
    with pytest.warns(UserWarning, match="others may write"):
        np.testing.assert_array_equal(doubled(jnp.ones(2)), [2.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doubled(jnp.ones(3))
    assert list(folder.iterdir()) == []


@posix
def test_a_file_that_others_can_write_or_that_is_a_link_is_not_read(folder, doubled, tmp_path):
    doubled(jnp.ones(2))
    (file,) = folder.glob("*.program")
    assert file.stat().st_mode & 0o777 == 0o600
    assert cache.read_kept(file) is not None
    file.chmod(0o666)
    assert cache.read_kept(file) is None
    file.chmod(0o600)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert cache.read_kept(file) is None


@posix
def test_a_new_folder_is_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "new"))
    assert cache_folder() == tmp_path / "new"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("word", ["off", "OFF", " Off ", "no", "None", "false", "0"])
def test_off_is_off_in_any_spelling(monkeypatch, word):
    monkeypatch.setenv(CACHE_VARIABLE, word)
    assert cache_folder() is None
    assert kept().files == 0


@posix
@pytest.mark.parametrize("variable", [CACHE_VARIABLE, "XDG_CACHE_HOME", "HOME"])
def test_relative_places_are_ignored_with_a_word(monkeypatch, tmp_path, variable):
    monkeypatch.chdir(tmp_path)
    for name in (CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "somewhere")
    with pytest.warns(UserWarning, match=f"{variable}='somewhere' is no absolute path"):
        root = cache_root()
    assert root == (tmp_path / ".cache" / "onepath" if variable == "XDG_CACHE_HOME" else None)
    assert not (tmp_path / "somewhere").exists()


def test_no_home_folder_is_no_error(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert cache_folder() is None
    assert kept() == (None, 0, 0)


def test_it_is_pruned_by_age_and_size_and_nothing_unfinished_stays(folder):
    now, old = time.time(), 100 * 86400
    name = [f"{k:064x}" for k in range(8)]
    for file, size, age in [
        *((f"{name[k]}.program", 1000, 100 - k) for k in range(5)),
        (f"{name[5]}.program", 10, old),
        (f"{name[6]}.1.part", 10, 7200),
        (f"{name[7]}.1.part", 10, 60),
        (f"jit_f-{name[0]}-cache", 10, old),
    ]:
        (folder / file).write_bytes(bytes(size))
        os.utime(folder / file, (now - age, now - age))
    prune(folder, 3200)
    left = {f"{name[7]}.1.part", *(f"{name[k]}.program" for k in (2, 3, 4))}
    assert {path.name for path in folder.iterdir()} == left
    assert kept().files == 4
    assert cache.clear().size == 3010
    assert kept() == (folder, 0, 0)


def test_other_files_in_the_folder_are_left_alone(folder, doubled):
    """Somebody may have chosen a folder with files of theirs."""
    thesis, film = folder / "thesis.tex", folder / "a" / "film.part"
    film.parent.mkdir()
    for file in (thesis, film):
        file.write_bytes(b"mine")
        os.utime(file, (0, 0))
    doubled(jnp.ones(2))
    prune(folder, 0)
    assert cache.clear().files == 0
    assert (thesis.read_bytes(), film.read_bytes()) == (b"mine", b"mine")


def test_what_jax_keeps_is_pruned_too(folder):
    old = folder / f"jit_f-{'0' * 64}-cache"
    old.write_bytes(b"x")
    os.utime(old, (0, 0))
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    try:
        with cache.jax_cache():
            pass
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
    assert not old.exists()


def test_using_a_program_keeps_it_young(folder, doubled):
    doubled(jnp.ones(2))
    (file,) = folder.glob("*.program")
    os.utime(file, (0, 0))
    PROGRAMS.clear()
    doubled(jnp.ones(2))
    assert time.time() - file.stat().st_mtime < 60


def test_a_process_holds_only_so_many(folder, doubled, monkeypatch):
    assert folder.exists()
    monkeypatch.setattr("onepath.numerics.compiled.MOST_PROGRAMS", 3)
    PROGRAMS.clear()
    for size in (1, 2, 3, 1, 4):
        doubled(jnp.ones(size))
    assert held() == [3, 1, 4]


def held():
    return [key[1][1][0][0][0] for key in PROGRAMS]


@pytest.mark.parametrize("place", ["folder", "off"])
def test_a_process_holds_only_so_many_bytes(folder, doubled, monkeypatch, place):
    if place == "off":
        monkeypatch.setenv(CACHE_VARIABLE, "off")
    assert folder.exists()
    PROGRAMS.clear()
    doubled(jnp.ones(1))
    (one,) = PROGRAMS.values()
    assert one.size > 1000
    monkeypatch.setattr("onepath.numerics.compiled.MOST_BYTES", int(2.5 * one.size))
    for size in (2, 3, 4):
        doubled(jnp.ones(size))
    assert held() == [3, 4]
    monkeypatch.setattr("onepath.numerics.compiled.MOST_BYTES", 1)
    np.testing.assert_array_equal(doubled(jnp.ones(5)), [2.0] * 5)
    assert held() == [5]


def test_structures_of_results_go_to_data_and_back():
    kernel = kernels.Matern52(scale=Slot()) + kernels.Constant(Slot())
    whole = {"a": [kernel, (None, 1, "x")], "b": Optimum(Slot(), 1.5, None, 3, "done"), "law": EULER}
    back = from_data(json.loads(json.dumps(as_data(whole))))
    assert type(back["a"][0]) is kernels.Sum
    assert isinstance(back["a"][0].kernel1.scale, Slot)
    assert back["a"][1] == (None, 1, "x")
    assert isinstance(back["b"], Optimum)
    assert back["b"][1:] == whole["b"][1:]
    assert back["law"] == EULER


class Own(NamedTuple):
    x: object


@pytest.mark.parametrize(
    "code",
    [
        {"class": "os:system", "fields": {}},
        {"class": "onepath.numerics.cache:clear", "fields": {}},
        {"class": "onepath.inference.learning.optimisers:Optimum", "fields": {"theta": {"plain": 1}}},
        {"plain": [1]},
        ["x"],
    ],
)
def test_what_is_no_structure_of_a_result_is_refused(code):
    with pytest.raises(Unknown):
        from_data(code)
    with pytest.raises(Unknown):
        as_data(Own(1))
