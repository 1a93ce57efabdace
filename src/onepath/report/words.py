"""What a report says in words and tables, all of it with units and bands."""

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

import onepath.findings as findings
from onepath.equation import written
from onepath.kernels import parameter_names
from onepath.plots.style import per_time
from onepath.runtime import engine

Array = npt.NDArray[np.float64]

MUCH = 0.1
"""Share of an increment's mean square in λ from which the diffusion is not the whole story."""

NINETY = 1.6449
"""Standard deviations from the middle to the ends of a central 90 % interval."""

VERSIONED = ("onepath", "jax", "equinox", "tinygp", "numpy", "scipy", "matplotlib")


class Rows(NamedTuple):
    """A table: a heading for every column, if it has any, and rows of text."""

    head: tuple[str, ...]
    body: Sequence[tuple[str, ...]]


def _steps(sde: Any) -> str:
    dt, unit = sde.transitions_.dt, sde.trajectory_.times
    shortest, middle, longest = np.quantile(dt, [0.0, 0.5, 1.0])
    if longest - shortest <= 1e-6 * middle:
        return f"{middle:.4g} {unit}, always the same"
    return f"{middle:.4g} {unit} in the middle, from {shortest:.4g} to {longest:.4g}"


def data_facts(sde: Any, about: dict[str, Any]) -> Rows:
    """What the data were: span, step, gaps, what was left out."""
    observed = sde.trajectory_
    records, unit = int(observed.record.max()) + 1, sde.trajectory_.times
    span = f"{observed.t[-1] - observed.t[0]:.6g} {unit}" if records == 1 else f"{records} trajectories"
    if about.get("first"):
        span = f"{about['first']} to {about['last']}, {span}"
    rows = [("Source", about["source"])] if about.get("source") else []
    rows += [
        ("State", f"{', '.join(observed.names)} ({observed.dimension} dimension{'s' * (observed.dimension > 1)})"),
        ("Rows", f"{len(observed.t)}" + (f" in {records} trajectories" if records > 1 else "")),
        ("Span", span),
        ("Transitions used", str(observed.transitions)),
        ("Step", _steps(sde)),
        ("Missing rows", f"{observed.missing}; no transition bridges one" if observed.missing else "none"),
        ("Recording gaps", f"{observed.gaps}, left out" if observed.gaps else "none"),
    ]
    for i, name in enumerate(observed.names):
        column = sde.transitions_.x[:, i]
        rows.append((f"Range of {name}", f"{column.min():.4g} to {column.max():.4g}, mean {column.mean():.4g}"))
    rows += [("Read as", note) for note in about.get("notes", ())]
    return Rows((), rows)


def equations(sde: Any) -> list[str]:
    """Drift and diffusion as polynomials, for each dimension where that is nearly all of them."""
    lines = []
    for side in ("drift", "diffusion"):
        shown, polynomials = findings.equations(sde, side)
        for name, polynomial in zip(sde.trajectory_.names, polynomials, strict=True):
            if findings.is_clear(polynomial):
                lines.append(f"{side} of {name} = {written(polynomial, shown)}   {per_time(sde, side == 'diffusion')}")
    return lines


def values_table(sde: Any) -> Rows:
    """Drift and diffusion with 90 % bands along each coordinate, the others at their median."""
    head = ("at", f"drift, {per_time(sde)}", "90 % band", f"diffusion, {per_time(sde, root=True)}", "90 % band")
    body = []
    for name, at, (f, f_low, f_high), (s, s_low, s_high) in findings.values(sde):
        cells = (f"{f:.3g}", f"{f_low:.3g} to {f_high:.3g}", f"{s:.3g}", f"{s_low:.3g} to {s_high:.3g}")
        body.append((f"{name} = {at:.4g}", *cells))
    return Rows(head, body)


@engine
def _learned_names(posterior: Any) -> tuple[str, ...]:
    graph = jax.tree.map(jnp.asarray, posterior.graph)
    return parameter_names(graph.parameters, posterior.which)


def consequences_table(sde: Any) -> Rows:
    """Fixed points with their slopes and passages between them, or modes; medians and bands over draws."""
    found, per, times = sde.consequences(), per_time(sde), sde.trajectory_.times
    body: list[tuple[str, ...]] = []

    def add(what: str, band: Any, share: str = "") -> None:
        body.append((what, f"{band.median:.4g}", f"{band.lower:.4g} to {band.upper:.4g}", share))

    for point in found.fixed_points:
        kind = "Stable" if point.stable else "Unstable"
        add(f"{kind} point of {sde.trajectory_.names[0]}", point.position, f"{point.share:.0%}")
        add(f"Slope of the drift there, {per}", point.slope)
    for passage in found.passages:
        add(f"Mean time from {passage.start:.4g} to {passage.end:.4g}, {times}", passage.time)
    for number, mode in enumerate(found.modes, 1):
        add(f"Rate of mode {number}, {per}", mode.rate, f"{mode.share:.0%}")
        if np.isfinite(mode.period.median):
            add(f"Period of mode {number}, {times}", mode.period)
    return Rows(("", "median", "90 % band", "in draws"), body)


def _intervals(sde: Any) -> dict[str, tuple[float, float]]:
    """90 % intervals of the learned parameters, from the spread of what the posterior averages over."""
    posterior = sde.posterior_
    mass, logarithms = posterior.for_bands, np.asarray(posterior.members.logarithms)
    if len(mass) == 1:
        return {}
    names = _learned_names(posterior)
    mean = mass @ logarithms
    reach = NINETY * np.sqrt(mass @ np.square(logarithms - mean))
    return dict(zip(names, zip(np.exp(mean - reach), np.exp(mean + reach), strict=True), strict=True))


def caution(sde: Any) -> str | None:
    """What a reader must know before trusting the diffusion."""
    share = findings.unexplained(sde)
    if share < MUCH:
        return None
    return (
        f"{share:.0%} of the mean square of an increment does not grow with the length of a step, and is not in the "
        "diffusion shown: this is what measurement noise, rounding, or steps of unequal activity (such as weekends) do."
    )


def parameters_in_words(sde: Any) -> list[str]:
    """Learned parameters as sentences, in the data's units."""
    said, intervals, names = [], _intervals(sde), sde.trajectory_.names
    for role, kernel in (("drift", sde.drift_kernel), ("diffusion", sde.diffusion_kernel)):
        lengths = [name for name in sde.parameters_ if name.startswith(f"{role}.matern.scale")]
        if kernel is not None or not lengths:
            continue
        found = [(sde.parameters_[name], *intervals.get(name, (np.nan, np.nan))) for name in lengths]
        each = np.median(np.reshape(found, (-1, len(names), 3)), axis=0) * sde.units_.scale[:, None]
        parts = [
            f"{length:.3g} in {name}" + (f" (90 % interval {low:.3g} to {high:.3g})" if low == low else " (held fixed)")
            for name, (length, low, high) in zip(names, each, strict=True)
        ]
        said.append(f"The smooth part of the {role} bends over about {' and '.join(parts)}.")
    said.append(
        f"The law of a step leaves {findings.unexplained(sde):.2g} of an increment's mean square unexplained (λ)."
    )
    if sde.constant_noise_ is not None:
        said.append(
            f"The diffusion is the same everywhere with a probability of {findings.probability(sde.constant_noise_)}. "
            "Its estimate makes use of that; its band, which must also hold where that is wrong, does not."
        )
    if intervals:
        members = np.count_nonzero(sde.posterior_.for_bands)
        said.append(f"Bands average over {members} sets of parameters, weighted by how probable the data make them.")
    else:
        said.append("The parameters were held fixed; bands do not include what is not known about them.")
    return said


def parameter_table(sde: Any) -> Rows:
    """Every parameter as the model has it, with the spread of its posterior where that is known."""
    spread = {name: f"{low:.3g} to {high:.3g}" for name, (low, high) in _intervals(sde).items()}
    body = [(name, f"{value:.4g}", spread.get(name, "held fixed")) for name, value in sde.parameters_.items()]
    return Rows(("parameter", "value", "90 % interval"), body)


def model_facts(sde: Any) -> Rows:
    """Which model, how it was completed, and how well."""
    rows = [
        ("Equation", "dX = f(X) dt + σ(X) dW"),
        ("Diffusion matrix", f"{sde.graph_.structure}, {sde.link} link"),
        ("Law of a step", findings.law(sde)),
        ("Completion", f"{sde.outcome_}, by {sde.solver}; J = {sde.loss_:.6g}"),
        ("Log evidence", f"{sde.evidence_:.6g}, by Laplace's approximation"),
    ]
    if sde.learning_ is not None:
        rows.append(("Learning", f"by {sde.learn}: {sde.learning_.outcome} ({sde.learning_.evaluations} evaluations)"))
    else:
        rows.append(("Learning", "none: kernels used as given"))
    return Rows((), rows)


def origin(about: dict[str, Any]) -> Rows:
    """The exact command and the versions that made this."""
    rows = [("Command", about["command"])] if about.get("command") else []
    versions = []
    for name in VERSIONED:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    rows.append(("Versions", ", ".join([*versions, f"Python {platform.python_version()}"])))
    rows.append(("Platform", f"{platform.system()} {platform.machine()}"))
    return Rows((), rows)
