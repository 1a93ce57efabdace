"""A panel: every series of a long table fitted by itself, and what came of it as tidy tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onepath.inference.progress import Progress
from onepath.io.atomic import check_free, write_atomically
from onepath.io.chosen import Chosen
from onepath.io.journal import Journal
from onepath.numerics.checks import check_whole
from onepath.numerics.extras import needs
from onepath.panel.cluster import fit_on_cluster, fit_partitions, wanted
from onepath.panel.layout import Series, read_layout, series_in
from onepath.panel.likeness import POINTS, likeness
from onepath.panel.one import Kept, Plan, Record, fit_one
from onepath.panel.processes import fit_in_processes, processors
from onepath.panel.tables import curves_table, series_table
from onepath.sde import SDE

if TYPE_CHECKING:
    import pandas as pd

JOURNAL, PAGE = "journal.jsonl", "panel.html"
"""Files in a panel's folder, beside its tables."""

KINDS = ("csv", "parquet")

MOST_TOGETHER = 16
"""Series that are sent to a process at once."""

HEAD = 10_000
"""Rows of a Dask table that say what its columns are."""


@dataclass(frozen=True, eq=False)
class Panel:
    """What came of a panel.

    `series` has a row for each series: whether it was `fitted` or the `reason` why not, verdict, equations, estimates
    at named points with the ends of their 90 % bands, score and seconds. `curves` has drift and diffusion of each on a
    grid over its data. `likeness` says who is nearest to whom, and what is odd about a series among the others.
    """

    series: "pd.DataFrame"
    curves: "pd.DataFrame"
    likeness: "pd.DataFrame"
    plan: Plan
    table: Any  # as it was given

    def fit(self, name: Any) -> SDE:
        """The model of one series, fitted once more: the same seed and data, so the same answer."""
        key = self.plan.layout.key
        part = self.table[self.table[key] == name]
        part = part.compute() if hasattr(part, "compute") else part
        if len(part) == 0:
            raise KeyError(f"the table has no series {name!r} in its column {key!r}")
        return fit_one(self.plan, next(series_in(part, self.plan.layout, "")))

    def save(self, folder: str | Path, *, kind: str = "csv", force: bool = False) -> list[Path]:
        """Write the tables, as CSV or Parquet, and the page, into a folder."""
        folder = Path(folder)
        places = places_in(folder, kind)
        for place in places:
            check_free(place, force=force)
        tables = (self.series, self.curves, self.likeness)
        contents = [_written(table, kind) for table in tables]
        return [
            write_atomically(place, content, force=force)
            for place, content in zip(places, [*contents, self.page().encode()], strict=True)
        ]

    def page(self) -> str:
        """One HTML page that shows the panel: who is like whom, who is odd, who failed and why."""
        from onepath.panel.page import panel_page

        return panel_page(self.series, self.curves, self.likeness, self.plan)


def places_in(folder: Path, kind: str) -> list[Path]:
    """The files that a panel is written to: its tables, and its page."""
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known: choose one of {', '.join(map(repr, KINDS))}")
    return [*(folder / f"{name}.{kind}" for name in ("series", "curves", "likeness")), folder / PAGE]


def _written(table: "pd.DataFrame", kind: str) -> bytes:
    if kind == "csv":
        return table.to_csv(index=False, lineterminator="\n").encode()
    needs("pyarrow", "to write Parquet files", "parquet")
    return bytes(table.to_parquet(index=False))


def fit_panel(
    table: Any,
    sde: SDE | None = None,
    *,
    series: str | None = None,
    time: str | None = None,
    values: str | Sequence[str] = (),
    inputs: str | Sequence[str] = (),
    dt: float | None = None,
    unit: str | None = None,
    time_unit: str | None = None,
    missing: Sequence[str] = (),
    gap: float = 10.0,
    calendar: str = "auto",
    points: Sequence[str | float] = POINTS,
    curve_points: int = 21,
    verdict: bool = True,
    workers: int | None = None,
    client: Any = None,
    device: str = "cpu",
    folder: str | Path | None = None,
    keep: Iterable[Any] | bool = (),
    progress: bool = True,
    random_state: int = 0,
) -> Panel:
    """Fit every series of a long table by itself. One that cannot be fitted is a row with its reason, never the end.

    Parameters
    ----------
    table : pandas DataFrame, or a Dask one
        A row for each time of each series, in any order. Rows of a series are put in the order of their times.
    sde : SDE, optional
        Whose settings every fit has; the defaults without.
    series, time, values, inputs : names of columns, optional
        Which column names the series, tells the time, and hold state and inputs. Forecasters' names, `unique_id`, `ds`
        and `y`, are known; other columns are found as `onepath fit` finds them.
    dt : float, optional
        The step between rows, where no column tells the time.
    unit, time_unit : str, optional
        Unit of time that rates are reported per, and that numbers in the time column are counted in.
    missing : sequence of str
        Further spellings of missing values.
    gap, calendar :
        As in `SDE.fit`.
    points : sequence of "q05" and such, or numbers
        Where drift and noise are estimated in the table of series: at quantiles of each series' own data, in per cent,
        or at values of the state.
    curve_points : int
        Points of the curves along each coordinate; 0 for no curves.
    verdict : bool
        Whether each model is diagnosed, which takes about as long as the fit once more.
    workers : int, optional
        Processes on this machine; as many as there are cores if None.
    client : distributed.Client, optional
        A Dask cluster to work on instead.
    device : "cpu" or "gpu"
        On a GPU series of one dimension are fitted in batches, without a verdict; those that a batch
        cannot answer for are fitted by themselves, as on the CPU, and their notes say why.
    folder : path, optional
        Where a journal is kept, so that the same call goes on where it was interrupted.
    keep : names of series, or True
        Whose model files and reports are written into `folder`; True is all.
    progress : bool
        Whether a line says how far it is.
    random_state : int
        From which, and its name, each series has a seed of its own: its answer depends on nothing else.
    """
    check_whole("curve_points", curve_points, 0)
    if workers is not None:
        check_whole("workers", workers, 1)
    frame_like = hasattr(table, "shuffle") and hasattr(table, "to_delayed")
    if frame_like and client is None:
        raise ValueError("a Dask table needs a cluster to work on: pass client=distributed.Client()")
    head = table.head(HEAD, npartitions=-1) if frame_like else (table := _plain(table))
    both = (_names(values), _names(inputs))
    chosen = Chosen(time, both[0], None, dt, unit, time_unit, missing=tuple(missing), inputs=both[1])
    layout = read_layout(head, series, chosen, gap, calendar)
    plan = Plan(
        sde or SDE(),
        layout,
        _checked(points, len(layout.chosen.values)),
        curve_points,
        verdict,
        random_state,
        _kept(keep, folder),
    )
    batched = None if device == "cpu" else _on_gpu(plan, device, client)
    journal = None if folder is None else Journal(Path(folder) / JOURNAL)
    found = _Found(journal, Progress(progress, patience=2.0))
    if frame_like:
        done = frozenset(str(record["recipe"]) for record in found.records.values())
        keys = found.collected(fit_partitions(plan, table, done, client), None)
        names: dict[str, Any] = {key: found.records[key]["name"] for key in sorted(keys)}
    else:
        names = _fitted(plan, table, found, workers or processors(), client, batched)
    records = [found.records[key] for key in names]
    of_series = series_table(layout.key, list(names.values()), records)
    of_curves = curves_table(layout.key, list(names.values()), records)
    return Panel(of_series, of_curves, likeness(of_series, layout.key), plan, table)


Batched = Callable[[list[Series], Callable[[list[Series]], Iterator[list[Record]]]], Iterator[list[Record]]]
"""Records of series that are fitted in batches, and of others as they are fitted by themselves."""


def _on_gpu(plan: Plan, device: str, client: Any) -> "Batched":
    """How batches are fitted there; refused before any work where that cannot be."""
    if device != "gpu":
        raise ValueError(f"device={device!r} is not known: choose 'cpu' or 'gpu'")
    if client is not None:
        raise ValueError("device='gpu' and client are both given: a batch is one machine's work, leave one of them out")
    # what a GPU needs takes a while to load
    from onepath.panel.batched import check_batchable, fit_batched, gpu

    check_batchable(plan)
    where = gpu()
    return lambda waiting, by_themselves: fit_batched(plan, waiting, by_themselves, where)


def _fitted(
    plan: Plan, table: "pd.DataFrame", found: "_Found", workers: int, client: Any, batched: "Batched | None"
) -> dict[str, Any]:
    """Fit what is not in the journal; keys and names of all series, in the table's order."""
    names, waiting = {}, []
    for one in series_in(table, plan.layout, plan.recipe):
        names[one.key] = one.name
        kept = found.records.get(one.key)
        done = frozenset() if kept is None else frozenset([str(kept["recipe"])])
        if wanted(plan, one, done):
            waiting.append(one)
    found.known = len(names) - len(waiting)
    crew = workers if client is None else max(sum(client.nthreads().values()), 1)
    batches = _batches(waiting, max(1, min(MOST_TOGETHER, len(waiting) // (4 * crew))))
    if client is not None:
        found.collected(fit_on_cluster(plan, batches, client), len(waiting))
    elif waiting and batched is not None:

        def by_themselves(left: list[Series]) -> Iterator[list[Record]]:
            size = max(1, min(MOST_TOGETHER, len(left) // (4 * crew)))
            return fit_in_processes(plan, _batches(left, size), max(2, min(workers, len(left))))  # never in this one

        found.collected(batched(waiting, by_themselves), len(waiting))
    elif waiting:
        found.collected(fit_in_processes(plan, batches, min(workers, len(waiting))), len(waiting))
    return names


def _batches(waiting: list[Series], size: int) -> Iterator[list[Series]]:
    """So many together."""
    left = iter(waiting)
    while batch := list(islice(left, size)):
        yield batch


class _Found:
    """Records, as they come and from a journal."""

    def __init__(self, journal: Journal | None, progress: Progress) -> None:
        self.journal, self.progress, self.known = journal, progress, 0
        self.records: dict[str, Record] = {} if journal is None else journal.records

    def collected(self, coming: Iterator[list[Record]], total: int | None) -> set[str]:
        """Take records as they come, keep them, and say how far it is; keys of all that came, or were there."""
        count, failures = 0, 0
        keys = set(self.records) if total is None else set()
        with ExitStack() as stack:
            stack.enter_context(closing(coming))  # type: ignore[type-var]
            writer = None if self.journal is None else stack.enter_context(self.journal.writing())
            progress = stack.enter_context(self.progress)
            for records in coming:
                if writer is None:
                    self.records |= {record["key"]: record for record in records}
                else:
                    writer.keep(*records)
                keys |= {record["key"] for record in records}
                count += len(records)
                failures += sum(not record["row"]["fitted"] for record in records)
                progress.now_and_then(partial(_said, count, total, failures))
        return keys


def _said(count: int, total: int | None, failures: int, seconds: float) -> str:
    """How far it is, and how long it will take."""
    of = "" if total is None else f" of {total}"
    left = "" if total is None else f", {seconds / max(count, 1) * (total - count):.0f} s to go"
    return f"panel: {count}{of} series, {failures} not fitted, {seconds:.0f} s{left}"


def _plain(table: Any) -> "pd.DataFrame":
    """The table, with an index that says something as columns."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"table is of type {type(table).__name__}: pass a pandas DataFrame (or a Dask one) with a row for each "
            "time of each series, and a column that names the series"
        )
    if isinstance(table.index, pd.RangeIndex) or all(name is None for name in table.index.names):
        return table.reset_index(drop=True)
    return table.reset_index()


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _checked(points: Sequence[str | float], dimension: int) -> tuple[str | float, ...]:
    """Quantiles such as "q05", or numbers."""
    for point in points:
        if isinstance(point, str) and not (point[:1] == "q" and point[1:].isdecimal() and 0 <= int(point[1:]) <= 100):
            raise ValueError(f"points has {point!r}: give quantiles in per cent, such as 'q05', or numbers")
    numbers = [point for point in points if not isinstance(point, str)]
    if numbers and dimension > 1:
        raise ValueError(f"points has {numbers}, values of one coordinate, and the state has {dimension}: give 'q05'")
    return tuple(point if isinstance(point, str) else float(point) for point in points)


def _kept(keep: Iterable[Any] | bool, folder: str | Path | None) -> Kept | None:
    """Of which series files are wanted."""
    names = None if keep is True else frozenset() if keep is False else frozenset(map(str, keep))
    if names is not None and not names:
        return None
    if folder is None:
        raise ValueError("keep= needs folder=, where model files and reports are written")
    return Kept(Path(folder).resolve(), names)
