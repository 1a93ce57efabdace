"""Model files: a zip archive of arrays and one JSON text, versioned, with nothing in it that could run.

Arrays are stored as they are, not compressed, so that a file never needs more memory than its own size on the disk.
"""

import io
import json
import zipfile
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from onepath.data.trajectory import Trajectory
from onepath.data.transitions import Transitions, transitions_of
from onepath.io.atomic import check_free, write_atomically
from onepath.io.codec import decode, encode
from onepath.io.errors import Damaged
from onepath.io.former import former_model
from onepath.io.npy import array_from_bytes, array_to_bytes
from onepath.model import Methods, Model
from onepath.numerics.precision import in_double

FORMAT, VERSION = "onepath model", 2
TEXT = "model.json"
LAST_RECORD, LAST_SIZE = b"PK\x05\x06", 22
"""How the last record of a zip archive begins, and how long it is."""

WRITTEN = tuple(field.name for field in fields(Model) if field.init and field.name != "transitions")
"""Fields of a model that are written as they are."""


def save_model(
    model: Model,
    settings: dict[str, Any],
    path: str | Path,
    *,
    force: bool = False,
    facts: dict[str, Any] | None = None,
) -> Path:
    """Write a model and the settings of its estimator.

    `facts` is JSON that travels with it, such as where its data came from. Transitions that are the trajectory's own
    are not written.
    """
    check_free(path, force=force)
    arrays: list[np.ndarray] = []

    def keep(array: np.ndarray) -> int:
        arrays.append(array)
        return len(arrays) - 1

    exact = model.methods.observation == "exact"
    learned = {name: getattr(model, name) for name in WRITTEN}
    learned["transitions"] = None if exact else model.transitions
    text = {
        "format": FORMAT,
        "version": VERSION,
        "onepath": version("onepath"),
        "facts": facts or {},
        "settings": encode(settings, keep, "SDE"),
        "model": encode(learned, keep, "SDE"),
    }
    text["arrays"] = [{"dtype": array.dtype.str, "shape": array.shape} for array in arrays]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(TEXT), json.dumps(text, allow_nan=False, indent=1))
        for index, array in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(f"{index}.npy"), array_to_bytes(array))
    return write_atomically(path, buffer.getvalue(), force=force)


def load_model(path: str | Path) -> tuple[Model, dict[str, Any], dict[str, Any]]:
    """The model in a file, the settings of its estimator, and the file's facts."""
    text, arrays = _open(Path(path))
    try:
        settings = decode(text["settings"], arrays)
        learned = decode(text["model"], arrays) if text["version"] > 1 else _former(settings, text, arrays)
        _check_trajectory(learned["trajectory"])
        if learned["transitions"] is None:
            learned["transitions"] = transitions_of(learned["trajectory"])
        model = Model(**learned)
        _check(model)
    except (Damaged, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Damaged(f"{path} is a damaged or forged model file: {error}") from error
    return model, settings, text["facts"]


def _former(settings: dict[str, Any], text: dict[str, Any], arrays: dict[int, np.ndarray]) -> dict[str, Any]:
    learned = former_model(settings, decode(text["learned"], arrays))
    return learned | {"methods": Methods(*learned["methods"]), "transitions": None}


def _open(path: Path) -> tuple[dict[str, Any], dict[int, np.ndarray]]:
    """The text and the arrays of a file, every size checked before it is read."""
    content = path.read_bytes()
    if not content.startswith(b"PK"):
        kind = "empty" if not content else "no model file: it does not begin as one"
        raise Damaged(f"{path} is {kind}. Model files are made by sde.save() or onepath fit --model.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_sizes(path, archive, content)
            if TEXT not in archive.namelist():
                raise Damaged(f"{path} is a zip archive, but no model of onepath's: it has no {TEXT}.")
            text = _read_text(path, archive.read(TEXT))
            parts = {index: archive.read(f"{index}.npy") for index in range(len(text["arrays"]))}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
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


def _check_sizes(path: Path, archive: zipfile.ZipFile, content: bytes) -> None:
    """Refuse what would unpack to more than the file itself, or is followed by something, before unpacking."""
    members, size = archive.infolist(), len(content)
    packed = any(item.compress_type != zipfile.ZIP_STORED or item.file_size != item.compress_size for item in members)
    if packed or sum(item.file_size for item in members) > size:
        unpacked = sum(item.file_size for item in members)
        raise Damaged(
            f"{path} is no model of onepath's: its {size} bytes would unpack to {unpacked}, and model files are never "
            "compressed. It was not opened."
        )
    begins, ends = min((item.header_offset for item in members), default=0), content.rfind(LAST_RECORD)
    if begins != 0 or ends + LAST_SIZE != size:
        raise Damaged(f"{path} is no model of onepath's: it has bytes before or after what onepath wrote.")


def _read_text(path: Path, content: bytes) -> dict[str, Any]:
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


def _check_trajectory(trajectory: Trajectory) -> None:
    n, d = trajectory.x.shape
    shapes = [trajectory.t.shape, trajectory.record.shape, len(trajectory.names)]
    if shapes != [(n,), (n,), d]:
        raise Damaged(f"the trajectory's shapes do not fit together: {[trajectory.x.shape, *shapes]}")
    step = trajectory.step
    if step.ndim != 1 or step.dtype.kind != "i" or len(step) == 0 or step.min() < 0 or step.max() > n - 2:
        raise Damaged("the trajectory's steps point outside of it")
    if not (np.all(np.isfinite(trajectory.t)) and not np.any(np.isinf(trajectory.x))):
        raise Damaged("the trajectory has times or values that are infinite")


@in_double
def _check(model: Model) -> None:
    """Whether all shapes fit together: of the units, the transitions, and the posterior's own arithmetic."""
    units, d = model.units, model.trajectory.dimension
    if [units.location.shape, units.scale.shape, np.shape(units.time)] != [(d,), (d,), ()]:
        raise Damaged("the units are not of the state's dimension")
    parts = (model.posterior, units, vars(model.transitions), model.loss, model.evidence)
    if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(parts) if np.asarray(leaf).dtype.kind == "f"):
        raise Damaged("it holds numbers that are not finite")
    if not (np.all(units.scale > 0) and units.time > 0 and np.all(model.transitions.dt > 0)):
        raise Damaged("its units or steps are not positive")
    _check_transitions(model.transitions, model.trajectory.transitions, d)
    points = jax.ShapeDtypeStruct((4, d), np.float64)
    mean, covariance = jax.eval_shape(lambda posterior, u: posterior.moments(u), model.posterior, points)
    functions = model.graph.functions
    fits = (mean.shape, covariance.shape) == ((4, functions, 1), (4, functions, functions))
    if not fits or model.graph.dimension != d:
        raise Damaged(f"the posterior's shapes do not fit together: {mean.shape}, {covariance.shape}")


def _check_transitions(transitions: Transitions, count: int, d: int) -> None:
    shapes = [transitions.x.shape, transitions.y.shape, transitions.dt.shape, transitions.weight.shape]
    if shapes != [(count, d), (count, d), (count,), (count,)]:
        raise Damaged(f"the transitions' shapes do not fit together: {shapes}")
