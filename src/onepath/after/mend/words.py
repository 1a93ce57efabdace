"""What was tried, in words and as a table."""

from collections.abc import Sequence

from onepath.inference.tried import Mending, Tried


def conclusion(rows: Sequence[Tried], chosen: int, count: int, late: bool) -> str:
    """What is proposed and why, or why nothing is."""
    plain, others = rows[0], rows[1:]
    short = " The time was not enough for all that could be tried." if late else ""
    if not others:
        return _untried(plain)
    thin = next((row.name for row in others if row.name.startswith("every ") and row.fits), None)
    thinner = f" Of {thin}, the plain model fits: at that step, and no shorter one." if thin else ""
    if chosen:
        taken = rows[chosen]
        better = f"foretells {count} later rows by {taken.gain:.3g} ± {taken.gain_error:.2g} nats a row better"
        left = ", ".join(taken.faults)
        verdict = "and fits." if taken.fits else f"but does not fit either ({left}).{thinner}"
        return f"Proposed: {taken.name}, {taken.command}. It {better} than the plain model, {verdict}{short}"
    if plain.fits:
        why = "the plain model fits, and no cure foretells later rows clearly better."
    elif plain.score != plain.score and any(row.likelihood > plain.likelihood for row in others):
        why = f"later rows, by which candidates are compared, could not be scored: {plain.problem}."
    elif all(row.score != row.score for row in others):
        why = "the plain model does not fit, and no cure that was tried is more probable."
    else:
        why = "the plain model does not fit, and no cure foretells later rows better and leaves no more faults."
    return f"Nothing proposed: {why}{thinner}{short}"


def _untried(plain: Tried) -> str:
    """Why nothing was tried."""
    if plain.fits:
        return "Nothing to mend: the plain model fits."
    if "differences" in plain.faults:
        return "Nothing to try: learn from the series that these are differences of."
    return f"None of the faults ({', '.join(plain.faults)}) has a cure that could be tried."


def table_text(record: Mending) -> str:
    """A line for each candidate, the chosen one marked, and what came of it."""
    width = max([len(row.name) for row in record.tried] + [9])
    lines = [f"  {'tried':{width}}  {'later rows':>10}  {'over plain':>18}  verdict"] if len(record.tried) > 1 else []
    for k, row in enumerate(record.tried if lines else ()):
        score = f"{row.score:.4f}" if row.score == row.score else ""
        gain = f"{row.gain:+.4f} ± {row.gain_error:.4f}" if k and row.gain == row.gain else ""
        mark = "*" if k == record.chosen and k else " "
        lines.append(f"{mark} {row.name:{width}}  {score:>10}  {gain:>18}  {verdict_of(row)}")
    return "\n".join([*lines, record.said])


def verdict_of(row: Tried) -> str:
    """In a few words."""
    found = "fits" if row.fits else ", ".join(row.faults)
    return "; ".join(part for part in (found, row.problem) if part)
