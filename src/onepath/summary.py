"""A fit in words and numbers."""

from typing import Any

import numpy as np

import onepath.findings as findings
from onepath.equation import written


def summarise(sde: Any) -> str:
    """What was observed, what was learned, how it ended, what follows, and whether the model fits."""
    learned = [*_data(sde), *_model(sde), *_equations(sde), *_smoothness(sde), *_table(sde)]
    return "\n".join([*learned, *_follows(sde), f"Verdict     {sde.diagnose().verdict}"])


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
    lines = [
        f"Model       dX = f(X) dt + σ(X) dW, {sde.graph_.structure} σ, {sde.link} link",
        f"Law         {findings.law(sde)}",
        f"Completion  {sde.outcome_}; J = {sde.loss_:.6g}, log evidence {sde.evidence_:.6g}; {sde.seconds_:.2g} s",
    ]
    if sde.learning_ is not None:
        found = sde.learning_
        lines.append(f"Learning    by {sde.learn}: {found.outcome} ({found.evaluations} evaluations)")
    unexplained = f"λ, what the {sde.transition_} law leaves unexplained"
    lines.append(f"Noise       {unexplained}: {findings.unexplained(sde):.2g} of an increment's mean square")
    if sde.constant_noise_ is not None:
        probability = findings.probability(sde.constant_noise_)
        lines.append(f"            σ is the same everywhere with probability {probability}")
    return lines


def _equations(sde: Any) -> list[str]:
    """The drift as a polynomial, for each dimension where that is nearly all of it."""
    lines, (shown, polynomials) = [], findings.equations(sde, "drift")
    for name, polynomial in zip(sde.trajectory_.names, polynomials, strict=True):
        which = f" of {name}" if sde.n_features_in_ > 1 else ""
        if findings.is_clear(polynomial):
            lines.append(f"Equation    drift{which} = {written(polynomial, shown)}{_per(sde)}")
        else:
            share = max(polynomial.explained, 0.0)
            lines.append(f"Equation    none: the best cubic polynomial explains {share:.0%} of the drift{which}")
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


def _follows(sde: Any) -> list[str]:
    """Fixed points and passages, or modes."""
    first, *others = (line.strip() for line in str(sde.consequences()).splitlines())
    return [f"Follows     {first}", *(f"            {line}" for line in others)]


def _table(sde: Any) -> list[str]:
    """Drift and diffusion with 90 % bands along each coordinate, the others at their median."""
    lines: list[str] = []
    headed = ""
    for name, at, (f, f_low, f_high), (s, s_low, s_high) in findings.values(sde):
        if name != headed:
            lines.append(f"{name:>12}  {'drift':>12}  {'90 % band':>23}  {'diffusion':>12}  {'90 % band':>23}")
            headed = name
        f_band, s_band = f"[{f_low:.4g}, {f_high:.4g}]", f"[{s_low:.4g}, {s_high:.4g}]"
        lines.append(f"{at:>12.4g}  {f:>12.4g}  {f_band:>23}  {s:>12.4g}  {s_band:>23}")
    per = _per(sde)
    if per:
        lines.append(f"            drift{per}, diffusion{_per(sde, '^½')}")
    return lines
