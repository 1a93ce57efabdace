"""Runs one method in its own environment and process: `python worker.py METHOD LIMIT`.

On each line of the standard input stands the path of a record (NPZ); the answers are written beside it, and a line of
JSON says how it went. Seconds are those of one core (the process's own), so that a busy machine does not matter; a fit
that takes more than LIMIT of them ends the process.
"""

import importlib
import importlib.metadata
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from adapters import METHODS
from contract import Observed, Refused

SETS = ("weighted", "uniform", "starts")


def refuses(error):
    """Did the package decline, or did it break? It declines where the line that fails is one that raises an error."""
    if isinstance(error, Refused):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (last.line or "").strip().startswith(("raise", "assert"))


def allow(seconds):
    """This many more seconds of the processor."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def read(file):
    parts = np.load(file)
    t, dt = parts.get("t"), parts.get("dt")
    about = str(parts["regime"]), str(parts["process"])
    return parts, Observed(parts["x"], t, None if dt is None else float(dt), *about)


def learn(module, options, file):
    """Fit, answer, and say how long the fit took."""
    parts, observed = read(file)
    begun, on_wall = time.process_time(), time.perf_counter()
    fitted = module.fit(observed, **options)
    said = {"seconds": time.process_time() - begun, "wall": time.perf_counter() - on_wall}
    said["total"] = time.process_time()
    said["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    arrays = {}
    for name in SETS:
        if name in parts:
            answer = fitted.answer(parts[name])
            arrays |= {f"{name}.{k}": v for k, v in vars(answer).items() if isinstance(v, np.ndarray)}
            said["kind"] = answer.kind
    if hasattr(fitted, "flags"):
        said["flags"] = fitted.flags()
    if hasattr(fitted, "log_density") and "starts" in parts:
        said["density"] = fitted.log_density(parts["starts"], parts["increments"], float(parts["step"]))
    np.savez(Path(file).with_suffix(".answer.npz"), **arrays)
    return said


def versions(module):
    return {package: importlib.metadata.version(package) for package in module.PACKAGES}


def main():
    method, limit = sys.argv[1], float(sys.argv[2])
    name, options = METHODS[method]
    # packages print; what they print is not an answer
    answers, sys.stdout = os.fdopen(os.dup(1), "w", buffering=1), sys.stderr
    os.dup2(2, 1)
    module = importlib.import_module(f"adapters.{name}")
    for line in sys.stdin:
        allow(limit)
        try:
            said = learn(module, options, line.strip()) | {"versions": versions(module)}
        except ModuleNotFoundError as error:  # the package's metadata missing is one too
            said = {"failed": "cannot be installed", "message": str(error)}
        except Exception as error:
            text = str(error).strip().splitlines() or [""]
            failed = "refused" if refuses(error) else "crashed"
            said = {"failed": failed, "message": f"{type(error).__name__}: {text[0][:200]}"}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
