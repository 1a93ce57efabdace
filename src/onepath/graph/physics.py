"""Known parts: drift or diffusion as a function of the user's, with an unknown rest or without, and its parameters.

A parameter is an unknown function that is the same everywhere. So it is completed with the others, in the law that is
taken, its band is theirs, and it may stand in drift and diffusion at once.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tinygp import kernels

from onepath.data.inputs import CLASS, SEASON, Variables
from onepath.data.transitions import Transitions, Units
from onepath.gp.features import Unknown
from onepath.gp.jets import Jet, jet_of
from onepath.gp.kernels import stacked
from onepath.graph.formula import Formula
from onepath.numerics.arrays import evenly
from onepath.numerics.linalg import constant

SPREAD = 1000.0
"""Standard deviation of a parameter beforehand, in units of where it starts: the data decide."""


LOOKED_AT = 64
"""Points at which a function must be finite."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Known:
    """A drift or a diffusion that is known, up to parameters, with an unknown rest or without.

    Parameters
    ----------
    function : a function of NumPy or JAX, or a formula as text, of one state in the data's own units
        The state x is a number in one dimension and an array (d,) above; drifts and diffusions are as many numbers, the
        diffusion's its diagonal. An argument `u` takes the inputs, a dictionary by name: numbers, of a class which one
        it is, of a season the time since its cycle began. Other arguments are parameters. In a formula the state is x,
        or x[0], x[1]; inputs are called by their names; and it can go into a model file.
    rest : bool
        Whether there is an unknown rest: added to a drift, a factor of a diffusion.
    **parameters : numbers
        Where parameters begin, by name; they are learned. The same name in drift and diffusion is one parameter.

    Examples
    --------
    >>> from onepath import SDE, Known
    >>> from onepath.compare.processes import PROCESSES
    >>> truth = PROCESSES["ou_slow"]  # dX = -X dt + 0.7 dW
    >>> path = truth.simulate(500, random_state=0)[0]
    >>> spring = Known("-k * x", k=2.0, rest=False)  # or lambda x, k: -k * x
    >>> k = SDE(drift=spring).fit(path, dt=truth.dt).known_["k"]
    >>> bool(k.lower < 1.0 < k.upper)
    True
    """

    function: Callable[..., Any]
    rest: bool
    parameters: dict[str, float]

    def __init__(self, function: Callable[..., Any] | str, *, rest: bool = True, **parameters: float) -> None:
        function = Formula(function, tuple(parameters)) if isinstance(function, str) else function
        vars(self).update(function=function, rest=rest, parameters=parameters)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        name = repr(self.function.text) if isinstance(self.function, Formula) else name
        given = [f"{name}={value!r}" for name, value in self.parameters.items()]
        return f"Known({', '.join([name, *(['rest=False'] if not self.rest else []), *given])})"


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of JAX's that NumPy's functions take."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        return Traced(getattr(jnp, ufunc.__name__)(*plain(inputs)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        del types
        return Traced(getattr(jnp, function.__name__)(*plain(args), **plain(kwargs)))

    def __getitem__(self, index: Any) -> "Traced":
        return Traced(self.value[index])

    def __bool__(self) -> bool:
        raise TypeError("whether it is true is not known yet, so that no if can ask: use np.where")


def plain(value: Any) -> Any:
    """Without wrapping, at any depth of lists and the like."""
    if isinstance(value, Traced):
        return value.value
    if isinstance(value, list | tuple):
        return type(value)(plain(each) for each in value)
    return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value


class Part(eqx.Module):
    """One of the user's functions, and how it is called."""

    function: Callable[..., Any] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)  # of its parameters
    places: tuple[int, ...] = eqx.field(static=True)  # which of all parameters they are
    reads: bool = eqx.field(static=True)  # whether it takes inputs
    by_numpy: bool = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"], u: dict[str, Any], parameters: Float[Array, " p"]) -> Float[Array, " d"]:
        given: dict[str, Any] = {name: parameters[place] for name, place in zip(self.names, self.places, strict=True)}
        if self.reads:
            given["u"] = u
        state: Any = x if len(x) > 1 else x[0]
        if self.by_numpy:
            state, given = Traced(state), jax.tree.map(Traced, given)
        found = plain(self.function(state, **given))
        found = jnp.stack([jnp.asarray(each) for each in found]) if isinstance(found, list | tuple) else found
        return jnp.broadcast_to(jnp.asarray(found, x.dtype), x.shape)


class Physics(eqx.Module):
    """What is known of a graph: parts of drift and diffusion, in standardised units, and their parameters.

    Parameters are `start` and what is unknown beside it, the last latents of the graph.
    """

    drift: Part | None
    diffusion: Part | None
    start: Float[Array | np.ndarray, " p"]
    constants: Unknown | None
    location: Float[Array | np.ndarray, " dq"]
    scale: Float[Array | np.ndarray, " dq"]
    time: Float[Array | np.ndarray, ""]
    names: tuple[str, ...] = eqx.field(static=True)
    variables: Variables = eqx.field(static=True, default=())

    def drift_jet(self, latent: Float[Array, "p k"], u: Float[Array, " dq"], d: int) -> Jet:
        factor = jnp.asarray(self.time / self.scale[:d])
        return self._jet(self.drift, factor, latent, u, d)

    def diffusion_jet(self, latent: Float[Array, "p k"], u: Float[Array, " dq"], d: int) -> Jet:
        factor = jnp.asarray(jnp.sqrt(self.time) / self.scale[:d])
        return self._jet(self.diffusion, factor, latent, u, d)

    def _jet(self, part: Part | None, factor: Array, latent: Array, u: Array, d: int) -> Jet:
        assert part is not None
        parameters = jnp.asarray(self.start) + latent[:, 0]

        def value(u: Array) -> Array:
            x = jnp.asarray(self.location) + jnp.asarray(self.scale) * u
            return factor * part(x[:d], self.inputs(x[d:]), parameters)

        return jet_of(value, u, d) if latent.shape[1] > 1 else Jet(value(u))

    def inputs(self, columns: Float[Array, " q"]) -> dict[str, Any]:
        """By name, as a user says them."""
        found, begin = {}, 0
        for one in self.variables:
            own = columns[begin : begin + one.columns]
            begin += one.columns
            if one.kind == SEASON:
                found[one.name] = jnp.mod(jnp.arctan2(own[1], own[0]) / (2 * jnp.pi), 1.0) * one.period
            else:
                found[one.name] = jnp.argmax(own) if one.kind == CLASS else own[0]
        return found


def physics_of(drift: Any, diffusion: Any, transitions: Transitions, units: Units) -> Physics | None:
    """What is known, of what was given as drift and diffusion; None where nothing is."""
    given = [one if isinstance(one, Known) else None for one in (drift, diffusion)]
    if given == [None, None]:
        return None
    start: dict[str, float] = {}
    for one in given:
        start |= {} if one is None else one.parameters
    names, values = tuple(start), np.asarray(list(start.values()), float)
    d, k = transitions.x.shape[1], 0 if transitions.inputs is None else transitions.inputs.shape[1]
    location, scale = units.location, units.scale
    if units.input_location is not None and units.input_scale is not None:
        location, scale = np.r_[location, units.input_location], np.r_[scale, units.input_scale]
    constants = None
    if names:
        size = SPREAD * np.where(values == 0.0, 1.0, np.abs(values))
        kernel = stacked(kernels.Constant(1.0), len(names))
        width = (constant(np.zeros(d + k)), constant(np.ones(d + k)))
        constants = Unknown(kernel, constant(size), *width, (), None, d if k else None)
    known = [None if one is None else _part(one, role, names) for one, role in zip(given, ROLES, strict=True)]
    found = Physics(
        drift=known[0],
        diffusion=known[1],
        start=constant(values),
        constants=constants,
        location=constant(location),
        scale=constant(scale),
        time=constant(units.time),
        names=names,
        variables=transitions.variables,
    )
    return _checked(found, transitions)


ROLES = ("drift", "diffusion")


def _part(known: Known, role: str, names: Sequence[str]) -> Part:
    """How a function is called, by its signature."""
    try:
        taken = list(inspect.signature(known.function).parameters.values())[1:]
    except (TypeError, ValueError) as error:
        raise TypeError(f"The function known as {role} cannot be looked into: {error}. Wrap it in a lambda") from error
    anything = any(one.kind == one.VAR_KEYWORD for one in taken)
    wanted = {one.name for one in taken if one.default is one.empty and one.kind != one.VAR_KEYWORD} - {"u"}
    has = {one.name for one in taken}
    missing = sorted(wanted - set(known.parameters))
    unknown = [] if anything else sorted(set(known.parameters) - has)
    if missing or unknown:
        what = f"no start for {', '.join(missing)}" if missing else f"no argument {', '.join(unknown)}"
        raise ValueError(
            f"The function known as {role} has {what}: its arguments are the state, u for inputs where it reads them, "
            "and its parameters, each with a number where it begins, as in Known(lambda x, k: -k * x, k=1.0)"
        )
    own = tuple(known.parameters)
    return Part(known.function, own, tuple(names.index(name) for name in own), "u" in has, False)


def _checked(physics: Physics, transitions: Transitions) -> Physics:
    """With NumPy's functions told from JAX's; refused where values are not finite, or diffusions not positive."""
    for role in ROLES:
        part = getattr(physics, role)
        if part is not None:
            if part.reads and not physics.variables:
                raise ValueError(_reads_nothing(part, role))
            told = _told_apart(part, role, physics, transitions.x.shape[1])
            _check_values(told, role, physics, transitions)
            physics = replace(physics, drift=told) if role == "drift" else replace(physics, diffusion=told)
    return physics


def _reads_nothing(part: Part, role: str) -> str:
    if not isinstance(part.function, Formula):
        return f"The function known as {role} reads inputs u, and there are none: pass inputs= to fit"
    names = ", ".join(part.function.inputs)
    return (
        f"The formula known as {role}, {part.function.text!r}, reads {names}, and there are no inputs: pass inputs= to "
        "fit, or say where a parameter begins, as in Known('-k * x', k=1.0)"
    )


def _told_apart(part: Part, role: str, physics: Physics, d: int) -> Part:
    """By JAX, or by NumPy where that takes it."""
    x, u = jnp.asarray(physics.location[:d]), physics.inputs(jnp.asarray(physics.location[d:]))
    errors: list[Exception] = []
    for by_numpy in (False, True):
        tried = replace(part, by_numpy=by_numpy)
        try:
            jax.eval_shape(tried, x, u, physics.start)
        except Exception as error:
            errors.append(error)
            continue
        return tried
    numbers = f"{d} number{'s' * (d > 1)}"
    raise ValueError(
        f"The function known as {role} cannot be evaluated: {errors[0]}. It takes one state, of {numbers}, and gives "
        f"{numbers}, by NumPy or JAX, without if"
    ) from errors[0]


def _check_values(part: Part, role: str, physics: Physics, transitions: Transitions) -> None:
    """At some of the data, where its parameters begin."""
    d, some = transitions.x.shape[1], transitions.points[evenly(len(transitions), LOOKED_AT)]

    def at(point: Float[Array, " dq"]) -> Float[Array, " d"]:
        return part(point[:d], physics.inputs(point[d:]), jnp.asarray(physics.start))

    values = np.asarray(jax.vmap(at)(jnp.asarray(some)))
    positive = role != "diffusion" or bool(np.all(values > 0.0))
    if not np.all(np.isfinite(values)) or not positive:
        wrong = "not positive" if np.all(np.isfinite(values)) else "not finite"
        raise ValueError(f"The function known as {role} is {wrong} at some of the data, where its parameters begin")


def product(left: Jet, right: Jet) -> Jet:
    """The jet of a product, entry by entry."""
    if left.slope is None or right.slope is None:
        return Jet(left.value * right.value)
    (a, aa), (b, bb) = left.derivatives, right.derivatives
    slope = a * right.value + left.value * b
    crossed = a[:, None] * b[None] + b[:, None] * a[None]
    return Jet(left.value * right.value, slope, aa * right.value + left.value * bb + crossed)


def total(left: Jet, right: Jet) -> Jet:
    """The jet of a sum."""
    if left.slope is None or right.slope is None:
        return Jet(left.value + right.value)
    return Jet(*(one + other for one, other in zip(left, right, strict=True)))  # type: ignore[operator]
