"""Does the verdict see a diffusion that an exposure has made too small?

    python benchmarks/blurred.py --seeds 10 -o benchmarks/results/blurred.json

Readings, 10 000 of them, are means over the time between them, of an Ornstein-Uhlenbeck process and of a double well;
of these, every one, every 2nd, 3rd, 5th and 10th is fitted. For each: whether the model is said to fit, and whether the
diffusion is off by more than half of its 90 % band. Finished cells are kept in the output file and not computed again.
"""

import argparse
from pathlib import Path

import numpy as np
from resumable import finish, kept

READINGS, SUBSTEPS, THINNED = 10_000, 20, (1, 2, 3, 5, 10)
PROCESSES = {
    "ornstein_uhlenbeck": (lambda x: -x, 1.0, 0.02),
    "double_well": (lambda x: x - x**3, 0.7, 0.02),
}
"""Drift, constant diffusion, and the time between readings."""


def readings(name, seed):
    """Means over SUBSTEPS short steps each, at full exposure."""
    drift, sigma, dt = PROCESSES[name]
    rng, h = np.random.default_rng([18, seed]), dt / SUBSTEPS
    x, out = 0.5, np.empty(READINGS)
    for k in range(READINGS):
        total = 0.0
        for noise in np.sqrt(h) * sigma * rng.standard_normal(SUBSTEPS):
            x += drift(x) * h + noise
            total += x
        out[k] = total / SUBSTEPS
    return out, dt


def run(task):
    from onepath import SDE

    name, seed = task
    path, dt = readings(name, seed)
    rows = {}
    for every in THINNED:
        sde = SDE(progress=False).fit(path[::every], dt=every * dt)
        points = np.quantile(path, [0.1, 0.3, 0.5, 0.7, 0.9])
        lower, upper = sde.diffusion_band(points)
        off = np.abs(sde.diffusion(points) - PROCESSES[name][1]) > (upper - lower) / 2
        found = sde.diagnose()
        ratio = float(np.mean(sde.diffusion(points)) / PROCESSES[name][1])
        rows[f"{name}/{every}/{seed}"] = {"fits": found.fits, "faults": list(found.faults), "ratio": round(ratio, 4),
                                          "off": float(off.mean())}  # fmt: skip
    return rows


def table(results):
    lines = [f"{'process':22}{'every':>6}{'seeds':>6}{'σ/true':>9}{'fits':>7}{'fits, and off':>15}  first named"]
    for name in PROCESSES:
        for every in THINNED:
            rows = [row for key, row in results.items() if key.startswith(f"{name}/{every}/")]
            if not rows:
                continue
            wrong = np.mean([row["fits"] * row["off"] for row in rows])
            names = [row["faults"][0] for row in rows if row["faults"]]
            counts = ", ".join(f"{kind} {names.count(kind)}" for kind in sorted(set(names), key=names.count)[::-1])
            ratio, fits = np.median([row["ratio"] for row in rows]), np.mean([row["fits"] for row in rows])
            lines.append(f"{name:22}{every:>6}{len(rows):>6}{ratio:>9.3f}{fits:>7.0%}{wrong:>15.0%}  {counts}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/blurred.json"))
    options = parser.parse_args()
    done = kept(options.output)
    tasks = [(name, seed) for seed in range(options.seeds) for name in PROCESSES if f"{name}/10/{seed}" not in done]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
