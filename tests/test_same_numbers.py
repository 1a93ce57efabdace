"""The same path in metres, micrometres and nanometres, in seconds, milliseconds and hours: every number is the same."""

import numpy as np
import pandas as pd
import pytest

from onepath import SDE
from onepath.after.equation import equations
from onepath.compare.processes import PROCESSES
from onepath.show import numbers
from onepath.show.facts import facts_of
from onepath.show.plots.curves import fan_of
from onepath.show.report import report_page

UNITS = {"µm, ms": (1e6, 1e3), "nm, h": (1e9, 1 / 3600), "km, s": (1e-3, 1.0)}


def fitted(process, dt, seed, length=1.0, time=1.0):
    """500 steps of a process, in units of which so many make one."""
    path = PROCESSES[process].simulate(500, dt=dt, random_state=seed)[0]
    return SDE(transition="euler", progress=False).fit(length * path, t=time * dt * np.arange(501))


@pytest.fixture(scope="module")
def metres():
    return fitted("double_well", 0.1, 1)


def numbers_of(sde):
    """All that summary, report and JSON say: what it is, its powers of length and of time, and the numbers."""
    model, follows, found = sde.model_, sde.consequences(), equations(sde.model_)
    table, fan = numbers.values(model), fan_of(model)
    yield "where", 1, 0, [row.at for row in table]
    yield "drift", 1, -1, [row.drift for row in table]
    yield "noise", 1, -0.5, [row.noise for row in table]
    for what, polynomials, power in (("drift", found.drift, -1.0), ("noise", found.diffusion, -0.5)):
        for polynomial in polynomials:
            yield f"fit of the {what}", 0, 0, [polynomial.explained, polynomial.misfit]
            for (exponent,), *pair in zip(*polynomial[:3], strict=True):
                yield f"{what}, power {exponent}", 1 - exponent, power, pair
    for function in ("drift", "diffusion"):
        yield f"length of the {function}", 1, 0, numbers.lengths(model, function)
    yield "λ", 0, 0, numbers.unexplained(model)
    yield "constant noise", 0, 0, sde.constant_noise_
    yield "evidence", 0, 0, sde.evidence_ + len(model.transitions) * np.log(model.units.scale[0])
    yield "parameters", 0, 0, [*model.values.values()]
    yield "intervals", 0, 0, [*numbers.intervals(model).values()]
    yield "grid", 1, 0, follows.x
    yield "potential", 2, -1, follows.potential
    yield "density", -1, 0, follows.density
    yield "wells", 1, 0, [point.position for point in follows.fixed_points]
    yield "slopes", 0, -1, [point.slope for point in follows.fixed_points]
    yield "shares", 0, 0, [point.share for point in follows.fixed_points]
    yield "passages", 0, 1, [passage.time for passage in follows.passages]
    yield "forecast", 1, 0, fan.quantiles(numbers.QUANTILES)
    yield "ahead", 0, 1, fan.t
    for question in sde.diagnose().questions:
        yield f"p of {question.name}", 0, 0, question.p_value
        yield question.name, 0, int(question.name == "season"), question.statistic  # a season is a time


@pytest.mark.parametrize("unit", UNITS)
def test_every_number_is_the_same_in_other_units(metres, unit):
    length, time = UNITS[unit]
    other = fitted("double_well", 0.1, 1, length, time)
    assert other.diagnose().verdict == metres.diagnose().verdict
    assert other.diagnose().faults == metres.diagnose().faults
    pairs = zip(numbers_of(metres), numbers_of(other), strict=True)
    for (what, of_length, of_time, here), (there_what, _, _, there) in pairs:
        assert what == there_what
        here, converted = np.asarray(here, float), np.asarray(there, float) / (length**of_length * time**of_time)
        size = np.max(np.abs(here[np.isfinite(here)]), initial=0.0)
        np.testing.assert_allclose(converted, here, rtol=1e-5, atol=1e-6 * size, err_msg=what)


def test_what_is_left_of_the_mean_is_added_and_not_subtracted_from_below():
    """Around -41.4, which is far from zero: (d18O + 41.4), not (d18O - -41.4)."""
    path = PROCESSES["ou"].simulate(500, dt=0.1, random_state=0)[0, :, 0]
    below = pd.DataFrame({"d18O": path / path.std() - 41.4}, index=pd.to_datetime(np.arange(501), unit="D"))
    sde = SDE(transition="euler", equations="off", progress=False).fit(below)
    for text in (sde.summary(), report_page(sde.model_), " ".join(facts_of(sde.model_)["equations"])):
        assert "(d18O + 41." in text
        assert "- -" not in text


@pytest.mark.parametrize(("process", "dt", "seed"), [("double_well", 0.1, 2), ("double_well_multiplicative", 0.01, 3)])
def test_a_length_lies_inside_its_own_interval(metres, process, dt, seed):
    for model in (metres.model_, fitted(process, dt, seed).model_):
        for function in ("drift", "diffusion"):
            for value, low, high in numbers.lengths(model, function):
                assert low < value < high
