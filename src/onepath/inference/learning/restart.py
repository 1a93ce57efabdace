"""Where to search again for what a completion leaves over.

A drift or a noise that goes up and down many times within the data looks, from where a search begins, like no function
at all: the evidence has one optimum where it is smooth and all else is noise, and another, better one at a short length
scale, with a ridge between them. What is left over at the first one has waves in it, and they say how short.
"""

from collections.abc import Sequence

import numpy as np

from onepath.data.cells import Cells
from onepath.gp.parameters import AMPLITUDE, LENGTH, Parameter
from onepath.inference.learning.prior import ParameterPrior
from onepath.numerics.arrays import Floats
from onepath.numerics.spectrum import waves_in

CHANCE = 1e-4
"""How improbable waves must be to be worth a search."""

CELLS_PER_WAVE = 3
"""At least."""

OF_WAVE, AMPLITUDES = 1.5, (1.0, 4.0, 16.0, 64.0)
"""Length scale of a Matérn process that describes sin(x) well; and its size, by the usual one."""


def shorter_starts(
    scores: Floats, drifts: int, cells: Cells, prior: ParameterPrior, parameters: Sequence[Parameter]
) -> Floats | None:
    """θ (s, k) to search from again, with the length of waves that a function has left over; None if none has.

    Usual ones but for that length and for the waves' size, which is tried. The first `drifts` scores are the drift's.
    """
    used, (d, width) = np.asarray(cells.used), (part.shape[1] for part in (cells.y, cells.x))
    x, scores = np.asarray(cells.x)[used], scores[used]
    lengths, sizes = np.full(len(parameters), np.nan), np.zeros(len(parameters), bool)
    for score in range(scores.shape[1]):
        function, output = ("drift", score) if score < drifts else ("diffusion", score - drifts)
        for axis in range(d):
            waves = waves_in(scores[:, score], x[:, axis], round(len(x) ** (1 / width)) // CELLS_PER_WAVE)
            if waves is None or waves.log_p >= np.log(CHANCE):
                continue
            smooth = [
                (k, each)
                for k, each in enumerate(parameters)
                if (each.function, each.role, each.place) == (function, LENGTH, (output, axis))
            ]
            for k, length in smooth:
                lengths[k] = OF_WAVE * waves.length / (2 * np.pi)
                sizes |= [
                    (each.owner, each.role, each.place) == (length.owner, AMPLITUDE, (output,)) for each in parameters
                ]
    if np.all(np.isnan(lengths)):
        return None
    start = np.where(np.isnan(lengths), prior.mean, np.log(lengths))
    return np.asarray([np.clip(start + np.log(factor) * sizes, *prior.bounds.T) for factor in AMPLITUDES])
