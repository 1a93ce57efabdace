"""What options of commands say, from text."""


def bounds_of(given: list[str] | None) -> list[tuple[float, ...]] | None:
    """Pairs of numbers, from text such as 0,1."""
    try:
        return [tuple(float(part) for part in text.split(",")) for text in given] if given else None
    except ValueError:
        raise ValueError(f"--bounds {' '.join(given or [])} cannot be used: give two numbers, such as 0,1") from None


def periods_of(given: list[str] | None) -> list[float | None] | None:
    """Numbers, and None where it says none."""
    try:
        return [None if text.lower() == "none" else float(text) for text in given] if given else None
    except ValueError:
        raise ValueError(f"--periodic {' '.join(given or [])} cannot be used: give a number, such as 360") from None


def number_or_learn(given: str | None, option: str) -> str | float | None:
    """A number, or the word."""
    found = numbers_or_learn(given, option)
    if isinstance(found, tuple):
        raise ValueError(f"{option} {given} cannot be used: give learn, or one number such as 0.5")
    return found


def numbers_or_learn(given: str | None, option: str) -> str | float | tuple[float, ...] | None:
    """A number, several with commas between them, or the word."""
    if given is None or given.lower() == "learn":
        return None if given is None else "learn"
    try:
        numbers = tuple(float(part) for part in given.split(","))
    except ValueError:
        raise ValueError(f"{option} {given} cannot be used: give learn, or a number such as 0.1") from None
    return numbers[0] if len(numbers) == 1 else numbers


def number_or_word(given: str | None) -> str | float | None:
    """A number, or what it says."""
    try:
        return None if given is None else float(given)
    except ValueError:
        return given


def season_of(given: str | None) -> float | str | None:
    """A number, or what it says."""
    try:
        return None if given is None or given.lower() == "none" else float(given)
    except ValueError:
        return str(given).lower()
