"""Arrays with labels, as xarray has them, in the terms of pandas: an index of times, and columns by name."""

from typing import Any, NamedTuple

from onepath.data.reading import REAL

TIME = "time"
"""What a dimension of times is called, where the dates along it do not say so."""


class Labelled(NamedTuple):
    """A Series or a DataFrame, whose index is its dates if it has any, and its times where labels say numbers."""

    data: Any
    dated: bool
    t: Any = None


def is_labelled(data: Any) -> bool:
    """Whether it is xarray's, which need not be installed."""
    return type(data).__module__.partition(".")[0] == "xarray" and hasattr(data, "to_pandas")


def read_labelled(data: Any, what: str) -> Labelled:
    """A DataArray (time) or (time, coordinate), or a Dataset of variables along time."""
    plain = data.reset_coords(drop=True)
    time = _time_of(plain, what)
    if hasattr(plain, "data_vars"):
        odd = [str(name) for name, one in plain.data_vars.items() if one.dims != (time,)]
        if odd or not plain.data_vars:
            raise ValueError(
                f"{what} is a Dataset whose variables should all lie along {time!r}, and {', '.join(odd) or 'none'} "
                "does: select places and members of an ensemble first, and leave out what is no part of the state"
            )
        found = plain.to_dataframe()
    else:
        found = plain.transpose(time, ...).to_pandas()
    index = found.index
    if hasattr(index, "calendar"):  # dates of cftime's
        raise ValueError(
            f"{what} has dates of the calendar {index.calendar!r}: pass "
            "x.convert_calendar('standard', use_cftime=False), or numbers of days"
        )
    told = time in plain.indexes
    in_numbers = told and index.dtype.kind in REAL
    return Labelled(found, told and not in_numbers, index.to_numpy() if in_numbers else None)


def _time_of(data: Any, what: str) -> Any:
    """The dimension along which time goes: that of dates, that of this name, or the first."""
    dims = list(data.dims)
    most = 2 if not hasattr(data, "data_vars") else len(dims)
    if not 1 <= len(dims) <= most:
        raise ValueError(
            f"{what} has the dimensions {', '.join(map(str, dims)) or 'none'}, and a trajectory has times and "
            "coordinates: select one place and one member of an ensemble, as x.sel(lat=0.5, lon=120) does"
        )
    dated = [name for name in dims if name in data.indexes and data.indexes[name].dtype.kind in "mM"]
    return dated[0] if dated else TIME if TIME in dims else dims[0]
