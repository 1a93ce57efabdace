"""One cell: a method on a problem, over several seeds, in a process of its own."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from adapters import OWN
from contract import Answer
from judge import ABSENT, CRASHED, LATE, judge
from problems import PROBLEMS
from worker import SETS

HERE = Path(__file__).parent
LIMIT = 120
"""Seconds of one core that a fit may take, the start of its process included where it is the first."""

PATIENCE = 6
"""A process that has not answered after this many limits on the wall is lost."""


def key(method, problem, seed):
    return f"{method}/{problem}/{seed}"


def environment(folder):
    """One thread a process, and compiled code of JAX kept for all of them."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    jax = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "SFI_JAX_CACHE_DIR": str(folder / "sfi")}
    return os.environ | one | jax | {"ONEPATH_CACHE": str(folder / "onepath"), "MPLBACKEND": "Agg"}


class Worker:
    """The process that fits. `python` may be None where the peers' environment could not be made."""

    def __init__(self, python, method, limit, cache):
        self.limit = limit
        command = [python, "-W", "ignore::DeprecationWarning", str(HERE / "worker.py"), method, str(limit)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(cache),
            text=True,
        )

    def ask(self, file):
        """What the worker says of this record; a process that ended says why by its exit."""
        try:
            self.process.stdin.write(f"{file}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return self._ended()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE * self.limit)
        if not ready:
            self.process.kill()
            self.process.wait()
            return {"failed": LATE, "message": f"no answer after {PATIENCE * self.limit} s on the wall"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else self._ended()

    def _ended(self):
        code = self.process.wait()
        if code == -signal.SIGXCPU:
            return {"failed": LATE, "message": f"more than {self.limit} s"}
        why = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return {"failed": CRASHED, "message": f"the process ended: {why}"}

    @property
    def alive(self):
        return self.process.poll() is None

    def close(self):
        if self.alive:
            self.process.stdin.close()
            self.process.wait()
        self.process.stdout.close()


def hand_over(sample, file):
    """Write what the worker may see of a sample."""
    observed, (starts, y) = sample.observed, sample.held_out
    clock = {"dt": observed.dt} if observed.t is None else {"t": observed.t}
    points = {"weighted": sample.weighted, "uniform": sample.uniform, "starts": starts, "increments": y}
    about = {"regime": observed.regime, "process": observed.process, "step": sample.problem.dt}
    np.savez(file, x=observed.x, **clock, **points, **about)


def answers(file, said):
    """What the worker wrote: an Answer for each set of points."""
    parts = np.load(file.with_suffix(".answer.npz"))
    made = []
    for name in SETS:
        fields = {k.split(".", 1)[1]: parts[k] for k in parts.files if k.startswith(f"{name}.")}
        made.append(Answer(**fields, kind=said["kind"], flags=said.get("flags", [])))
    return made


def run(task):
    """{key: result} of one task: method, problem, seeds, the interpreter of each environment, and the cache.

    Once a seed was over time, those that are left are not run and count as over time too.
    """
    method, problem, seeds, pythons, cache = task
    python = pythons["own" if method == OWN else "peers"]
    if python is None:
        message = "the peers' environment could not be made"
        return {key(method, problem, seed): {"status": ABSENT, "message": message} for seed in seeds}
    results, worker = {}, None
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            first = worker is None or not worker.alive
            worker = Worker(python, method, LIMIT, cache) if first else worker
            sample = PROBLEMS[problem].sample(seed, cache)
            result = one(sample, worker, Path(folder) / f"{seed}.npz", first)
            if "versions" in result:
                results[f"versions/{method}"] = result.pop("versions")
            results[key(method, problem, seed)] = result
            if result["status"] == LATE:
                break
        worker.close()
    return results | given_up(method, problem, seeds, results)


def given_up(method, problem, seeds, results):
    """What is known of seeds not run yet, where one before was over time."""
    before = [results.get(key(method, problem, s), {}).get("status") for s in range(max(seeds, default=0) + 1)]
    if LATE not in before:
        return {}
    late = {"status": LATE, "message": f"not run: seed {before.index(LATE)} was over time"}
    return {key(method, problem, s): late for s in seeds if key(method, problem, s) not in results}


def one(sample, worker, file, first):
    """One record through the worker and the judge."""
    hand_over(sample, file)
    said = worker.ask(file)
    file.unlink()
    if "failed" in said:
        return {"status": said["failed"], "message": said["message"], "first": first}
    result = judge(sample, *answers(file, said), said.get("density"))
    file.with_suffix(".answer.npz").unlink()
    times = {"first": first, "seconds": said["seconds"], "memory": said["memory"], "versions": said["versions"]}
    return result | times | ({"cold": said["total"]} if first else {})


def interpreters(peers):
    """Python of onepath's environment, which is this one, and of the peers'."""
    return {"own": sys.executable, "peers": str(peers) if peers.exists() else None}
