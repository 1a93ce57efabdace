"""Does mend() propose the right cure, and nothing where nothing is wrong?

    python benchmarks/mending.py --seeds 3 -o benchmarks/results/mending.json
    python benchmarks/mending.py --example level.csv

Faults are planted on five processes, 5000 steps in twenty substeps each. *Right* is a proposal of the cure that undoes
what was planted, and of no other; *clear*, that its own diagnosis has no faults. Errors of drift and diffusion are root
mean squares over the inner 90 % of the undisturbed path, as a share of the truth's, over those of a plain fit to that
path, which the same random numbers make; of a hidden velocity, over those of a fit to positions and velocities. Seeds
below 10 were looked at while it was made. Finished cells are kept in the output file and not computed again.
"""

import argparse
import time
import traceback
from pathlib import Path

import numpy as np
from resumable import finish, kept

PROCESSES = ("ou_slow", "double_well", "double_well_multiplicative", "wiggly", "cir")
FAULTS = ("none", "noise", "blur", "underdamped", "jumps", "season", "change", "noise+season", "jumps+season")
DIFFERENCED = ("white noise", "ou")

RIGHT = {
    "none": [set()],
    "noise": [{"measurement"}],
    "blur": [{"exposure"}],
    "underdamped": [{"order"}],
    "jumps": [{"jumps"}],
    "season": [{"season"}],
    "change": [{"since"}, {"trend"}],
    "noise+season": [{"measurement", "season"}],
    "jumps+season": [{"jumps", "season"}],
}
"""Settings that undo what was planted."""

STEPS, SUBSTEPS, DAYS = 5000, 20, 365
STIFF = {"ou_slow": 0.5, "double_well": 0.25, "double_well_multiplicative": 0.25, "wiggly": 0.12, "cir": 0.25}
"""Steps with |f'| Δt of 0.5; a change is planted at a tenth of that, for shorter ones often do not show it."""

NOISE, JUMP, RATE, WAVE = 0.5, 6.0, 0.01, 2.0
"""Of an increment's deviation; the same; of all steps; and of a typical drift."""


class Planted:
    """A path with faults, and the same one without."""

    def __init__(self, name, fault, seed):
        from onepath.compare.processes import PROCESSES as CATALOGUE

        self.process, self.faults, rng = CATALOGUE[name], set(fault.split("+")), np.random.default_rng(55_000 + seed)
        self.dt = STIFF[name] / 10 if "change" in self.faults else self.process.dt
        plain = self.process.simulate(2000, dt=self.dt, random_state=5)[0]
        self.size, self.spread = np.std(np.diff(plain, axis=0)), np.std(plain)
        self.typical = np.sqrt(np.mean(np.square(self.process.drift(plain))))
        if "underdamped" in self.faults:
            self.dt = 0.05
            self.x, self.clean = self._underdamped(rng)
            return
        draws = rng.standard_normal((STEPS, SUBSTEPS))
        leap = JUMP * self.size * rng.choice([-1, 1], STEPS) * (rng.uniform(size=STEPS) < RATE)
        error = NOISE * self.size * rng.standard_normal((STEPS + 1, 1))
        self.clean = self._path(draws, np.zeros(STEPS), set())[0]
        self.x, means = self._path(draws, leap if "jumps" in self.faults else np.zeros(STEPS), self.faults)
        self.x = means if "blur" in self.faults else self.x
        self.x = self.x + error if "noise" in self.faults else self.x

    def drift(self, x, k, faults):
        """The true drift (n, 1) at a step."""
        late = "change" in faults and k >= STEPS / 2
        wave = WAVE * self.typical * np.cos(2 * np.pi * k / DAYS) if "season" in faults else 0.0
        return self.process.drift(x - self.spread if late else x) + wave

    def _path(self, draws, leap, faults):
        """States at the ends of steps, and their means over steps."""
        h, x, ends, means = self.dt / SUBSTEPS, self.process.start[None], [self.process.start], [self.process.start]
        for k, noise in enumerate(draws * np.sqrt(h)):
            total = 0.0
            for each in noise:
                x = x + self.drift(x, k, faults) * h + self.process.diffusion(x)[:, :, 0] * each
                total = total + x[0]
            x = x + leap[k]
            ends.append(x[0])
            means.append(total / SUBSTEPS)
        return np.asarray(ends), np.asarray(means)

    def _underdamped(self, rng):
        """Positions of dX = V dt, dV = (f(X) - V) dt + σ(X) dW; and with the velocities beside them."""
        h, path = self.dt / SUBSTEPS, [(self.process.start[0], 0.0)]
        x, v = self.process.start[None], np.zeros((1, 1))
        for noise in rng.standard_normal((STEPS, SUBSTEPS)) * np.sqrt(h):
            for each in noise:
                sigma = self.process.diffusion(x)[0, 0, 0]
                x, v = x + v * h, v + (self.process.drift(x) - v) * h + sigma * each
            path.append((x[0, 0], v[0, 0]))
        both = np.asarray(path)
        return both[:, :1], both

    def clean_fit(self):
        from onepath import SDE

        if "underdamped" not in self.faults:
            return SDE(progress=False).fit(self.clean, dt=self.dt)
        import pandas as pd

        frame = pd.DataFrame(self.clean, columns=["x", "v"])
        return SDE(drift={"x": "v"}, progress=False).fit(frame, dt=self.dt)

    def errors(self, sde):
        """Of drift and diffusion, as a share of the truth's root mean square."""
        low, high = np.quantile(self.clean[:, 0], [0.05, 0.95])
        grid = np.linspace(low, high, 41)[:, None]
        if sde.n_features_in_ == 2:
            points = np.column_stack([grid, np.zeros(41)])
            drift, sigma = sde.drift(points)[:, 1:], sde.diffusion(points)[:, 1, 1]
            return [_off(drift, self.process.drift(grid)), _off(sigma, self.process.diffusion(grid)[:, 0, 0])]
        found = []
        phases = [0, 91, 182, 274] if "season" in self.faults and "season" in sde.inputs_ else [None]
        for day in phases:
            inputs = None if day is None else {"season": (STEPS // DAYS * DAYS + day) * self.dt}
            faults = self.faults if day is not None else self.faults - {"season"}
            drift, sigma = sde.drift(grid, inputs=inputs)[:, None], sde.diffusion(grid, inputs=inputs)
            truth = self.drift(grid, STEPS if day is None else day, faults)
            found.append([drift, truth, sigma, self.process.diffusion(grid)[:, 0, 0]])
        drift, truth, sigma, noise = (np.stack(part) for part in zip(*found, strict=True))
        return [_off(drift, truth), _off(sigma, noise)]

    def clean_errors(self, sde):
        if "underdamped" in self.faults:
            return self.errors(sde)
        low, high = np.quantile(self.clean[:, 0], [0.05, 0.95])
        grid = np.linspace(low, high, 41)[:, None]
        sigma = self.process.diffusion(grid)[:, 0, 0]
        return [_off(sde.drift(grid)[:, None], self.process.drift(grid)), _off(sde.diffusion(grid), sigma)]


def _off(found, truth):
    return float(np.sqrt(np.mean(np.square(found - truth)) / np.mean(np.square(truth))))


def differenced(kind, seed):
    """White noise, or an OU process read at every tenth of its memory, differenced."""
    rng = np.random.default_rng(66_000 + seed)
    noise = rng.standard_normal(STEPS + 1)
    if kind == "ou":
        from scipy.signal import lfilter

        noise = lfilter([1.0], [1.0, -np.exp(-0.1)], noise)
    return np.diff(noise)


def run(task):
    from onepath import SDE

    name, fault, seed = task
    key = f"{name}/{fault}/{seed}"
    try:
        if fault == "differenced":
            found = SDE(progress=False).fit(differenced(name, seed), dt=1.0).diagnose()
            return {key: {"faults": list(found.faults), "named": "differences" in found.faults}}
        planted = Planted(name, fault, seed)
        plain = SDE(progress=False).fit(planted.x, dt=planted.dt)
        begun, spent = time.perf_counter(), time.process_time()
        mended = plain.mend(budget=1e4)
        result = {
            "plain": list(mended.before.faults),
            "proposed": {} if mended.proposed is None else mended.record.tried[mended.record.chosen].settings,
            "left": list(mended.after.faults),
            "tried": [
                [row.name, list(row.faults), *(_number(x) for x in (row.gain, row.gain_error, row.likelihood))]
                for row in mended.table
            ],
            "seconds": round(time.perf_counter() - begun, 1),
            "cpu": round(time.process_time() - spent, 1),
        }
        if fault != "none":
            clean = planted.clean_fit()
            result["clean"] = [round(each, 4) for each in planted.clean_errors(clean)]
            result["errors"] = [round(each, 4) for each in planted.errors(mended.best)]
            if (plain.n_features_in_, "underdamped") != (1, fault):
                result["plain_errors"] = [round(each, 4) for each in planted.errors(plain)]
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-600:]}
    return {key: result}


def example():
    """A level by day, read with an error, with a year in it."""
    import pandas as pd

    path = Planted("double_well", "noise+season", 3).x[:, 0]
    dates = pd.date_range("2012-01-01", periods=len(path), freq="D")
    return pd.DataFrame({"date": dates, "level": np.round(10 + 2 * path, 4)})


def _number(value):
    return round(float(value), 5) if np.isfinite(value) else None


def is_right(fault, proposed):
    return set(proposed) in RIGHT[fault]


def table(results):
    """Shares over seeds, a row for each fault and process, and for each fault."""
    head = f"{'planted':14}{'process':28}{'seeds':>6}{'flagged':>9}{'right':>7}{'clear':>7}{'drift':>7}{'σ':>6}"
    lines = [head + f"{'plain':>9}{'cpu s':>7}  proposed"]
    totals = {}
    for key in sorted(results, key=lambda key: (_order(key.split("/")[1]), key)):
        name, fault, _ = key.split("/")
        if fault != "differenced" and "error" not in results[key]:
            totals.setdefault((fault, "all"), []).append(results[key])
            totals.setdefault((fault, name), []).append(results[key])
    ordered = sorted(totals.items(), key=lambda item: (item[0][1] == "all", _order(item[0][0]), item[0][1]))
    lines += [_line(fault, name, rows) for (fault, name), rows in ordered]
    for kind in DIFFERENCED:
        rows = [row for key, row in results.items() if key.startswith(f"{kind}/differenced/") and "error" not in row]
        if rows:
            share = np.mean([row["named"] for row in rows])
            lines.append(f"{kind}, differenced: said to be differences in {share:.0%} of {len(rows)}")
    failed = [key for key, row in results.items() if "error" in row]
    return "\n".join([*lines, *([f"failed: {', '.join(failed)}"] if failed else [])])


def _order(fault):
    return FAULTS.index(fault) if fault in FAULTS else len(FAULTS)


def _line(fault, name, rows):
    right, clear = (np.mean([of(row) for row in rows]) for of in (
        lambda row: is_right(fault, row["proposed"]), lambda row: not row["left"]))  # fmt: skip
    flagged = np.mean([bool(row["plain"]) for row in rows])
    ratios = [np.divide(row["errors"], row["clean"]) for row in rows if "errors" in row]
    plain = [np.divide(row["plain_errors"], row["clean"])[1] for row in rows if "plain_errors" in row]
    drift, sigma = np.median(ratios, axis=0) if ratios else (np.nan, np.nan)
    what = ["+".join(row["proposed"]) or "nothing" for row in rows]
    counts = ", ".join(f"{each} {what.count(each)}" for each in sorted(set(what), key=what.count, reverse=True))
    numbers = f"{drift:>7.2f}{sigma:>6.2f}{np.median(plain) if plain else np.nan:>9.2f}"
    cpu = np.median([row["cpu"] for row in rows])
    return f"{fault:14}{name:28}{len(rows):>6}{flagged:>9.0%}{right:>7.0%}{clear:>7.0%}{numbers}{cpu:>7.0f}  {counts}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--faults", default=",".join((*FAULTS, "differenced")))
    parser.add_argument("--processes", default=",".join(PROCESSES))
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/mending.json"))
    parser.add_argument("--example", type=Path, help="write the table that docs/mend.md begins with, and nothing else")
    given = parser.parse_args()
    if given.example is not None:
        example().to_csv(given.example, index=False)
        return
    done, faults = kept(given.output), given.faults.split(",")
    tasks = [
        (name, fault, seed)
        for seed in range(given.first, given.first + given.seeds)
        for fault in faults
        for name in (DIFFERENCED if fault == "differenced" else given.processes.split(","))
        if f"{name}/{fault}/{seed}" not in done
    ]
    finish(run, tasks, given.output, given.jobs, table)


if __name__ == "__main__":
    main()
