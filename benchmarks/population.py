"""Many seeds of many processes: how far is each method from the true model?

    python benchmarks/population.py --seeds 50 -o benchmarks/results/population.json

For each process and seed, 500 transitions to learn from and 500 to be judged on, simulated with ten substeps a step.
Scores: the gap of the test loss to the true model's (nats per transition), with drift and diffusion plugged into the
paper's L ("gap"), the same for the transitions that begin within the range of the training path ("inside"), and with
the predictive density, which knows how little is known away from the data ("predictive"); relative errors of drift and
diffusion at the test points; coverage of 90 % bands at the training points; and seconds (the first fit of a process,
which compiles, not counted). Finished cells are kept in the output file and not computed again.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import told
from resumable import finish, kept

METHODS = ("onepath", "gp-regression", "non-learned", "kramersmoyal")
YARDSTICK = "told"
"""Knows the form of drift and noise."""

TRANSITIONS = 500


def fit_onepath(x, dt, **settings):
    import onepath

    sde = onepath.SDE(progress=False, **settings).fit(x, dt=dt)
    model = sde.model_
    return {
        "drift": model.drift,
        "diffusion": model.diffusion,
        "drift_band": model.drift_band,
        "diffusion_band": model.diffusion_band,
        "noise": float(np.mean(model.noise)),
        "score": lambda path: sde.score(path, dt=dt) + 0.5 * model.dimension * np.log(2 * np.pi),
    }


def fit_non_learned(x, dt):
    """The paper's kernel with parameters that are not learned."""
    from tinygp.kernels import Matern52
    from tinygp.kernels.distance import L2Distance

    from onepath.compare.baselines import LAMBDA, mean_pairwise_distance

    kernel = Matern52(mean_pairwise_distance(x[:-1]), distance=L2Distance())
    return fit_onepath(
        x, dt, drift=kernel, diffusion=kernel, link="identity", learn=None, noise_variance=LAMBDA, smoothing=0.01
    )


def fit_gp_regression(x, dt):
    from onepath.compare.baselines import LAMBDA, GPRegression

    model = GPRegression().fit(x[:-1], np.diff(x, axis=0), dt)
    return {"drift": model.drift, "diffusion": model.diffusion, "noise": LAMBDA}


def fit_kramersmoyal(x, dt):
    """Kernel-density estimates of the first two Kramers–Moyal coefficients, at the package's own bandwidth."""
    import kramersmoyal
    from scipy.interpolate import interp1d

    if x.shape[1] > 1:
        raise ValueError("only used in one dimension here")
    moments, edges = kramersmoyal.km(x[:, 0], powers=2, bins=np.array([200]))
    centres = edges[0]
    dense = moments[2] > 0
    drift = interp1d(centres[dense], moments[1][dense] / dt, fill_value="extrapolate", kind="nearest")
    diffusion = interp1d(centres[dense], np.sqrt(2 * moments[2][dense] / dt), fill_value="extrapolate", kind="nearest")
    return {"drift": drift, "diffusion": lambda at: diffusion(at)[:, :, None], "noise": 0.0}


def fit_told(x, dt, name):
    drift, diffusion = told.fit(name, x[:-1], np.diff(x, axis=0), dt)
    return {"drift": drift, "diffusion": diffusion, "noise": 0.0}


FITS = {
    "onepath": fit_onepath,
    "gp-regression": fit_gp_regression,
    "non-learned": fit_non_learned,
    "kramersmoyal": fit_kramersmoyal,
}


def judge(process, path, method):
    from onepath.compare.metrics import coverage, delta_diffusion, delta_drift, loss

    train, test = path[: TRANSITIONS + 1], path[TRANSITIONS:]
    begun = time.perf_counter()
    fit = fit_told(train, process.dt, process.name) if method == YARDSTICK else FITS[method](train, process.dt)
    seconds = time.perf_counter() - begun
    at, y = test[:-1], np.diff(test, axis=0)
    known = np.all((at >= train.min(axis=0)) & (at <= train.max(axis=0)), axis=1)

    def true_loss(where=slice(None)):
        return loss(y[where], process.drift(at[where]), process.diffusion(at[where]), process.dt)

    def gap(where=slice(None)):
        fitted = fit["drift"](at[where]), fit["diffusion"](at[where])
        return loss(y[where], *fitted, process.dt, fit["noise"]) - true_loss(where)

    scores = {
        "gap": gap(),
        "drift": delta_drift(fit["drift"](at), process.drift(at)),
        "diffusion": delta_diffusion(fit["diffusion"](at), process.diffusion(at)),
        "seconds": seconds,
    }
    if known.any():
        scores["gap_inside"] = gap(known)
    if "score" in fit:
        scores["predictive_gap"] = -fit["score"](test) - true_loss()
        inside = train[:-1]
        sigma = process.diffusion(inside)
        free = np.tril(np.ones(sigma.shape[1:])) > 0
        lower, upper = fit["diffusion_band"](inside)
        scores["drift_coverage"] = coverage(*fit["drift_band"](inside), process.drift(inside))
        factor = np.abs(sigma) if sigma.shape[1] == 1 else sigma
        scores["diffusion_coverage"] = coverage(lower[:, free], upper[:, free], factor[:, free])
    return {key: float(value) for key, value in scores.items()}


def run(task):
    from onepath.compare.processes import PROCESSES

    name, methods, seeds = task
    process = PROCESSES[name]
    paths = {seed: process.simulate(2 * TRANSITIONS, random_state=1000 + seed)[0] for seed in (0, *seeds)}
    results = {}
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method in ("onepath", "non-learned"):
                FITS[method](paths[0][: TRANSITIONS + 1], process.dt)
            for seed in seeds:
                try:
                    scores = judge(process, paths[seed], method)
                except Exception as error:
                    scores = {"error": f"{type(error).__name__}: {error}"}
                results[f"{name}/{method}/{seed}"] = scores
    return results


def table(results, methods):
    """Medians over seeds, one row a process and method; the mean gap shows blow-ups."""
    names = list(dict.fromkeys(key.split("/")[0] for key in results))
    columns = {
        "gap": "gap",
        "gap_inside": "inside",
        "predictive_gap": "predictive",
        "drift": "drift",
        "diffusion": "diffusion",
        "drift_coverage": "f cover",
        "diffusion_coverage": "σ cover",
        "seconds": "seconds",
    }
    lines = [
        f"{'process':28}{'method':15}{'seeds':>6}{'mean gap':>10}{'mean pred.':>11}"
        + "".join(f"{title:>11}" for title in columns.values())
    ]
    for name in names:
        for method in methods:
            cells = [v for k, v in results.items() if k.startswith(f"{name}/{method}/") and "error" not in v]
            if not cells:
                continue
            row = "".join(
                f"{(np.mean if 'coverage' in c else np.median)([cell[c] for cell in cells if c in cell]):>11.4f}"
                if c in cells[0]
                else f"{'':>11}"
                for c in columns
            )
            means = [np.mean([cell.get(key, np.nan) for cell in cells]) for key in ("gap", "predictive_gap")]
            mean_gaps = "".join(f"{value:>11.4f}" if np.isfinite(value) else f"{'':>11}" for value in means)
            lines.append(f"{name:28}{method:15}{len(cells):>6}{mean_gaps[1:]}" + row)
    return "\n".join(lines)


def main():
    from onepath.compare.processes import PROCESSES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", default=",".join([*METHODS, YARDSTICK]))
    one_or_two = [name for name, process in PROCESSES.items() if process.dimension <= 2]
    parser.add_argument("--processes", default=",".join(one_or_two))
    parser.add_argument("--chunk", type=int, default=10, help="seeds in one task")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/population.json"))
    options = parser.parse_args()
    methods, names = options.methods.split(","), options.processes.split(",")
    results = kept(options.output)
    tasks = []
    for name in names:
        for method in methods:
            if method == YARDSTICK and name not in told.FORMS:
                continue
            missing = [seed for seed in range(options.seeds) if f"{name}/{method}/{seed}" not in results]
            tasks += [(name, [method], missing[i : i + options.chunk]) for i in range(0, len(missing), options.chunk)]
    finish(run, tasks, options.output, options.jobs, lambda results: table(results, methods))


if __name__ == "__main__":
    main()
