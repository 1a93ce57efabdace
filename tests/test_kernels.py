"""A closed algebra tested by its laws, parameters that go there and back, and refusals that teach."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tinygp import kernels, transforms
from tinygp.kernels import Kernel

from onepath.gp.features import Unknown, with_bases
from onepath.gp.kernels import (
    Cubic,
    Linear,
    Matern,
    check_kernel,
    default_diffusion_kernel,
    default_drift_kernel,
    output,
    stacked,
    terms,
)
from onepath.gp.parameters import learnable, pack, parameters_of, unpack
from onepath.graph.graph import Parameters


def parameter_names(tree, mask):
    return tuple(each.name for each in parameters_of(tree, mask))


X = np.random.default_rng(0).uniform(-1.5, 1.5, (24, 1))
DIFFERENCE = np.abs(X - X.T)

# tinygp kernels, and the same matrices in NumPy
LEAVES = [
    (kernels.Matern52(scale=0.7), (1 + np.sqrt(5) * DIFFERENCE / 0.7 + 5 * (DIFFERENCE / 0.7) ** 2 / 3)
     * np.exp(-np.sqrt(5) * DIFFERENCE / 0.7)),
    (kernels.ExpSquared(scale=0.9), np.exp(-0.5 * (DIFFERENCE / 0.9) ** 2)),
    (kernels.DotProduct(), X @ X.T),
    (kernels.Constant(0.6), np.full((24, 24), 0.6)),
]  # fmt: skip
EXPRESSIONS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.tuples(inner, inner, st.sampled_from("+*")).map(
        lambda pair: (
            (pair[0][0] + pair[1][0], pair[0][1] + pair[1][1])
            if pair[2] == "+"
            else (pair[0][0] * pair[1][0], pair[0][1] * pair[1][1])
        )
    ),
    max_leaves=5,
)


def gram(kernel):
    """φφ' at X, all of X being points of the features."""
    function = Unknown(stacked(kernel, 1), jnp.ones(1), jnp.zeros(1), jnp.ones(1))
    phi = np.asarray(with_bases(function, jnp.asarray(X), jnp.ones(24, bool), 0.0, 24).features(jnp.asarray(X)))[
        :, 0, 0
    ]
    return phi @ phi.T


@settings(max_examples=25, deadline=None, derandomize=True)
@given(EXPRESSIONS)
def test_sums_and_products_nest_at_will(expression):
    kernel, matrix = expression
    with jax.enable_x64(True):
        assert_allclose(gram(kernel), matrix, rtol=0, atol=1e-9 * np.trace(matrix))


@pytest.mark.usefixtures("double")
def test_laws_of_the_algebra():
    (a, A), (b, B), (c, C), _ = LEAVES
    for kernel, matrix in [
        (a * b + c, A * B + C),
        (a * (b + c), A * B + A * C),
        ((a + b) * c, (A + B) * C),
        (2.0 * a * c + (kernels.Constant(0.6) + b) * 2.0, 2 * A * C + 2 * (0.6 + B)),
        (a + (b + c) * (a + c), A + (B + C) * (A + C)),
    ]:
        assert_allclose(gram(kernel), matrix, rtol=0, atol=1e-9 * np.trace(matrix))
    assert not np.allclose(A * B + C, A + B + C)


def test_terms_are_those_of_the_outer_sum_only():
    a, b, c = (kernel for kernel, _ in LEAVES[:3])
    assert [type(term) for term in terms(a + (b + c * a))] == [kernels.Matern52, kernels.ExpSquared, kernels.Product]
    assert len(terms((a + b) * c)) == 1
    assert terms(a) == (a,)


@pytest.mark.usefixtures("double")
def test_own_kernels_are_the_formulas_in_their_docstrings():
    x = np.random.default_rng(1).normal(size=(9, 2))
    scale = np.array([0.5, 2.0])
    r = np.sqrt(5) * np.sqrt(np.sum(((x[:, None] - x[None]) / scale) ** 2, axis=2))
    matern = Matern(jnp.asarray(1.3), jnp.asarray(scale))(jnp.asarray(x), jnp.asarray(x))
    assert_allclose(matern, 1.3**2 * (1 + r + r**2 / 3) * np.exp(-r), rtol=1e-12)
    assert_allclose(Linear(jnp.asarray(0.7))(jnp.asarray(x), jnp.asarray(x)), 0.49 * (1 + x @ x.T), rtol=1e-12)
    lower, upper = np.array([-0.5, -1.0]), np.array([0.5, 0.8])
    cubic = Cubic(jnp.asarray(0.7), jnp.asarray(lower), jnp.asarray(upper))(jnp.asarray(x), jnp.asarray(x))
    inside = np.clip(x, lower, upper)
    assert np.any(inside != x)
    assert_allclose(cubic, 0.49 * (1 + inside @ inside.T / 4) ** 3, rtol=1e-12)


@pytest.mark.usefixtures("double")
def test_matern_has_finite_slopes_where_points_coincide():
    def value(scale):
        return Matern(jnp.asarray(1.0), scale)(jnp.asarray(X), jnp.asarray(X)).sum()

    step = 1e-6
    numerical = (value(jnp.asarray([0.8 + step])) - value(jnp.asarray([0.8 - step]))) / (2 * step)
    assert float(jax.grad(value)(jnp.asarray([0.8]))[0]) == pytest.approx(float(numerical), rel=1e-6)


EXAMPLES = {
    "default drift": lambda: default_drift_kernel(-jnp.ones(2), 2 * jnp.ones(2)),
    "default diffusion": lambda: default_diffusion_kernel(1),
    "nested": lambda: 2.0 * kernels.Matern52(scale=0.5) * kernels.DotProduct() + kernels.Matern52(scale=3.0),
    "transform": lambda: transforms.Linear(jnp.asarray([0.5, 2.0]), kernels.ExpSquared()),
}


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("outputs", [1, 3])
def test_parameters_go_to_logarithms_and_back(example, outputs):
    kernel = stacked(EXAMPLES[example](), outputs)
    mask = learnable(kernel)
    theta = pack(kernel, mask)
    shift = jnp.asarray(np.random.default_rng(0).normal(size=theta.shape))
    again = pack(unpack(kernel, mask, theta + shift), mask)
    assert_allclose(again, theta + shift, atol=1e-12)
    back = unpack(kernel, mask, theta)
    assert jax.tree.structure(back) == jax.tree.structure(kernel)
    for before, after in zip(jax.tree.leaves(kernel), jax.tree.leaves(back), strict=True):
        assert_allclose(after, before, rtol=1e-14)
        assert jnp.shape(after) == jnp.shape(before)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("example", EXAMPLES)
def test_each_name_belongs_to_its_own_number(example):
    """Names are unique, and in the order of the vector: change one entry, and the leaf of that name changes."""
    kernel = stacked(EXAMPLES[example](), 2)
    mask = learnable(kernel)
    names = parameter_names(kernel, mask)
    theta = pack(kernel, mask)
    assert len(set(names)) == len(names) == len(theta)
    for i, name in enumerate(names):
        changed = unpack(kernel, mask, theta + np.eye(len(theta))[i])
        before, after = jax.tree.leaves(kernel), jax.tree.leaves(changed)
        fields = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(kernel)]
        touched = [field for field, a, b in zip(fields, before, after, strict=True) if not np.allclose(a, b)]
        assert len(touched) == 1
        assert touched[0].endswith(name.split("[")[0].rsplit(".", 1)[-1])


@pytest.mark.usefixtures("double")
def test_names_are_readable():
    kernel = stacked(EXAMPLES["nested"](), 1)
    names = parameter_names(kernel, learnable(kernel))
    assert names == (".constant.value", ".matern52.scale", ".matern52_2.scale")
    two = stacked(kernels.Matern52(scale=0.5), 2)
    assert parameter_names(two, learnable(two)) == (".matern52.scale[0]", ".matern52.scale[1]")


@pytest.mark.usefixtures("double")
def test_neither_zero_nor_negative_nor_orders_are_learned():
    kernel = (
        kernels.Polynomial(order=jnp.asarray(3.0), scale=jnp.asarray(2.0), sigma=jnp.asarray(0.0))
        + kernels.Constant(-1.0) * kernels.DotProduct()
    )
    kernel = stacked(kernel, 1)
    assert parameter_names(kernel, learnable(kernel)) == (".polynomial.scale",)
    assert_allclose(pack(kernel, learnable(kernel)), [np.log(2.0)])
    box = stacked(Cubic(jnp.asarray(0.5), jnp.asarray([0.1]), jnp.asarray([2.0])), 1)
    assert parameter_names(box, learnable(box)) == (".cubic.amplitude",)
    nothing = stacked(kernels.DotProduct(), 1)
    assert pack(nothing, learnable(nothing)).shape == (0,)


@pytest.mark.usefixtures("double")
def test_classes_say_what_their_parameters_are():
    """Roles and spreads of the default priors, chosen on many paths; of what says nothing, a weak one."""
    own = default_drift_kernel(-jnp.ones(1), jnp.ones(1)), default_diffusion_kernel(1)
    tree = Parameters(*((stacked(kernel, 1),) for kernel in own), jnp.ones(1), jnp.asarray(1e-3))
    said = {each.name: (each.role, each.spread) for each in parameters_of(tree, learnable(tree))}
    assert said == {
        "drift.linear.amplitude": ("amplitude", 1.0),
        "drift.cubic.amplitude": ("amplitude", 1.5),
        "drift.matern.amplitude": ("amplitude", 1.5),
        "drift.matern.scale": ("length", 1.0),
        "diffusion.linear.amplitude": ("amplitude", 1.5),
        "diffusion.matern.amplitude": ("amplitude", 1.5),
        "diffusion.matern.scale": ("length", 0.7),
        "level": ("level", 1.0),
        "noise": ("noise", 1.5),
    }
    given = stacked(kernels.Matern52(scale=0.5), 1)
    assert [(each.role, each.spread) for each in parameters_of(given, learnable(given))] == [("given", 3.0)]


@pytest.mark.usefixtures("double")
def test_stacking_repeats_and_output_takes_one():
    kernel = EXAMPLES["nested"]()
    many = stacked(kernel, 3)
    for index in range(3):
        assert_allclose(output(many, index)(jnp.asarray(X), jnp.asarray(X)), kernel(jnp.asarray(X), jnp.asarray(X)))


class PerDimension(Kernel):
    def evaluate(self, X1, X2):
        return jnp.exp(-jnp.square(X1 - X2))


def test_refusals_say_what_is_wrong():
    with pytest.raises(TypeError, match=r"drift must be a tinygp kernel such as .* got str"):
        check_kernel("matern", "drift", 1)
    with pytest.raises(TypeError, match="diffusion must be a tinygp kernel"):
        check_kernel(kernels.Matern52, "diffusion", 1)
    with pytest.raises(ValueError, match=r"returns an array of shape \(2,\) .* must return one number"):
        check_kernel(PerDimension(), "drift", 2)
    with pytest.raises(
        ValueError, match=r"given as diffusion cannot be evaluated on points of shape \(2,\)"
    ) as refusal:
        check_kernel(transforms.Linear(jnp.ones(3), kernels.ExpSquared()), "diffusion", 2)
    assert refusal.value.__cause__ is not None
    assert check_kernel(kernels.Matern52(scale=0.5), "drift", 1) is None
