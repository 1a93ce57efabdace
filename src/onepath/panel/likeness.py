"""Who is like whom in a panel, and who is odd: series compared by what drift and noise are at low, middle and high."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onepath.numerics.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

ODD = 6.0
"""Robust standard deviations from the panel's median beyond which a series is odd."""

FAR = 10.0
"""Beyond which how far it is does not matter any more for who is near whom."""

LEAST = 5
"""Series that can be compared."""

NORMAL = 1.4826
"""Standard deviations in a normal distribution's median absolute deviation."""

LOW, MIDDLE, HIGH = "q05", "q50", "q95"
POINTS = (LOW, MIDDLE, HIGH)


class Feature(NamedTuple):
    """A number that series are compared by, in words."""

    name: str
    values: Floats


def features_of(series: "pd.DataFrame") -> list[Feature]:
    """Of the series that were fitted: where it is, over what range, how strongly it returns, how noisy, and how noise
    changes; none where the named points are not there."""
    found = []
    for prefix in _prefixes(series):

        def at(what: str, point: str, prefix: str = prefix) -> Floats:
            return series[f"{what}_{prefix}{point}" if what else f"{prefix}{point}"].to_numpy(float)

        reach, of = at("", HIGH) - at("", LOW), f" of {prefix[:-1]}" if prefix else ""
        with np.errstate(divide="ignore", invalid="ignore"):
            found += [
                Feature(f"level{of}", at("", MIDDLE)),
                Feature(f"range{of}, ln", np.log(reach)),
                Feature(f"return{of}, per time", (at("drift", LOW) - at("drift", HIGH)) / reach),
                Feature(f"bend of the drift{of}", _bend(*(at("drift", point) for point in POINTS))),
                Feature(f"noise{of}, ln", np.log(at("noise", MIDDLE))),
                Feature(f"noise{of}, high to low, ln", np.log(at("noise", HIGH) / at("noise", LOW))),
            ]
    return found


def _bend(low: Floats, middle: Floats, high: Floats) -> Floats:
    """How far the middle is from between the ends, in units of all three."""
    return (middle - (low + high) / 2) / np.sqrt(np.square(low) + np.square(middle) + np.square(high))


def _prefixes(series: "pd.DataFrame") -> list[str]:
    """Of the columns of each coordinate; "" in one dimension."""
    ends = [name.removesuffix(MIDDLE) for name in series.columns if name.endswith(MIDDLE)]
    heads = [end for end in ends if not end.startswith(("drift_", "noise_"))]
    needed = [[f"{what}{head}{point}" for what in ("", "drift_", "noise_") for point in POINTS] for head in heads]
    return [head for head, names in zip(heads, needed, strict=True) if set(names) <= set(series.columns)]


def likeness(series: "pd.DataFrame", key: str) -> "pd.DataFrame":
    """For each fitted series who is nearest, how far, what is odd about it, and where it is on a map of the panel.

    Features are counted in robust standard deviations from the panel's median. Empty where too few can be compared.
    """
    import pandas as pd
    from scipy.spatial import cKDTree

    own = series[series["fitted"]].reset_index(drop=True)
    empty = {"like": None, "distance": np.nan, "odd": "", "how_odd": np.nan, "map_x": 0.0, "map_y": 0.0}
    found = pd.DataFrame({key: own[key], **empty})
    features = features_of(own)
    whole = np.all([np.isfinite(one.values) for one in features], axis=0) if features else np.zeros(len(own), bool)
    rows = np.flatnonzero(whole)
    if len(rows) < LEAST:
        return found.iloc[:0]
    z = np.column_stack([standardised(one.values[rows]) for one in features])
    near = np.clip(z, -FAR, FAR)
    distance, nearest = cKDTree(near).query(near, k=2)
    found = found.iloc[rows].reset_index(drop=True)
    other = np.where(nearest[:, 0] == np.arange(len(rows)), nearest[:, 1], nearest[:, 0])
    worst = np.argmax(np.abs(z), axis=1)
    most = z[np.arange(len(z)), worst]
    names = np.asarray([one.name for one in features])
    found["like"], found["distance"] = found[key].to_numpy()[other], distance[:, 1]
    found["how_odd"] = np.abs(most)
    found["odd"] = [
        f"{name}: {value:+.1f} robust standard deviations" if abs(value) > ODD else ""
        for name, value in zip(names[worst], most, strict=True)
    ]
    found[["map_x", "map_y"]] = on_a_map(near)
    return found


def standardised(values: Floats) -> Floats:
    """In robust standard deviations from the median; 0 where all are the same."""
    away = values - np.median(values)
    scale = NORMAL * np.median(np.abs(away))
    scale = scale if scale > 1e-9 * np.max(np.abs(values), initial=0.0) else float(np.std(values))
    return np.asarray(away / scale if scale > 0 else np.zeros_like(away))


def on_a_map(z: Floats) -> Floats:
    """(n, 2): along the two directions in which series differ most, each with a sign that is the same every time."""
    centred = z - z.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    both = vectors[:, np.argsort(values)[::-1][:2]]
    both = both * np.sign(both[np.argmax(np.abs(both), axis=0), np.arange(both.shape[1])])
    return np.asarray(centred @ both)
