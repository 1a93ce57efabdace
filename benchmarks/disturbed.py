"""Jumps, heavy tails and a level of the noise that changes: are they found, and drift and diffusion freed of them?

    python benchmarks/disturbed.py --seeds 20 --jobs 16 -o benchmarks/results/disturbed.json

Three processes of the package, in ten substeps a step. Jumps of 4 to 10 standard deviations of an increment, up or
down, at .2, 1 and 5 % of 5000 steps; Student's increments with 4 and 6 degrees of freedom, 5000 steps; a level of the
noise whose logarithm has a spread of .5 and a memory of 50, 200 and 500 steps, 8000 steps. And each of them without.
Beside the fit that knows of it stand the plain fit of the same path and the plain fit of the path that the same
random numbers make without it; of jumps also the plain fit that is told which steps jumped, as such a path is not the
same one without them, and of a level the factor by which it makes σ less certain for whoever estimates it. Errors are
root mean squares over the inner 90 % of the data, relative to the root mean square of the truth; σ is that at the
level's mean (of ln) where the level is learned, and the root mean square over the record where it is not. Seeds below
100 are for trying; finished cells are kept in the output file and not computed again.
"""

import argparse
from functools import lru_cache
from pathlib import Path

import numpy as np
from resumable import finish, kept

PROCESSES = ("ou", "double_well", "cir")
STEPS = {"jumps": 5000, "tails": 5000, "volatility": 8000}
CASES = {"jumps": (0.0, 0.002, 0.01, 0.05), "tails": (0.0, 4.0, 6.0), "volatility": (0.0, 50.0, 200.0, 500.0)}
"""Share of steps that jump, degrees of freedom, memory in steps; 0 is without."""

SUBSTEPS, SPREAD, FIRST_SEED = 10, 0.5, 100


@lru_cache(2)
def paths_of(kind, name, seed):
    """By case, all made of the same random numbers: what is done to a path, and the path."""
    from onepath.compare.processes import PROCESSES as KNOWN

    process, n, cases = KNOWN[name], STEPS[kind], CASES[kind]
    jumps, level, stretch = (np.zeros((n, len(cases))) for _ in range(3))
    for i, case in enumerate(cases):
        own = np.random.default_rng([22, seed, 1])
        if kind == "jumps":
            jumps[:, i] = np.where(own.random(n) < case, own.uniform(4, 10, n) * own.choice([-1, 1], n), 0.0)
        elif kind == "tails" and case:
            stretch[:, i] = 0.5 * np.log(case / own.chisquare(case, n))
        elif kind == "volatility" and case:
            level[:, i] = stretch[:, i] = wandering(n, case, own)
    x = simulated(process, n, np.exp(stretch), jumps, np.random.default_rng([22, seed]))
    return {case: Disturbed(process, x[:, i], jumps[:, i], level[:, i]) for i, case in enumerate(cases)}


def simulated(process, n, stretch, jumps, noise):
    """Paths (n + 1, cases) whose noise is stretched, and which jump at the ends of steps; all (n, cases)."""
    h = process.dt / SUBSTEPS
    x = np.tile(np.array(process.start, float), (stretch.shape[1], 1))
    path = np.empty((n + 1, len(x)))
    path[0] = x[:, 0]
    for k in range(n):
        size = np.abs(process.diffusion(x)[:, 0]) * np.sqrt(process.dt)
        for xi in noise.standard_normal(SUBSTEPS):
            moved = process.diffusion(x)[:, 0] * (np.sqrt(h) * xi * stretch[k, :, None])
            x = x + process.drift(x) * h + moved
        x = x + jumps[k, :, None] * size
        path[k + 1] = x[:, 0]
    return path


@lru_cache(2)
def undisturbed(kind, name, seed):
    """The plain fit of the path without."""
    return paths_of(kind, name, seed)[0.0].fit()


class Disturbed:
    """x (n + 1,), and what was done to it: jumps in standard deviations, the level's logarithm."""

    def __init__(self, process, x, jumps, level):
        self.process, self.x, self.jumps, self.level = process, x, jumps, level

    def fit(self, **options):
        from onepath import SDE

        return SDE(progress=False, **options).fit(self.x, dt=self.process.dt)

    def judged(self, sde, factor=1.0):
        """Errors of drift and diffusion, and the share of σ, times a factor, that its 90 % band holds."""
        grid = np.quantile(self.x, np.linspace(0.05, 0.95, 41))
        f, s = self.process.drift(grid[:, None])[:, 0], factor * np.abs(self.process.diffusion(grid[:, None])[:, 0, 0])
        lower, upper = sde.diffusion_band(grid)
        errors = [np.sqrt(np.mean(np.square(e - t)) / np.mean(np.square(t))) for e, t in
                  ((sde.drift(grid), f), (sde.diffusion(grid), s))]  # fmt: skip
        return {"drift": errors[0], "diffusion": errors[1], "covered": float(np.mean((lower <= s) & (s <= upper)))}


def wandering(n, memory, rng):
    """An OU process of mean 0 over the record."""
    left, level = np.exp(-1 / memory), np.empty(n)
    level[0] = SPREAD * rng.standard_normal()
    for k, noise in enumerate(SPREAD * np.sqrt(1 - left**2) * rng.standard_normal(n - 1)):
        level[k + 1] = left * level[k] + noise
    return level - level.mean()


def told_which_jumped(path):
    """A plain fit of what is left of a path without the steps that jumped: nobody can be freer of jumps."""
    from onepath import SDE

    pieces = np.split(path.x, np.flatnonzero(path.jumps) + 1)
    return SDE(progress=False).fit([piece for piece in pieces if len(piece) > 1], dt=path.process.dt)


def least_lost(path, memory):
    """By which factor a level that is not known makes σ less certain, whoever estimates it (Cramér and Rao).

    Of the form ln σ = a + b z with the true z(x), from ln of increments, which have the variance ½ where they are
    normal; the level's mean over the record is zero. 1 where σ is the same everywhere.
    """
    z = np.log(np.maximum(np.abs(path.process.diffusion(path.x[:-1, None])[:, 0, 0]), 1e-6))
    far = np.square(np.quantile(z, np.linspace(0.05, 0.95, 41)) - z.mean())
    if np.ptp(z) == 0.0:
        return 1.0
    left, state, spread, white = np.exp(-1 / memory), np.zeros(2), SPREAD**2, np.empty((len(z), 2))
    for k, column in enumerate(np.stack([np.ones(len(z)), z], axis=1)):
        variance = spread + 0.5
        white[k] = (column - state) / np.sqrt(variance)
        state, spread = state + spread / variance * (column - state), 0.5 * spread / variance
        state, spread = left * state, left**2 * spread + SPREAD**2 * (1 - left**2)
    slopes = np.linalg.inv(white.T @ white)[1, 1], 0.5 / np.sum(np.square(z - z.mean()))
    with_level, without = (0.5 / len(z) + slope * far.mean() for slope in slopes)
    return float(np.sqrt(with_level / without))


OPTIONS = {"jumps": {"jumps": True}, "tails": {"tails": "learn"}, "volatility": {"volatility": "learn"}}


def run(task):
    kind, name, case, seed = task
    path, clean = paths_of(kind, name, seed)[case], paths_of(kind, name, seed)[0.0]
    without = undisturbed(kind, name, seed)
    sde, plain = path.fit(**OPTIONS[kind]), without if case == 0.0 else path.fit()
    averaged = float(np.sqrt(np.mean(np.exp(2 * path.level))))
    found = sde.diagnose()
    row = {
        "own": path.judged(sde),
        "plain": path.judged(plain, averaged),
        "clean": clean.judged(without),
        "fits": found.fits,
        "faults": list(found.faults),
        "constant": [plain.constant_noise_, sde.constant_noise_],
        "seconds": [round(sde.seconds_, 2), round(plain.seconds_, 2)],
    }
    if kind == "jumps":
        jumps, many = sde.jumps_, int(np.count_nonzero(path.jumps))
        beyond = np.abs(path.jumps) > 6
        row |= {"jumps": many, "rate": list(jumps.rate), "count": jumps.rate.value * path.process.dt * STEPS[kind]}
        row |= {"marked": float(np.mean(jumps.probability[beyond] > 0.5)) if beyond.any() else None}
        row |= {"told": path.judged(told_which_jumped(path))} if many else {}
        row |= {"false": int(np.sum((jumps.probability > 0.5) & (path.jumps == 0)))}
    elif kind == "tails":
        lengths = [value for key, value in sde.parameters_.items() if key.endswith(".scale")]
        row |= {"freedom": list(sde.tails_), "shortest": min(lengths) * sde.units_.scale[0] / np.ptp(path.x)}
    else:
        volatility = sde.volatility_
        row |= {"spread": list(volatility.spread), "memory": [m / path.process.dt for m in volatility.memory]}
        row |= {"bound": least_lost(path, case)} if case else {}
        row |= {"together": float(np.corrcoef(np.log(volatility.level), path.level)[0, 1]) if case else None}
        row["together"] = row["together"] if row["together"] == row["together"] else 0.0
    return {f"{kind}/{name}/{case:g}/{seed}": _plain(row)}


def _plain(value):
    """As JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return round(float(value), 5) if np.isfinite(value) else None
    return value


def table(results):
    lines = []
    for kind, cases in CASES.items():
        own = {
            "jumps": f"{'rate off':>9}{'marked':>8}{'band holds 0':>14}",
            "tails": f"{'freedom':>9}{'off':>6}{'shortest':>10}",
            "volatility": f"{'together':>9}{'found':>7}{'default covers':>16}{'constant':>10}",
        }[kind]
        head = "".join(f"{each:>7}" for each in ("drift", "clean", "plain", "σ", "clean", "plain"))
        head += f"{'σ/clean':>9}{'covers':>8}{'fits':>6}"
        lines += ["", f"{kind:12}{'':8}{'seeds':>6}{head}{own}"]
        for name in PROCESSES:
            for case in cases:
                rows = [row for key, row in results.items() if key.startswith(f"{kind}/{name}/{case:g}/")]
                if rows:
                    lines.append(f"{name:12}{case:<8g}{len(rows):>6}{_common(rows)}{SPECIAL[kind](rows, case)}")
    return "\n".join(lines)


def _median(rows, of):
    values = [value for value in map(of, rows) if value is not None]
    return float(np.median(values)) if values else np.nan


def _common(rows):
    parts = [
        _median(rows, lambda row, a=a, b=b: row[a][b])
        for b in ("drift", "diffusion")
        for a in ("own", "clean", "plain")
    ]
    ratio = parts[3] / parts[4]
    covered, fits = np.mean([row["own"]["covered"] for row in rows]), np.mean([row["fits"] for row in rows])
    return "".join(f"{part:>7.3f}" for part in parts) + f"{ratio:>9.2f}{covered:>8.2f}{fits:>6.2f}"


def _jumps(rows, case):
    if not case:
        holds = np.mean([row["rate"][1] == 0.0 for row in rows])
        return f"{'':>9}{'':>8}{holds:>14.2f}"
    off = _median(rows, lambda row: abs(row["count"] / max(row["jumps"], 1) - 1))
    return f"{off:>9.2f}{_median(rows, lambda row: row['marked']):>8.2f}"


def _tails(rows, case):
    freedom, shortest = _median(rows, lambda row: row["freedom"][0]), np.min([row["shortest"] for row in rows])
    within = (
        np.mean([row["freedom"][0] is not None and 1 / 1.5 < row["freedom"][0] / case < 1.5 for row in rows])
        if case
        else np.nan
    )
    none = np.mean([row["freedom"][0] is None for row in rows])
    return f"{freedom:>9.2f}{1 - within if case else 1 - none:>6.2f}{shortest:>10.3f}"


def _volatility(rows, case):
    found, covers = (np.mean([of(row) for row in rows]) for of in (
        lambda row: row["spread"][0] > 0, lambda row: row["plain"]["covered"]))  # fmt: skip
    together = _median(rows, lambda row: row["together"]) if case else np.nan
    return f"{together:>9.2f}{found:>7.2f}{covers:>16.2f}{_median(rows, lambda row: row['constant'][0]):>10.2f}"


SPECIAL = {"jumps": _jumps, "tails": _tails, "volatility": _volatility}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/disturbed.json"))
    given = parser.parse_args()
    done = kept(given.output)
    tasks = [
        (kind, name, case, seed)
        for seed in range(given.first, given.first + given.seeds)
        for kind in given.only
        for name in PROCESSES
        for case in CASES[kind]
        if f"{kind}/{name}/{case:g}/{seed}" not in done
    ]
    finish(run, tasks, given.output, given.jobs, table)


if __name__ == "__main__":
    main()
