"""Compiled programs, kept on disk between processes.

JAX can keep what it compiled, but traces and lowers a program anew in every process, which takes longer than a fit.
Here the finished program is kept, under a name that says everything it depends on: this package's source, the versions
and the processor below it, and the types, shapes and fixed values of its arguments. What depends on anything else, such
as a kernel of the user's own, is left to JAX's cache.
"""

import dataclasses
import hashlib
import io
import json
import os
import pickle
import platform
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from onepath.numerics.cache import cache_folder, jax_cache, no_jax_cache, read_kept, write_kept
from onepath.numerics.memory import give_back
from onepath.numerics.structure import PLAIN, Slot, Unknown, as_data, from_data

Result = TypeVar("Result")

ARRAYS = (jax.Array, np.ndarray, np.generic)
KNOWN = {"onepath", "tinygp", "equinox", "jax", "jaxlib", "numpy", "builtins"}
"""Packages whose code is told by their versions, or by the source in this one's case."""

IMPORT = re.compile(rb"^\s*(?:from|import)\s+(onepath[.\w]*)(?:\s+import\s+(\w+(?:\s*,\s*\w+)*))?", re.MULTILINE)
"""A line that imports a module of this package, and what from it."""

PART = re.compile(r"[A-Z]\w*|_?unpickle_\w+|_reconstruct|dtype")
"""Names in JAX's form of a program: classes, and what makes a sharding; no other function, of which some run text."""

QUICK: dict[str, str | bool] = {"xla_cpu_use_fusion_emitters": False}
"""Compiles in three fifths of the time, to code that is as fast."""


Call = Callable[..., Sequence[jax.Array]]
Made = tuple[Call, Any, int]
"""A program, its result with slots in the place of arrays, and how many bytes it has when it is kept."""

Anew = Callable[[], Made]


class Program:
    """A program for one kind of arguments: flat arrays in, flat arrays out, and the result they are put into.

    One that was loaded from disk and refuses its first call is compiled `anew`.
    """

    def __init__(self, call: Call, result: Any, size: int, anew: Anew | None = None) -> None:
        self.call, self.size, self.anew = call, size, anew
        leaves, self.structure = jax.tree.flatten(result)
        self.leaves = leaves
        self.places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Slot)]

    def __call__(self, arrays: Sequence[Any], wrap: Callable[[jax.Array], Any] = lambda array: array) -> Any:
        leaves = list(self.leaves)
        outputs = self.call(*arrays) if self.anew is None else self._first_call(self.anew, arrays)
        for place, array in zip(self.places, outputs, strict=True):
            leaves[place] = wrap(array)
        return jax.tree.unflatten(self.structure, leaves)

    def _first_call(self, anew: Anew, arrays: Sequence[Any]) -> Sequence[jax.Array]:
        self.anew = None
        try:
            return jax.block_until_ready(self.call(*arrays))
        except Exception:
            self.call, _, self.size = anew()
            return self.call(*arrays)


PROGRAMS: OrderedDict[Any, Program] = OrderedDict()
"""What this process has loaded or compiled, the least recently used first."""

MOST_PROGRAMS, MOST_BYTES = 128, 16 << 20
"""That are held in memory, and bytes that they have when they are kept: in memory they take twenty times as many, and
memory maps, of which a process has only so many."""


class Foreign(Exception):
    """A program depends on code that is not known."""


def compiled(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compile a function for each kind of arguments: arrays vary, all else is fixed. Inside another it is plain."""

    @wraps(function)
    def run(*args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        arrays = [leaf for leaf in leaves if isinstance(leaf, ARRAYS)]
        if _setting("disable_jit") or any(isinstance(array, jax.core.Tracer) for array in arrays):
            return function(*args)
        return _program(function, args, (structure, _kinds(leaves)))(arrays)

    return run


class Fixed:
    """Arguments that stay the same for all calls of some programs: they are looked at once.

    Their arrays come in one vector for each dtype, since every array that a program is handed takes time of its own.
    """

    def __init__(self, *args: Any) -> None:
        self.args = args
        self.leaves, self.structure = jax.tree.flatten(args)
        self.kinds = _kinds(self.leaves)
        self.arrays = [np.asarray(leaf) for leaf in self.leaves if isinstance(leaf, ARRAYS)]
        self.vectors = packed(self.arrays)


class Bound:
    """A compiled function whose last arguments are fixed. Those that vary hold arrays only; results are NumPy's."""

    def __init__(self, function: Callable[..., Any], fixed: Fixed) -> None:
        self.function: Callable[..., Any] = getattr(function, "__wrapped__", function)
        self.fixed = fixed
        self.program: Program | None = None

    def __call__(self, *varying: Any) -> Any:
        if _setting("disable_jit"):
            return jax.tree.map(np.asarray, self.function(*varying, *self.fixed.args))
        leaves = [leaf for each in varying for leaf in ((each,) if isinstance(each, ARRAYS) else jax.tree.leaves(each))]
        if self.program is None:
            self.program = self._program(varying, leaves)
        return self.program([*leaves, *self.fixed.vectors], np.asarray)

    def _program(self, varying: tuple[Any, ...], leaves: list[Any]) -> Program:
        key = (jax.tree.structure(varying), _kinds(leaves), self.fixed.structure, self.fixed.kinds)
        return _program(self.function, (*varying, *self.fixed.args), key, self.fixed.arrays)


def packed(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """All arrays of each dtype in one vector, in the order of dtypes' first arrays."""
    kinds = dict.fromkeys(array.dtype for array in arrays)
    return [np.concatenate([array.ravel() for array in arrays if array.dtype == kind]) for kind in kinds]


def unpacked(vectors: Sequence[Any], like: Sequence[np.ndarray]) -> list[Any]:
    """The way back, in a program too."""
    places, found = {kind: k for k, kind in enumerate(dict.fromkeys(array.dtype for array in like))}, []
    ends = [0] * len(places)
    for array in like:
        k = places[array.dtype]
        begin, ends[k] = ends[k], ends[k] + array.size
        found.append(vectors[k][begin : ends[k]].reshape(array.shape))
    return found


def _kinds(leaves: Sequence[Any]) -> tuple[Any, ...]:
    return tuple((leaf.shape, leaf.dtype) if isinstance(leaf, ARRAYS) else (type(leaf), leaf) for leaf in leaves)


def _program(
    function: Callable[..., Any], args: tuple[Any, ...], kind: tuple[Any, ...], fixed: Sequence[np.ndarray] = ()
) -> Program:
    """The program for this kind of arguments, of which the last arrays come packed: from memory, disk, or compiled."""
    key = (function, kind, _setting("enable_x64"))
    new = key not in PROGRAMS
    program = PROGRAMS[key] = _found(function, args, fixed) if new else PROGRAMS.pop(key)
    if new:
        _forget()
    return program


def _forget() -> None:
    """Let programs go, the least recently used first, until few and small enough ones are left, or the last one."""
    size = sum(program.size for program in PROGRAMS.values())
    while len(PROGRAMS) > 1 and (len(PROGRAMS) > MOST_PROGRAMS or size > MOST_BYTES):
        size -= PROGRAMS.popitem(last=False)[1].size
    give_back()


def _found(function: Callable[..., Any], args: tuple[Any, ...], fixed: Sequence[np.ndarray]) -> Program:
    """Loaded from disk or else compiled, and kept there."""
    folder = cache_folder() if jax.default_backend() == "cpu" else None
    try:
        described_args = [described(args), str(len(fixed))]
        text = "\n".join([_surroundings(_setting("enable_x64")), described(function), *described_args])
    except Foreign:
        with jax_cache():
            return Program(*_compile(function, args, fixed))
    if folder is None:
        return Program(*_compile(function, args, fixed))
    name = hashlib.sha256(text.encode()).hexdigest()
    file = folder / f"{name}.program"

    def anew() -> Made:
        # a program that JAX's own cache gave back cannot be kept once more: parts of it would be missing
        with no_jax_cache():
            made = _compile(function, args, fixed)
        _keep(file, name, *made[:2])
        return made

    kept = _loaded(file, name, len(_handed(args, fixed)))
    return Program(*anew()) if kept is None else Program(*kept, anew)


def _handed(args: tuple[Any, ...], fixed: Sequence[np.ndarray]) -> list[Any]:
    """What a program is handed: arrays, the last of them packed."""
    arrays = [leaf for leaf in jax.tree.leaves(args) if isinstance(leaf, ARRAYS)]
    return [*arrays[: len(arrays) - len(fixed)], *packed(fixed)]


def _compile(function: Callable[..., Any], args: tuple[Any, ...], fixed: Sequence[np.ndarray]) -> Made:
    leaves, structure = jax.tree.flatten(args)
    handed, results = _handed(args, fixed), []
    count = len(handed) - len(packed(fixed))

    def flat(*arrays: jax.Array) -> list[Any]:
        given = iter([*arrays[:count], *unpacked(arrays[count:], fixed)])
        filled = [next(given) if isinstance(leaf, ARRAYS) else leaf for leaf in leaves]
        result = function(*jax.tree.unflatten(structure, filled))
        results.append(jax.tree.map(lambda leaf: Slot() if isinstance(leaf, ARRAYS) else leaf, result))
        return [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, ARRAYS)]

    flat.__name__ = function.__name__
    call = jax.jit(flat).lower(*handed).compile(compiler_options=quick_options())
    return call, results[-1], len(_serialised(call))


def _serialised(call: Any) -> bytes:
    """JAX's form of a program; nothing where it has none."""
    try:
        return serialize(call)[0]
    except (TypeError, ValueError, NotImplementedError, RuntimeError):
        return b""


@cache
def quick_options() -> dict[str, str | bool]:
    """`QUICK`, if this version of XLA knows it."""
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda x: x).lower(0.0).compile(compiler_options=QUICK)
    except Exception:
        return {}
    return QUICK


def _loaded(file: Path, name: str, count: int) -> Made | None:
    """A kept program, if it is there and whole, under the name it was kept by, and made of JAX's own parts."""
    content = read_kept(file)
    if content is None:
        return None
    digest, body = content[:32], content[32:]
    if hashlib.sha256(name.encode() + body).digest() != digest:
        return None
    try:
        head, _, payload = body.partition(b"\n")
        result = from_data(json.loads(head))
        _Names(io.BytesIO(payload)).load()
        slots = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, Slot)]
        _load_lapack()
        trees = jax.tree.structure(((0,) * count, {})), jax.tree.structure([0] * len(slots))
        return deserialize_and_load(payload, *trees), result, len(payload)
    except Exception:  # of another version of JAX's, or not ours at all
        return None


class _Part:
    """Stands for a part of a program while its names are read."""

    def __new__(cls, *_: Any, **__: Any) -> "_Part":
        return super().__new__(cls)

    def __setstate__(self, _: Any) -> None:
        """It is nobody's state."""


class _Names(pickle.Unpickler):
    """Reads which names JAX's form of a program has, without making any of them; one that is no part is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] not in ("jax", "jaxlib", "numpy") or not PART.fullmatch(name):
            raise Foreign(f"{module}.{name}")
        return _Part

    def persistent_load(self, _: Any) -> Any:
        return _Part()


@cache
def _load_lapack() -> None:
    """JAX looks LAPACK's routines up when it first lowers a call of one; a kept program takes them for granted."""
    jax.jit(jnp.linalg.cholesky).lower(np.eye(1))


def _keep(file: Path, name: str, call: Any, result: Any) -> None:
    """What cannot be kept is compiled again next time."""
    try:
        head = json.dumps(as_data(result)).encode()
    except (Unknown, TypeError, ValueError):
        return
    if not (payload := _serialised(call)):
        return
    body = head + b"\n" + payload
    write_kept(file, hashlib.sha256(name.encode() + body).digest() + body)


def described(thing: Any) -> str:
    """Everything about an argument that a program depends on, in words that are the same in every process."""
    if isinstance(thing, ARRAYS):
        return f"{thing.dtype}{list(thing.shape)}"
    if isinstance(thing, PLAIN):
        return repr(thing)
    if isinstance(thing, dict):
        return f"{{{', '.join(f'{key!r}: {described(value)}' for key, value in thing.items())}}}"
    if isinstance(thing, tuple | list):
        return f"{_name(type(thing))}({', '.join(map(described, thing))})"
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        parts = [f"{field.name}={described(getattr(thing, field.name))}" for field in dataclasses.fields(thing)]
        return f"{_name(type(thing))}({', '.join(parts)})"
    if isinstance(thing, type):
        return _name(thing)
    code = getattr(thing, "__code__", None)
    if code is not None and thing.__closure__ is None:
        return f"{_name(thing)} at {list(code.co_positions())}"
    raise Foreign


def _name(thing: Any) -> str:
    """Of a class or a function, with the source that it is made of where that is ours."""
    package = thing.__module__.split(".")[0]
    if package not in KNOWN:
        raise Foreign
    return f"{thing.__module__}.{thing.__qualname__} {sources(thing.__module__) if package == 'onepath' else ''}"


@cache
def sources(module: str) -> str:
    """A digest of the source of a module and of all that it imports from this package, at first or second hand."""
    waiting, seen = [module], {module: b""}
    while waiting:
        name = waiting.pop()
        seen[name] = _source(name)
        for owner, names in IMPORT.findall(seen[name]):
            among = [owner, *(owner + b"." + each.strip() for each in names.split(b","))] if names else [owner]
            new = [each.decode() for each in among if each.decode() not in seen and _source(each.decode())]
            seen |= dict.fromkeys(new, b"")
            waiting += new
    return hashlib.sha256(b"".join(seen[name] for name in sorted(seen))).hexdigest()


@cache
def _source(module: str) -> bytes:
    """Of a module of this package; nothing if there is no such module."""
    path = Path(__file__).parents[2].joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file.read_bytes()
    return b""


@cache
def _surroundings(double: bool) -> str:
    """What every program depends on."""
    versions = [f"{name} {version(name)}" for name in ("jax", "jaxlib", "equinox", "tinygp", "numpy")]
    settings = [double, _setting("default_matmul_precision"), os.environ.get("XLA_FLAGS"), quick_options()]
    return "\n".join(map(str, [sys.version, *versions, *settings, _processor()]))


def _setting(name: str) -> Any:
    return getattr(jax.config, f"jax_{name}")


def _processor() -> str:
    """What machine code is made for."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return f"{platform.machine()} {platform.processor()} {features}"
