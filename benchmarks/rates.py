"""What jumps, heavy tails and volatility do for a series of one's own: verdict and score on its last quarter.

    python benchmarks/rates.py fedfunds.csv dgs10.csv

Each file has dates in its first column and values in its last; of long ones the last 6000 rows are used. A fit of the
first three quarters is asked what it found, whether it fits, and for its mean log density there and on the rest.
"""

import argparse
import warnings
from pathlib import Path

import pandas as pd

MOST, LEARNED = 6000, 0.75
OPTIONS = ({}, {"jumps": True}, {"tails": "learn"}, {"volatility": "learn"})


def series(path):
    table = pd.read_csv(path)
    values = pd.to_numeric(table.iloc[:, -1], errors="coerce").set_axis(pd.to_datetime(table.iloc[:, 0]))
    return values.dropna().iloc[-MOST:]


def compare(path):
    from onepath import SDE
    from onepath.show.sentences import disturbance

    whole = series(path)
    begin = int(LEARNED * len(whole))
    print(f"{path.name}: {begin} rows to {whole.index[begin - 1]:%Y-%m-%d}, {len(whole) - begin} after them")
    for options in OPTIONS:
        sde = SDE(progress=False, **options).fit(whole.iloc[:begin])
        found = sde.diagnose()
        scores = sde.score(whole.iloc[:begin]), sde.score(whole.iloc[begin - 1 :])
        name = next(iter(options), "plain")
        verdict = "fits" if found.fits else f"does not fit: {', '.join(found.faults)}"
        print(f"{name:12}{scores[0]:8.3f}{scores[1]:8.3f}  {verdict}")
        for what, text in disturbance(sde.model_):
            print(f"{'':12}{what}: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    warnings.simplefilter("ignore")
    for path in parser.parse_args().files:
        compare(path)


if __name__ == "__main__":
    main()
