"""NumPy's .npy format, read without trusting it: no pickled objects, no more memory than it has bytes."""

import io
import math

import numpy as np

from onepath.io.errors import Damaged


def array_to_bytes(array: np.ndarray) -> bytes:
    """A .npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def array_from_bytes(content: bytes, what: str) -> np.ndarray:
    """The array of a .npy file, read-only, after checking that its header promises exactly the bytes that follow."""
    buffer = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(buffer)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read_header(buffer)
    except (ValueError, KeyError, EOFError) as error:
        raise Damaged(f"{what} is no array in NumPy's format") from error
    if dtype.hasobject or dtype.kind not in "biufMm":
        raise Damaged(f"{what} holds {dtype}, where only numbers and dates are read")
    promised, there = math.prod(shape) * dtype.itemsize, len(content) - buffer.tell()
    if promised != there or any(size < 0 for size in shape):
        raise Damaged(f"{what} says that its shape is {shape}, which takes {promised} bytes, but has {there}")
    flat = np.frombuffer(content, dtype, offset=buffer.tell())
    return flat.reshape(shape, order="F" if fortran else "C")
