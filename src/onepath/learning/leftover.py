"""What a completion leaves over, and where to search again.

A drift or a noise that goes up and down many times within the data looks, from where a search begins, like no function
at all: the evidence has one optimum where it is smooth and all else is noise, and another, better one at a short length
scale, with a ridge between them. What is left over at the first one has waves in it, and they say how short.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc

from onepath.learning.prior import ParameterPrior
from onepath.transitions import Cells

Vector = npt.NDArray[np.float64]

CHANCE = 1e-4
"""How improbable waves must be to be worth a search."""

CELLS_PER_WAVE = 3
"""At least."""

LENGTH, AMPLITUDES = 1.5, (1.0, 4.0, 16.0, 64.0)
"""Length scale of a Matérn process that describes sin(x) well; and its size, by the usual one."""


def finer_starts(scores: Vector, cells: Cells, prior: ParameterPrior, names: tuple[str, ...]) -> Vector | None:
    """Parameters (s, k) to search from again, with the length of waves that a function has left over; None if none has.

    Usual ones but for that length and for the waves' size, which is tried.
    """
    used, d = np.asarray(cells.counts) > 0, np.asarray(cells.x).shape[1]
    x, scores = np.asarray(cells.x)[used], scores[used]
    lengths, sizes = np.full(len(names), np.nan), np.zeros(len(names), bool)
    for function in range(scores.shape[1]):
        role, output = ("drift", function) if function < d else ("diffusion", function - d)
        for axis in range(d):
            waves = waves_in(scores[:, function], x[:, axis], round(len(x) ** (1 / d)) // CELLS_PER_WAVE)
            if waves is not None and waves.log_p < np.log(CHANCE):
                lengths[_places(names, f"{role}.matern.scale", output, axis)] = LENGTH * waves.length / (2 * np.pi)
                sizes[_places(names, f"{role}.matern.amplitude", output)] = True
    if np.all(np.isnan(lengths)):
        return None
    start = np.where(np.isnan(lengths), prior.mean, np.log(lengths))
    return np.asarray([np.clip(start + np.log(factor) * sizes, *prior.bounds.T) for factor in AMPLITUDES])


def _places(names: tuple[str, ...], stem: str, *index: int) -> list[int]:
    """Where an entry of a parameter is among all, if it is learned."""
    return [k for k, name in enumerate(names) if name in (stem, f"{stem}[{','.join(map(str, index))}]")]


class Waves(NamedTuple):
    """The length of the clearest waves, ln of how probable such are by chance, and their share of the variance."""

    length: float
    log_p: float
    share: float


def waves_in(scores: Vector, x: Vector, most: int) -> Waves | None:
    """Waves of x in scores, at most so many in its range; None where none can be looked for.

    The power |Σ s exp(iωx)|² / Σ s² of white scores is about exponential with mean 1, and its sum over an octave about
    gamma. Sharp waves show at one frequency, others in an octave. Where places are not spread evenly, powers are
    correlated and have heavier tails, which is taken into account.
    """
    if most < 1 or not np.any(scores):
        return None
    counts = np.arange(1, most + 1)
    phases = np.exp(2j * np.pi * counts[:, None] * x / np.ptp(x))
    power = np.square(np.abs(phases @ scores)) / np.sum(np.square(scores))
    same, turned = (np.abs(phases @ other.T) / len(x) for other in (phases.conj(), phases))
    octaves = np.log2(counts).astype(int) == np.arange(int(np.log2(most)) + 1)[:, None]
    expected, variance = octaves.sum(axis=1), np.einsum("oj,jk,ok->o", octaves, same**2 + turned**2, octaves)
    tails = gammaincc(expected**2 / variance, octaves @ power * expected / variance)
    logs = np.concatenate([np.log(np.maximum(tails, np.finfo(float).tiny)), -power / (1 + np.diagonal(turned))])
    # two families of tests, each of them corrected for its size
    logs += np.log(2 * np.repeat([len(octaves), most], [len(octaves), most]))
    best = int(np.argmin(logs))
    among = np.concatenate([octaves, np.eye(most, dtype=bool)])[best]
    length = np.ptp(x) * np.sum(power[among]) / np.sum(power[among] * counts[among])
    share = 2 * np.sum(power[among] - 1) / len(x)
    return Waves(float(length), float(min(0.0, logs[best])), float(share))
