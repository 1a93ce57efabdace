"""Model files: a zip archive of arrays and one JSON text, versioned, with nothing in it that could run.

Arrays are deflated, most of a posterior's being zeros, and how large they are is checked before they are inflated. No
numerics are loaded to look into one.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from onepath.io.errors import Damaged
from onepath.io.npy import array_from_bytes, array_to_bytes

FORMAT, VERSION = "onepath model", 2
TEXT = "model.json"
MOST_TIMES = 100
"""Its own size on the disk that a file may unpack to: whole models come to 20 times, and zeros alone to 1000."""

LAST_RECORD, LAST_SIZE = b"PK\x05\x06", 22
"""How the last record of a zip archive begins, and how long it is."""


def container(text: dict[str, Any], arrays: list[np.ndarray]) -> bytes:
    """A model file with this text, and these arrays that it refers to by number."""
    head = {"format": FORMAT, "version": VERSION, "onepath": version("onepath")}
    said = [{"dtype": array.dtype.str, "shape": array.shape} for array in arrays]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        whole = json.dumps(head | text | {"arrays": said}, allow_nan=False, indent=1)
        archive.writestr(zipfile.ZipInfo(TEXT), whole, zipfile.ZIP_DEFLATED)
        for index, array in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(f"{index}.npy"), array_to_bytes(array), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def open_container(path: str | Path) -> tuple[dict[str, Any], dict[int, np.ndarray]]:
    """The text and the arrays of a file, every size checked before it is read."""
    with _opened(path) as archive:
        text = _read_text(path, archive.read(TEXT))
        parts = {index: archive.read(f"{index}.npy") for index in range(len(text["arrays"]))}
    arrays = {}
    for index, part in parts.items():
        array, said = array_from_bytes(part, f"{path}: array {index}"), text["arrays"][index]
        if [array.dtype.str, list(array.shape)] != [said.get("dtype"), said.get("shape")]:
            raise Damaged(f"{path} is a damaged or forged model file: array {index} is not of the shape that it says")
        arrays[index] = array
    return text, arrays


def facts_in(path: str | Path) -> dict[str, Any]:
    """What travels with the model in a file, without reading the model."""
    with _opened(path) as archive:
        return dict(_read_text(path, archive.read(TEXT))["facts"])


@contextmanager
def _opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """The archive, if it is one of a model's; whatever is wrong with it in words."""
    with Path(path).open("rb") as file:
        begin = file.read(2)
        if begin != b"PK":
            kind = "no model file: it does not begin as one" if begin else "empty"
            raise Damaged(f"{path} is {kind}. Model files are made by sde.save() or onepath fit --model.")
        try:
            with zipfile.ZipFile(file) as archive:
                _check_sizes(path, archive, file)
                if TEXT not in archive.namelist():
                    raise Damaged(f"{path} is a zip archive, but no model of onepath's: it has no {TEXT}.")
                yield archive
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise Damaged(f"{path} is cut short or damaged ({error}). Make it again, or take another copy.") from error
        except KeyError as error:
            raise Damaged(f"{path} is a damaged model file: {error}") from error


def _check_sizes(path: str | Path, archive: zipfile.ZipFile, file: BinaryIO) -> None:
    """Refuse what would unpack to far more than a model, or is followed by something, before unpacking."""
    members, size = archive.infolist(), file.seek(0, io.SEEK_END)
    unpacked = sum(item.file_size for item in members)
    if unpacked > MOST_TIMES * size:
        raise Damaged(
            f"{path} is no model of onepath's: its {size} bytes would unpack to {unpacked}, more than {MOST_TIMES} "
            "times as many. It was not opened."
        )
    file.seek(max(size - LAST_SIZE, 0))
    begins, ends = min((item.header_offset for item in members), default=0), file.read(LAST_SIZE)
    if begins != 0 or not ends.startswith(LAST_RECORD):
        raise Damaged(f"{path} is no model of onepath's: it has bytes before or after what onepath wrote.")


def _read_text(path: str | Path, content: bytes) -> dict[str, Any]:
    try:
        text = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path} is a damaged model file: its {TEXT} is no JSON.") from error
    if not isinstance(text, dict) or text.get("format") != FORMAT:
        raise Damaged(f"{path} is a zip archive, but no model of onepath's.")
    number = text.get("version")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise Damaged(f"{path} is a damaged or forged model file: it says that its format is {str(number)[:40]!r}.")
    if number > VERSION:
        raise Damaged(
            f"{path} was written by a newer onepath ({text.get('onepath')}, format {text.get('version')}; this is "
            f"{version('onepath')}, format {VERSION}). Update onepath to open it."
        )
    arrays = text.get("arrays")
    if not (isinstance(arrays, list) and all(isinstance(said, dict) for said in arrays)):
        raise Damaged(f"{path} is a damaged model file: it does not list its arrays.")
    if not isinstance(text.get("facts"), dict):
        raise Damaged(f"{path} is a damaged model file: it has no facts.")
    return text
