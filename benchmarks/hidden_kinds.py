"""Velocities that nobody read, readings that average over an exposure, and channels that are missing.

    python benchmarks/hidden_kinds.py --seeds 10 --jobs 16 -o benchmarks/results/hidden-kinds.json

- velocity: positions of an underdamped double well and of a particle whose friction depends on its place, 20 000 of
  them, at friction times step of .02 and .1, read exactly and with the error of a tenth of a step's displacement.
  Errors of friction, force and σ² along the path; beside them, of the exact fit to positions and their differences,
  and of least squares told all that is hidden: velocities, and the form of friction and force.
- blur: an OU process and a double well, read as means over the whole of a step; the exact fit beside the filter that
  is told the exposure and the one that learns it. Ratios of σ² and of the stiffness to the truth's; beside them, of
  least squares told the state at the end of each step, and the form.
- missing: two dimensions of correlated noise, a fifth of the values of one channel missing, against nothing missing and
  as many complete rows.
- coarse: one reading in a relaxation time, where noise is hardly told from what moves the state.
- long: what ten thousand, a hundred thousand and a million rows take, exact ones without noise and filtered, in turn.

Finished cells are kept in the output file and not computed again. Parts of the seeds may run side by side, each on a
core of its own, and be put together:

    taskset -c 3 python benchmarks/hidden_kinds.py --first 3 --seeds 1 --jobs 1 -o parts/kinds-3.json
    python benchmarks/resumable.py parts/kinds-*.json -o benchmarks/results/hidden-kinds.json
"""

import argparse
import resource
import time
import warnings
from functools import lru_cache
from math import tanh
from pathlib import Path

import numpy as np
from resumable import finish, kept
from scipy.signal import lfilter

SUBSTEPS = 20
SUBSTEPS_OF_BLUR = 100
"""More: of twenty of Euler's steps, and their mean as a reading, a σ² comes that is too large."""

TRANSITIONS = {"velocity": 20_000, "blur": 20_000, "missing": 5000}
NOISE = 0.8
BESIDE = 1
"""How many seeds have positions and their differences fitted too: what is far off needs no more."""


def force(name, x):
    return x - x**3 if name == "double well" else -2.0 * x


def friction(name, x):
    return np.ones_like(x) if name == "double well" else 1.0 + 0.5 * np.tanh(x)


@lru_cache(2)
def swinging(name, count, dt, seed):
    """Positions and velocities (count, 2) of dv = (force(x) - friction(x) v) dt + NOISE dW."""
    rng, h = np.random.default_rng([8000, seed]), dt / SUBSTEPS
    noise = NOISE * np.sqrt(h) * rng.standard_normal((count, SUBSTEPS))
    path, x, v = np.empty((count, 2)), 1.0, 0.0
    for k, moves in enumerate(noise.tolist()):
        for each in moves:
            # by numbers of Python's, which are ten times as fast as arrays of one
            resists = v if name == "double well" else (1.0 + 0.5 * tanh(x)) * v
            x, v = x + h * v, v + h * (force(name, x) - resists) + each
        path[k] = x, v
    return path


def velocity(case, seed):
    import onepath

    name, dt, noise = case
    path = swinging(name, TRANSITIONS["velocity"] + 1, dt, seed)
    x = path[:, 0]
    size = noise * float(np.sqrt(np.mean(np.square(np.diff(x)))))
    z = x + size * np.random.default_rng([8001, seed]).standard_normal(len(x))
    at = path[:: max(1, len(path) // 500)]
    results = {}
    for method in ("filtered", "differences") if seed < BESIDE else ("filtered",):
        begun = time.process_time()
        if method == "filtered":
            sde = onepath.SDE(order=2, measurement="learn" if noise else None, progress=False).fit(z, dt=dt)
        else:
            both = np.column_stack([z[1:-1], (z[2:] - z[:-2]) / (2 * dt)])
            sde = onepath.SDE(progress=False).fit(both, dt=dt)
        scores = swinging_scores(sde, name, at) | {"seconds": time.process_time() - begun}
        if method == "filtered" and noise:
            scores["noise"] = float(sde.measurement_.deviation[0]) / size
        results[method] = scores
    results["told"] = told_all(name, path, dt)
    return results


def told_all(name, path, dt):
    """What the motion itself says: least squares to dv, with velocities known and in the true form."""
    x, v = path.T
    shape = np.ones_like(x) if name == "double well" else np.tanh(x)
    columns = [x, x**3, v] if name == "double well" else [x, v, v * shape]
    found = np.linalg.lstsq(dt * np.column_stack(columns)[:-1], np.diff(v), rcond=None)[0]
    damped = -found[2] * shape - (0.0 if name == "double well" else found[1])
    pulled = found[0] * x + (found[1] * x**3 if name == "double well" else 0.0)
    return {
        "friction": float(np.mean(damped) / np.mean(friction(name, x)) - 1.0),
        "force": float(pulled @ force(name, x) / np.sum(np.square(force(name, x))) - 1.0),
    }


def swinging_scores(sde, name, at):
    """Errors weighted by where the path is: the force is the drift at rest, friction minus its slope in v."""
    from onepath.compare.metrics import coverage

    x, v = at.T
    reach = np.std(v)
    ends = [sde.drift(np.column_stack([x, np.full(len(x), sign * reach)]))[:, 1] for sign in (-1.0, 1.0)]
    damped = (ends[0] - ends[1]) / (2 * reach)
    pulled = sde.drift(np.column_stack([x, np.zeros(len(x))]))[:, 1]
    square = np.square(sde.diffusion(at)[:, 1, 1])
    drift = force(name, x) - friction(name, x) * v
    drift_band, diffusion_band = sde.drift_band(at), sde.diffusion_band(at)
    return {
        "friction": float(np.mean(damped) / np.mean(friction(name, x)) - 1.0),
        "friction_error": float(np.linalg.norm(damped - friction(name, x)) / np.linalg.norm(friction(name, x))),
        "force": float(pulled @ force(name, x) / np.sum(np.square(force(name, x))) - 1.0),
        "force_error": float(np.linalg.norm(pulled - force(name, x)) / np.linalg.norm(force(name, x))),
        "diffusion": float(np.mean(square) / NOISE**2 - 1.0),
        "drift_coverage": float(coverage(*(end[:, 1] for end in drift_band), drift)),
        "diffusion_coverage": float(coverage(*(end[:, 1, 1] for end in diffusion_band), np.full(len(at), NOISE))),
    }


def averaged(name, dt, seed):
    """Means over each step, and states at the ends (count + 1,)."""
    rng, h, count = np.random.default_rng([8002, seed]), dt / SUBSTEPS_OF_BLUR, TRANSITIONS["blur"]
    noise, x = np.sqrt(h) * rng.standard_normal((count, SUBSTEPS_OF_BLUR)), 0.0
    z, ends = np.empty(count), np.zeros(count + 1)
    for k, moves in enumerate(noise.tolist()):
        total = 0.0
        for each in moves:
            x += h * (-5.0 * x if name == "ou" else 4.0 * (x - x**3)) + each
            total += x
        z[k], ends[k + 1] = total / SUBSTEPS_OF_BLUR, x
    return z, ends


def blur(case, seed):
    import onepath

    name, dt = case
    z, ends = averaged(name, dt, seed)
    results = {"state told": {"stiffness": stiffness(name, ends, dt)}}
    for method, settings in {"exact": {}, "told": {"exposure": 1.0}, "learned": {"exposure": "learn"}}.items():
        begun = time.process_time()
        sde = onepath.SDE(progress=False, **settings).fit(z, dt=dt)
        at = z[::40]
        truth = -5.0 * at if name == "ou" else 4.0 * (at - at**3)
        learned = sde.drift(at)
        results[method] = {
            "diffusion": float(np.mean(np.square(sde.diffusion(at))) - 1.0),
            "stiffness": float(learned @ truth / (truth @ truth) - 1.0),
            "seconds": time.process_time() - begun,
        }
        if settings:
            results[method]["exposure"] = float(sde.model_.observed.exposure)
    return results


def stiffness(name, x, dt):
    """What the motion itself says: least squares to increments of the state, one factor on the true drift."""
    if name == "ou":
        moved = (x * np.expm1(-5.0 * dt))[:-1]
    else:
        # f Δt + (f f' + f''/2) Δt²/2
        drift, slope, bend = 4.0 * (x - x**3), 4.0 * (1 - 3 * x**2), -24.0 * x
        moved = (dt * drift + dt**2 / 2 * (drift * slope + bend / 2))[:-1]
    return float(moved @ np.diff(x) / (moved @ moved) - 1.0)


def missing(case, seed):
    import onepath
    from onepath.compare.processes import PROCESSES

    process = PROCESSES[case[0]]
    count = TRANSITIONS["missing"]
    x = process.simulate(count, random_state=8003 + seed)[0]
    rng = np.random.default_rng([8003, seed])
    size = 0.5 * np.sqrt(np.mean(np.square(np.diff(x, axis=0)), axis=0))
    z = x + size * rng.standard_normal(x.shape)
    gone = rng.uniform(size=len(x)) < 0.2
    holes = z.copy()
    holes[gone, 1] = np.nan
    at = x[::10]
    results = {}
    for method, data in {"missing": holes, "as many whole rows": z[: int((~gone).sum())]}.items():
        begun = time.process_time()
        sde = onepath.SDE(measurement="learn", progress=False).fit(data, dt=process.dt)
        pairs = (sde.diffusion(at), process.diffusion(at))
        learned, truth = (sigma @ np.swapaxes(sigma, 1, 2) for sigma in pairs)
        drift = process.drift(at)
        results[method] = {
            "drift": float(np.linalg.norm(sde.drift(at) - drift) / np.linalg.norm(drift)),
            "diffusion": float(np.linalg.norm(learned - truth) / np.linalg.norm(truth)),
            "noise": float(np.max(np.abs(sde.measurement_.deviation / size - 1.0))),
            "seconds": time.process_time() - begun,
        }
    return results


def long(case, seed):
    """An OU process read with the noise of an increment: seconds of the processor and memory, by how many rows."""
    import onepath

    count, rng, left = case[0], np.random.default_rng([8004, seed]), np.exp(-0.01)
    x = lfilter([1.0], [1.0, -left], np.sqrt(1 - left**2) * rng.standard_normal(count))
    z = x + np.std(np.diff(x)) * rng.standard_normal(count)
    results = {}
    for method, rows, settings in (("exact", x, {}), ("filtered", z, {"measurement": "learn"})):
        begun = time.process_time()
        sde = onepath.SDE(progress=False, **settings).fit(rows, dt=0.01)
        results[method] = {
            "seconds": time.process_time() - begun,
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "diffusion": float(np.mean(np.square(sde.diffusion([-1.0, 0.0, 1.0])))) / 2.0 - 1.0,
        }
    return results


def coarse(case, seed):
    """An OU process whose standard deviation is 1, read once in a relaxation time with half of that as noise."""
    import onepath

    rng, left = np.random.default_rng([8005, seed]), np.exp(-1.0)
    x = lfilter([1.0], [1.0, -left], np.sqrt(1 - left**2) * rng.standard_normal(case[0]))
    sde = onepath.SDE(measurement="learn", progress=False).fit(x + 0.5 * rng.standard_normal(case[0]), dt=1.0)
    noise, (lower, upper) = sde.measurement_, sde.diffusion_band([0.0])
    return {
        "filtered": {
            "noise": float(noise.deviation[0]),
            "noise held": float(noise.lower[0] <= 0.5 <= noise.upper[0]),
            "noise width": float(noise.upper[0] - noise.lower[0]),
            "diffusion": float(sde.diffusion([0.0])[0] / np.sqrt(2.0)),
            "diffusion held": float(lower[0] <= np.sqrt(2.0) <= upper[0]),
            "said": float("hardly told apart" in sde.summary()),
        }
    }


KINDS = {
    "velocity": (
        velocity,
        [(name, dt, noise) for name in ("double well", "place") for dt in (0.02, 0.1) for noise in (0.0, 0.1)],
    ),
    "blur": (blur, [("ou", 0.02), ("double well", 0.02)]),
    "missing": (missing, [("spiral",)]),
    "coarse": (coarse, [(2000,)]),
    "long": (long, [(10_000,), (100_000,), (1_000_000,)]),
}


def run(task):
    """One case and seed: {key: scores of each method}."""
    kind, case, seed = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = KINDS[kind][0](case, seed)
        except Exception as error:
            found = {"error": {"said": f"{type(error).__name__}: {error}"}}
    return {_key(kind, case, seed): found}


def _key(kind, case, seed):
    return "/".join([kind, " ".join(map(str, case)), str(seed)])


def table(results):
    """Medians over seeds, of coverages means."""
    lines = []
    for group in dict.fromkeys(key.rsplit("/", 1)[0] for key in results):
        cells = [value for key, value in results.items() if key.rsplit("/", 1)[0] == group]
        for method in dict.fromkeys(method for cell in cells for method in cell if method != "error"):
            found = [cell[method] for cell in cells if method in cell]
            parts = [
                f"{part} {(np.mean if 'coverage' in part else np.median)([each[part] for each in found]):.3f}"
                for part in found[0]
            ]
            lines.append(f"{group:32}{method:20}{len(found):>3}  {', '.join(parts)}")
        failed = [cell["error"]["said"] for cell in cells if "error" in cell]
        lines += [f"{group:32}failed {len(failed)} times: {failed[0]}"] if failed else []
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/hidden-kinds.json"))
    options = parser.parse_args()
    results = kept(options.output)
    tasks = [
        (kind, case, seed)
        for seed in range(options.first, options.first + options.seeds)
        for kind in options.kinds.split(",")
        for case in KINDS[kind][1]
        if _key(kind, case, seed) not in results
    ]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
