"""Readings with noise: how near does a fit to them come to the fit of the path without?

    python benchmarks/hidden.py --seeds 10 --jobs 16 -o benchmarks/results/hidden.json
    python benchmarks/hidden.py --equations auto --seeds 10 --jobs 16 -o benchmarks/results/hidden-equations.json
    python benchmarks/hidden.py --transitions 500 --noises 0,0.5,1 --seeds 20 -o benchmarks/results/hidden-500.json
    .venv-peers/bin/python benchmarks/hidden.py --methods force-inference -o benchmarks/results/hidden-peer.json

Five processes in one dimension, two with noise that depends on the state and three without or with little of it, read
with errors of some share of an increment's root mean square. Beside each other: the exact fit to the clean path, the
exact fit to the readings, `measurement="learn"` on the readings, the same on the clean path (noise 0). In the
environment of the peers (with onepath on its path), StochasticForceInference, which corrects for noise of readings by
the covariance of neighbours. Fits are of the process alone, or all of them with equations beside it. Relative errors of
drift and diffusion, coverage of 90 % bands and noise found are along the clean path; seconds are the processor's,
compilations included where a fit is the first of its kind. Finished cells are kept in the output file and not computed
again. Parts of the seeds may run side by side, each on a core of its own:

    taskset -c 3 python benchmarks/hidden.py --first 3 --seeds 1 --jobs 1 -o parts/hidden-3.json
    python benchmarks/resumable.py parts/hidden-*.json -o benchmarks/results/hidden.json
"""

import argparse
import sys
import time
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
from resumable import finish, kept

PROCESSES = ("double_well_multiplicative", "cir", "exponential", "wiggly", "ou_slow")


POINTS = 1000
"""Of the clean path, at which answers are compared with the truth."""


def judged(fit, process, at):
    from onepath.compare.metrics import coverage, delta_diffusion, delta_drift

    drift, diffusion = process.drift(at), np.abs(process.diffusion(at))
    scores = {
        "drift": delta_drift(fit["drift"](at), drift),
        "diffusion": delta_diffusion(fit["diffusion"](at), diffusion),
    }
    if "drift_band" in fit:
        scores["drift_coverage"] = coverage(*fit["drift_band"](at), drift)
        scores["diffusion_coverage"] = coverage(*fit["diffusion_band"](at), diffusion)
    return {key: round(float(value), 5) for key, value in scores.items()}


def fit_onepath(x, dt, equations, **settings):
    import onepath

    begun = time.process_time()
    model = onepath.SDE(progress=False, equations=equations, **settings).fit(x, dt=dt).model_
    names = ("drift", "diffusion", "drift_band", "diffusion_band")
    found = {name: getattr(model, name) for name in names} | {"seconds": time.process_time() - begun}
    if model.observed is not None:
        found |= {name: float(getattr(model.observed, name)[0]) for name in ("noise", "low", "high")}
    return found


def fit_force_inference(x, dt, name):
    """The peer's own correction for noise of readings."""
    sys.path.insert(0, str(Path(__file__).parent / "peers"))
    from adapters import force_inference
    from contract import Observed

    begun = time.process_time()
    fitted = force_inference.fit(Observed(x, None, dt, "noisy", name), order=5)
    found = {"seconds": time.process_time() - begun}

    def diffusion(at):
        return np.sqrt(np.maximum(fitted.answer(at).covariance, 0.0))

    return found | {"drift": lambda at: fitted.answer(at).drift, "diffusion": diffusion}


@lru_cache(2)
def simulated(name, transitions, seed):
    from onepath.compare.processes import PROCESSES as KNOWN

    return KNOWN[name].simulate(transitions, random_state=7000 + seed)[0]


@lru_cache(1)
def fit_to_clean(name, transitions, seed, equations):
    """The same for every noise."""
    from onepath.compare.processes import PROCESSES as KNOWN

    return fit_onepath(simulated(name, transitions, seed), KNOWN[name].dt, equations)


def run(task):
    """One process, noise and seed: {key: scores of each method}."""
    from onepath.compare.processes import PROCESSES as KNOWN

    name, noise, transitions, seed, wanted, equations = task
    process = KNOWN[name]
    x = simulated(name, transitions, seed)
    size = noise * float(np.sqrt(np.mean(np.square(np.diff(x, axis=0)))))
    z = x + size * np.random.default_rng([7000, seed]).standard_normal(x.shape)
    methods = {
        "clean": lambda: fit_to_clean(name, transitions, seed, equations),
        "raw": lambda: fit_onepath(z, process.dt, equations),
        "filtered": lambda: fit_onepath(z, process.dt, equations, measurement="learn"),
        "force-inference": lambda: fit_force_inference(z, process.dt, name),
    }
    results = {}
    for method in wanted:
        if noise == 0.0 and method == "raw":
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = methods[method]()
        except Exception as error:
            results[method] = {"error": f"{type(error).__name__}: {error}"}
            continue
        scores = judged(found, process, x[: -1 : max(1, transitions // POINTS)]) | {
            "seconds": round(found["seconds"], 3)
        }
        if "noise" in found:
            unit = size if size > 0 else float(np.sqrt(np.mean(np.square(np.diff(x, axis=0)))))
            scores |= {part: round(found[part] / unit, 5) for part in ("noise", "low", "high")}
        results[method] = scores
    return {f"{name}/{noise:g}/{transitions}/{seed}": results}


def table(results):
    """Medians over seeds, of coverage means, one row a process, noise and method."""
    lines = [
        f"{'process':28}{'noise':>6}{'n':>8} {'method':16}{'seeds':>6}{'drift':>9}{'to clean':>9}{'diffusion':>10}"
        f"{'to clean':>9}{'f cover':>9}{'σ cover':>9}{'noise':>8}{'held':>6}{'seconds':>9}"
    ]
    groups = list(dict.fromkeys(key.rsplit("/", 1)[0] for key in results))
    for group in groups:
        cells = [value for key, value in results.items() if key.rsplit("/", 1)[0] == group]
        methods = list(dict.fromkeys(method for cell in cells for method in cell))
        clean = {part: _median(cells, "clean", part) for part in ("drift", "diffusion")}
        for method in methods:
            name, noise, n = group.split("/")
            values = {part: _median(cells, method, part) for part in ("drift", "diffusion", "noise", "seconds")}
            covers = [
                np.mean(_all(cells, method, part) or [np.nan]) for part in ("drift_coverage", "diffusion_coverage")
            ]
            ends = (_all(cells, method, "low"), _all(cells, method, "high"))
            held = [low <= 1 <= high for low, high in zip(*ends, strict=True)]
            ratios = {part: values[part] / clean[part] for part in clean}
            lines.append(
                f"{name:28}{noise:>6}{n:>8} {method:16}{len(_all(cells, method, 'drift')):>6}{values['drift']:>9.4f}"
                f"{ratios['drift']:>9.2f}{values['diffusion']:>10.4f}{ratios['diffusion']:>9.2f}{covers[0]:>9.3f}"
                f"{covers[1]:>9.3f}{values['noise']:>8.3f}{np.mean(held or [np.nan]):>6.2f}{values['seconds']:>9.2f}"
            )
    return "\n".join(lines)


def _all(cells, method, part):
    return [cell[method][part] for cell in cells if part in cell.get(method, {})]


def _median(cells, method, part):
    return float(np.median(_all(cells, method, part) or [np.nan]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--transitions", type=int, default=10_000)
    parser.add_argument("--noises", default="0,0.5,1,3")
    parser.add_argument("--processes", default=",".join(PROCESSES))
    parser.add_argument(
        "--methods", default="clean,raw,filtered", help="or force-inference, by an environment of its own"
    )
    parser.add_argument("--equations", choices=("off", "auto"), default="off")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/hidden.json"))
    options = parser.parse_args()
    results = kept(options.output)
    tasks = [
        (name, float(noise), options.transitions, seed, tuple(options.methods.split(",")), options.equations)
        for seed in range(options.first, options.first + options.seeds)
        for name in options.processes.split(",")
        for noise in options.noises.split(",")
        if f"{name}/{float(noise):g}/{options.transitions}/{seed}" not in results
    ]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
