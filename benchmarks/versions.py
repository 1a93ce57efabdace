"""Do two installed versions of onepath give the same answers? On the paper's six trajectories and on every process.

    python benchmarks/versions.py OTHER_PYTHON              # the onepath of this Python against that of another
    python benchmarks/versions.py OTHER_PYTHON --only ou    # cases whose name contains this

Both fit the same paths, each on a core of its own; drift, diffusion, bands, evidence and score are compared relative to
their largest entry. Where kernels are learned a search stands between the two, where they are given nothing does.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

LEARNED, GIVEN = 1e-6, 1e-9
"""Largest relative difference where kernels are learned, and where they are given."""

STEPS, POINTS = 500, 50

OTHER_WAYS = {
    "exp link": ("double_well_multiplicative", {"link": "exp"}),
    "identity link": ("double_well_multiplicative", {"link": "identity"}),
    "newton": ("ou", {"link": "identity", "solver": "newton", "smoothing": 0.01}),
    "gradient": ("ou", {"link": "identity", "solver": "gradient", "tolerance": 1e-3}),
    "linearised": ("wiggly", {"transition": "linearised"}),
    "isotropic": ("van_der_pol", {"noise": "isotropic"}),
    "full": ("double_well_2d", {"noise": "full"}),
    "2-D linearised": ("spiral", {"noise": "full", "transition": "linearised"}),
}
"""Settings beside the defaults, all with kernels as given."""


def cases():
    """Name, settings, times and states to fit and to score, each a dictionary of what both versions are handed."""
    from onepath.compare.processes import PAPER_TRAJECTORIES, PROCESSES

    made = {}

    def add(name, settings, t, x, fresh):
        made[name] = {"settings": settings, "t": t, "x": x, "fresh": fresh, "dt": float(np.median(np.diff(t)))}

    for name, record in PAPER_TRAJECTORIES.items():
        t = record.dt * np.arange(len(record.x_train))
        add(f"paper {name}, learned", {}, t, record.x_train, record.x_test)
        add(f"paper {name}, given", {"learn": None}, t, record.x_train, record.x_test)
    for name, process in PROCESSES.items():
        x, fresh = process.simulate(STEPS, paths=2, random_state=11)
        t = process.dt * np.arange(len(x))
        add(f"{name}, learned", {}, t, x, fresh)
        add(f"{name}, given", {"learn": None}, t, x, fresh)
        for way, (wanted, settings) in OTHER_WAYS.items():
            if wanted == name:
                add(f"{name}, {way}, given", settings | {"learn": None}, t, x, fresh)
    process = PROCESSES["double_well_multiplicative"]
    long, fresh = process.simulate(20_000, random_state=12)[0], process.simulate(STEPS, random_state=13)[0]
    add("20 000 rows, learned", {}, process.dt * np.arange(len(long)), long, fresh)
    rows = np.concatenate([[0], np.cumsum(np.random.default_rng(1).integers(1, 5, 1000))])
    add("irregular steps, learned", {}, process.dt * rows, long[rows], fresh)
    add("irregular steps, given", {"learn": None}, process.dt * rows, long[rows], fresh)
    return made


def answers(case):
    """What one version says, by its public interface alone."""
    from onepath import SDE

    sde = SDE(**case["settings"], progress=False).fit(case["x"], t=case["t"])
    at = np.quantile(case["x"], np.linspace(0.01, 0.99, POINTS), axis=0)
    lower, upper = sde.drift_band(at)
    low, high = sde.diffusion_band(at)
    said = {"drift": sde.drift(at), "drift band": [lower, upper]}
    said |= {"diffusion": sde.diffusion(at), "diffusion band": [low, high]}
    said |= {"evidence": sde.evidence_, "loss": sde.loss_, "score": sde.score(case["fresh"], dt=case["dt"])}
    return {name: np.asarray(value, float) for name, value in said.items()}


def work(source, target, core):
    """Answer every case of a file, pinned to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[core % os.cpu_count()]})
    settings, arrays = json.loads(Path(source, "cases.json").read_text()), np.load(Path(source, "cases.npz"))
    for name, said in settings.items():
        case = said | {part: arrays[f"{name}/{part}"] for part in ("t", "x", "fresh")}
        np.savez(Path(target, f"{name}.npz"), **answers(case))
        print(f"core {core}: {name}", file=sys.stderr)


def compare(python, other, wanted):
    """Run both versions side by side, and print the largest relative difference of every case."""
    chosen = {name: case for name, case in cases().items() if wanted in name}
    with tempfile.TemporaryDirectory() as folder:
        plain = {name: {"settings": case["settings"], "dt": case["dt"]} for name, case in chosen.items()}
        Path(folder, "cases.json").write_text(json.dumps(plain))
        parts = {f"{name}/{part}": case[part] for name, case in chosen.items() for part in ("t", "x", "fresh")}
        np.savez(Path(folder, "cases.npz"), **parts)
        targets = [Path(folder, "here"), Path(folder, "there")]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}

        def run(core):
            targets[core].mkdir()
            command = [(python, other)[core], __file__, "--work", folder, str(targets[core]), str(core)]
            subprocess.run(command, check=True, env=environment)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run, (0, 1)))
        worst = 0.0
        for name in chosen:
            here, there = (np.load(target / f"{name}.npz") for target in targets)
            apart = {what: np.max(np.abs(here[what] - there[what])) / np.max(np.abs(there[what])) for what in there}
            limit = LEARNED if "learned" in name else GIVEN
            what = max(apart, key=apart.__getitem__)
            worst = max(worst, apart[what] / limit)
            said = "the same, bit for bit" if apart[what] == 0.0 else "" if apart[what] <= limit else f"over {limit:g}"
            print(f"{name:44} {apart[what]:8.1e} in its {what:16} {said}")
    print(f"{len(chosen)} cases, {'all the same' if worst <= 1 else 'NOT all the same'}")
    return worst <= 1


if __name__ == "__main__":
    if "--work" in sys.argv:
        work(*sys.argv[2:4], int(sys.argv[4]))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("other")
        parser.add_argument("--only", default="")
        given = parser.parse_args()
        sys.exit(0 if compare(sys.executable, given.other, given.only) else 1)
