"""Which short equations a model's drift and squared noise are, and how probable each is."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from onepath.after.equation import with_error
from onepath.data.inputs import SEASON, Variables, in_equations
from onepath.gp.terms import Exponents, Terms
from onepath.graph.formula import Formula
from onepath.graph.links import LINKS
from onepath.inference.equations.expressions import Own, as_python
from onepath.inference.posterior.formulas import Formulas
from onepath.model import Model, asked_once
from onepath.numerics.arrays import Floats
from onepath.numerics.precision import in_double

INDEXED = re.compile(r"([A-Za-z])(\d+)")
"""A name that is a letter and a number."""

SHOWN = 0.01
"""The least probable equation that is told of."""


class Term(NamedTuple):
    """One term of an equation in the data's units: its name as text, LaTeX and Python, its coefficient and error.

    `factors` are coordinates and their powers; None for a term of the user's own.
    """

    name: str
    latex: str
    python: str
    factors: tuple[tuple[str, int], ...] | None
    coefficient: float
    error: float

    @property
    def text(self) -> str:
        """The coefficient with its error, such as -1.02(7)."""
        return "-" * (self.coefficient < 0) + with_error(abs(self.coefficient), self.error)


@dataclass(frozen=True)
class Written:
    """A sum of terms as a function of points (n, d) in the data's units."""

    terms: Terms
    coefficients: Floats  # of terms in standard deviations
    variables: Variables = ()

    @in_double
    def __call__(self, x: Floats) -> Floats:
        terms, d = self.terms, self.terms.dimension
        line = d + len(self.variables) == 1
        points = x.reshape(-1, 1) if line else np.atleast_2d(x)
        if self.variables:
            points = np.concatenate([points[:, :d], in_equations(self.variables, points[:, d:])], axis=1)
        values = terms.jets(points / np.asarray(terms.scale) - np.asarray(terms.origin))[:, 0] @ self.coefficients
        return values.reshape(x.shape if line and x.ndim < 2 else x.shape[:-1])


@dataclass(frozen=True)
class Equation:
    """A function as a sum of terms, and the probability that it is this one. It can be called, with points (n, d).

    Values of inputs are columns after the state's. In one dimension without inputs points (n,) will do. Coefficients
    are posterior means, errors posterior standard deviations.
    """

    of: str  # "drift", "squared noise of y"
    probability: float
    terms: tuple[Term, ...]
    function: Callable[[Floats], Floats] = field(repr=False, compare=False)

    @property
    def coefficients(self) -> dict[str, float]:
        """By the names of terms; that of the constant is "1"."""
        return {one.name: one.coefficient for one in self.terms}

    @property
    def errors(self) -> dict[str, float]:
        return {one.name: one.error for one in self.terms}

    @property
    def text(self) -> str:
        """Such as "0.98(6) x - 1.02(7) x³"."""
        return _joined([(one, with_error(abs(one.coefficient), one.error)) for one in self.terms], "name", " ")

    @property
    def latex(self) -> str:
        r"""Such as "0.98(6)\, x - 1.02(7)\, x^{3}"."""
        numbers = [(one, _latex_number(with_error(abs(one.coefficient), one.error))) for one in self.terms]
        return _joined(numbers, "latex", r"\, ")

    @property
    def python(self) -> str:
        """An expression of Python, such as "0.98113 * x - 1.0203 * x**3"."""
        numbers = [(one, repr(float(f"{abs(one.coefficient):.12g}"))) for one in self.terms]
        return _joined(numbers, "python", " * ")

    def __call__(self, x: Any) -> Floats:
        return self.function(np.asarray(x, float))

    def __str__(self) -> str:
        return f"{self.of} = {self.text}, probability {_percent(self.probability)}"


@dataclass(frozen=True)
class Candidates:
    """What one function is: its equations, the most probable first, or none of them."""

    of: str
    equations: tuple[Equation, ...]
    none: float  # how probable it is that no simple equation is known
    terms: dict[str, float]  # how probable it is that an equation has this term

    @property
    def best(self) -> Equation | None:
        """The most probable equation; None where no simple equation is more probable."""
        first = next(iter(self.equations), None)
        return None if first is None or first.probability <= self.none else first

    def __str__(self) -> str:
        if self.best is None:
            return f"{self.of}: no simple equation, probability {_percent(self.none)}"
        return str(self.best)


@dataclass(frozen=True)
class Equations:
    """Of each coordinate of the drift and of the squared noise. `str` of it says the most probable ones."""

    drift: tuple[Candidates, ...]
    noise: tuple[Candidates, ...]
    names: tuple[str, ...]  # of coordinates, and of inputs after them

    @property
    def all(self) -> tuple[Candidates, ...]:
        return (*self.drift, *self.noise)

    def __str__(self) -> str:
        return "\n".join(map(str, self.all))

    @property
    def text(self) -> str:
        return str(self)

    @property
    def latex(self) -> str:
        """Lines of an `align` environment, of those functions that are equations."""
        best = [each.best for each in self.all if each.best is not None]
        return " \\\\\n".join(rf"\text{{{one.of}}} &= {one.latex}" for one in best)

    @property
    def python(self) -> str:
        """Functions of Python by the names f and variance, one for each coordinate that has an equation."""
        lines = ["import numpy as np", ""]
        arguments = ", ".join(map(identifier, self.names))
        for stem, several in (("f", self.drift), ("variance", self.noise)):
            for i, each in enumerate(several):
                name = stem if len(several) == 1 else f"{stem}_{i + 1}"
                if each.best is None:
                    lines += [f"# {each.of}: no simple equation", ""]
                else:
                    lines += ["", f"def {name}({arguments}):", f"    return {each.best.python}", ""]
        return "\n".join(lines)


class Naming(NamedTuple):
    """What coordinates and inputs are called."""

    names: tuple[str, ...]
    variables: Variables = ()


class Steady(NamedTuple):
    """Constant noise as a member of the process: how probable among them, and σ² with its error."""

    share: float
    square: float
    error: float


@asked_once
def equations_of(model: Model) -> Equations | None:
    """Those of a model; None where none were asked for, or could be."""
    formulas, graph = model.posterior.formulas, model.graph
    if formulas is None:
        return None
    scale, time, unit = model.units.scale, model.units.time, np.asarray(graph.unit)
    naming, several = Naming(model.names, model.variables), " of {}" if model.dimension > 1 else ""
    drift = tuple(
        candidates(formulas, naming, i, f"drift{several.format(name)}", scale[i] / time)
        for i, name in enumerate(() if graph.knows_drift else model.names)
    )
    noise: tuple[Candidates, ...] = ()
    if graph.structure != "full" and not graph.knows_diffusion:
        common = graph.structure == "isotropic"
        factors = unit**2 * scale[: len(unit)] ** 2 / time
        noise = tuple(
            candidates(
                formulas,
                naming,
                graph.drifts + i,
                "squared noise" if common else f"squared noise{several.format(model.names[i])}",
                factor,
                _steady(model, graph.drifts + i, factor),
            )
            for i, factor in enumerate(factors.tolist())
        )
    return Equations(drift, noise, (*model.names, *(one.name for one in model.variables)))


def candidates(
    formulas: Formulas, naming: Naming, f: int, of: str, factor: float, steady: Steady | None = None
) -> Candidates:
    """Equations of one function, in the data's units: `factor` times the terms' coefficients in standardised ones."""
    terms, mass = formulas.terms, np.asarray(formulas.mass)[f]
    units, names = terms.units(), term_names(terms.exponents, terms.own, naming)
    found, shares = [], {name[0]: 0.0 for name in names}
    for e in np.flatnonzero(mass > 0):
        used = np.flatnonzero(np.asarray(formulas.mean)[f, e])
        values = np.asarray(formulas.mean)[f, e] * factor / units
        errors = np.linalg.norm(np.asarray(formulas.root)[f, e], axis=1) * factor / units
        for k in used:
            shares[names[k][0]] += float(mass[e])
        parts = tuple(Term(*names[k], float(values[k]), float(errors[k])) for k in used)
        found.append((float(mass[e]), parts, Written(terms, values * units, naming.variables)))
    none = 1.0 - float(mass.sum())
    if steady is not None:
        share, none = steady.share * none, none * (1.0 - steady.share)
        term = Term("1", "", "1", (), steady.square, steady.error)
        same = next((i for i, one in enumerate(found) if [part.name for part in one[1]] == ["1"]), None)
        if same is None:
            alone = np.where(terms.degrees == 0, term.coefficient, 0.0)
            function = Written(terms, alone, naming.variables)
            found.append((share, (term,), function))
        else:
            found[same] = (found[same][0] + share, *found[same][1:])
        shares["1"] += share
    found.sort(key=lambda one: -one[0])
    shown = tuple(Equation(of, *one) for one in found if one[0] >= SHOWN)
    return Candidates(of, shown, none, {name: share for name, share in shares.items() if share >= SHOWN})


@in_double
def _steady(model: Model, f: int, factor: float) -> Steady | None:
    posterior = model.posterior
    if posterior.band_mass is None:
        return None
    means, _ = model.marginals(np.median(model.transitions.x, axis=0)[None])
    last = len(posterior.mass) - 1
    square = _entry(model, means[0, last, f]) ** 2 * factor
    counted = model.transitions.total * model.dimension / len(model.graph.unit)
    return steady_of(float(np.asarray(posterior.mass)[last]), square, counted)


def steady_of(share: float, square: float, counted: float) -> Steady:
    """The error is that of a mean of so many squares: the member itself holds its level still."""
    return Steady(share, square, float(square * np.sqrt(2.0 / counted)))


def _entry(model: Model, latent: float) -> float:
    """What the link makes of a latent of the noise."""
    return float(LINKS[model.graph.link].forward(jnp.asarray(latent)))


Named = tuple[str, str, str, tuple[tuple[str, int], ...] | None]


class Symbol(NamedTuple):
    """What a term is a product of: as text, LaTeX and Python."""

    text: str
    latex: str
    python: str


def symbols(naming: Naming) -> list[Symbol]:
    """Of coordinates, and of columns of inputs."""
    found = [Symbol(name, latex_name(name), identifier(name)) for name in naming.names]
    for one in naming.variables:
        latex, code = latex_name(one.name), identifier(one.name)
        if one.kind != SEASON:
            found.append(Symbol(one.name, latex, code))
            continue
        period = f"{one.period:.6g}"
        for wave in ("cos", "sin"):
            text = f"{wave}(2π {one.name}/{period})"
            formula = rf"\{wave}(2\pi\, {latex}/{period})"
            found.append(Symbol(text, formula, f"np.{wave}(2 * np.pi * {code} / {one.period!r})"))
    return found


@lru_cache(maxsize=16)
def term_names(exponents: Exponents, own: Own, naming: Naming) -> tuple[Named, ...]:
    """Of each term as text, LaTeX and Python, and as factors; the constant is "1"."""
    found: list[Named] = []
    written = symbols(naming)
    for powers in exponents:
        has = [(one, power) for one, power in zip(written, powers, strict=True) if power]
        text = " ".join(one.text if power == 1 else f"{one.text}^{power}" for one, power in has)
        latex = r"\, ".join(one.latex if power == 1 else f"{one.latex}^{{{power}}}" for one, power in has)
        code = " * ".join(one.python if power == 1 else f"{one.python}**{power}" for one, power in has)
        found.append((text or "1", latex, code or "1", tuple((one.text, power) for one, power in has)))
    code_names = [identifier(name) for name in naming.names]
    for name, function in own:
        code = f"terms[{name!r}]({', '.join(code_names)})"
        if isinstance(function, Formula):
            code = as_python(function, code_names)
        found.append((name, rf"\mathrm{{{name}}}", code, None))
    return tuple(found)


def identifier(name: str) -> str:
    """A name that Python takes."""
    kept = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)
    return kept if kept.isidentifier() else f"x_{kept}"


def latex_name(name: str) -> str:
    """One letter is a symbol, one with a number has an index, all else is text."""
    if (indexed := INDEXED.fullmatch(name)) is not None:
        return f"{indexed[1]}_{{{indexed[2]}}}"
    safe = name.replace("\\", "").replace("_", r"\_").replace("%", r"\%").replace("&", r"\&").replace("#", r"\#")
    return safe if len(name) == 1 else rf"\text{{{safe}}}"


def _latex_number(text: str) -> str:
    mantissa, _, power = text.partition("e")
    return rf"{mantissa} \times 10^{{{int(power)}}}" if power else mantissa


def _joined(parts: list[tuple[Term, str]], what: str, times: str) -> str:
    """Terms with their signs between them."""
    text = ""
    for one, number in parts:
        name = getattr(one, what)
        sign = ("-" if one.coefficient < 0 else "") if not text else (" - " if one.coefficient < 0 else " + ")
        text += sign + (number if name in ("", "1") else f"{number}{times}{name}")
    return text or "0"


def _percent(value: float) -> str:
    return f"{value:.0%}" if 0.01 <= value <= 0.99 else "under 1%" if value < 0.01 else "over 99%"
