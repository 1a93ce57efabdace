"""Equations: are simple laws found as simple laws, what do they sharpen, and what do they cost where there are none?

    python benchmarks/equations.py --seeds 20 -o benchmarks/results/equations.json
    python benchmarks/equations.py --transitions 500 --seeds 20 -o benchmarks/results/equations-500.json

Ten systems whose drift and squared noise are polynomials, six of which something is none (`equation_systems.py`), each
simulated with ten substeps a step. One fit with equations="auto"; its process alone is what equations="off" gives, to
the last digit, and is judged beside it. The yardstick is maximum likelihood that is told which terms there are: least
squares weighted by a squared noise that is told its terms too.

Errors are relative, root mean squares over the data, of the whole drift and of σ. Coverage is that of 90 % bands there.
"Beyond": the drift at up to one range of the data outside of them, mean square of errors and coverage.
Nats: how much more probable equations make a step of another path, by the predictive density.
Coefficients: of functions whose most probable equation is the true one, how many 90 % intervals hold the truth.
Finished cells are kept in the output file and not computed again.
"""

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from equation_systems import OTHER, POLYNOMIAL, SYSTEMS
from resumable import finish, kept

from onepath.data.transitions import Transitions

FIRST_SEED = 20_000
"""Priors were chosen on seeds from 7000 on."""

FUNCTIONS = ("drift", "noise")
NINETY = 1.6448536269514722
LOOKED_AT, BEYOND = 500, 200
OTHER_PATH, MOST_STEPS = 60_000, 1000
"""Seeds of paths that are foretold, and their steps at most."""

TIMED = 2
"""Seeds of each system that are fitted with equations="off" too, for the time that this takes."""


def told(system, path, dt):
    """Coefficients of the true terms of each drift: weighted least squares, the weights from those of the noise."""
    x, y = path[:-1], np.diff(path, axis=0)
    found = []
    for i, (terms, noise) in enumerate(zip(system.drift, system.noise, strict=True)):
        design, of_noise = _powers(x, terms), _powers(x, noise)
        weights = np.ones(len(x))
        for _ in range(8):
            root = np.sqrt(weights)[:, None]
            coefficients = np.linalg.lstsq(design * root, y[:, i] / dt * root[:, 0], rcond=None)[0]
            squares = np.square(y[:, i] - design @ coefficients * dt) / dt
            variance = of_noise @ np.linalg.lstsq(of_noise * weights[:, None], squares * weights, rcond=None)[0]
            weights = 1.0 / np.maximum(variance, 1e-3 * squares.mean())
        found.append(coefficients)
    return lambda at: np.stack([_powers(at, t) @ c for t, c in zip(system.drift, found, strict=True)], axis=1)


def _powers(x, terms):
    return np.stack([np.prod(x ** np.asarray(term), axis=1) for term in terms], axis=1)


def truth_of(function, terms, points):
    """The true coefficients of terms, from the function itself."""
    return np.linalg.lstsq(_powers(points, terms), function(points), rcond=None)[0]


def relative(estimate, truth):
    return float(np.sqrt(np.mean(np.square(estimate - truth)) / np.mean(np.square(truth))))


def outside(path, rng):
    """Points up to one range of the data beyond them."""
    low, high = path.min(axis=0), path.max(axis=0)
    width, found = high - low, np.zeros((0, path.shape[1]))
    while len(found) < BEYOND:
        more = rng.uniform(low - width, high + width, (4 * BEYOND, path.shape[1]))
        found = np.concatenate([found, more[np.any((more < low) | (more > high), axis=1)]])
    return found[:BEYOND]


def scores(model, process, path, beyond, test):
    """Of one model: errors, coverage, what it says beyond the data, and how probable it makes steps of another path."""
    x = path[np.linspace(0, len(path) - 2, LOOKED_AT).astype(int)]
    sigma = np.abs(np.diagonal(process.diffusion(x), axis1=1, axis2=2))
    lower, upper = model.drift_band(x)
    s_lower, s_upper = (np.diagonal(part, axis1=1, axis2=2) for part in model.diffusion_band(x))
    out_lower, out_upper = model.drift_band(beyond)
    f, out = process.drift(x), process.drift(beyond)
    scale = np.mean(np.square(f), axis=0)
    return {
        "drift": relative(model.drift(x), f),
        "diffusion": relative(np.diagonal(model.diffusion(x), axis1=1, axis2=2), sigma),
        "drift_coverage": float(np.mean((lower <= f) & (f <= upper))),
        "diffusion_coverage": float(np.mean((s_lower <= sigma) & (sigma <= s_upper))),
        "beyond": float(np.mean(np.square(model.drift(beyond) - out) / scale)),
        "score": model.score(test),
        "beyond_coverage": float(np.mean((out_lower <= out) & (out <= out_upper))),
    }


def name_of(term, names):
    return " ".join(n if p == 1 else f"{n}^{p}" for n, p in zip(names, term, strict=True) if p) or "1"


def judged(candidates, terms, function, names, points):
    """Of one function: how probable equations are, and whether the most probable one is right, if there is one."""
    best = candidates.equations[0] if candidates.equations else None
    said = {"simple": 1.0 - candidates.none, "largest": best.probability if best else 0.0}
    if terms is None:
        return said
    wanted = {name_of(term, names) for term in terms}
    right = next((one for one in candidates.equations if set(one.coefficients) == wanted), None)
    said |= {"true": right.probability if right else 0.0, "first": float(best is not None and right is best)}
    said["won"] = float(right is not None and candidates.best is right)
    if right is best and right is not None:
        values = truth_of(function, terms, points)
        each = [
            abs(right.coefficients[name_of(t, names)] - v) <= NINETY * right.errors[name_of(t, names)]
            for t, v in zip(terms, values, strict=True)
        ]
        said |= {"coefficients": len(each), "held": int(sum(each))}
    return said


def run(task):
    import onepath

    name, seeds, transitions = task
    system = SYSTEMS[name]
    process, results = system.process, {}
    onepath.SDE(progress=False).fit(process.simulate(transitions, random_state=1)[0], dt=process.dt)
    for seed in seeds:
        path = process.simulate(transitions, random_state=FIRST_SEED + seed)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun = time.process_time()
            sde = onepath.SDE(progress=False).fit(path, dt=process.dt)
            found = {"seconds": time.process_time() - begun}
            if seed < TIMED:
                begun = time.process_time()
                onepath.SDE(progress=False, equations="off").fit(path, dt=process.dt)
                found["seconds_off"] = time.process_time() - begun
        model, rng = sde.model_, np.random.default_rng(seed)
        beyond, points = outside(path, rng), path[rng.integers(0, len(path), 200)]
        plain = replace(model, posterior=replace(model.posterior, formulas=None))
        other = process.simulate(min(transitions, MOST_STEPS), random_state=OTHER_PATH + seed)[0]
        test = Transitions(other[:-1], np.diff(other, axis=0), np.full(len(other) - 1, process.dt))
        found["auto"], found["off"] = (scores(each, process, path, beyond, test) for each in (model, plain))
        if system.drift is not None and system.noise is not None:
            x = path[np.linspace(0, len(path) - 2, LOOKED_AT).astype(int)]
            found["told"] = relative(told(system, path, process.dt)(x), process.drift(x))
        equations = sde.equations_
        if equations is not None:
            found["functions"] = {
                "drift": [
                    judged(
                        one,
                        system.drift and system.drift[i],
                        lambda at, i=i: process.drift(at)[:, i],
                        model.names,
                        points,
                    )
                    for i, one in enumerate(equations.drift)
                ],
                "noise": [
                    judged(
                        one,
                        system.noise and system.noise[i],
                        lambda at, i=i: np.square(process.diffusion(at)[:, i, i]),
                        model.names,
                        points,
                    )
                    for i, one in enumerate(equations.noise)
                ],
            }
        results[f"{name}/{transitions}/{seed}"] = found
    return results


def median(rows, *path):
    values = []
    for row in rows:
        for key in path:
            row = row.get(key, {}) if isinstance(row, dict) else {}
        if not isinstance(row, dict):
            values.append(row)
    return float(np.median(values)) if values else float("nan")


def ratio(rows, key):
    return float(np.median([row["auto"][key] / row["off"][key] for row in rows]))


def every(rows, what, key):
    each = [one[key] for row in rows for one in row.get("functions", {}).get(what, []) if key in one]
    return each or [float("nan")]


def _line(name, rows):
    held = sum(sum(every(rows, what, "held")) for what in FUNCTIONS if not np.isnan(every(rows, what, "held")[0]))
    many = sum(
        sum(every(rows, what, "coefficients"))
        for what in FUNCTIONS
        if not np.isnan(every(rows, what, "coefficients")[0])
    )
    cells = [
        f"{name:<28}{len(rows):>4}",
        f"{median(rows, 'off', 'drift'):>7.3f}{median(rows, 'auto', 'drift'):>7.3f}{median(rows, 'told'):>7.3f}",
        f"{ratio(rows, 'drift'):>7.2f}",
        f"{median(rows, 'off', 'diffusion'):>8.4f}{median(rows, 'auto', 'diffusion'):>8.4f}",
        f"{ratio(rows, 'diffusion'):>6.2f}",
        f"{median(rows, 'off', 'drift_coverage'):>6.0%}{median(rows, 'auto', 'drift_coverage'):>6.0%}",
        f"{median(rows, 'off', 'diffusion_coverage'):>6.0%}{median(rows, 'auto', 'diffusion_coverage'):>6.0%}",
        f"{ratio(rows, 'beyond'):>9.2g}",
        f"{median(rows, 'off', 'beyond_coverage'):>6.0%}{median(rows, 'auto', 'beyond_coverage'):>6.0%}",
        f"{np.mean(every(rows, 'drift', 'first')):>6.0%}{np.mean(every(rows, 'noise', 'first')):>6.0%}",
        f"{np.mean(np.asarray(every(rows, 'drift', 'largest')) > 0.9):>6.0%}",
        f"{np.mean(np.asarray(every(rows, 'noise', 'largest')) > 0.9):>6.0%}",
        f"{held / many if many else float('nan'):>6.0%}",
    ]
    gains = [row["auto"]["score"] - row["off"]["score"] for row in rows if "score" in row["auto"]]
    cells.append(f"{np.median(gains) if gains else float('nan'):>9.4f}")
    return "".join(cells)


HEAD = (
    f"{'':<28}{'n':>4}{'drift error':>21}{'ratio':>7}{'σ error':>16}{'ratio':>6}{'drift band':>12}{'σ band':>12}"
    f"{'beyond':>9}{'its band':>12}{'true 1st':>12}{'P > .9':>12}{'coef.':>6}{'nats':>9}\n"
    f"{'':<28}{'':>4}{'off':>7}{'auto':>7}{'told':>7}{'':>7}{'off':>8}{'auto':>8}{'':>6}{'off':>6}{'auto':>6}"
    f"{'off':>6}{'auto':>6}{'ratio':>9}{'off':>6}{'auto':>6}{'f':>6}{'σ²':>6}{'f':>6}{'σ²':>6}{'held':>6}"
)


def table(results):
    """A line for each system, and what all of a kind come to."""
    lines = []
    for transitions in sorted({int(key.split("/")[1]) for key in results}):
        lines += [f"{transitions} transitions", HEAD]
        for systems in (POLYNOMIAL, OTHER):
            found = []
            for system in systems:
                name = system.process.name
                rows = [row for key, row in sorted(results.items()) if key.startswith(f"{name}/{transitions}/")]
                if rows:
                    lines.append(_line(name, rows))
                    found.append(rows)
            if not found:
                continue
            over = [median(rows, "auto", "drift") / median(rows, "told") for rows in found]
            before = [median(rows, "off", "drift") / median(rows, "told") for rows in found]
            lines.append(
                f"median over systems: drift error over told {np.nanmedian(over):.2f}, off {np.nanmedian(before):.2f}; "
                f"ratio of drift errors {np.median([ratio(rows, 'drift') for rows in found]):.2f}, of σ "
                f"{np.median([ratio(rows, 'diffusion') for rows in found]):.2f}"
                if systems is POLYNOMIAL
                else f"median over systems: ratio of drift errors "
                f"{np.median([ratio(rows, 'drift') for rows in found]):.2f}, of σ "
                f"{np.median([ratio(rows, 'diffusion') for rows in found]):.2f}"
            )
        timed = [row for row in results.values() if "seconds_off" in row]
        if timed:
            slower = np.median([row["seconds"] / row["seconds_off"] for row in timed])
            lines.append(f"time with equations over that without, median of {len(timed)}: {slower:.2f}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--transitions", type=int, default=10_000)
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/equations.json"))
    given = parser.parse_args()
    done = kept(given.output)
    tasks = []
    for name in given.systems:
        left = [seed for seed in range(given.seeds) if f"{name}/{given.transitions}/{seed}" not in done]
        tasks += [(name, left[i : i + 5], given.transitions) for i in range(0, len(left), 5)]
    finish(run, tasks, given.output, given.jobs, table)


if __name__ == "__main__":
    main()
