"""onepath panel: a long table of many series in; tidy tables and one page out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onepath.cli.console import as_json, ending, note, say
from onepath.cli.fit import (
    BoundsOption,
    CalendarOption,
    CellsOption,
    EncodingOption,
    EquationsOption,
    ExposureOption,
    ForceOption,
    GapOption,
    InputOption,
    JsonOption,
    JumpsOption,
    LearnOption,
    LinkOption,
    MeasurementOption,
    MissingOption,
    NoiseOption,
    OrderOption,
    PeriodicOption,
    SeasonOption,
    SeedOption,
    StepOption,
    TailsOption,
    TimeOption,
    TimeUnitOption,
    TransitionOption,
    TrendOption,
    UnitOption,
    ValuesOption,
    VolatilityOption,
)
from onepath.cli.given import bounds_of, number_or_learn, number_or_word, numbers_or_learn, periods_of, season_of

if TYPE_CHECKING:
    from onepath.panel.panel import Panel

DataOption = Annotated[
    Path, typer.Argument(help="CSV, Parquet ... file, or a folder of Parquet files.", show_default=False)
]
FolderOption = Annotated[Path, typer.Option("--out", "-o", help="Folder for tables, page and journal.")]
IdOption = Annotated[str | None, typer.Option("--id", help="Column that names the series.")]
AtOption = Annotated[
    list[str] | None,
    typer.Option("--at", help="Where estimates are given: q05 and such of each series' data, or a value; repeatable."),
]
CurveOption = Annotated[int, typer.Option("--curve-points", min=0, help="Points of the curves; 0 for none.")]
VerdictOption = Annotated[bool, typer.Option("--verdict/--no-verdict", help="Diagnose each model.")]
KeepOption = Annotated[
    list[str] | None, typer.Option("--keep", help="Series whose model file and report are written; repeatable.")
]
KeepAllOption = Annotated[bool, typer.Option("--keep-all", help="Write those of all series.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes on this machine; one for each core if not given.")
]
DaskOption = Annotated[bool, typer.Option("--dask", help="Work on a Dask cluster of processes on this machine.")]
SchedulerOption = Annotated[
    str | None, typer.Option("--scheduler", help="Address of the Dask cluster to work on: tcp://host:8786.")
]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, or gpu: batches, with --no-verdict.")]
KindOption = Annotated[str, typer.Option("--format", help="Of the tables: csv or parquet.")]


def panel(
    data: DataOption,
    out: FolderOption = Path("panel"),
    series: IdOption = None,
    time: TimeOption = None,
    value: ValuesOption = None,
    driving: InputOption = None,
    dt: StepOption = None,
    unit: UnitOption = None,
    time_unit: TimeUnitOption = None,
    na: MissingOption = None,
    gap: GapOption = 10.0,
    calendar: CalendarOption = "auto",
    encoding: EncodingOption = None,
    noise: NoiseOption = "auto",
    link: LinkOption = "softplus",
    transition: TransitionOption = None,
    equations: EquationsOption = "auto",
    learn: LearnOption = "evidence",
    cells: CellsOption = None,
    bounds: BoundsOption = None,
    periodic: PeriodicOption = None,
    measurement: MeasurementOption = None,
    order: OrderOption = 1,
    exposure: ExposureOption = None,
    jumps: JumpsOption = False,
    volatility: VolatilityOption = False,
    tails: TailsOption = None,
    season: SeasonOption = None,
    trend: TrendOption = False,
    at: AtOption = None,
    curve_points: CurveOption = 21,
    verdict: VerdictOption = True,
    keep: KeepOption = None,
    keep_all: KeepAllOption = False,
    workers: WorkersOption = None,
    dask: DaskOption = False,
    scheduler: SchedulerOption = None,
    device: DeviceOption = "cpu",
    kind: KindOption = "csv",
    seed: SeedOption = 0,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Fit every series of a long table by itself; one that cannot be fitted is a row with its reason.

    The same command goes on where it was interrupted.

    Example:  onepath panel data.parquet -o results/
    """
    with ending(json):
        from onepath.panel.likeness import POINTS
        from onepath.panel.panel import fit_panel
        from onepath.sde import SDE

        goes_on = _check_places(out, kind, force)
        sde = SDE(
            noise=noise,
            link=link,
            transition=transition or "auto",
            equations=equations,
            learn=None if learn.lower() == "none" else learn,
            cells=cells,
            bounds=bounds_of(bounds),
            periodic=periods_of(periodic),
            measurement=numbers_or_learn(measurement, "--measurement"),
            order=order,
            exposure=number_or_learn(exposure, "--exposure"),
            jumps=jumps,
            volatility="learn" if volatility else None,
            tails=number_or_word(tails),
            season=season_of(season),
            trend=trend,
        )
        with _cluster(dask, scheduler, workers) as client:
            found = fit_panel(
                _table(data, encoding, tuple(na or ()), client is not None),
                sde,
                series=series,
                time=time,
                values=value or (),
                inputs=driving or (),
                dt=dt,
                unit=unit,
                time_unit=time_unit,
                missing=na or (),
                gap=gap,
                calendar=calendar,
                points=[_point(text) for text in at] if at else POINTS,
                curve_points=curve_points,
                verdict=verdict,
                workers=workers,
                client=client,
                device=device,
                folder=out,
                keep=True if keep_all else (keep or ()),
                progress=not json,
                random_state=seed,
            )
        written = found.save(out, kind=kind, force=force or goes_on)
        _tell(found, [str(path) for path in written], json, device == "gpu")


def _check_places(out: Path, kind: str, force: bool) -> bool:
    """Refuse, before any work, to write over what is no panel; whether there is one that goes on."""
    from onepath.io.atomic import check_free
    from onepath.panel.panel import JOURNAL, places_in

    goes_on = (out / JOURNAL).exists()
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file: give the name of a folder with --out")
    places = places_in(out, kind)
    if out.exists():
        for place in places:
            check_free(place, force=force or goes_on)
    else:
        out.mkdir(parents=True)
    return goes_on


@contextmanager
def _cluster(dask: bool, scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """A client of the cluster to work on, or None."""
    if not dask and scheduler is None:
        yield None
        return
    from onepath.panel.cluster import client_of
    from onepath.panel.processes import processors

    with client_of(scheduler, workers or processors()) as client:
        yield client


def _table(data: Path, encoding: str | None, missing: tuple[str, ...], dask: bool) -> Any:
    """A file in memory; a folder of Parquet files is left to Dask where there is a cluster."""
    from onepath.io.tables import read_table
    from onepath.numerics.extras import needs

    if not data.is_dir():
        table = read_table(data, encoding, missing)
        for said in table.notes:
            note(f"{data}: {said}")
        return table.frame
    if dask:
        return needs("dask.dataframe", "to work on a cluster", "dask").read_parquet(data)
    import pandas as pd

    parts = sorted(path for path in data.iterdir() if path.suffix in (".parquet", ".pq"))
    if not parts:
        raise FileNotFoundError(f"{data} is a folder without Parquet files: give a folder of those, or a file")
    return pd.concat([read_table(path).frame for path in parts], ignore_index=True)


def _point(text: str) -> str | float:
    """A quantile such as q05, or a number."""
    try:
        return float(text)
    except ValueError:
        return text


def _tell(found: "Panel", written: list[str], json: bool, batched: bool) -> None:
    from onepath.panel.page import counted, kinds_of

    alone: dict[str, int] = {}
    if batched:
        from onepath.panel.batched import by_reason

        alone = by_reason(found.series)
    failed = found.series[~found.series["fitted"]]
    kinds = [(str(failed.at[rows[0], "reason"]), len(rows)) for _, rows in kinds_of(failed["reason"])]
    if json:
        facts: dict[str, Any] = {"series": len(found.series), "fitted": len(found.series) - len(failed)}
        reasons = [{"reason": reason, "series": count} for reason, count in kinds]
        facts |= {"by_themselves": alone} if batched else {}
        as_json(facts | {"said": counted(found.series), "failed": reasons, "written": written})
        return
    say(counted(found.series))
    for reason, count in kinds:
        say(f"  {count:>6} not fitted, such as: {reason}")
    for reason, count in alone.items():
        say(f"  {count:>6} fitted by themselves: {reason}")
    odd = found.likeness[found.likeness["odd"] != ""].sort_values("how_odd", ascending=False)
    for _, row in odd.iloc[:10].iterrows():
        say(f"  odd: {row[found.plan.layout.key]}, {row['odd']}")
    for path in written:
        note(f"wrote {path}")
