"""What is known, and which inputs are read, on the command: formulas, and where their parameters begin."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from onepath.graph.formula import Formula

KnownDriftOption = Annotated[
    str | None, typer.Option("--known-drift", help="What is known of the drift: '-k * x', '-k * (x - level)'.")
]
KnownDiffusionOption = Annotated[
    str | None, typer.Option("--known-diffusion", help="What is known of the diffusion, likewise: 's * sqrt(x)'.")
]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option("--parameter", help="Where a parameter of these begins, to be learned: k=1.0; repeatable."),
]
OnlyKnownOption = Annotated[
    bool, typer.Option("--only-known", help="Learn no unknown rest beside what is known of each.")
]
DriftReadsOption = Annotated[
    str | None, typer.Option("--drift-reads", help="Inputs that the drift may depend on: a,b or none; else all.")
]
DiffusionReadsOption = Annotated[
    str | None, typer.Option("--diffusion-reads", help="Inputs that the diffusion may depend on, likewise.")
]


def known_parts(formulas: dict[str, str | None], begin: list[str] | None, only: bool) -> dict[str, Any]:
    """`Known` drifts and diffusions by their role, each with the parameters that its formula names."""
    given = {role: text for role, text in formulas.items() if text is not None}
    if not given:
        if begin or only:
            raise ValueError("--parameter and --only-known are about --known-drift or --known-diffusion: give one")
        return {}
    from onepath.graph.formula import Formula
    from onepath.graph.physics import Known

    starts = dict(map(_start, begin or ()))
    read = {role: _names(Formula(text)) for role, text in given.items()}
    named = set().union(*read.values())
    if lost := [name for name in starts if name not in named]:
        raise ValueError(f"--parameter {lost[0]} is in no formula: they name {', '.join(sorted(named))}")
    return {
        role: Known(text, rest=not only, **{name: value for name, value in starts.items() if name in read[role]})
        for role, text in given.items()
    }


def _names(formula: "Formula") -> set[str]:
    return set(formula.inputs)


def _start(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise ValueError(f"--parameter {text} cannot be used: say where it begins, as in k=1.0") from None


def reads(given: str | None) -> tuple[str, ...] | None:
    """Names with commas between them; none of them where it says none."""
    if given is None:
        return None
    return () if given.lower() == "none" else tuple(name.strip() for name in given.split(","))
