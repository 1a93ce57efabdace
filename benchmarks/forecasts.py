"""Do forecast intervals cover what happens?

    python benchmarks/forecasts.py --seeds 50 -o benchmarks/results/forecasts.json

For each process and seed, learn from N transitions (200 and 1000), forecast 1, 10 and 100 steps with and without what
is not known about the functions, and compare 90 % intervals with 200 true futures from the same last observation,
simulated with ten substeps a step. Also the continuous ranked probability score, in standard deviations of the true
future. Finished cells are kept in the output file and not computed again.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from resumable import finish, kept

HORIZONS = (1, 10, 100)
FUTURES = 200
PROCESSES = (
    "ou_slow",
    "double_well",
    "double_well_multiplicative",
    "wiggly",
    "cir",
    "exponential",
    "ou",
    "quadratic_noise",
    "logistic",
    "washboard",
)


def run(task):
    from onepath import SDE
    from onepath.compare.metrics import crps
    from onepath.compare.processes import PROCESSES

    name, steps, seed = task
    process, rng = PROCESSES[name], np.random.default_rng(31_000 + seed)
    path = process.simulate(steps, random_state=rng)[0]
    futures = process.simulate(HORIZONS[-1], paths=FUTURES, start=path[-1], random_state=rng)
    result = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SDE(progress=False).fit(path, dt=process.dt)
            for uncertain in (True, False):
                fan = model.forecast(HORIZONS[-1], paths=1000, random_state=seed, uncertain=uncertain)
                lower, upper = fan.quantiles([0.05, 0.95])
                for k in HORIZONS:
                    truth = futures[:, k, 0]
                    ensemble = np.broadcast_to(fan.x[~fan.exploded, k], (np.sum(~fan.exploded), FUTURES))
                    result[f"{k}/{uncertain}"] = {
                        "coverage": float(np.mean((lower[k] <= truth) & (truth <= upper[k]))),
                        "crps": float(np.mean(crps(ensemble, truth)) / truth.std()),
                        "exploded": int(fan.exploded.sum()),
                    }
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    return {f"{name}/{steps}/{seed}": result}


def table(results):
    """Mean coverage and score over seeds, with uncertainty and without."""
    groups = {}
    for key, value in results.items():
        name, steps, _ = key.split("/")
        if "error" not in value:
            groups.setdefault((int(steps), name), []).append(value)
            groups.setdefault((int(steps), "~all"), []).append(value)
    titles = "".join(f"{f'{k} steps':>30}" for k in HORIZONS)
    lines = [
        f"{'':44}{titles}",
        f"{'N':>6}  {'process':28}{'seeds':>8}" + 3 * f"{'cover':>9}{'alone':>7}{'crps':>7}{'alone':>7}",
    ]
    for (steps, name), values in sorted(groups.items()):
        cells = ""
        for k in HORIZONS:
            for score, widths in (("coverage", (9, 7)), ("crps", (7, 7))):
                for uncertain, width in zip((True, False), widths, strict=True):
                    mean = np.mean([value[f"{k}/{uncertain}"][score] for value in values])
                    cells += f"{mean:>{width}.1%}" if score == "coverage" else f"{mean:>{width}.3f}"
        lines.append(f"{steps:>6}  {name.strip('~'):28}{len(values):>8}{cells}")
    errors = sum("error" in value for value in results.values())
    return "\n".join([*lines, *([f"{errors} failed"] if errors else [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sizes", default="200,1000")
    parser.add_argument("--processes", default=",".join(PROCESSES))
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/forecasts.json"))
    options = parser.parse_args()
    results = kept(options.output)
    tasks = [
        (name, int(steps), seed)
        for seed in range(options.seeds)
        for steps in options.sizes.split(",")
        for name in options.processes.split(",")
        if f"{name}/{steps}/{seed}" not in results
    ]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
