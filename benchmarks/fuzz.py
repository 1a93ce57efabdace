"""Odd series by the hundred, seeded: each ends in finite answers or a clear refusal, and says what did not converge.

    python benchmarks/fuzz.py [--count 300] [--jobs 2] [--output benchmarks/results/fuzz.json]

Prints what went wrong, series by series, the largest memory of a process and what the cache of programs came to. What
is in the output already is not run again.
"""

import argparse
import os
import resource
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from resumable import kept, save

SHAPES = ("walk", "relaxing", "ties", "stretches", "outliers", "ramp", "sine", "white", "jumps", "multiplicative")
REFUSALS = (ValueError, TypeError)
FEW = 20


def column(shape, n, rng):
    """One odd series of n values, of scale 1 or so."""
    steps = rng.standard_normal(n)
    walk = np.cumsum(steps)
    match shape:
        case "walk":
            return walk
        case "relaxing" | "multiplicative":
            x = np.zeros(n)
            for i in range(1, n):
                noise = np.sqrt(1 + x[i - 1] ** 2) if shape == "multiplicative" else 1.0
                x[i] = 0.9 * x[i - 1] + 0.3 * noise * steps[i]
            return x
        case "ties":
            return np.round(walk / 3)
        case "stretches":
            return np.cumsum(steps * (np.arange(n) // max(n // 7, 1) % 2))
        case "outliers":
            return walk + 10.0 ** rng.uniform(1, 6) * (rng.uniform(size=n) < 0.02)
        case "ramp":
            return np.arange(n) + 10.0 ** rng.uniform(-12, 0) * steps
        case "sine":
            return np.sin(np.arange(n) * rng.uniform(0.01, 3)) + 10.0 ** rng.uniform(-12, 0) * steps
        case "white":
            return steps
        case "jumps":
            return walk + np.cumsum(50 * (rng.uniform(size=n) < 0.01))
    raise KeyError(shape)


def series(seed):
    """(x, times, words): one odd series, how its times are given, and what is odd about it."""
    rng = np.random.default_rng([17, seed])
    n, d = int(np.exp(rng.uniform(np.log(3), np.log(400)))), int(rng.choice(4, p=[0.6, 0.25, 0.1, 0.05])) + 1
    shapes = rng.choice(SHAPES, size=d)
    x = np.stack([column(shape, n, rng) for shape in shapes], axis=1)
    words = [f"n={n}", f"d={d}", *map(str, shapes)]
    if d > 1 and rng.uniform() < 0.15:
        x[:, 1] = x[:, 0]
        words.append("duplicated")
    if rng.uniform() < 0.08:
        x[:, -1] = rng.normal()
        words.append("constant")
    if rng.uniform() < 0.3:
        power = rng.uniform(-150, 150)
        x = x * 10.0**power
        words.append(f"scale 1e{power:.0f}")
    elif rng.uniform() < 0.2:
        power = rng.uniform(2, 16)
        x = x + 10.0**power
        words.append(f"offset 1e{power:.0f}")
    if rng.uniform() < 0.15:
        x[rng.uniform(size=n) < 0.1] = np.nan
        words.append("missing")
    times = {"dt": 10.0 ** rng.uniform(-6, 6)}
    if rng.uniform() < 0.3:
        times = {"t": np.cumsum(10.0 ** rng.uniform(-6, 0, size=n)), "gap": np.inf}
        words.append("six decades of steps")
    elif rng.uniform() < 0.1:
        times = {"dt": 10.0 ** rng.uniform(-150, 150)}
        words.append(f"dt {times['dt']:.0e}")
    return (x[:, 0] if d == 1 else x), times, " ".join(words)


def judge(seed):
    """What happened to one series: its kind of end, and the faults, none where all is well."""
    from onepath import SDE

    x, times, words = series(seed)
    begun, faults, end, said = time.perf_counter(), [], "fitted", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sde = SDE(progress=False, random_state=seed).fit(x, **times)
            faults += not_finite(sde, x)
            said = sde.outcome_
        except Exception as error:
            end, said = "refused", str(error)
            if type(error) not in REFUSALS:  # a LinAlgError is a ValueError, and no refusal
                end = "failed"
                faults.append(f"{type(error).__name__}: {said} at {traceback.extract_tb(error.__traceback__)[-1]}")
    ours = [str(one.message) for one in caught if one.category is UserWarning]
    faults += [f"stray {one.category.__name__}: {one.message} at {Path(one.filename).name}:{one.lineno}"
               for one in caught if one.category is not UserWarning]  # fmt: skip
    if end == "fitted" and not said.startswith("converged") and not any("converge" in text for text in ours):
        faults.append(f"silent: {said}")
    seconds, megabytes = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seed": seed, "words": words, "end": end, "said": said, "warned": ours, "faults": faults,
        "seconds": round(seconds, 2), "megabytes": round(megabytes),
    }  # fmt: skip


def not_finite(sde, x):
    """Names of answers that are not finite."""
    observed = x.reshape(len(x), -1)
    points = observed[~np.isnan(observed).any(axis=1)][:FEW]
    paths = sde.simulate(points[-1], steps=FEW, paths=FEW, random_state=0)
    answers = {
        "drift": sde.drift(points),
        "diffusion": sde.diffusion(points),
        "drift's band": sde.drift_band(points),
        "diffusion's band": sde.diffusion_band(points),
        "evidence": sde.evidence_,
        "loss": sde.loss_,
        "paths": paths.x[~paths.exploded],
    }
    text = sde.summary()
    found = [name for name, values in answers.items() if not np.all(np.isfinite(values))]
    return [f"not finite: {name}" for name in found] + (["nan in the summary"] if " nan" in text else [])


def cached():
    from onepath.numerics import cache

    return cache.kept()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seeds", type=int, nargs="+", help="these only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    results = kept(options.output) if options.output else {}
    wanted = [str(seed) for seed in options.seeds or range(options.count)]
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(judge, int(seed)) for seed in wanted if seed not in results]):
            row = done.result()
            results[str(row["seed"])] = row
            print(
                f"{row['seed']:4d} {row['words']}: {row['end']}, {row['seconds']} s, {row['megabytes']} MB", flush=True
            )
            for fault in row["faults"]:
                print(f"     {fault}", flush=True)
            if options.output:
                save(options.output, results)
        found = pool.submit(cached).result()
    rows = [results[seed] for seed in wanted]
    ends = Counter(row["end"] for row in rows)
    faulty = sum(bool(row["faults"]) for row in rows)
    unconverged = sum(row["end"] == "fitted" and not row["said"].startswith("converged") for row in rows)
    print(f"{len(rows)} series: {dict(ends)}; {faulty} with faults; {unconverged} not converged, of which it was said")
    print(f"largest memory of a process {max(row['megabytes'] for row in rows)} MB; cache {found.size / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
