"""What a report says in words and tables, all of it with units and bands."""

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import numpy as np

from onepath.after.consequences import Band, consequences
from onepath.data.calendar import written
from onepath.inference.tried import Mending
from onepath.model import Model
from onepath.show import numbers, reach, sentences
from onepath.show.about import About
from onepath.show.report.typeset import banded, number
from onepath.show.sentences import per_time

VERSIONED = ("onepath", "jax", "equinox", "tinygp", "numpy", "scipy", "matplotlib")


CHECKSUM = "SHA-256 of the data"
AS_GIVEN = ("Source", "Read as", "Command", "Versions", "Platform", "Learned on", CHECKSUM)
"""Rows that are names and texts of others, in which no number is written anew."""


class Rows(NamedTuple):
    """A table: a heading for every column, if it has any, and rows of text."""

    head: tuple[str, ...]
    body: Sequence[tuple[str, ...]]


def _steps(model: Model) -> str:
    steps, unit = numbers.steps(model), model.trajectory.times
    if steps.regular:
        return f"{steps.middle:.4g} {unit}, always the same"
    return f"{steps.middle:.4g} {unit} in the middle, from {steps.shortest:.4g} to {steps.longest:.4g}"


def data_facts(model: Model, about: About) -> Rows:
    """What the data were: span, step, gaps, what was left out."""
    observed = model.trajectory
    records = observed.records
    span = f"{observed.t[-1] - observed.t[0]:.6g} {observed.times}" if records == 1 else f"{records} trajectories"
    if (dates := observed.dates(observed.t[[0, -1]])) is not None and records == 1:
        span = f"{' to '.join(written(dates))}, {span}"
    elif about.first:
        span = f"{about.first} to {about.last}, {span}"
    weekends = sentences.weekends(model)
    rows = [("Source", about.source)] if about.source else []
    rows += [
        ("State", f"{', '.join(model.names)} ({model.dimension} dimension{'s' * (model.dimension > 1)})"),
        *([("Inputs", reach.described(model))] if model.variables else []),
        ("Rows", f"{observed.rows}" + (f" in {records} trajectories" if records > 1 else "")),
        *([("Kept of them", sentences.streamed(model))] if observed.whole is not None else []),
        ("Span", span),
        ("Transitions used", str(observed.transitions)),
        ("Step", _steps(model)),
        ("Missing rows", f"{observed.missing}; no transition bridges one" if observed.missing else "none"),
        ("Recording gaps", f"{observed.gaps}, left out" if observed.gaps else "none"),
    ]
    rows += [("Weekends", weekends)] if weekends else []
    rows += [("Readings", said) for said in sentences.readings(model)]
    if model.methods.observation != "exact" and model.observed is None:
        rows.append(("Observation", f"{model.methods.observation}; transitions count {model.transitions.total:.6g}"))
    for name, column in zip(model.names, model.transitions.x.T, strict=True):
        rows.append((f"Range of {name}", f"{column.min():.4g} to {column.max():.4g}, mean {column.mean():.4g}"))
    rows += [("Read as", note) for note in about.notes if note != weekends]
    return Rows((), rows)


def values_table(model: Model) -> Rows:
    """Drift and noise with 90 % bands along each coordinate, the others at their median."""
    noise = f"{sentences.noise(model)}, {per_time(model, root=True)}"
    head = ("at", f"drift, {per_time(model)}", "90 % band", noise, "90 % band")
    body = []
    for name, at, f, s in numbers.values(model):
        body.append((f"{name} = {at:.4g}", *banded(*f), *banded(*s)))
    return Rows(head, body)


def others(model: Model) -> str:
    """Where the coordinates along which a row does not lie stand; "" if there are none."""
    if model.dimension == 1:
        return ""
    middle = np.median(model.transitions.x, axis=0)
    stand = ", ".join(f"{name} = {value:.3g}" for name, value in zip(model.names, middle, strict=True))
    return f"Along each coordinate, the others stand at their median: {stand}."


def held(model: Model) -> str:
    """At which inputs everything is shown that is not along one of them."""
    return f"Everything that is not along an input is shown at {reach.held(model)}; the forecast has its own."


def about_noise(model: Model) -> list[str]:
    """What the noise of the table is, where that is not σ itself."""
    said = sentences.whole_noise(model)
    return [] if said is None else [said]


def about_consequences(model: Model) -> list[str]:
    """What the points or modes of the table are; nothing where there are none."""
    found, what = consequences(model, 0.9, 400, 0), "Modes of the drift's best linear approximation"
    if model.dimension == 1:
        what = "Modes and troughs of the stationary density" if found.by_density else "Zeros of the drift"
    if not (found.fixed_points or found.modes or found.velocity):
        return []
    shares = "The last column says how many of the posterior draws have it."
    if found.many:
        return [f"{what}, within the data's range: {found.many}", *found.notes]
    return [f"{what}, within the data's range. {shares}", *found.notes]


def consequences_table(model: Model) -> Rows:
    """Fixed points with their slopes and passages between them, or modes; medians and bands over draws."""
    found, per, times = consequences(model, 0.9, 400, 0), per_time(model), model.trajectory.times
    body: list[tuple[str, ...]] = []

    def add(what: str, band: Band, share: str = "") -> None:
        body.append((what, *banded(band.median, band.lower, band.upper), share))

    for point in [] if found.many else found.fixed_points:
        add(f"{found.kind(point).capitalize()}, {model.names[0]}", point.position, f"{point.share:.0%}")
        add(f"Slope {'there' if found.by_density else 'of the drift there'}, {per}", point.slope)
    for passage in [] if found.many else found.passages:
        add(f"Mean time from {passage.start:.4g} to {passage.end:.4g}, {times}", passage.time)
    if found.velocity is not None:
        add(f"Mean velocity, {per}", found.velocity)
    for k, mode in enumerate(found.modes, 1):
        add(f"Rate of mode {k}, {per}", mode.rate, f"{mode.share:.0%}")
        if np.isfinite(mode.period.median):
            add(f"Period of mode {k}, {times}", mode.period)
    return Rows(("", "median", "90 % band", "in draws"), body)


def about_scores(record: Mending) -> str:
    """How candidates were compared."""
    cuts = [f"{cut}" for cut in record.cuts[:-1]]
    return (
        f"Candidates learned from the first {', '.join(cuts[:-1])} and {cuts[-1]} rows; ln p is the mean log density, "
        f"in the data's units, of the {record.rows} rows that followed, given those before. Differences are over the "
        "same rows, with standard errors from blocks of them."
    )


def parameters_in_words(model: Model) -> list[str]:
    """Learned parameters as sentences, in the data's units."""
    said = []
    for function in ("drift", "diffusion"):
        lengths = numbers.lengths(model, function)
        parts = [
            f"{length:.3g} in {name}" + (f" (90 % interval {low:.3g} to {high:.3g})" if low == low else " (held fixed)")
            for name, (length, low, high) in zip(model.names, lengths, strict=False)
        ]
        if parts:
            said.append(f"The smooth part of the {function} bends over about {' and '.join(parts)}.")
    said.append(
        f"The law of a step leaves {numbers.unexplained(model):.2g} of an increment's mean square unexplained (λ)."
    )
    if model.constant_noise is not None:
        probability = sentences.probability(model.constant_noise)
        said.append(
            f"The diffusion is the same everywhere with a probability of {probability}. "
            "Its estimate makes use of that; its band, which must also hold where that is wrong, does not."
        )
    said += [f"{name}: {text}" for name, text in sentences.disturbance(model)]
    if numbers.intervals(model):
        members = np.count_nonzero(model.posterior.for_bands)
        said.append(f"Bands average over {members} sets of parameters, weighted by how probable the data make them.")
    else:
        said.append("The parameters were held fixed; bands do not include what is not known about them.")
    return said


def parameter_table(model: Model) -> Rows:
    """Every parameter as the model has it, with the spread of its posterior where that is known."""
    known = numbers.intervals(model)
    body = [
        (name, *banded(value, *known[name][1:])) if name in known else (name, number(value, 3), "held fixed")
        for name, value in model.values.items()
    ]
    return Rows(("parameter", "value", "90 % interval"), body)


def model_facts(model: Model) -> Rows:
    """Which model, how it was completed, and how well."""
    return Rows(
        (),
        [
            ("Equation", model.equation),
            *([("Known", known)] if (known := sentences.known(model)) is not None else []),
            ("Diffusion matrix", f"{model.graph.structure}, {model.graph.link} link"),
            ("Law of a step", sentences.law(model)),
            ("Completion", f"{model.outcome}, by {model.methods.solver}; J = {model.loss:.6g}"),
            ("Log evidence", f"{model.evidence:.6g}, by Laplace's approximation"),
            ("Learning", sentences.search(model) or "none: kernels used as given"),
        ],
    )


def origin(about: About) -> Rows:
    """The exact command and the versions that made this."""
    rows = [("Command", about.command), ("Learned on", about.made), (CHECKSUM, about.sha256)]
    rows = [row for row in rows if row[1]]
    versions = []
    for name in VERSIONED:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    rows.append(("Versions", ", ".join([*versions, f"Python {platform.python_version()}"])))
    rows.append(("Platform", f"{platform.system()} {platform.machine()}"))
    return Rows((), rows)
