"""Terms of equations against finite differences and plain products; expressions, which run nothing."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from onepath.data.trajectory import read_trajectory
from onepath.gp.terms import Terms, monomials
from onepath.graph.formula import Formula
from onepath.inference.equations.expressions import as_python, by_place, named_terms


def terms_in(d, own=()):
    rng = np.random.default_rng(d)
    return Terms(rng.normal(size=d), rng.uniform(0.5, 2.0, d), monomials(d, 5 if d == 1 else 3), own)


def test_monomials_are_all_of_them_once():
    for d, degree in [(1, 5), (2, 3), (3, 3)]:
        found = monomials(d, degree)
        assert len(set(found)) == len(found) == math.comb(d + degree, d)
        assert all(len(powers) == d and sum(powers) <= degree for powers in found)
        assert found[0] == (0,) * d


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.usefixtures("double")
def test_jets_are_products_and_their_differences(d):
    own = (("wave", by_place("sin(x)*x", ("x", "y", "z")[:d])),) if d < 3 else ()
    terms = terms_in(d, own)
    u = np.random.default_rng(0).normal(size=(6, d))
    jets = terms.jets(u, order=2)
    z = u + terms.origin
    plain = np.stack([np.prod(z ** np.asarray(powers), axis=1) for powers in terms.exponents], axis=1)
    assert_allclose(jets[:, 0, : plain.shape[1]], plain, rtol=1e-12)
    if own:
        x = z[:, 0] * terms.scale[0]
        assert_allclose(jets[:, 0, -1], np.sin(x) * x, rtol=1e-12)
    step = 1e-5
    for i in range(d):
        move = step * np.eye(d)[i]
        ahead, behind = terms.jets(u + move, 2), terms.jets(u - move, 2)
        assert_allclose(jets[:, 1 + i], (ahead[:, 0] - behind[:, 0]) / (2 * step), rtol=1e-6, atol=1e-6)
        second = 1 + d + [*zip(*np.triu_indices(d), strict=True)].index((i, i))
        assert_allclose(jets[:, second], (ahead[:, 1 + i] - behind[:, 1 + i]) / (2 * step), rtol=1e-6, atol=1e-6)
    assert_allclose(jax.jit(lambda u: terms.traced(u, 2))(u), jets, rtol=1e-12)


@pytest.mark.usefixtures("double")
def test_formulas_in_the_names_of_coordinates_say_what_numpy_says():
    x = np.array([0.3, -1.2])
    for text, expected in {
        "sin(x)": np.sin(0.3),
        "-x**2/(1 + y)": -(0.3**2) / (1 - 1.2),
        "exp(-x) * tanh(y) + 2": np.exp(-0.3) * np.tanh(-1.2) + 2,
        "x[1] * x": -1.2 * 0.3,
    }.items():
        made = by_place(text, ("x", "y"))
        assert isinstance(made, Formula)
        assert_allclose(float(made(x)), expected, rtol=1e-14)
        assert_allclose(eval(as_python(made, ("x", "y")), {"np": np, "x": 0.3, "y": -1.2}), expected, rtol=1e-14)
    rate = by_place("rate**2 + 1", ("rate",))
    assert float(rate(jnp.asarray(2.0))) == 5.0
    assert eval(as_python(rate, ("rate",)), {"rate": 2.0}) == 5.0


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (["__import__('os').getcwd()"], "cannot be read|neither a parameter"),
        (["x.real"], "cannot be read|neither a parameter"),
        (["log(x)"], "not one finite number"),
        (["w"], "cannot be read|neither a parameter"),
        ("fourier", "is no library"),
        (3, "cannot be used"),
        ({"bad": 3}, "give a function"),
        ({"two": lambda x: [x, x]}, "cannot be evaluated|not one finite number"),
    ],
)
def test_what_is_no_term_is_refused_in_words(terms, said):
    trajectory = read_trajectory(np.sin(np.arange(50.0)), dt=0.1)
    with pytest.raises(ValueError, match=said):
        named_terms(terms, trajectory)


@pytest.mark.usefixtures("double")
def test_libraries_have_terms_of_each_coordinate():
    trajectory = read_trajectory(np.random.default_rng(0).normal(size=(50, 2)), dt=0.1)
    for library in ("trigonometric", "rational", "saturating"):
        assert len(named_terms(library, trajectory)) == 4
    ((name, function),) = named_terms({"sum": lambda x: np.sin(x[0]) + x[1]}, trajectory)
    assert name == "sum"
    assert_allclose(float(function(np.array([0.5, 2.0]))), np.sin(0.5) + 2.0)
