"""Does diagnose() call right models right, and name what is wrong with the others?

    python benchmarks/diagnosis.py --seeds 100 -o benchmarks/results/diagnosis.json

Well-specified data of twelve one-dimensional processes, and six planted faults on five of them, of 500 and 5000
transitions, simulated with ten substeps a step. The drift's change, a shift by one standard deviation, is planted at
steps with |f'| Δt of 0.05; at the processes' own, shorter ones 5000 transitions often do not show it. Seeds 0 to 9 were
looked at while the tests were made, so the first seed is 10. Finished cells are kept in the output file and not
computed again.
"""

import argparse
import time
import traceback
from pathlib import Path

import numpy as np
from resumable import finish, kept

BASES = ("ou_slow", "double_well", "double_well_multiplicative", "wiggly", "cir")
PROCESSES = (*BASES, "exponential", "trigonometric", "gbm", "ou", "quadratic_noise", "logistic", "washboard")
FAULTS = {
    "noise": "measurement noise",
    "step": "step size",
    "jumps": "jumps",
    "underdamped": "hidden velocity",
    "season": "season",
    "change": "drift over time",
}
"""What is planted, and the question that should be flagged for it."""

STIFF_STEP = {"ou_slow": 0.5, "double_well": 0.25, "double_well_multiplicative": 0.25, "wiggly": 0.12, "cir": 0.25}
"""Steps with |f'| Δt of 0.5: by the rate of a linear drift, by that in the wells of others. A tenth is short enough."""

DAYS = 365
"""Steps of a season."""


def simulate(process, steps, rng, *, dt=None, substeps=10, drift=None, jumps=0.0):
    """One path (steps + 1, 1) with a drift f(x, k) of state and step number, and jumps of this size at 1 % of steps."""
    from onepath.compare.processes import euler_step

    dt = process.dt if dt is None else dt
    x = np.tile(process.start, (1, 1))
    path = [x[0]]
    leap = jumps * rng.choice([-1, 1], size=steps) * (rng.uniform(size=steps) < 0.01)
    for k in range(steps):
        for noise in rng.standard_normal((substeps, 1, 1)):
            f = process.drift(x) if drift is None else drift(x, k)
            x = euler_step(x, f, process.diffusion(x), dt / substeps, noise)
        x = x + leap[k]
        path.append(x[0])
    return np.asarray(path)


def underdamped(process, steps, rng):
    """Position of dX = V dt, dV = (f(X) - V) dt + σ(X) dW."""
    h = 0.05 / 10
    x, v, path = process.start[None], np.zeros((1, 1)), [process.start]
    for _ in range(steps):
        for noise in rng.standard_normal((10, 1)):
            sigma = process.diffusion(x)[0, 0, 0]
            x, v = x + v * h, v + (process.drift(x) - v) * h + sigma * np.sqrt(h) * noise
        path.append(x[0])
    return np.asarray(path)


def data(name, fault, steps, seed):
    """A path and its step."""
    from onepath.compare.processes import PROCESSES

    process, rng = PROCESSES[name], np.random.default_rng(77_000 + seed)
    if fault == "none":
        return simulate(process, steps, rng), process.dt
    plain = simulate(process, 2000, np.random.default_rng(5))
    size, spread = np.std(np.diff(plain, axis=0)), np.std(plain)
    typical = np.sqrt(np.mean(np.square(process.drift(plain))))
    if fault == "noise":
        path = simulate(process, steps, rng)
        return path + 0.5 * size * rng.standard_normal(path.shape), process.dt
    if fault == "step":
        return simulate(process, steps, rng, dt=STIFF_STEP[name], substeps=50), STIFF_STEP[name]
    if fault == "jumps":
        return simulate(process, steps, rng, jumps=6 * size), process.dt
    if fault == "underdamped":
        return underdamped(process, steps, rng), 0.05
    drifts = {
        "season": lambda x, k: process.drift(x) + 2 * typical * np.cos(2 * np.pi * k / DAYS),
        "change": lambda x, k: process.drift(x if k < steps / 2 else x - spread),
    }
    dt = STIFF_STEP[name] / 10 if fault == "change" else process.dt
    return simulate(process, steps, rng, dt=dt, drift=drifts[fault]), dt


def run(task):
    from onepath import SDE

    name, fault, steps, seed = task
    try:
        path, dt = data(name, fault, steps, seed)
        begun = time.perf_counter()
        model = SDE(progress=False).fit(path, dt=dt)
        fitted = time.perf_counter()
        found = model.diagnose()
        result = {
            "faults": list(found.faults),
            "fit_seconds": round(fitted - begun, 2),
            "seconds": round(time.perf_counter() - fitted, 2),
        }
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-500:]}
    return {f"{name}/{fault}/{steps}/{seed}": result}


def table(results):
    """Shares over seeds: any alarm; for faults, the right question flagged, and named first."""
    groups = {}
    for key, value in results.items():
        name, fault, steps, _ = key.split("/")
        groups.setdefault((fault, int(steps), name), []).append(value)
    order = ["none", *FAULTS]
    lines = [f"{'fault':14}{'N':>6}  {'process':28}{'seeds':>6}{'alarm':>8}{'flagged':>9}{'first':>8}  first named"]
    totals = {}
    for (fault, steps, name), values in sorted(
        groups.items(), key=lambda item: (order.index(item[0][0]), *item[0][1:])
    ):
        values = [value for value in values if "error" not in value]
        if values:
            totals.setdefault((fault, steps), []).extend(values)
            lines.append(row(fault, steps, name, values))
    lines += ["", *(row(fault, steps, "all", values) for (fault, steps), values in totals.items())]
    errors = sum("error" in value for value in results.values())
    return "\n".join([*lines, *([f"{errors} failed"] if errors else [])])


def row(fault, steps, name, values):
    alarm = np.mean([bool(value["faults"]) for value in values])
    wanted = FAULTS.get(fault)
    flagged = f"{np.mean([wanted in value['faults'] for value in values]):>9.0%}" if wanted else f"{'':9}"
    first = f"{np.mean([value['faults'][:1] == [wanted] for value in values]):>8.0%}" if wanted else f"{'':8}"
    names = [value["faults"][0] for value in values if value["faults"]]
    counts = ", ".join(f"{kind} {names.count(kind)}" for kind in sorted(set(names), key=names.count, reverse=True))
    return f"{fault:14}{steps:>6}  {name:28}{len(values):>6}{alarm:>8.0%}{flagged}{first}  {counts}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=10, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sizes", default="500,5000")
    parser.add_argument("--faults", default=",".join(["none", *FAULTS]))
    parser.add_argument("--processes", default=",".join(PROCESSES))
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/diagnosis.json"))
    options = parser.parse_args()
    results = kept(options.output)
    tasks = [
        (name, fault, int(steps), seed)
        for seed in range(options.first, options.first + options.seeds)
        for steps in options.sizes.split(",")
        for fault in options.faults.split(",")
        for name in options.processes.split(",")
        if (fault == "none" or name in BASES) and f"{name}/{fault}/{steps}/{seed}" not in results
    ]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
