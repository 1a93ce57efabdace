"""Inputs, seasons and known parts against the truth, and against oracles that know the form.

    python benchmarks/inputs.py --seeds 20 --jobs 2 -o benchmarks/results/inputs.json

Seasons: three processes with a yearly cycle of the mean, of the noise or of both, 30 years of months, fitted with
season=12, without, and with season="auto"; and three without a cycle, with season="auto". Inputs: an Ornstein–Uhlenbeck
process whose level follows a control and a population whose growth reads temperature, each beside an input that does
nothing, against least squares in the true form; and a trap whose stiffness a class switches. Known parts: a stiffness
against maximum likelihood, and a diffusion beside a known drift. All simulated with twenty substeps a step.

Errors are root mean squares over the data of an estimate less the truth, as a share of the truth's. Seeds below 100 are
for trying; finished cells are kept in the output file and not computed again.
"""

# ruff: noqa: ARG005 (all drifts and diffusions take the same arguments)

import argparse
import traceback
from pathlib import Path

import numpy as np
from resumable import finish, kept

MONTHS, SUBSTEPS, FIRST_SEED = 360, 20, 100

SEASONS = {
    "mean": (lambda x, c, s: -0.3 * (x - 1.5 * c), lambda x, c, s: 0.5 + 0.0 * x),
    "noise": (lambda x, c, s: -0.3 * x, lambda x, c, s: 0.5 * np.exp(0.6 * c) + 0.0 * x),
    "both": (lambda x, c, s: 0.15 * (x - x**3 + 1.5 * c), lambda x, c, s: 0.25 * (1.0 + 0.4 * s) + 0.0 * x),
}
"""Drift and diffusion of a state and of cos and sin of the phase; one of the two may have no season."""

STILL = {
    "ou": (lambda x, c, s: -0.3 * x, lambda x, c, s: 0.5 + 0.0 * x),
    "double_well": (lambda x, c, s: 0.15 * (x - x**3), lambda x, c, s: 0.25 + 0.0 * x),
    "cir": (lambda x, c, s: 0.2 * (1.0 - x), lambda x, c, s: 0.3 * np.sqrt(np.abs(x))),
}


def path(drift, diffusion, steps, dt, rng, start=0.0, inputs=None):
    """Rows (steps + 1,) of dX = f(X, u, t) dt + σ(X, u, t) dW, u (steps + 1, q) held during each step."""
    x, now, h = np.empty(steps + 1), start, dt / SUBSTEPS
    x[0] = start
    driven = None if inputs is None else inputs.tolist()
    for k, noises in enumerate(rng.standard_normal((steps, SUBSTEPS)).tolist()):
        u = None if driven is None else driven[k]
        for s, noise in enumerate(noises):
            t = k * dt + s * h
            now = now + drift(now, u, t) * h + diffusion(now, u, t) * np.sqrt(h) * noise
        x[k + 1] = now
    return x


def share(found, truth):
    return float(np.sqrt(np.mean(np.square(found - truth)) / np.mean(np.square(truth))))


def waves(t):
    return np.cos(2 * np.pi * t / 12), np.sin(2 * np.pi * t / 12)


def season(name, seed):
    """Errors over states and phases with and without a season, verdicts, and what auto finds."""
    from onepath import SDE

    (f, g), rng = {**SEASONS, **STILL}[name], np.random.default_rng(seed)
    start = 1.0 if name == "cir" else 0.0
    x = path(lambda x, _, t: f(x, *waves(t)), lambda x, _, t: g(x, *waves(t)), MONTHS, 1.0, rng, start)
    given = {"dt": 1.0, "unit": "month"}
    auto = SDE(season="auto", progress=False).fit(x, **given).model_.variables
    period = auto[0].period if auto else None
    if name in STILL:
        return {"period": period}
    at, phases = x[:-1], np.mod(np.arange(MONTHS) + 0.5, 12)
    true_f, true_g = f(at, *waves(phases)), g(at, *waves(phases))
    found = {"period": period}
    for label, model in (("with", SDE(season=12, progress=False)), ("without", SDE(progress=False))):
        model.fit(x, **given)
        inputs = {"inputs": phases[:, None]} if label == "with" else {}
        found |= {
            f"drift {label}": share(model.drift(at, **inputs), true_f),
            f"diffusion {label}": share(model.diffusion(at, **inputs), true_g),
            f"clear {label}": model.diagnose().fits,
            f"faults {label}": list(model.diagnose().faults),
        }
    return found


def wandering(steps, rng, keep=0.98, size=0.2):
    u = np.zeros(steps + 1)
    for k, noise in enumerate(rng.standard_normal(steps)):
        u[k + 1] = keep * u[k] + size * noise
    return u


def regression(columns, y, dt, sigma):
    """Weighted least squares of y/dt on columns of the true form."""
    weights = 1.0 / sigma
    return np.linalg.lstsq(columns * weights[:, None], y / dt * weights, rcond=None)[0]


def driven(name, seed):
    """Errors of drift and diffusion against those of an oracle, and how probably each depends on each input."""
    from onepath import SDE
    from onepath.show.reach import reaches

    rng, steps, dt = np.random.default_rng(seed), 5000, 0.05
    u = np.stack([wandering(steps, rng), wandering(steps, rng)], axis=1)
    if name == "level":
        f, g, start = lambda x, u, t: -2.0 * (x - u[0]), lambda x, u, t: 0.5, 0.0
    else:
        f, g, start = lambda x, u, t: x * (1.0 + 0.4 * u[0] - x), lambda x, u, t: 0.3 * x, 1.0
    x = path(f, g, steps, dt, rng, start, u)
    at, v = x[:-1], u[:-1, 0]
    y = np.diff(x)
    if name == "level":
        true_f, true_g, columns, size = -2.0 * (at - v), np.full(steps, 0.5), [at, v, np.ones(steps)], np.ones(steps)
    else:
        true_f, true_g, columns, size = at * (1.0 + 0.4 * v - at), 0.3 * at, [at, at * v, at**2], at
    columns = np.stack(columns, axis=1)
    oracle_f = columns @ regression(columns, y, dt, size)
    oracle_g = size * np.sqrt(np.mean(np.square((y - oracle_f * dt) / size)) / dt)
    model = SDE(progress=False).fit(x, dt=dt, inputs=u)
    some = slice(None, None, 5)
    where = {"inputs": u[:-1][some]}
    found = {
        "drift": share(model.drift(at[some], **where), true_f[some]),
        "diffusion": share(model.diffusion(at[some], **where), true_g[some]),
        "oracle drift": share(oracle_f[some], true_f[some]),
        "oracle diffusion": share(oracle_g[some], true_g[some]),
        "constant": model.constant_noise_,
        "clear": model.diagnose().fits,
    }
    for function in ("drift", "diffusion"):
        each = reaches(model.model_, function)
        found[f"reach {function}"] = [one.length.value / one.span for one in each]
        found[f"depends {function}"] = [one.probability for one in each]
    return found


def trap(_, seed):
    """Stiffnesses of a trap that a class switches, from the drift's slope, and learned as known up to them."""
    from onepath import SDE, Known

    rng, steps, dt = np.random.default_rng(seed), 50_000, 0.1
    stiff = np.arange(steps + 1) // 500 % 2 == 1
    k = np.where(stiff, 4.0, 1.0)
    x = path(lambda x, u, t: -u[0] * x, lambda x, u, t: 0.7, steps, dt, rng, 0.0, k[:, None])
    mode = np.where(stiff, "stiff", "soft")
    free = SDE(progress=False).fit(x, dt=dt, inputs={"mode": mode})
    known = Known(lambda x, u, a, b: -(a + b * u["mode"]) * x, a=2.0, b=1.0, rest=False)
    form = SDE(drift=known, progress=False).fit(x, dt=dt, inputs={"mode": mode}).known_
    found = {}
    for name, on in (("soft", ~stiff), ("stiff", stiff)):
        at = x[:-1][on[:-1]][::25]
        found[name] = float(-np.polyfit(at, free.drift(at, inputs=[name]), 1)[0])
    found |= {"known soft": form["a"].value, "known stiff": form["a"].value + form["b"].value}
    return found


def stiffness(_, seed):
    """A learned stiffness less maximum likelihood's, in its standard errors; and its band's width by them."""
    from onepath import SDE, Known

    rng, n, dt, k = np.random.default_rng(seed), 4000, 0.1, 1.3
    left, x = np.exp(-k * dt), np.zeros(n + 1)
    for i, noise in enumerate(rng.standard_normal(n) * 0.5 * np.sqrt((1 - left**2) / (2 * k))):
        x[i + 1] = left * x[i] + noise
    slope = x[1:] @ x[:-1] / (x[:-1] @ x[:-1])
    error = np.sqrt(np.var(x[1:] - slope * x[:-1]) / (x[:-1] @ x[:-1])) / slope / dt
    found = SDE(drift=Known(lambda x, k: -k * x, k=0.5, rest=False), progress=False).fit(x, dt=dt).known_["k"]
    width = (found.upper - found.lower) / (2 * 1.645 * error)
    return {"off": float((found.value + np.log(slope) / dt) / error), "width": float(width)}


def beside(_, seed):
    """Error of a diffusion with a known drift, of that with an unknown one, and of an oracle's s √x."""
    from onepath import SDE, Known

    rng, n, dt = np.random.default_rng(seed), 2000, 0.05
    x = path(lambda x, _, t: 1.0 - x, lambda x, _, t: 0.4 * np.sqrt(abs(x)), n, dt, rng, 1.0)
    at, truth = x[:-1], 0.4 * np.sqrt(x[:-1])
    known = SDE(drift=Known(lambda x: 1.0 - x, rest=False), progress=False).fit(x, dt=dt)
    form = Known(lambda x, s: s * x**0.5, s=1.0, rest=False)
    oracle = SDE(drift=Known(lambda x: 1.0 - x, rest=False), diffusion=form, progress=False).fit(x, dt=dt)
    models = {"known": known, "unknown": SDE(progress=False).fit(x, dt=dt), "oracle": oracle}
    return {name: share(model.diffusion(at), truth) for name, model in models.items()}


GROUPS = {
    "season": (season, (*SEASONS, *STILL)),
    "inputs": (driven, ("level", "population")),
    "trap": (trap, ("trap",)),
    "stiffness": (stiffness, ("ou",)),
    "beside": (beside, ("cir",)),
}


def run(task):
    """One cell: {key: what was found, or why it failed}."""
    group, name, seed = task
    try:
        found = GROUPS[group][0](name, seed)
    except Exception:
        found = {"error": traceback.format_exc(limit=3)}
    return {f"{group}/{name}/{seed:03d}": found}


def table(results):
    """Medians over seeds, and how often what should be said was said."""
    lines = []
    for group, (_, names) in GROUPS.items():
        for name in names:
            cells = [cell for key, cell in results.items() if key.startswith(f"{group}/{name}/")]
            sound = [cell for cell in cells if "error" not in cell]
            if not sound:
                continue
            lines.append(
                f"{group} {name}: {len(sound)} seeds" + f", {len(cells) - len(sound)} failed" * (sound != cells)
            )
            lines += [f"    {line}" for line in SAID[group](sound)]
    return "\n".join(lines)


def _median(cells, name):
    return float(np.median([cell[name] for cell in cells]))


def _often(answers):
    return f"{np.mean(list(answers)):.0%}"


def said_of_season(cells):
    found = [cell["period"] for cell in cells]
    if "drift with" not in cells[0]:
        return [f"no season found in {_often(period is None for period in found)}"]
    lines = []
    for what in ("drift", "diffusion"):
        pair = [_median(cells, f"{what} {which}") for which in ("with", "without")]
        ratio = float(np.median([cell[f"{what} with"] / cell[f"{what} without"] for cell in cells]))
        lines.append(f"{what}: error {pair[0]:.3f} with a season, {pair[1]:.3f} without; ratio {ratio:.2f}")
    clear = [_often(cell[f"clear {which}"] for cell in cells) for which in ("with", "without")]
    right = _often(period is not None and abs(period - 12) < 0.3 for period in found)
    return [*lines, f"verdict clear in {clear[0]} with, {clear[1]} without; a season of 12 found in {right}"]


def said_of_inputs(cells):
    lines = []
    for what in ("drift", "diffusion"):
        ratio = float(np.median([cell[what] / cell[f"oracle {what}"] for cell in cells]))
        pair = _median(cells, what), _median(cells, f"oracle {what}")
        lines.append(f"{what}: error {pair[0]:.3f}, of an oracle {pair[1]:.3f}; ratio {ratio:.2f}")
        told = [_often(cell[f"depends {what}"][i] >= 0.5 for cell in cells) for i in (0, 1)]
        lines.append(f"{what}: said to depend on the input in {told[0]}, on the other in {told[1]}")
    constant = _often((cell["constant"] or 0.0) > 0.5 for cell in cells)
    return [
        *lines,
        f"noise more likely constant than not in {constant}; verdict clear in {_often(c['clear'] for c in cells)}",
    ]


def said_of_trap(cells):
    lines = []
    for prefix in ("", "known "):
        off = {
            name: [abs(cell[prefix + name] / k - 1) for cell in cells] for name, k in (("soft", 1.0), ("stiff", 4.0))
        }
        lines += [
            f"{prefix}{name}: off by {np.median(each):.1%}, largest {max(each):.1%}" for name, each in off.items()
        ]
    return lines


def said_of_stiffness(cells):
    off = np.abs([cell["off"] for cell in cells])
    width = _median(cells, "width")
    return [f"off maximum likelihood by {np.median(off):.3f} of its error, at most {off.max():.3f}; band {width:.2f}"]


def said_of_beside(cells):
    return [", ".join(f"{name} {_median(cells, name):.3f}" for name in ("known", "unknown", "oracle"))]


SAID = {
    "season": said_of_season,
    "inputs": said_of_inputs,
    "trap": said_of_trap,
    "stiffness": said_of_stiffness,
    "beside": said_of_beside,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/inputs.json"))
    options = parser.parse_args()
    done = kept(options.output)
    tasks = [
        (group, name, seed)
        for seed in range(options.first, options.first + options.seeds)
        for group in options.groups.split(",")
        for name in GROUPS[group][1]
        if f"{group}/{name}/{seed:03d}" not in done
    ]
    finish(run, tasks, options.output, options.jobs, table)


if __name__ == "__main__":
    main()
