"""Does the verdict see a diffusion that an exposure has made too small, or say how far it may be off?

    python benchmarks/blurred.py --seeds 10 -o benchmarks/results/blurred.json

Readings, 10 000 of them, are means over the time between them ("blurred") or the state itself ("exact"), of an
Ornstein-Uhlenbeck process and of a double well; of these, every one, every 2nd, 3rd, 5th and 10th is fitted. For each:
whether the model is said to fit, whether the diffusion is off by more than half of its 90 % band, and whether it is
outside of what the verdict says of it. Finished cells are kept in the output file and not computed again.

Last comes what no verdict can do: if right models are to be called wrong in at most 10 %, how often some exposure must
be said to fit with a diffusion that is off.
"""

import argparse
from pathlib import Path

import numpy as np
from resumable import finish, kept
from scipy.stats import norm

READINGS, SUBSTEPS, THINNED = 10_000, 20, (1, 2, 3, 5, 10)
PROCESSES = {
    "ornstein_uhlenbeck": (lambda x: -x, 1.0, 0.02),
    "double_well": (lambda x: x - x**3, 0.7, 0.02),
}
"""Drift, constant diffusion, and the time between readings."""

EXPOSURES = ("blurred", "exact")


def readings(name, exposure, seed):
    """After SUBSTEPS short steps each, the state or its mean over them."""
    drift, sigma, dt = PROCESSES[name]
    rng, h = np.random.default_rng([18, seed]), dt / SUBSTEPS
    x, out = 0.5, np.empty(READINGS)
    for k in range(READINGS):
        total = 0.0
        for noise in np.sqrt(h) * sigma * rng.standard_normal(SUBSTEPS):
            x += drift(x) * h + noise
            total += x
        out[k] = total / SUBSTEPS if exposure == "blurred" else x
    return out, dt


def run(task):
    from onepath import SDE

    name, exposure, seed = task
    path, dt = readings(name, exposure, seed)
    rows, sigma = {}, PROCESSES[name][1]
    for every in THINNED:
        sde = SDE(progress=False).fit(path[::every], dt=every * dt)
        points = np.quantile(path, [0.1, 0.3, 0.5, 0.7, 0.9])
        (lower, upper), shown = sde.diffusion_band(points), sde.diffusion(points)
        found = sde.diagnose()
        low, high = (1.0, 1.0) if found.within is None else found.within
        rows[f"{name}/{exposure}/{every}/{seed}"] = {
            "fits": found.fits,
            "faults": list(found.faults),
            "ratio": round(float(np.mean(shown) / sigma), 4),
            "off": float(np.mean(np.abs(shown - sigma) > (upper - lower) / 2)),
            "outside": float(np.mean((sigma < low * shown) | (sigma > high * shown))),
            "within": [round(low, 4), round(high, 4)],
        }
    return rows


def table(results):
    headings = f"{'fits':>7}{'fits, and off':>15}{'and outside':>13}{'said':>15}  first named"
    lines = [f"{'process':20}{'readings':10}{'every':>6}{'seeds':>6}{'σ/true':>9}{headings}"]
    for name, exposure, every in ((n, e, k) for n in PROCESSES for e in EXPOSURES for k in THINNED):
        rows = [row for key, row in results.items() if key.startswith(f"{name}/{exposure}/{every}/")]
        if not rows:
            continue
        ratio, fits = np.median([row["ratio"] for row in rows]), np.mean([row["fits"] for row in rows])
        off, outside = (np.mean([row["fits"] * row[which] for row in rows]) for which in ("off", "outside"))
        said = np.mean([row["within"] for row in rows if row["fits"]] or [[np.nan] * 2], axis=0)
        names = [row["faults"][0] for row in rows if row["faults"]]
        counts = ", ".join(f"{kind} {names.count(kind)}" for kind in sorted(set(names), key=names.count)[::-1])
        lines.append(
            f"{name:20}{exposure:10}{every:>6}{len(rows):>6}{ratio:>9.3f}{fits:>7.0%}{off:>15.0%}{outside:>13.0%}"
            f"{said[0]:>8.2f} to {said[1]:.2f}  {counts}"
        )
    lines.append("")
    for exposure in EXPOSURES:
        rows = [row for key, row in results.items() if key.split("/")[1] == exposure and row["fits"]]
        off, outside = (np.mean([row[which] for row in rows] or [np.nan]) for which in ("off", "outside"))
        lines.append(f"of {len(rows)} {exposure} said to fit: {off:.0%} off, {outside:.0%} outside of what is said")
    share, blur = least_share(0.1)
    bound = f"no verdict with 10 % false alarms does better than {share:.0%}, at a blur of {blur:.1f} standard errors"
    return "\n".join([*lines, "", bound])


def least_share(alarms):
    """The share of 'fits, and off' that any verdict with so many false alarms has at some exposure, and at which.

    In standard errors 1/√n of neighbours' correlation r: blur of c makes r c, and ln σ, whose own error is 1/√(2n) and
    independent of r, too small by c. The best test of c > 0 is by r.
    """
    blur = np.linspace(0.0, 6.0, 601)
    missed = norm.cdf(norm.isf(alarms) - blur)
    off = norm.cdf(np.sqrt(2) * blur - norm.isf(0.05)) + norm.cdf(-np.sqrt(2) * blur - norm.isf(0.05))
    k = int(np.argmax(missed * off))
    return missed[k] * off[k], blur[k]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/blurred.json"))
    options = parser.parse_args()
    done = kept(options.output)
    tasks = [
        (name, exposure, seed)
        for seed in range(options.seeds)
        for name in PROCESSES
        for exposure in EXPOSURES
        if f"{name}/{exposure}/{THINNED[-1]}/{seed}" not in done
    ]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
