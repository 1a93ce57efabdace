"""What mending makes of real series: verdict and score of later rows, before and after.

    python benchmarks/mended_series.py FOLDER -o benchmarks/results/mended_series.json

FOLDER holds fedfunds_monthly.csv, nino12_sst_monthly.csv, enso_Th_monthly.csv, dgs10_daily.csv (of which the last
6000 rows are used) and grid_frequency_toledo_2s.csv (of which the first 2775 are: a blackout follows). Treasury bills
are the demo's. Finished series are kept in the output file and not computed again.
"""

import argparse
import time
import warnings
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
from resumable import kept, save

SERIES = {
    "Treasury bills": (None, ["rate"], "month"),
    "Federal funds": ("fedfunds_monthly.csv", ["rate_percent"], "month"),
    "Niño 1+2": ("nino12_sst_monthly.csv", ["sst_nino12_C"], "month"),
    "ten-year rate": ("dgs10_daily.csv", ["rate_percent"], "day"),
    "grid frequency": ("grid_frequency_toledo_2s.csv", ["f_Hz"], None),
    "Niño 3.4 and depth": ("enso_Th_monthly.csv", ["T_nino34_C", "h_wwv_m"], "month"),
}


def arguments(name, folder):
    """What a fit of a series is given."""
    file, columns, unit = SERIES[name]
    if file is None:
        table = pd.read_csv(files("onepath") / "examples" / "treasury_bill.csv", comment="#")
        columns = [table.columns[-1]]
    else:
        table = pd.read_csv(folder / file)
    values = table[columns].apply(pd.to_numeric, errors="coerce")
    if file and "grid" in file:
        return {"x": values.iloc[:2775].squeeze("columns").to_numpy(), "dt": 2.0, "unit": "second"}
    values = values.set_axis(pd.to_datetime(table.iloc[:, 0])).dropna().iloc[-6000:]
    return {"x": values if len(columns) > 1 else values.iloc[:, 0], "unit": unit}


def run(name, folder):
    from onepath import SDE

    plain = SDE(progress=False).fit(**arguments(name, folder))
    begun, spent = time.perf_counter(), time.process_time()
    mended = plain.mend(budget=1e5)
    rows = [
        {
            "name": row.name,
            "command": row.command,
            "faults": list(row.faults),
            "score": _number(row.score),
            "gain": _number(row.gain),
            "error": _number(row.gain_error),
            "likelihood": _number(row.likelihood),
            "problem": row.problem,
        }
        for row in mended.table
    ]
    return {
        "rows": len(plain.trajectory_.t),
        "later": mended.record.rows,
        "chosen": mended.record.chosen,
        "tried": rows,
        "said": mended.record.said,
        "verdict": mended.after.verdict,
        "seconds": round(time.perf_counter() - begun),
        "cpu": round(time.process_time() - spent),
    }


def _number(value):
    return round(float(value), 5) if np.isfinite(value) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(SERIES), choices=list(SERIES))
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/mended_series.json"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.only:
        results = kept(given.output)
        if name not in results:
            save(given.output, results | {name: run(name, given.folder)})
    for name, result in kept(given.output).items():
        print(f"{name}: {result['rows']} rows, {result['later']} later ones, {result['cpu']} s")
        for k, row in enumerate(result["tried"]):
            score = "" if row["score"] is None else f"{row['score']:.4f}"
            gain = "" if row["gain"] is None else f"{row['gain']:+.4f} ± {row['error'] or 0:.4f}"
            mark = "*" if k and k == result["chosen"] else " "
            said = "; ".join(
                part
                for part in (", ".join(row["faults"]) or "fits" * (row["likelihood"] is not None), row["problem"])
                if part
            )
            print(f" {mark} {row['name']:44}{score:>10}{gain:>20}  {said}")
        print(f"   {result['said']}")


if __name__ == "__main__":
    main()
