"""What a fit found, for machines: what `--json` prints and model files keep."""

from typing import Any

from onepath.after.diagnose import diagnose
from onepath.after.disturbed import disturbance_facts
from onepath.model import Model
from onepath.show import equations
from onepath.show.mended import mending_facts
from onepath.show.numbers import curves
from onepath.show.reach import dependence, held
from onepath.show.sentences import readings_facts, weekends, whole_noise


def facts_of(model: Model) -> dict[str, Any]:
    """Numbers in the data's units, with bands."""
    found = diagnose(model)
    observed, (points, drift, noise) = model.trajectory, curves(model)
    if model.dimension == 1:
        drift, noise = (type(curve)(*(part.ravel() for part in curve)) for curve in (drift, noise))
    whole = whole_noise(model) or "Noise is the diffusion σ, the standard deviation of dX per root of time."
    return {
        "names": observed.names,
        "unit": observed.unit,
        "calendar": "business" if observed.clock.business else "all",
        "weekends": weekends(model),
        "rows": observed.rows,
        "transitions": observed.transitions,
        "missing": observed.missing,
        "gaps": observed.gaps,
        "log_evidence": model.evidence,
        "loss": model.loss,
        "outcome": model.outcome,
        "fits": found.fits,
        "verdict": found.verdict,
        "diffusion_within": found.within,
        "mended": mending_facts(model),
        "questions": [question._asdict() for question in found.questions],
        "constant_noise": model.constant_noise,
        "readings": readings_facts(model),
        **disturbance_facts(model),
        "inputs": [{"name": one.name, "kind": one.kind} for one in model.variables],
        "depends": dependence(model),
        "shown_at": held(model),
        "known": {name: one._asdict() for name, one in model.known().items()},
        "equations": equations.found(model),
        "candidates": equations.facts(model),
        "parameters": model.values,
        "points": points,
        "drift": {"mean": drift.mean, "band_90": drift[1:]},
        "diffusion": {"mean": noise.mean, "band_90": noise[1:], "is": whole},
        "sigma": model.diffusion(points),
    }
