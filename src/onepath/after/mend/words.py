"""What was tried, in words and as a table."""

from collections.abc import Sequence

from onepath.inference.tried import Mending, Tried


def conclusion(rows: Sequence[Tried], chosen: int, count: int, late: bool) -> str:
    """What is proposed and why, or why nothing is."""
    plain, others = rows[0], rows[1:]
    short = " The time was not enough for all that could be tried." if late else ""
    if not others and plain.fits:
        return "Nothing to mend: the plain model fits."
    if not others and "differences" in plain.faults:
        return "Nothing to try: learn from the series that these are differences of."
    if not others:
        return f"None of the faults ({', '.join(plain.faults)}) has a cure that could be tried."
    if chosen:
        taken = rows[chosen]
        better = f"foretells {count} later rows by {taken.gain:.3g} ± {taken.gain_error:.2g} nats a row better"
        if taken.fits:
            return f"Proposed: {taken.name}, {taken.command}. It {better} than the plain model, and fits.{short}"
        left = ", ".join(taken.faults)
        return (
            f"Proposed: {taken.name}, {taken.command}. It {better} than the plain model, but does not fit either: "
            f"{left} {'is' if len(taken.faults) == 1 else 'are'} left.{short}"
        )
    if plain.fits:
        return f"Nothing proposed: the plain model fits, and no cure foretells later rows clearly better.{short}"
    if all(row.score != row.score for row in others):
        return (
            f"Nothing proposed: the plain model does not fit, and no cure that was tried makes it more probable.{short}"
        )
    return (
        "Nothing proposed: the plain model does not fit, and no cure that was tried both foretells later rows better "
        f"and leaves fewer faults.{short}"
    )


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
