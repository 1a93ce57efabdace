"""A fit in words and numbers."""

from onepath.after.consequences import consequences
from onepath.after.diagnose import diagnose
from onepath.model import Model
from onepath.show import equations, numbers, reach, sentences


def summarise(model: Model) -> str:
    """Whether the model fits, what was observed, what was learned, how it ended, and what follows."""
    about = [*_model(model), *_inputs(model), *_equations(model), *_smoothness(model)]
    learned = [*_data(model), *about, *_table(model)]
    return "\n".join([diagnose(model).verdict, *_looked(model), *_mended(model), *learned, *_follows(model)])


def _looked(model: Model) -> list[str]:
    """At which part of a long record the diagnosis looked."""
    looked = diagnose(model).looked
    return [f"Diagnosis   {looked}"] if looked else []


def _mended(model: Model) -> list[str]:
    """What came of trying cures, where that was asked."""
    return [] if model.mending is None else [f"Mended      {model.mending.said}"]


def _data(model: Model) -> list[str]:
    trajectory, steps = model.trajectory, numbers.steps(model)
    unit = f" {trajectory.unit}" if trajectory.unit else ""
    between = "" if steps.regular else f" (from {steps.shortest:.4g} to {steps.longest:.4g})"
    records = trajectory.records
    lines = [
        f"Data        {', '.join(trajectory.names)}: {trajectory.rows} rows"
        + (f" in {records} records" if records > 1 else "")
        + f", {trajectory.transitions} transitions, step {steps.middle:.4g}{unit}{between}"
    ]
    if trajectory.missing or trajectory.gaps:
        lines.append(
            f"            left out: {trajectory.missing} rows with missing values, {trajectory.gaps} recording gaps"
        )
    if trajectory.whole is not None:
        lines.append(f"            streamed: {sentences.streamed(model)}")
    if (said := sentences.weekends(model)) is not None:
        lines.append(f"            {said}")
    lines += [f"            {said}" for said in sentences.readings(model)]
    if model.methods.observation != "exact" and model.observed is None:
        counts = f"which counts {model.transitions.total:.6g}"
        lines.append(f"            observation: {model.methods.observation}, {counts}")
    return lines


def _model(model: Model) -> list[str]:
    ended = f"{model.outcome}; J = {model.loss:.6g}, log evidence {model.evidence:.6g}; {model.seconds:.2g} s"
    lines = [
        f"Model       {model.equation}, {model.graph.structure} σ, {model.graph.link} link",
        f"Law         {sentences.law(model)}",
        f"Completion  {ended}",
    ]
    if (known := sentences.known(model)) is not None:
        lines.append(f"Known       {known}")
    search = sentences.search(model)
    if search is not None:
        lines.append(f"Learning    {search}")
    unexplained = f"λ, what the {model.law.name} law leaves unexplained"
    lines.append(f"Noise       {unexplained}: {numbers.unexplained(model):.2g} of an increment's mean square")
    if model.constant_noise is not None:
        probability = sentences.probability(model.constant_noise)
        lines.append(f"            σ is the same everywhere with probability {probability}")
    lines += [f"{name:<12}{said}" for name, said in sentences.disturbance(model)]
    return lines


def _inputs(model: Model) -> list[str]:
    """What inputs there are, which matter, and where everything below is shown."""
    if not model.variables:
        return []
    said = [reach.described(model), *reach.dependence(model), f"below, {reach.held(model)}"]
    return [f"Inputs      {said[0]}", *(f"            {line}" for line in said[1:])]


def _equations(model: Model) -> list[str]:
    """Drift and squared noise as equations, with their probabilities."""
    first, *others = equations.lines(model)
    return [f"Equation    {first}", *(f"            {line}" for line in others)]


def _per(model: Model, power: str = "") -> str:
    return f" per {model.trajectory.unit}{power}" if model.trajectory.unit else ""


def _smoothness(model: Model) -> list[str]:
    """Length scales of the smooth parts, in the data's units."""
    lines = []
    for function in ("drift", "diffusion"):
        lengths = numbers.lengths(model, function)
        each = ", ".join(f"{one.value:.3g} in {name}" for one, name in zip(lengths, model.names, strict=False))
        if each:
            lines.append(f"Smoothness  the {function} bends over about {each}")
    return lines


def _follows(model: Model) -> list[str]:
    """Fixed points and passages, or modes."""
    first, *others = (line.strip() for line in consequences(model, 0.9, 400, 0).brief().splitlines())
    return [f"Follows     {first}", *(f"            {line}" for line in others)]


def _table(model: Model) -> list[str]:
    """Drift and noise with 90 % bands along each coordinate, the others at their median."""
    lines: list[str] = []
    headed, noise = "", sentences.noise(model)
    for name, at, f, s in numbers.values(model):
        if name != headed:
            lines.append(f"{name:>12}  {'drift':>12}  {'90 % band':>23}  {noise:>12}  {'90 % band':>23}")
            headed = name
        f_band, s_band = (f"[{one.lower:.4g}, {one.upper:.4g}]" for one in (f, s))
        lines.append(f"{at:>12.4g}  {f.value:>12.4g}  {f_band:>23}  {s.value:>12.4g}  {s_band:>23}")
    per = _per(model)
    if per:
        lines.append(f"            drift{per}, {noise}{_per(model, '^½')}")
    said = sentences.whole_noise(model)
    return lines if said is None else [*lines, f"            {said}"]
