"""The house has floors: modules import downwards only, and numerics import no tables, estimators or figures."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import onepath

SOURCE = Path(onepath.__file__).parent

# low to high; a module may import any of a lower floor, and of its own floor only within its own package
FLOORS = [
    ["linalg", "trajectory", "drawing", "progress", "runtime", "jets", "estimator"],
    ["transitions", "kernels", "transition", "programs"],
    ["features"],
    ["graph"],
    ["completion"],
    ["learning"],
    ["posterior"],
    ["build", "evaluation", "settings"],
    ["fitting"],
    ["stiffness"],
    ["equation", "files"],
    ["increments", "findings"],
    ["forecast", "consequences", "diagnose", "summary"],
    ["plots"],
    ["report"],
    ["sde"],
    ["__init__"],
    ["paper"],
    ["cli"],
    ["__main__"],
]
ALONE = {"baselines", "metrics", "processes", "scores"}
"""Import nothing of the package, and are imported by what compares: the commands, the paper and each other."""

MAY_COMPARE = {"paper", "cli", "report", "__init__"}
KNOW_LITTLE = {
    "trajectory": set(),
    "transitions": {"trajectory"},
    "kernels": {"linalg"},
    "transition": {"linalg", "jets"},
    "features": {"kernels", "linalg", "jets", "programs"},
}
"""All that these may import: the door and the cells know no kernels, kernels no SDEs, laws no Gaussian processes."""

OUTSIDE = {"pandas", "sklearn", "matplotlib"}
MAY_LOAD = dict.fromkeys(("files", "plots", "report", "paper", "cli", "baselines"), OUTSIDE)


def floor_of(module):
    return next((floor for floor, names in enumerate(FLOORS) if module in names), None)


def violations(imports):
    """What is wrong with {file: modules of the package that it imports}; files are "module" or "package/module"."""
    found = []
    for file, targets in imports.items():
        here = file.split("/")[0]
        for target in sorted({name.split("/")[0] for name in targets} - {here}):
            arrow = f"{file} → {target}"
            if here in ALONE:
                found.append(f"{arrow}: {here} stands alone")
            elif target in ALONE:
                if here not in MAY_COMPARE:
                    found.append(f"{arrow}: only {', '.join(sorted(MAY_COMPARE))} compare with known truth")
            elif floor_of(here) is None or floor_of(target) is None:
                found.append(f"{arrow}: no floor is known for one of them")
            elif floor_of(target) >= floor_of(here) or target not in KNOW_LITTLE.get(here, {target}):
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
    """The package's modules and the outside packages that a file imports; the latter at module level only."""
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
    """The file behind a dotted name, "graph" or "completion/loop" or "completion" for its __init__; else None."""
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
        # `from onepath.x import y` names the package only on the way to x
        found[name] = (inside - {name}, outside)
    return found


def test_arrows_point_downwards(files):
    assert len(files) > 15
    assert violations({file: inside for file, (inside, _) in files.items()}) == []


def test_numerics_load_no_tables_estimators_or_figures(files):
    loaded = {
        f"{file} loads {name}"
        for file, (_, outside) in files.items()
        for name in (outside & OUTSIDE) - MAY_LOAD.get(file.split("/")[0], set())
    }
    assert loaded == set()


def test_a_fit_loads_nothing_that_takes_longer_than_it():
    said = "import sys, onepath.sde; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()
    assert {"jax", "scipy.optimize"} <= set(loaded)
    assert not {"sklearn", "scipy.stats", *OUTSIDE} & set(loaded)


@pytest.mark.parametrize(
    ("planted", "complaint"),
    [
        ({"graph": ["sde"]}, "graph → sde: not downwards"),
        ({"completion/loop": ["learning/learn"]}, "completion/loop → learning: not downwards"),
        ({"kernels": ["transitions"]}, "kernels → transitions: not downwards"),
        ({"transition/euler": ["kernels"]}, "transition/euler → kernels: not downwards"),
        ({"trajectory": ["linalg"]}, "trajectory → linalg: not downwards"),
        ({"sde": ["metrics"]}, "only"),
        ({"processes": ["linalg"]}, "processes stands alone"),
        ({"sde": ["novelty"]}, "no floor"),
        ({"completion/loop": ["completion/start"], "completion/start": ["completion/loop"]}, "cycle"),
    ],
)
def test_the_checker_catches_planted_faults(planted, complaint):
    assert any(complaint in fault for fault in violations(planted))


def test_the_checker_lets_good_imports_pass():
    assert (
        violations({"sde": ["posterior", "learning", "linalg"], "completion": ["completion/loop"], "paper": ["sde"]})
        == []
    )
