"""A fit in words and numbers."""

from typing import Any

import numpy as np

from onepath.equation import fit_polynomial, written

EQUATION_POINTS, EQUATION_DRAWS = 200, 400
DOMINATES, HIDDEN = 0.5, 1.0
"""A polynomial is called the drift's equation if it explains this share of its mean square at least, and leaves no more
than this many posterior standard deviations: then the data know of nothing else."""


def summarise(sde: Any) -> str:
    """What was observed, what was learned, and how it ended."""
    return "\n".join([*_data(sde), *_model(sde), *_equations(sde), *_smoothness(sde), *_table(sde)])


def _per(sde: Any, power: str = "") -> str:
    return f" per {sde.trajectory_.unit}{power}" if sde.trajectory_.unit else ""


def _data(sde: Any) -> list[str]:
    trajectory, transitions = sde.trajectory_, sde.transitions_
    unit = f" {trajectory.unit}" if trajectory.unit else ""
    shortest, middle, longest = np.quantile(transitions.dt, [0.0, 0.5, 1.0])
    regular = longest - shortest <= 1e-6 * middle
    step = f"{middle:.4g}{unit}" if regular else f"{middle:.4g}{unit} (from {shortest:.4g} to {longest:.4g})"
    records = int(trajectory.record.max()) + 1
    lines = [
        f"Data        {', '.join(trajectory.names)}: {len(trajectory.t)} rows"
        + (f" in {records} records" if records > 1 else "")
        + f", {len(transitions.dt)} transitions, step {step}"
    ]
    if trajectory.missing or trajectory.gaps:
        lines.append(
            f"            left out: {trajectory.missing} rows with missing values, {trajectory.gaps} recording gaps"
        )
    return lines


def _model(sde: Any) -> list[str]:
    increments = np.mean(np.square(sde.transitions_.y), axis=0)
    share = np.max(sde.noise_ / increments)
    lines = [
        f"Model       dX = f(X) dt + σ(X) dW, {sde.noise} σ, {sde.link} link",
        f"Law         {_law(sde)}",
        f"Completion  {sde.outcome_}; J = {sde.loss_:.6g}, log evidence {sde.evidence_:.6g}; {sde.seconds_:.2g} s",
    ]
    if sde.learning_ is not None:
        found = sde.learning_
        lines.append(f"Learning    by {sde.learn}: {found.outcome} ({found.evaluations} evaluations)")
    unexplained = f"λ, what the {sde.transition_} law leaves unexplained"
    lines.append(f"Noise       {unexplained}: {share:.2g} of an increment's mean square")
    return lines


def _law(sde: Any) -> str:
    """Which transition law, and why."""
    if sde.stiffness_ is None:
        return f"{sde.transition_}, as asked"
    change, shift = sde.stiffness_
    saw = f"|f'| Δt = {change:.2g}, so Euler's law shifts an answer by {shift:.2g} of its standard errors"
    return f"{sde.transition_}: {saw}"


def _equations(sde: Any) -> list[str]:
    """The drift as a polynomial, for each dimension where that is nearly all of it."""
    x, d, names = sde.transitions_.x, sde.n_features_in_, sde.trajectory_.names
    points = x[np.linspace(0, len(x) - 1, min(EQUATION_POINTS, len(x))).astype(int)]
    mean = np.reshape(sde.drift(points), (-1, d))
    draws = np.reshape(sde.functions(points, EQUATION_DRAWS, random_state=0)[0], (EQUATION_DRAWS, -1, d))
    lines = []
    for i, name in enumerate(names):
        polynomial = fit_polynomial(points, mean[:, i], draws[:, :, i])
        which = f" of {name}" if d > 1 else ""
        if polynomial.explained >= DOMINATES and polynomial.misfit <= HIDDEN:
            lines.append(f"Equation    drift{which} = {written(polynomial, names)}{_per(sde)}")
        else:
            lines.append(
                f"Equation    the drift{which} is no cubic polynomial: one explains {polynomial.explained:.0%} of it"
            )
    return lines


def _smoothness(sde: Any) -> list[str]:
    """Length scales of the default priors' smooth parts, in the data's units."""
    scales = sde.units_.scale
    lines = []
    for role, kernel in (("drift", sde.drift_kernel), ("diffusion", sde.diffusion_kernel)):
        if kernel is not None:
            continue
        values = [value for name, value in sde.parameters_.items() if name.startswith(f"{role}.matern.scale")]
        lengths = np.reshape(values, (-1, len(scales))) * scales
        each = ", ".join(f"{np.median(lengths[:, i]):.3g} in {name}" for i, name in enumerate(sde.trajectory_.names))
        lines.append(f"Smoothness  the {role} bends over about {each}")
    return lines


def _table(sde: Any) -> list[str]:
    """Drift and diffusion with 90 % bands along each coordinate, the others at their median."""
    x, d = sde.transitions_.x, sde.n_features_in_
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    lines = []
    for i, name in enumerate(sde.trajectory_.names):
        points = np.tile(np.median(x, axis=0), (len(quantiles), 1))
        points[:, i] = np.quantile(x[:, i], quantiles)
        lines.append(f"{name:>12}  {'drift':>12}  {'90 % band':>23}  {'diffusion':>12}  {'90 % band':>23}")
        drift = [np.reshape(part, (-1, d))[:, i] for part in (sde.drift(points), *sde.drift_band(points))]
        diffusion = [
            np.reshape(part, (-1, d, d))[:, i, i] for part in (sde.diffusion(points), *sde.diffusion_band(points))
        ]
        for k in range(len(quantiles)):
            f, f_low, f_high = (part[k] for part in drift)
            s, s_low, s_high = (part[k] for part in diffusion)
            f_band, s_band = f"[{f_low:.4g}, {f_high:.4g}]", f"[{s_low:.4g}, {s_high:.4g}]"
            lines.append(f"{points[k, i]:>12.4g}  {f:>12.4g}  {f_band:>23}  {s:>12.4g}  {s_band:>23}")
    per = _per(sde)
    if per:
        lines.append(f"            drift{per}, diffusion{_per(sde, '^½')}")
    return lines
