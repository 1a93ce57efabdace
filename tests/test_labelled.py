"""Arrays with labels: what goes in as xarray's is what goes in as numbers, and comes out under its names."""

import numpy as np
import pandas as pd
import pytest

from onepath.data.trajectory import read_trajectory

xr = pytest.importorskip("xarray")

N = 40
VALUES = np.random.default_rng(0).standard_normal((N, 2)).cumsum(axis=0)
DATES = pd.date_range("2001-01-01", periods=N, freq="D")
SECONDS = 0.25 * np.arange(N)


def same(found, wanted):
    assert found.names == wanted.names
    assert found.unit == wanted.unit
    np.testing.assert_array_equal(found.x, wanted.x)
    np.testing.assert_array_equal(found.t, wanted.t)


def test_a_data_array_with_dates_is_the_series_that_it_is():
    array = xr.DataArray(VALUES[:, 0], {"time": DATES, "lat": 3.5}, ["time"], name="rate")
    same(read_trajectory(array), read_trajectory(pd.Series(VALUES[:, 0], DATES, name="rate")))


@pytest.mark.parametrize("dims", [("time", "place"), ("place", "time")])
def test_time_is_found_by_its_name_wherever_it_stands(dims):
    array = xr.DataArray(VALUES, {"time": SECONDS, "place": ["a", "b"]}, ["time", "place"]).transpose(*dims)
    wanted = read_trajectory(pd.DataFrame(VALUES, columns=["a", "b"]), t=SECONDS)
    same(read_trajectory(array), wanted)


def test_without_times_a_step_is_asked_for_and_with_them_a_step_is_taken():
    bare = xr.DataArray(VALUES, dims=["sample", "place"])
    with pytest.raises(ValueError, match="pass dt="):
        read_trajectory(bare)
    same(read_trajectory(bare, dt=0.5), read_trajectory(VALUES, dt=0.5))
    timed = xr.DataArray(VALUES, {"time": SECONDS}, ["time", "place"])
    same(read_trajectory(timed, dt=0.5), read_trajectory(VALUES, dt=0.5))


def test_variables_of_a_dataset_are_coordinates_and_other_labels_are_none():
    data = {name: ("time", column) for name, column in zip("uv", VALUES.T, strict=True)}
    dataset = xr.Dataset(data, {"time": DATES, "station": "K7"})
    same(read_trajectory(dataset), read_trajectory(pd.DataFrame(VALUES, DATES, columns=["u", "v"])))
    several = read_trajectory([dataset, dataset.isel(time=slice(20))])
    assert len(several.t) == N + 20
    assert several.record.max() == 1


def test_inputs_keep_their_names():
    array = xr.DataArray(VALUES[:, 0], {"time": SECONDS}, ["time"])
    driven = xr.DataArray(VALUES[:, 1:] ** 2, {"time": SECONDS, "what": ["level"]}, ["time", "what"])
    found = read_trajectory(array, inputs=driven)
    assert [one.name for one in found.inputs.variables] == ["level"]
    np.testing.assert_array_equal(found.inputs.values, VALUES[:, 1:] ** 2)


def test_fields_and_odd_calendars_are_refused_with_what_to_do():
    field = xr.DataArray(np.zeros((N, 3, 2)), dims=["time", "lat", "lon"])
    with pytest.raises(ValueError, match=r"time, lat, lon.*select one place"):
        read_trajectory(field, dt=1.0)
    with pytest.raises(ValueError, match=r"Dataset.*spread"):
        read_trajectory(xr.Dataset({"x": ("time", VALUES[:, 0]), "spread": ("member", [1.0])}, {"time": DATES}))
    cftime = pytest.importorskip("cftime")
    days = [cftime.DatetimeNoLeap(2001, 1, 1 + i % 28) for i in range(3)]
    with pytest.raises(ValueError, match="convert_calendar"):
        read_trajectory(xr.DataArray(np.arange(3.0), {"time": days}, ["time"]))


def test_paths_come_out_under_their_names(line):
    paths = line.forecast(5, paths=7, random_state=0)
    found = paths.xarray()
    assert dict(found.sizes) == {"path": 7, "t": 6}
    np.testing.assert_array_equal(found["x"].to_numpy(), paths.x[:, :, 0])
    np.testing.assert_allclose(found["x"].quantile(0.5, "path"), paths.quantiles([0.5])[0, :, 0], rtol=1e-12)


def test_curves_keep_the_index_of_pandas_points(line):
    points = pd.Series([-0.5, 0.5], ["left", "right"])
    found = line.curves(points)
    assert list(found.index) == ["left", "right"]
    np.testing.assert_array_equal(found["drift"], line.drift(points.to_numpy()))
