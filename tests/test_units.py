"""fit(a x + b, c t) is fit(x, t) in other units."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepath import SDE
from onepath.compare.processes import PROCESSES

pytestmark = pytest.mark.slow

few = settings(max_examples=6, deadline=None, derandomize=True)
factors = st.floats(-6, 6).map(lambda power: 10.0**power)
signed_factors = st.builds(lambda size, sign: sign * size, factors, st.sampled_from([-1.0, 1.0]))
shifts = st.floats(-1000, 1000)


@cache
def record(name, regular, count):
    """Times (n,) and states (n, d); irregular steps are 1 to 4 regular ones."""
    process = PROCESSES[name]
    steps = np.random.default_rng(1).integers(1, 2 if regular else 5, count)
    rows = np.concatenate([[0], np.cumsum(steps)])
    return rows * process.dt, process.simulate(rows[-1], substeps=1, random_state=0)[0, rows]


def points_of(x):
    return np.quantile(x, np.linspace(0, 1, 40), axis=0)


@cache
def reference(name, regular, count, **settings):
    t, x = record(name, regular, count)
    return SDE(learn=None, **settings).fit(x, t=t)


def agree(got, wanted, what):
    """To a millionth of the largest entry."""
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6 * np.max(np.abs(wanted)), err_msg=what)


def check_units(name, regular, count, a, b, c, **settings):
    """a and b have one entry per dimension; b is in units of |a|."""
    t, x = record(name, regular, count)
    d, grid = x.shape[1], points_of(x)
    a, b = np.asarray(a), np.asarray(b) * np.abs(a)
    here = reference(name, regular, count, **settings)
    there = SDE(learn=None, **settings).fit(a * x + b, t=c * t)

    # x' = D x with D = diag(a), so σ'σ'ᵀ = D σσᵀ D / c, and its lower factor with positive diagonal is D σ sign(D) / √c
    drift_factor = a / c
    diffusion_factor = np.outer(a, np.sign(a)) / np.sqrt(c)
    for what, factor in (("drift", drift_factor), ("diffusion", diffusion_factor)):
        shape = (len(grid), *factor.shape)
        value = getattr(here, what)(grid).reshape(shape)
        agree(getattr(there, what)(a * grid + b).reshape(shape) / factor, value, what)
        low, high = (part.reshape(shape) for part in getattr(here, f"{what}_band")(grid))
        ends = [part.reshape(shape) / factor for part in getattr(there, f"{what}_band")(a * grid + b)]
        agree(np.minimum(*ends), low, f"lower end of the {what} band")
        agree(np.maximum(*ends), high, f"upper end of the {what} band")
    assert there.loss_ / count == pytest.approx(here.loss_ / count + np.log(np.abs(a)).sum(), rel=0, abs=1e-6)
    assert d == len(a)


@pytest.mark.parametrize("count", [300, 2000], ids=["one transition a cell", "merged"])
@pytest.mark.parametrize("regular", [True, False], ids=["regular", "irregular"])
@pytest.mark.parametrize("link", ["softplus", "exp", "identity"])
@few
@given(a=signed_factors, b=shifts, c=factors)
def test_one_dimension(link, regular, count, a, b, c):
    check_units("double_well_multiplicative", regular, count, [a], [b], c, link=link, transition="euler")


@settings(few, max_examples=3)
@given(a=signed_factors, b=shifts, c=factors)
def test_the_second_law(a, b, c):
    check_units("double_well_multiplicative", False, 300, [a], [b], c, transition="linearised")


@pytest.mark.parametrize("regular", [False], ids=["irregular"])
@settings(few, max_examples=3)
@given(a=st.tuples(signed_factors, signed_factors), b=st.tuples(shifts, shifts), c=factors)
def test_two_dimensions_with_full_noise_and_a_factor_each(regular, a, b, c):
    check_units("spiral", regular, 300, a, b, c, noise="full", transition="euler")
