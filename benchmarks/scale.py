"""Long records and many series: seconds, memory, and whether the answers are those of single fits in memory.

    python benchmarks/scale.py stream --rows 1e6 1e7 -o benchmarks/results/scale.json
    python benchmarks/scale.py panel --series 100 -o benchmarks/results/scale.json
    python benchmarks/scale.py gpu --series 10000 -o benchmarks/results/scale.json
    python benchmarks/scale.py batch --series 10000 -o benchmarks/results/scale.json

`stream` makes Parquet files of an Ornstein–Uhlenbeck process, bent by sinh, in a temporary folder that is not kept.
Each measurement is a process of its own: reading the same columns by PyArrow alone, the fit as a stream, and, up to ten
million rows, the fit in memory. `panel` fits short series of three processes in one process, in two, and on a Dask
cluster of two workers, one of which is killed in mid-run the second time. Processor seconds are of all threads and
processes together; the others are those of a clock. `gpu` fits series of eleven processes as batches on a GPU, cold and
warm, from transitions and from a table, and some of them by plain processes on all cores: seconds, and differences in
widths of 90 % bands. `batch` compares the same series where no GPU is, both on the CPU.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

DT = 0.01
LARGEST_IN_MEMORY = 10_000_000
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
ON_GPU = (
    *("ou", "ou_slow", "double_well", "cir", "gbm", "exponential", "trigonometric", "double_well_multiplicative"),
    *("quadratic_noise", "logistic", "washboard"),
)
PROCESSES_USED = ("double_well_multiplicative", "exponential", "trigonometric")


def make(path, rows, part=1 << 20):
    """Times and states, part by part."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy.signal import lfilter

    rng, left, state = np.random.default_rng(0), np.exp(-DT), np.zeros(1)
    schema = pa.schema([("t", pa.float64()), ("x", pa.float64())])
    with pq.ParquetWriter(path, schema) as file:
        for begin in range(0, rows, part):
            count = min(part, rows - begin)
            noise = rng.standard_normal(count) * np.sqrt((1 - left**2) / 2)
            x, state = lfilter([1.0], [1.0, -left], noise, zi=state)
            table = {"t": DT * np.arange(begin, begin + count), "x": np.sinh(0.8 * x)}
            file.write_table(pa.table(table, schema))


def read(path):
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1 << 18, columns=["t", "x"]):
            batch.num_rows  # noqa: B018


def fit(path, streamed, at=None):
    """Values and bands at quantiles of the data, or at these points."""
    import pandas as pd

    from onepath import SDE

    sde = SDE(progress=False, transition="linearised")
    if streamed:
        sde.fit(path)
    else:
        table = pd.read_parquet(path)
        sde.fit(table["x"].to_numpy(), t=table["t"].to_numpy())
    at = np.quantile(sde.transitions_.x, QUANTILES) if at is None else np.asarray(at)
    found = {"at": at.tolist()}
    for name in ("drift", "diffusion"):
        lower, upper = getattr(sde, f"{name}_band")(at)
        found |= {name: getattr(sde, name)(at).tolist(), f"{name}_width": (upper - lower).tolist()}
    return found


def measured(what):
    """What a function gives, with seconds and the largest memory."""
    begun, clock = time.process_time(), time.perf_counter()
    found = what() or {}
    seconds = {"processor": time.process_time() - begun, "clock": time.perf_counter() - clock}
    return found | seconds | {"MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def alone(*arguments):
    """The same in a process of its own."""
    command = [sys.executable, __file__, "one", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def one(arguments):
    what, path = arguments[:2]
    if what == "read":
        read(path)  # pages of the file are in memory, for both
        print(json.dumps(measured(lambda: read(path))))
        return
    warm = Path(path).with_name("warm.parquet")
    if not warm.exists():
        make(warm, 200_000)
    fit(str(warm), True)
    at = json.loads(arguments[2]) if len(arguments) > 2 else None
    print(json.dumps(measured(lambda: fit(path, what == "stream", at))))


def stream(rows, results):
    """Every length, and how far answers are from those in memory, in widths of their bands."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.parquet"
        for count in rows:
            make(path, count)
            row = {"rows": count, "file_MB": path.stat().st_size / 1e6, "read": alone("read", path)}
            row["stream"] = alone("stream", path)
            if count <= LARGEST_IN_MEMORY:
                row["memory"] = alone("memory", path, json.dumps(row["stream"]["at"]))
                row["away"] = away(row["stream"], row["memory"])
            results[f"stream/{count}"] = row
            print(json.dumps(row), flush=True)


def away(found, reference):
    """The largest difference in widths of the reference's 90 % bands."""
    return {
        name: max(
            abs(a - b) / w for a, b, w in zip(found[name], reference[name], reference[f"{name}_width"], strict=True)
        )
        for name in ("drift", "diffusion")
    }


def long_table(count, rows, hostile):
    import pandas as pd

    from onepath.compare.processes import PROCESSES

    parts = []
    for k in range(count):
        process = PROCESSES[PROCESSES_USED[k % len(PROCESSES_USED)]]
        x = np.ravel(process.simulate(rows, random_state=k)[0])
        parts.append(pd.DataFrame({"unique_id": f"s{k:05d}", "ds": process.dt * np.arange(len(x)), "y": x}))
    bad = (
        np.ones(60),
        np.full(60, np.nan),
        np.arange(3.0),
        np.append(np.random.default_rng(0).normal(size=60), np.inf),
    )
    for k in range(hostile):
        x = bad[k % len(bad)]
        parts.append(pd.DataFrame({"unique_id": f"bad{k:05d}", "ds": np.arange(len(x)) * 0.1, "y": x}))
    return pd.concat(parts, ignore_index=True)


def panel(count, rows, verdict, results):
    import onepath
    from onepath.panel.cluster import client_of

    table = long_table(count, rows, count // 20)
    how = {"verdict": verdict, "progress": False}
    first = table[table["unique_id"] < "s00006"]
    onepath.fit_panel(first, workers=1, **how)  # what is compiled is kept on disk

    def timed(**more):
        begun = time.perf_counter()
        found = onepath.fit_panel(table, **how, **more)
        return found, time.perf_counter() - begun

    one_fit = []
    for _, part in table[table["unique_id"].str.startswith("s")].groupby("unique_id"):
        if len(one_fit) < 30:
            begun = time.perf_counter()
            onepath.SDE(progress=False).fit(part["y"].to_numpy(), t=part["ds"].to_numpy())
            one_fit.append(time.perf_counter() - begun)
    alone_, seconds = timed(workers=1)
    row = {"series": count, "hostile": count // 20, "rows": rows, "verdict": verdict}
    row |= {"single_fit": float(np.mean(one_fit)), "one_process": seconds}
    row["failed"] = int((~alone_.series["fitted"]).sum())
    two, row["two_processes"] = timed(workers=2)
    row["two_processes_same"] = same(alone_, two)
    with client_of(None, 2) as client:
        onepath.fit_panel(first, client=client, **how)
        found, row["dask"] = timed(client=client)
        row["dask_same"] = same(alone_, found)
        worker = next(iter(client.run(os.getpid).values()))
        threading.Timer(0.3 * row["dask"], os.kill, (worker, 9)).start()
        found, row["dask_one_killed"] = timed(client=client)
        row["dask_one_killed_same"] = same(alone_, found)
    results[f"panel/{count}/{rows}/{'verdict' if verdict else 'fit'}"] = row
    print(json.dumps(row), flush=True)


def many(count, rows):
    """A long table of series of eleven processes, in an order that mixes them."""
    import pandas as pd

    from onepath.compare.processes import PROCESSES

    order = np.random.default_rng(0).permutation(count)
    parts, each = [], -(-count // len(ON_GPU))
    for name in ON_GPU:
        process = PROCESSES[name]
        for x in process.simulate(rows - 1, paths=each, random_state=0):
            if len(parts) < count:
                key = f"s{order[len(parts)]:06d}"
                parts.append(pd.DataFrame({"unique_id": key, "ds": process.dt * np.arange(rows), "y": x[:, 0]}))
    return pd.concat(parts, ignore_index=True)


def gpu(count, rows, compared, results):
    import jax

    import onepath
    from onepath.data.trajectory import read_trajectory
    from onepath.data.transitions import transitions_of
    from onepath.inference.batch.fit import fit_batch
    from onepath.inference.disturbance.disturbance import since_of
    from onepath.panel.processes import processors

    table = many(count, rows)
    names = sorted(table["unique_id"].unique())
    read = [read_trajectory(part["y"].to_numpy(), t=part["ds"].to_numpy()) for _, part in table.groupby("unique_id")]
    series, since = [transitions_of(one) for one in read], [since_of(one) for one in read]
    points = np.stack([np.linspace(one.x.min(), one.x.max(), 24) for one in series])
    row = {"series": count, "rows": rows, "device": str(jax.devices()[0].device_kind), "cores": processors()}
    for name in ("cold", "warm"):
        begun = time.perf_counter()
        found = fit_batch(series, since, points, device=jax.devices()[0])
        row[name] = time.perf_counter() - begun
    row["alone"] = {reason: int(np.sum(found.why == reason)) for reason in sorted(set(found.why)) if reason}
    print(json.dumps(row), flush=True)
    how = {"verdict": False, "progress": False}
    some = table[table["unique_id"].isin(names[:compared])]
    onepath.fit_panel(some[some["unique_id"].isin(names[: processors()])], **how)  # what is compiled is kept
    plain = onepath.fit_panel(some, **how)
    seconds = np.sort(plain.series["seconds"])[: -len(plain.series) // 5]  # of a process some first fits load programs
    row["cpu_per_series"] = float(np.mean(seconds))
    row["speed_up"] = row["cpu_per_series"] * count / (row["cores"] * row["warm"])
    if jax.devices()[0].platform == "gpu":
        begun = time.perf_counter()
        batched = onepath.fit_panel(table, device="gpu", **how)
        row["table"] = time.perf_counter() - begun
        own = batched.series["notes"].str.startswith("fitted by itself")
        alone_ = set(batched.series.loc[own, "unique_id"])
        away_ = bands_away(plain.curves, batched.curves[batched.curves["unique_id"].isin(names[:compared])], alone_)
        row["compared"], row["away"] = compared, away_
    results[f"gpu/{count}/{rows}"] = row
    print(json.dumps(row), flush=True)


def batch(count, rows, compared, results):
    """Series that are fitted in a batch and one by one, both on the CPU."""
    import jax
    import pandas as pd

    import onepath
    from onepath.panel.batched import fit_batched
    from onepath.panel.layout import series_in

    table = many(count, rows)
    table = table[table["unique_id"].isin(sorted(table["unique_id"].unique())[:compared])].reset_index(drop=True)
    plain = onepath.fit_panel(table, verdict=False, progress=False)
    some = list(series_in(table, plain.plan.layout, plain.plan.recipe))
    # nobody fits what a batch leaves
    batches = fit_batched(plain.plan, some, lambda _: iter(()), jax.devices("cpu")[0], chunk=64)
    records = [record for records in batches for record in records]
    curves = pd.concat([pd.DataFrame(each["curves"] | {"unique_id": each["key"]}) for each in records])
    row = {"compared": compared, "away": bands_away(plain.curves, curves, set())}
    results[f"batch/{compared}/{rows}"] = row
    print(json.dumps(row), flush=True)


def bands_away(one, other, alone_):
    """Of series that a batch answered for, the largest difference over each curve, in widths of its band there."""
    import pandas as pd

    both = one.merge(other, on=["unique_id", "y"], suffixes=("", "_other"), validate="1:1")
    both = both[~both["unique_id"].isin(alone_)]
    found = {"series": int(both["unique_id"].nunique())}
    for what in ("drift", "diffusion"):
        width = both[f"{what}_upper"] - both[f"{what}_lower"]
        apart = [(both[what + end] - both[f"{what}{end}_other"]).abs() / width for end in ("", "_lower", "_upper")]
        for name, parts in (("", apart[:1]), ("_with_ends", apart)):
            each = pd.concat(parts, axis=1).max(axis=1).groupby(both["unique_id"]).max()
            found[what + name] = {"median": each.median(), "largest": each.max(), "above": int((each > 0.01).sum())}
    return found


def same(one, other):
    """To the last bit, but for seconds."""
    tables = [found.series.drop(columns="seconds") for found in (one, other)]
    return bool(tables[0].equals(tables[1]) and one.curves.equals(other.curves))


def main():
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["stream", "panel", "gpu", "batch"])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7], help="of the long record")
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--length", type=int, default=500, help="of each series")
    parser.add_argument("--compared", type=int, default=200, help="series that are fitted on the CPU too")
    parser.add_argument("--verdict", action="store_true", help="diagnose each model")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/scale.json"))
    options = parser.parse_args()
    results = json.loads(options.output.read_text()) if options.output.exists() else {}
    if options.what == "stream":
        stream([int(each) for each in options.rows], results)
    elif options.what == "gpu":
        gpu(options.series, options.length, options.compared, results)
    elif options.what == "batch":
        batch(options.series, options.length, options.compared, results)
    else:
        panel(options.series, options.length, options.verdict, results)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
