"""Equations as MathML, which browsers draw by themselves: no script, no font and no network."""

from html import escape

from onepath.after.equation import with_error
from onepath.after.equations import INDEXED, Equation, Term

SPACE = '<mspace width="0.22em"/>'
"""Between factors."""


def math(equation: Equation) -> str:
    """A function and the sum that it is."""
    parts = []
    for i, term in enumerate(equation.terms):
        sign = "−" if term.coefficient < 0 else "+"
        if i or sign == "−":
            parts.append(f"<mo>{sign}</mo>")
        parts.append(_number(with_error(abs(term.coefficient), term.error)))
        if term.name != "1":
            parts.append(f"{SPACE}{_product(term)}")
    right = f"<mrow>{''.join(parts)}</mrow>"
    return f"<math><mrow>{_left(equation.of)}<mo>=</mo>{right}</mrow></math>"


def left(of: str) -> str:
    """The function alone."""
    return f"<math>{_left(of)}</math>"


def _left(of: str) -> str:
    what, _, name = of.partition(" of ")
    symbol = "<mi>f</mi>" if what == "drift" else "<msup><mi>σ</mi><mn>2</mn></msup>"
    if not name:
        return symbol
    return f"<msub><mi>f</mi>{_name(name)}</msub>" if what == "drift" else (
        f"<msubsup><mi>σ</mi>{_name(name)}<mn>2</mn></msubsup>"
    )  # fmt: skip


def _number(text: str) -> str:
    mantissa, _, power = text.partition("e")
    number = f"<mn>{escape(mantissa)}</mn>"
    if not power:
        return number
    raised = f"<msup><mn>10</mn><mn>{escape(str(int(power)).replace('-', '−'))}</mn></msup>"
    return f"<mrow>{number}<mo>×</mo>{raised}</mrow>"


def _product(term: Term) -> str:
    """Powers of coordinates; a term of the user's own by its name."""
    if term.factors is None:
        return f"<mtext>{escape(term.name)}</mtext>"
    parts = []
    for name, power in term.factors:
        parts.append(_name(name) if power == 1 else _power(name, power))
    return SPACE.join(parts)


def _power(name: str, power: int) -> str:
    if (indexed := INDEXED.fullmatch(name)) is not None:
        return f"<msubsup><mi>{indexed[1]}</mi><mn>{indexed[2]}</mn><mn>{power}</mn></msubsup>"
    return f"<msup>{_name(name)}<mn>{power}</mn></msup>"


def _name(name: str) -> str:
    """One letter is a symbol, one with a number has an index, all else is text."""
    if (indexed := INDEXED.fullmatch(name)) is not None:
        return f"<msub><mi>{indexed[1]}</mi><mn>{indexed[2]}</mn></msub>"
    return f"<mi>{escape(name)}</mi>" if len(name) == 1 else f"<mtext>{escape(name)}</mtext>"
