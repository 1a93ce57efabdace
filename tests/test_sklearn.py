"""scikit-learn's contract: its own checks, with every exception and the reason for it."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from tinygp import kernels

from onepath import SDE
from onepath.compare.processes import PROCESSES

GRID = np.linspace(-1, 1, 20)


class AtUnitStep(SDE):
    """scikit-learn's checks call fit(X) and score(X): rows one time unit apart."""

    def fit(self, X, y=None):  # noqa: ARG002
        return super().fit(X, dt=1.0)

    def score(self, X, y=None):  # noqa: ARG002
        return super().score(X, dt=1.0)


EXCEPTIONS = {
    "check_no_attributes_set_in_init": "drift and diffusion are methods too, so the kernels are kept under other names",
    "check_n_features_in_after_fitting": "another dimension is refused in our own words",
    "check_complex_data": "complex numbers are refused in our own words, with the cure",
    "check_dtype_object": "objects are refused, numbers among them too: they are no measured states",
    "check_estimators_empty_data_messages": "empty data are refused in our own words",
    "check_estimators_nan_inf": "a row with NaN is a missing row, and is left out",
    "check_estimator_sparse_tag": "sparse matrices are refused in our own words, as no array",
    "check_estimator_sparse_array": "likewise",
    "check_estimator_sparse_matrix": "likewise",
    "check_fit2d_1sample": "one row is refused in our own words, as a transposed record",
    "check_fit1d": "(n,) is a record in one dimension",
}
LIGHT = AtUnitStep(
    kernels.DotProduct(), kernels.Constant(1.0), noise="isotropic", learn=None, transition="euler", cells=16
)


@pytest.mark.slow
@parametrize_with_checks([LIGHT], expected_failed_checks=lambda _: EXCEPTIONS)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    """The checks' data are shorter than ten transitions a dimension, which the door refuses."""
    monkeypatch.setattr("onepath.data.soundness.LEAST_TRANSITIONS", 1)
    check(estimator)


@pytest.fixture(scope="module")
def x():
    return PROCESSES["double_well"].simulate(300, substeps=1, random_state=0)[0]


@pytest.fixture(scope="module")
def fitted(x):
    return SDE(learn=None, transition="euler").fit(x, dt=0.01)


def test_parameters_round_trip():
    kernel = kernels.Matern52(scale=0.5)
    settings = {"drift": kernel, "noise": "full", "link": "exp", "learn": None, "cells": 64, "noise_variance": 0.1}
    model = SDE(**settings)
    assert settings.items() <= model.get_params().items()
    assert SDE().set_params(**model.get_params()).get_params() == model.get_params()
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == set(SDE().get_params())


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="no parameter 'typo'"):
        SDE().set_params(typo=1)
    with pytest.raises(TypeError, match="typo"):
        SDE(typo=1)


def test_setting_a_kernel_leaves_the_method_of_that_name():
    """`drift` is a parameter and a method."""
    model = SDE().set_params(drift=kernels.Constant(1.0))
    assert callable(model.drift)
    assert isinstance(model.get_params()["drift"], kernels.Constant)


def test_repr_says_what_differs_from_the_default():
    assert repr(SDE(noise="full", cells=64)) == "SDE(cells=64, noise='full')"
    assert repr(SDE()) == "SDE()"
    assert "Matern52" in repr(SDE(kernels.Matern52(scale=0.5)))


def test_fitting_changes_no_setting_and_returns_the_model(x):
    model = SDE(learn=None, transition="euler")
    before = model.get_params()
    assert model.fit(x, dt=0.01) is model
    assert model.get_params() == before


def test_clones_are_not_fitted(fitted):
    with pytest.raises(NotFittedError):
        clone(fitted).drift(GRID)


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.drift(GRID),
        lambda model: model.diffusion(GRID),
        lambda model: model.drift_band(GRID),
        lambda model: model.diffusion_band(GRID),
        lambda model: model.functions(GRID),
        lambda model: model.score(GRID, dt=0.01),
        lambda model: model.summary(),
    ],
    ids=["drift", "diffusion", "drift_band", "diffusion_band", "functions", "score", "summary"],
)
def test_asking_before_fitting_is_refused(call):
    with pytest.raises(NotFittedError, match="not fitted"):
        call(SDE(learn=None, transition="euler"))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copy", "pickle"]
)
def test_copies_are_the_same_model(copied, fitted):
    assert copied(SDE(learn=None, link="exp")).get_params() == SDE(learn=None, link="exp").get_params()
    again = copied(fitted)
    np.testing.assert_array_equal(again.drift(GRID), fitted.drift(GRID))
    np.testing.assert_array_equal(again.diffusion_band(GRID), fitted.diffusion_band(GRID))
    assert again.summary() == fitted.summary()
    assert again.get_params() == fitted.get_params()
