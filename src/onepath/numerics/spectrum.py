"""Waves in scores along a line, and how probable they are by chance."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from onepath.numerics.arrays import Floats


class Waves(NamedTuple):
    """The length of the clearest waves, ln of how probable such are by chance, and their share of the variance."""

    length: float
    log_p: float
    share: float


def waves_in(scores: Floats, x: Floats, most: int) -> Waves | None:
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
