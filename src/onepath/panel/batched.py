"""A panel on a GPU: series of one dimension in batches, and those that a batch cannot answer for by themselves."""

import math
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from onepath.after.equations import Equations, Naming, candidates, steady_of
from onepath.data.trajectory import Trajectory, read_trajectory
from onepath.data.transitions import Transitions, transitions_of
from onepath.inference.batch.equations import Beside
from onepath.inference.batch.fit import CHUNK, LONGEST, TOGETHER, Answers, Values, fit_batch
from onepath.inference.disturbance.disturbance import since_of
from onepath.io.columns import choose_columns
from onepath.model import steady_noise
from onepath.numerics.arrays import Floats
from onepath.panel.layout import Layout, Series
from onepath.panel.one import (
    ENDS,
    Plan,
    Record,
    failed,
    label_of,
    places_of,
    reason_of,
    record_of,
    rows_of,
    said_of,
    written_of,
)
from onepath.sde import SDE

if TYPE_CHECKING:
    import pandas as pd

ALONE = "fitted by itself: "
"""What the notes of a series begin with that a batch did not answer for."""

FREE = {"link": ("softplus", "exp"), "noise": ("auto", "diagonal"), "equations": ("auto", "off")}
"""Settings that a batch knows, and their values; all others must be as usual."""

IRRELEVANT = {"random_state", "progress", *FREE}

ByThemselves = Callable[[list[Series]], Iterator[list[Record]]]


class Plain(NamedTuple):
    """A table of plain numbers, whose times and values are taken as they stand, in this unit."""

    time: str
    values: list[str]
    unit: str | None

    @classmethod
    def of(cls, layout: Layout, frame: "pd.DataFrame") -> "Plain | None":
        """As the rows of one series are understood; None where a table is more than that."""
        chosen, columns = layout.chosen, layout.columns
        if columns is None or chosen.time is None or chosen.missing or chosen.errors or chosen.group or chosen.wide:
            return None
        own = frame[[chosen.time, *chosen.values]]
        try:
            seen = choose_columns(frame, chosen)
        except (ValueError, TypeError):
            return None
        same = all(dtype == np.float64 for dtype in own.dtypes) and isinstance(seen.t, type(own[chosen.time]))
        if not (same and seen.t.equals(own[chosen.time]) and seen.x.equals(own[list(chosen.values)])):
            return None
        return cls(chosen.time, list(chosen.values), seen.unit)

    def arguments(self, frame: "pd.DataFrame") -> dict[str, Any] | None:
        """What `read_trajectory` takes; None for rows that need a closer look."""
        t, x = frame[self.time].to_numpy(), frame[self.values]
        if not (np.all(t[1:] > t[:-1]) and np.all(np.isfinite(t))) or np.all(np.isnan(x.to_numpy())):
            return None
        return {"x": x, "t": t, "unit": self.unit}


class Read(NamedTuple):
    """A series that was read, and what was said of it on the way."""

    series: Series
    trajectory: Trajectory
    transitions: Transitions
    points: Floats
    notes: str


def gpu() -> Any:
    """The first GPU that JAX sees."""
    try:
        return jax.devices("gpu")[0]
    except RuntimeError:
        seen = ", ".join(sorted({each.platform for each in jax.devices()}))
        raise RuntimeError(
            f"device='gpu', but JAX {jax.__version__} sees none, only: {seen}. Install JAX for your GPU, such as pip "
            "install 'jax[cuda13]' for one of NVIDIA's with a driver that is new enough, or leave device out"
        ) from None


def check_batchable(plan: Plan) -> None:
    """Refuse settings that a batch does not know."""
    settings, usual = plan.sde.get_params(), SDE().get_params()
    odd = [name for name, known in FREE.items() if settings[name] not in known]
    odd += [name for name, value in settings.items() if name not in IRRELEVANT and value is not usual[name] != value]
    if odd:
        raise ValueError(f"device='gpu' knows only the usual {odd[0]}: leave {odd[0]} out, or leave device out")
    if plan.verdict:
        raise ValueError(
            "device='gpu' gives drift and diffusion but diagnoses no model: pass verdict=False (--no-verdict), or "
            "leave device out"
        )
    if len(plan.layout.chosen.values) > 1 or plan.layout.chosen.inputs:
        raise ValueError("device='gpu' takes series of one dimension without inputs: choose one, or leave device out")


def fit_batched(
    plan: Plan, waiting: list[Series], by_themselves: ByThemselves, device: Any, chunk: int = CHUNK
) -> Iterator[list[Record]]:
    """Records of all of them, batch by batch; then of those that are left to fits of their own."""
    plain = Plain.of(plan.layout, waiting[0].frame) if waiting else None
    left: list[Series] = []
    why: dict[str, str] = {}
    waiting_for_batch = iter(waiting)
    while some := list(islice(waiting_for_batch, TOGETHER)):
        begun, done, read = time.perf_counter(), list[Record](), list[Read]()
        for one in some:
            found = _read(plan, one, plain)
            if isinstance(found, Read):
                read.append(found)
            elif isinstance(found, str):
                left.append(one)
                why[one.key] = found
            else:
                done.append(found)
        if read:
            points = np.stack([each.points for each in read])
            gaps = [since_of(each.trajectory) for each in read]
            settings = plan.sde.get_params()
            how = settings["link"], settings["equations"] == "auto", device, chunk
            answers = fit_batch([each.transitions for each in read], gaps, points, *how)
            seconds = (time.perf_counter() - begun) / len(some)
            for k, each in enumerate(read):
                if answers.why[k]:
                    left.append(each.series)
                    why[each.series.key] = answers.why[k]
                else:
                    done.append(_record(plan, each, answers, k, seconds))
        yield done
    for records in by_themselves(left) if left else ():
        for record in records:
            said = ALONE + why[record["key"]]
            record["row"]["notes"] = "; ".join(filter(None, [said, record["row"]["notes"]]))
        yield records


def by_reason(series: "pd.DataFrame") -> dict[str, int]:
    """How many series of a panel were left to fits of their own, and why, the most common reason first."""
    notes = series["notes"][series["notes"].str.startswith(ALONE)]
    reasons = notes.str.removeprefix(ALONE).str.split(";").str[0]
    return {str(reason): int(count) for reason, count in reasons.value_counts().items()}


def _read(plan: Plan, series: Series, plain: Plain | None) -> Read | Record | str:
    """What a batch takes; the record of a series that cannot be used, or why one is left to a fit of its own."""
    if plan.kept is not None and plan.kept.wants(series):
        return "its model file is wanted"
    layout = plan.layout
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given = None if plain is None else plain.arguments(series.frame)
            given = choose_columns(series.frame, layout.chosen).arguments if given is None else given
            trajectory = read_trajectory(**given, gap=layout.gap, calendar=layout.calendar)
        except Exception as error:  # a row like all others, never the end
            return failed(series, reason_of(error))
    if trajectory.dimension > 1:
        return "it has several dimensions"
    transitions = transitions_of(trajectory)
    if len(transitions) > LONGEST:
        return f"it has more than {LONGEST} transitions"
    x = transitions.x[:, 0]
    points = np.concatenate([places_of(x, plan.points), np.linspace(x.min(), x.max(), plan.curve_points)])
    return Read(series, trajectory, transitions, points, said_of(caught))


def _record(plan: Plan, read: Read, answers: Answers, k: int, seconds: float) -> Record:
    """As that of a fit of its own."""
    trajectory, transitions, count = read.trajectory, read.transitions, len(plan.points)
    row = (
        {"fitted": True, "reason": ""}
        | rows_of(trajectory, transitions)
        | {
            "law": answers.law[k],
            "score": float(answers.score[k]),
            "log_evidence": float(answers.evidence[k]),
            "constant_noise": float(answers.constant_noise[k]),
        }
    )
    drift, diffusion = (Values(*(part[k] for part in each)) for each in (answers.drift, answers.diffusion))
    constant = float(steady_noise(answers.unexplained[[k]], transitions)[0])
    noise = Values(*(np.hypot(part, math.sqrt(constant)) for part in diffusion))
    for i, point in enumerate(plan.points):
        label = label_of(point)
        row[label] = float(read.points[i])
        for what, each in (("drift", drift), ("noise", noise)):
            row |= {f"{what}_{label}{end}": float(part[i]) for end, part in zip(ENDS, each, strict=True)}
    curves: dict[str, list[Any]] = {}
    if plan.curve_points:
        curves = {str(trajectory.names[0]): read.points[count:].tolist()}
        for what, each in (("drift", drift), ("diffusion", diffusion)):
            curves |= {what + end: part[count:].tolist() for end, part in zip(ENDS, each, strict=True)}
    row |= _equations(answers.beside[k](), read)
    return record_of(read.series, row | {"notes": read.notes, "seconds": seconds}, curves)


def _equations(beside: Beside, read: Read) -> dict[str, str]:
    """Columns of the most probable equations, where they were asked for."""
    if beside.formulas is None:
        return {}
    naming = Naming(read.trajectory.names)
    steady = steady_of(float(beside.share), float(beside.square), read.transitions.total)
    drift = candidates(beside.formulas, naming, 0, "drift", float(beside.drift))
    noise = candidates(beside.formulas, naming, 1, "squared noise", float(beside.noise), steady)
    return written_of(Equations((drift,), (noise,), naming.names), read.trajectory.unit)
