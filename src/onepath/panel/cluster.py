"""A panel on a Dask cluster: batches of series, or partitions of a Dask table, each mapped to records."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from onepath.numerics.extras import needs
from onepath.numerics.memory import keep_between_calls
from onepath.numerics.threads import begin_with_one_thread
from onepath.panel.layout import Series, series_in
from onepath.panel.one import Plan, Record, failed, fit_all, fit_series
from onepath.panel.processes import Batch, check_sendable

if TYPE_CHECKING:
    import pandas as pd

AHEAD = 3
"""Batches that wait for each thread of the cluster."""

PURPOSE, EXTRA = "to work on a cluster", "dask"


@contextmanager
def client_of(scheduler: str | None, workers: int) -> Iterator[Any]:
    """A client of the scheduler at this address; without one, of a cluster of processes on this machine."""
    distributed = needs("distributed", PURPOSE, EXTRA)
    if scheduler is not None:
        with distributed.Client(scheduler) as client:
            yield client
        return
    here = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": logging.CRITICAL}
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, **here) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def fit_on_cluster(plan: Plan, batches: Iterator[Batch], client: Any) -> Iterator[list[Record]]:
    """Records of batches as they are finished, with as many under way as the cluster has threads to keep busy."""
    distributed = needs("distributed", PURPOSE, EXTRA)
    check_sendable(plan)
    under_way: dict[Any, Batch] = {}

    def submitted(batch: Batch) -> Any:
        future = client.submit(_fit_batch, plan, batch, pure=False)
        under_way[future] = batch
        return future

    threads = max(sum(client.nthreads().values()), 1)
    first = [submitted(batch) for _, batch in zip(range(AHEAD * threads), batches, strict=False)]
    done = distributed.as_completed(first)
    for future in done:
        batch = under_way.pop(future)
        try:
            records = future.result()
        except distributed.KilledWorker as error:
            if len(batch) == 1:
                yield [failed(batch[0], f"every worker that fitted it died: {error}")]
            else:
                done.update([submitted([one]) for one in batch])
        else:
            yield records
        if (batch := next(batches, [])) != []:
            done.add(submitted(batch))


def fit_partitions(plan: Plan, table: Any, done: frozenset[str], client: Any) -> Iterator[list[Record]]:
    """Records of a Dask table, partition by partition, after bringing the rows of each series into one of them.

    Series whose recipe is among those `done` are left out.
    """
    distributed = needs("distributed", PURPOSE, EXTRA)
    check_sendable(plan)
    columns = plan.layout.columns
    own = table if columns is None else table[columns]
    parts = own.shuffle(on=plan.layout.key).to_delayed()
    futures = [client.submit(_fit_part, plan, part, done, pure=False) for part in client.compute(parts)]
    for future in distributed.as_completed(futures):
        yield future.result()
        future.release()


def _begin() -> None:
    """In a worker, before its first fit."""
    begin_with_one_thread()
    keep_between_calls()


def _fit_batch(plan: Plan, batch: Batch) -> list[Record]:
    """What a worker does."""
    _begin()
    return fit_all(plan, batch)


def _fit_part(plan: Plan, part: "pd.DataFrame", done: frozenset[str]) -> list[Record]:
    """The same with a partition."""
    _begin()
    return [fit_series(plan, one) for one in series_in(part, plan.layout, plan.recipe) if wanted(plan, one, done)]


def wanted(plan: Plan, series: Series, done: frozenset[str]) -> bool:
    """Whether a series has still to be fitted."""
    return series.recipe not in done or (plan.kept is not None and plan.kept.lacks(series))
