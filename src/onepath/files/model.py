"""Model files: a zip archive of arrays and one JSON text, versioned, with nothing in it that could run.

Arrays are stored as they are, not compressed, so that a file never needs more memory than its own size on the disk.
"""

import io
import json
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from onepath.files.arrays import array_from_bytes, array_to_bytes
from onepath.files.encoding import Damaged, decode, encode
from onepath.files.writing import write_atomically
from onepath.runtime import engine
from onepath.transitions import transitions_of

FORMAT, VERSION = "onepath model", 1
TEXT = "model.json"
RECOMPUTED = ("transitions_", "graph_")
"""What follows from the trajectory and the posterior, and is not written."""


def save_model(sde: Any, path: str | Path, *, force: bool = False, facts: dict[str, Any] | None = None) -> Path:
    """Write a fitted SDE. `facts` is JSON that travels with it, such as where its data came from."""
    arrays: list[npt.NDArray[Any]] = []

    def keep(array: np.ndarray) -> int:
        arrays.append(array)
        return len(arrays) - 1

    learned = {name: value for name, value in vars(sde).items() if name.endswith("_") and name not in RECOMPUTED}
    text = {
        "format": FORMAT,
        "version": VERSION,
        "onepath": version("onepath"),
        "facts": facts or {},
        "settings": encode(sde.get_params(), keep, "SDE"),
        "learned": encode(learned, keep, "SDE"),
    }
    text["arrays"] = [{"dtype": array.dtype.str, "shape": array.shape} for array in arrays]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(TEXT), json.dumps(text, allow_nan=False, indent=1))
        for index, array in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(f"{index}.npy"), array_to_bytes(array))
    return write_atomically(path, buffer.getvalue(), force=force)


def load_model(sde: Any, path: str | Path) -> dict[str, Any]:
    """Fill an unfitted SDE with what a model file holds, and return the file's facts."""
    text, arrays = _open(Path(path))
    try:
        settings, learned = decode(text["settings"], arrays), decode(text["learned"], arrays)
        sde.set_params(**settings)
        for name, value in learned.items():
            if not (isinstance(name, str) and name.endswith("_") and not name.startswith("_")):
                raise Damaged(f"it holds {name!r}, which is nothing that a fit learns")
            setattr(sde, name, value)
        _check(sde)
        sde.transitions_ = transitions_of(sde.trajectory_)
        sde.graph_ = sde.posterior_.graph
    except (Damaged, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Damaged(f"{path} is a damaged or forged model file: {error}") from error
    return text["facts"]


def _open(path: Path) -> tuple[dict[str, Any], dict[int, np.ndarray]]:
    """The text and the arrays of a file, every size checked before it is read."""
    content = path.read_bytes()
    if not content.startswith(b"PK"):
        kind = "empty" if not content else "no model file: it does not begin as one"
        raise Damaged(f"{path} is {kind}. Model files are made by sde.save() or onepath fit --model.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_sizes(path, archive.infolist(), len(content))
            if TEXT not in archive.namelist():
                raise Damaged(f"{path} is a zip archive, but no model of onepath's: it has no {TEXT}.")
            text = _read_text(path, archive.read(TEXT))
            parts = {index: archive.read(f"{index}.npy") for index in range(len(text["arrays"]))}
    except zipfile.BadZipFile as error:
        raise Damaged(f"{path} is cut short or damaged ({error}). Make it again, or take another copy.") from error
    except KeyError as error:
        raise Damaged(f"{path} is a damaged model file: {error}") from error
    arrays = {}
    for index, part in parts.items():
        array, said = array_from_bytes(part, f"{path}: array {index}"), text["arrays"][index]
        if [array.dtype.str, list(array.shape)] != [said.get("dtype"), said.get("shape")]:
            raise Damaged(f"{path} is a damaged or forged model file: array {index} is not of the shape that it says")
        arrays[index] = array
    return text, arrays


def _check_sizes(path: Path, members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse what would unpack to more than the file itself, by what the archive says of itself, before unpacking."""
    packed = any(item.compress_type != zipfile.ZIP_STORED or item.file_size != item.compress_size for item in members)
    if packed or sum(item.file_size for item in members) > size:
        unpacked = sum(item.file_size for item in members)
        raise Damaged(
            f"{path} is no model of onepath's: its {size} bytes would unpack to {unpacked}, and model files are never "
            "compressed. It was not opened."
        )


def _read_text(path: Path, content: bytes) -> dict[str, Any]:
    try:
        text = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path} is a damaged model file: its {TEXT} is no JSON.") from error
    if not isinstance(text, dict) or text.get("format") != FORMAT:
        raise Damaged(f"{path} is a zip archive, but no model of onepath's.")
    if not isinstance(text.get("version"), int) or text["version"] > VERSION:
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


@engine
def _check(sde: Any) -> None:
    """Whether all shapes fit together: of the trajectory, the units, and the posterior's own arithmetic."""
    trajectory, d = sde.trajectory_, sde.n_features_in_
    n = len(trajectory.x)
    shapes = [trajectory.x.shape, trajectory.t.shape, trajectory.record.shape, len(trajectory.names)]
    if shapes != [(n, d), (n,), (n,), d]:
        raise Damaged(f"the trajectory's shapes do not fit together: {shapes}")
    step = trajectory.step
    if step.ndim != 1 or step.dtype.kind != "i" or len(step) == 0 or step.min() < 0 or step.max() > n - 2:
        raise Damaged("the trajectory's steps point outside of it")
    if [sde.units_.location.shape, sde.units_.scale.shape, np.shape(sde.units_.time)] != [(d,), (d,), ()]:
        raise Damaged("the units are not of the state's dimension")
    points = jax.ShapeDtypeStruct((4, d), np.float64)
    mean, covariance = jax.eval_shape(lambda posterior, u: posterior.moments(u), sde.posterior_, points)
    functions = d + sde.posterior_.graph.unit.shape[0]
    if (mean.shape, covariance.shape) != ((4, functions, 1), (4, functions, functions)):
        raise Damaged(f"the posterior's shapes do not fit together: {mean.shape}, {covariance.shape}")
