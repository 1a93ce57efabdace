"""Model files that version 0.1.0 wrote, one of one dimension and one of two, predict what they did then."""

import json
from pathlib import Path

import numpy as np
import pytest

import onepath
from onepath.show import numbers

DATA = Path(__file__).parent / "data"
SAID = json.loads((DATA / "predictions-0.1.0.json").read_text())


@pytest.mark.parametrize("name", SAID)
def test_former_files_predict_what_they_did(name):
    sde, said = onepath.load(DATA / f"{name}-0.1.0.onepath"), SAID[name]
    at = np.asarray(said["points"])
    for what in ("drift", "diffusion", "drift_band", "diffusion_band"):
        np.testing.assert_allclose(getattr(sde, what)(at), said[what], rtol=1e-12, atol=1e-13, err_msg=what)
    fan = sde.forecast(5, paths=20, random_state=0).quantiles([0.5])[0, :, 0]
    np.testing.assert_allclose(fan, said["forecast"], rtol=1e-9)
    assert sde.evidence_ == said["evidence"]
    assert sde.loss_ == said["loss"]
    assert sde.constant_noise_ == said["constant_noise"]
    assert sde.transition_ == said["transition"]
    assert sde.parameters_ == said["parameters"]
    assert list(sde.trajectory_.names) == said["names"]
    assert sde.trajectory_.dates(sde.trajectory_.t) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", SAID)
def test_a_former_file_saved_again_is_the_same_model(name, tmp_path):
    former = onepath.load(DATA / f"{name}-0.1.0.onepath")
    again = onepath.load(former.save(tmp_path / "again.onepath"))
    at = np.asarray(SAID[name]["points"])
    np.testing.assert_array_equal(again.drift(at), former.drift(at))
    np.testing.assert_array_equal(again.diffusion_band(at), former.diffusion_band(at))
    assert again.get_params() == former.get_params() or name == "plane"  # kernels have no equality
    assert again.summary() == former.summary()


def test_a_length_lies_inside_its_own_interval():
    model = onepath.load(DATA / "line-0.1.0.onepath").model_
    for function in ("drift", "diffusion"):
        for value, low, high in numbers.lengths(model, function):
            assert low < value < high
