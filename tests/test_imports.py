"""The house has floors: folders import downwards only, and numerics import no tables, estimators or figures."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import onepath

SOURCE = Path(onepath.__file__).parent

# low to high; a folder may import any of a lower floor, and of its own floor only itself
FLOORS = [
    ["numerics", "estimator"],
    ["data", "gp"],
    ["graph"],
    ["inference"],
    ["model"],
    ["after", "io"],
    ["show"],
    ["sde"],
    ["compare", "panel"],
    ["studio"],
    ["cli", "__main__", "__init__"],
]
ALONE = {"compare/baselines", "compare/metrics", "compare/processes"}
"""Know nothing of the package but names of arrays: what is compared with it."""

KNOW_LITTLE = {"data": {"numerics/arrays", "numerics/caution"}, "graph/laws": {"gp/jets", "numerics/linalg"}}
"""All that these may import beside themselves: data know no engine, laws no Gaussian processes."""

OUTSIDE = {"pandas", "sklearn", "matplotlib"}
MAY_LOAD = dict.fromkeys(("io", "show", "compare", "panel", "cli"), OUTSIDE)


def folder(file):
    """The first part of its path."""
    return file.split("/")[0]


def floor_of(file):
    return next((floor for floor, names in enumerate(FLOORS) if folder(file) in names), None)


def violations(imports):
    """What is wrong with {file: files of the package that it imports}; a file is "module" or "folder/module"."""
    found = []
    for file, targets in imports.items():
        for target in sorted(targets):
            arrow = f"{file} → {target}"
            if target == folder(target) and (SOURCE / target).is_dir():
                continue  # a folder's own sentence, on the way to a file in it
            little = next((known for part, known in KNOW_LITTLE.items() if file.startswith(f"{part}/")), None)
            own = next((part for part in KNOW_LITTLE if file.startswith(f"{part}/")), None)
            if file in ALONE and target not in ("numerics/arrays", "numerics/extras"):
                found.append(f"{arrow}: {file} stands alone")
            elif little is not None and not target.startswith(own) and target not in little:
                found.append(f"{arrow}: {own} knows little")
            elif floor_of(file) is None or floor_of(target) is None:
                found.append(f"{arrow}: no floor is known for one of them")
            elif folder(target) != folder(file) and floor_of(target) >= floor_of(file):
                found.append(f"{arrow}: not downwards")
    return found + [f"cycle: {' → '.join(cycle)}" for cycle in cycles(imports)]


def cycles(imports):
    """Every chain of imports that comes back to where it began, found by walking the graph."""
    found, done = [], set()

    def walk(file, path):
        if file in path:
            found.append([*path[path.index(file) :], file])
        elif file not in done:
            for target in imports.get(file, ()):
                walk(target, [*path, file])
            done.add(file)

    for file in imports:
        walk(file, [])
    return found


def read(path):
    """Files of the package that a file imports, anywhere in it, and outside packages, at module level only."""
    tree = ast.parse(path.read_text())
    inside, outside = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        inside |= {found for name in names if (found := file_of(name)) is not None}
        outside |= {name.split(".")[0] for name in names} if node in tree.body else set()
    return inside, outside


def file_of(name):
    """The file behind a dotted name, "model" or "data/cells" or "after/diagnose" for its __init__; else None."""
    first, *rest = name.split(".")
    if first != "onepath":
        return None
    if not rest:
        return "__init__"
    path = SOURCE.joinpath(*rest)
    return "/".join(rest) if path.with_suffix(".py").exists() or path.is_dir() else None


@pytest.fixture(scope="module")
def files():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = "/".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        inside, outside = read(path)
        # `from onepath.x import y` names the folder only on the way to y
        found[name] = (inside - {name}, outside)
    return found


def test_arrows_point_downwards_and_never_in_a_circle(files):
    assert len(files) > 90
    assert violations({file: inside for file, (inside, _) in files.items()}) == []


def test_the_root_is_small_and_every_folder_says_what_it_is(files):
    modules = {file for file in files if "/" not in file and not (SOURCE / file).is_dir()}
    assert modules == {"__init__", "__main__", "sde", "model", "estimator"}
    assert len(FLOORS) <= 11
    named = {name for floor in FLOORS for name in floor}
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert folders | modules == named
    for path in SOURCE.rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(path.read_text()))
        assert said, f"{path.parent.name} does not say what it is"
        assert said.splitlines()[0].endswith(".")


def test_nothing_after_a_fit_is_typed_as_anything():
    untyped = [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        for argument in (*node.args.args, *node.args.kwonlyargs)
        if argument.arg in ("sde", "model") and ast.unparse(argument.annotation or ast.Name("Any")) == "Any"
    ]
    assert untyped == []


def test_numerics_load_no_tables_estimators_or_figures(files):
    loaded = {
        f"{file} loads {name}"
        for file, (_, outside) in files.items()
        for name in (outside & OUTSIDE) - MAY_LOAD.get(folder(file), set())
    }
    assert loaded == set()


def loaded_by(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return done, set(done.stdout.split("LOADED")[-1].split())


def test_a_fit_loads_nothing_that_takes_longer_than_it():
    _, loaded = loaded_by("import sys, onepath.sde; print('LOADED', *sys.modules)")
    assert {"jax", "scipy.optimize"} <= loaded
    assert not {"sklearn", "scipy.stats", *OUTSIDE} & loaded


def test_a_file_that_is_not_there_is_refused_without_the_engine():
    script = """
import atexit, sys
atexit.register(lambda: print("LOADED", *sys.modules))
sys.argv = ["onepath", "fit", "nowhere.csv"]
from onepath.cli import main
main()
"""
    done, loaded = loaded_by(script)
    assert done.returncode == 2
    assert "nowhere.csv does not exist" in done.stderr
    assert not {"jax", "equinox", "tinygp", "matplotlib", "sklearn"} & loaded


@pytest.mark.parametrize(
    ("planted", "complaint"),
    [
        ({"graph/graph": ["sde"]}, "graph/graph → sde: not downwards"),
        ({"inference/fit": ["model"]}, "inference/fit → model: not downwards"),
        ({"gp/kernels": ["data/cells"]}, "gp/kernels → data/cells: not downwards"),
        ({"io/model": ["after/forecast"]}, "io/model → after/forecast: not downwards"),
        ({"graph/laws/euler": ["gp/kernels"]}, "graph/laws knows little"),
        ({"data/cells": ["numerics/linalg"]}, "data knows little"),
        ({"sde": ["compare/metrics"]}, "not downwards"),
        ({"compare/processes": ["numerics/linalg"]}, "compare/processes stands alone"),
        ({"sde": ["novelty"]}, "no floor"),
        (
            {
                "inference/completion/loop": ["inference/completion/start"],
                "inference/completion/start": ["inference/completion/loop"],
            },
            "cycle",
        ),
    ],
)
def test_the_checker_catches_planted_faults(planted, complaint):
    assert any(complaint in fault for fault in violations(planted))


def test_the_checker_lets_good_imports_pass():
    good = {"sde": ["model", "inference/fit", "numerics/arrays"], "show/summary": ["after/equation", "model"]}
    assert violations(good | {"compare/paper/methods": ["sde", "compare/baselines"]}) == []
