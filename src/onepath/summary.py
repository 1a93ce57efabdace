"""A fit in words and numbers."""

from typing import Any

import numpy as np


def summarise(sde: Any) -> str:
    """What was observed, what was learned, and how it ended."""
    return "\n".join([*_data(sde), *_model(sde), *_table(sde)])


def _data(sde: Any) -> list[str]:
    trajectory, transitions = sde.trajectory_, sde.transitions_
    unit = f" {trajectory.unit}" if trajectory.unit else ""
    shortest, middle, longest = np.quantile(transitions.dt, [0.0, 0.5, 1.0])
    regular = longest - shortest <= 1e-6 * middle
    step = f"{middle:.4g}{unit}" if regular else f"{middle:.4g}{unit} (from {shortest:.4g} to {longest:.4g})"
    records = int(trajectory.record.max()) + 1
    lines = [
        f"Data       {', '.join(trajectory.names)}: {len(trajectory.t)} rows"
        + (f" in {records} records" if records > 1 else "")
        + f", {len(transitions.dt)} transitions, step {step}"
    ]
    if trajectory.missing or trajectory.gaps:
        lines.append(
            f"           left out: {trajectory.missing} rows with missing values, {trajectory.gaps} recording gaps"
        )
    return lines


def _model(sde: Any) -> list[str]:
    lines = [
        f"Model      dX = f(X) dt + σ(X) dW, {sde.noise} σ, {sde.link} link, {sde.transition} law",
        f"Completion {sde.outcome_}, J = {sde.loss_:.6g}, {sde.seconds_:.2g} s",
    ]
    width = max(map(len, sde.parameters_))
    return lines + [f"           {name:<{width}}  {value:.4g}" for name, value in sde.parameters_.items()]


def _table(sde: Any) -> list[str]:
    """Drift and diffusion with 90 % bands along each coordinate, the others at their median."""
    x, d = sde.transitions_.x, sde.n_features_in_
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    per = f" / {sde.trajectory_.unit}" if sde.trajectory_.unit else ""
    lines = []
    for i, name in enumerate(sde.trajectory_.names):
        points = np.tile(np.median(x, axis=0), (len(quantiles), 1))
        points[:, i] = np.quantile(x[:, i], quantiles)
        lines.append(f"{name:>12}  {'drift' + per:>12}  {'90 % band':>25}  {'diffusion':>12}  {'90 % band':>25}")
        drift = [np.reshape(part, (-1, d))[:, i] for part in (sde.drift(points), *sde.drift_band(points))]
        diffusion = [
            np.reshape(part, (-1, d, d))[:, i, i] for part in (sde.diffusion(points), *sde.diffusion_band(points))
        ]
        for k in range(len(quantiles)):
            f, f_low, f_high = (part[k] for part in drift)
            s, s_low, s_high = (part[k] for part in diffusion)
            f_band, s_band = f"[{f_low:.4g}, {f_high:.4g}]", f"[{s_low:.4g}, {s_high:.4g}]"
            lines.append(f"{points[k, i]:>12.4g}  {f:>12.4g}  {f_band:>25}  {s:>12.4g}  {s_band:>25}")
    return lines
