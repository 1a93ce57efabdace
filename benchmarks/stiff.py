"""How far does each transition law go? True k-step sub-trajectories, and coverage with finely simulated truth.

    python benchmarks/stiff.py --seeds 40 -o benchmarks/results/stiff.json

`steps`: N = 500 observations that are k steps apart, for k = 1, 2, 5, 10, 20: median errors of drift and diffusion.
`coverage`: N = 5000, ten processes: share of the data at which 90 % bands hold the truth. Truth is simulated with at
least ten substeps a step. Finished cells are kept in the output file and not computed again.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from resumable import finish, kept

from onepath.compare.processes import PROCESSES, Process, euler_step

LAWS = ("euler", "linearised", "auto")
COVERAGE_LAWS = ("euler", "auto")
STEPS = (1, 2, 5, 10, 20)
CHUNK = 10
"""Seeds in one task."""


def stiff_processes():
    """Two processes whose |f'| Δt reaches 0.5 at k = 10."""
    return {
        "stiff_cubic": Process(
            "stiff_cubic",
            lambda x: -3 * x - 2 * x**3,
            lambda x: (0.8 + 0.2 * np.sin(2 * x))[..., None],
            np.zeros(1),
            0.01,
            "dX = (-3 X - 2 X³) dt + (0.8 + 0.2 sin 2X) dW",
        ),
        "stiff_wells": Process(
            "stiff_wells",
            lambda x: 2.5 * (x - x**3),
            lambda x: (0.5 * np.sqrt(1 + x**2 / 2))[..., None],
            np.ones(1),
            0.01,
            "dX = 2.5 (X - X³) dt + 0.5 √(1 + X²/2) dW",
        ),
    }


COVERAGE = {
    # name: step, which sets |f'| Δt between 0.01 and 0.3
    "exponential": 0.02,
    "washboard": 0.02,
    "wiggly": 0.03,
    "cir": 0.05,
    "double_well": 0.05,
    "double_well_multiplicative": 0.05,
    "quadratic_noise": 0.1,
    "logistic": 0.1,
    "ou_slow": 0.2,
    "stiff_cubic": 0.05,
}


def process_named(name):
    return (PROCESSES | stiff_processes())[name]


def judge(name, law, dt, path):
    from onepath import SDE
    from onepath.compare.metrics import coverage, delta_diffusion, delta_drift

    process, x = process_named(name), path[:-1]
    begun = time.perf_counter()
    model = SDE(transition=law, progress=False).fit(path, dt=dt).model_
    seconds = time.perf_counter() - begun
    f, s = process.drift(x), np.abs(process.diffusion(x))
    return {
        "drift": delta_drift(model.drift(x), f),
        "diffusion": delta_diffusion(model.diffusion(x), s),
        "drift_coverage": coverage(*model.drift_band(x), f),
        "diffusion_coverage": coverage(*model.diffusion_band(x), s),
        "change": model.stiffness.change if model.stiffness else float("nan"),
        "second": float(model.law.name == "linearised"),
        "seconds": seconds,
    }


def simulated(process, steps, dt, substeps, seeds):
    """The path of each seed that `process.simulate` gives, (seeds, steps + 1, d), all at once."""
    d, h = process.dimension, dt / substeps
    noise = [np.random.default_rng(seed).standard_normal((steps * substeps, d)) for seed in seeds]
    x = np.repeat(process.start[None], len(seeds), axis=0)
    path = [x]
    for k, step in enumerate(np.stack(noise, axis=1)):
        x = euler_step(x, process.drift(x), process.diffusion(x), h, step)
        if (k + 1) % substeps == 0:
            path.append(x)
    return np.stack(path, axis=1)


def run(task):
    kind, name, law, parameter, seeds = task
    process = process_named(name)
    if kind == "steps":
        # at least ten fine steps between observations, however far apart these are
        dt = int(parameter) * process.dt
        paths = simulated(process, 500, dt, 10 * int(parameter), [5000 + seed for seed in seeds])
    else:
        dt = float(parameter)
        paths = simulated(process, 5000, dt, 20, [7000 + seed for seed in seeds])
    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed, path in zip(seeds, paths, strict=True):
            results[f"{kind}/{name}/{law}/{parameter}/{seed}"] = judge(name, law, dt, path)
    return results


def table(results):
    groups = {}
    for key, cell in results.items():
        kind, name, law, parameter, _ = key.split("/")
        groups.setdefault((kind, name, float(parameter), law), []).append(cell)
    lines = []
    for kind in ("steps", "coverage"):
        columns = ("drift", "diffusion", "drift_coverage", "diffusion_coverage", "change", "second", "seconds")
        lines.append(
            f"{kind:28}{'law':>12}{'seeds':>7}" + "".join(f"{c.replace('_coverage', ' cover'):>17}" for c in columns)
        )
        for (_, name, parameter, law), cells in sorted(g for g in groups.items() if g[0][0] == kind):
            middle = "".join(
                f"{(np.mean if 'coverage' in c or c == 'second' else np.median)([cell[c] for cell in cells]):>17.4f}"
                for c in columns
            )
            lines.append(f"{name + ' ' + format(parameter, 'g'):28}{law:>12}{len(cells):>7}{middle}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--kinds", default="steps,coverage")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/stiff.json"))
    options = parser.parse_args()
    results = kept(options.output)
    cases = [("steps", name, k) for name in ("exponential", "trigonometric", *stiff_processes()) for k in STEPS]
    cases += [("coverage", name, dt) for name, dt in COVERAGE.items()]
    tasks = []
    for law in options.laws.split(","):
        for kind, name, parameter in cases:
            missing = [s for s in range(options.seeds) if f"{kind}/{name}/{law}/{parameter}/{s}" not in results]
            if kind in options.kinds.split(",") and (kind == "steps" or law in COVERAGE_LAWS):
                parts = [missing[i : i + CHUNK] for i in range(0, len(missing), CHUNK)]
                tasks += [(kind, name, law, parameter, part) for part in parts]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
