"""Seconds in one run: onepath against Gaussian-process regression and kramersmoyal, and what a new process takes.

    python benchmarks/speed.py

Ratios matter, not seconds: machines differ, and these are measured one after another on the same one.
"""

import os
import subprocess
import sys
import time

import kramersmoyal
import numpy as np
from scipy.signal import lfilter

from onepath import SDE
from onepath.compare.baselines import GPRegression
from onepath.compare.processes import PROCESSES

ONLY_JAX = "import jax, jax.numpy as jnp; jax.jit(lambda x: x + 1)(jnp.ones(3)).block_until_ready()"
A_FIT = """
import numpy as np
from onepath import SDE
SDE(progress=False).fit(np.cumsum(np.random.default_rng(0).standard_normal(501)), dt=0.1)
"""


def seconds(act, repeats):
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return min(times)


def main():
    print("500 transitions: seconds to learn, and the ratio to scikit-learn's Gaussian-process regression")
    ratios = []
    for name, process in PROCESSES.items():
        if process.dimension > 1:
            continue
        x = process.simulate(500, random_state=0)[0]
        SDE(progress=False).fit(x, dt=process.dt)
        ours = seconds(lambda x=x, dt=process.dt: SDE(progress=False).fit(x, dt=dt), 3)
        theirs = seconds(lambda x=x, dt=process.dt: GPRegression().fit(x[:-1], np.diff(x, axis=0), dt), 1)
        ratios.append(ours / theirs)
        print(f"{name:28} onepath {ours:6.3f}   GP regression {theirs:6.3f}   ratio {ours / theirs:5.2f}")
    print(f"{'median ratio':28} {np.median(ratios):.2f}")

    noise = np.random.default_rng(0).standard_normal(1_000_000)
    x = 0.1 * lfilter([1.0], [1.0, -0.99], noise)
    print("\nOrnstein–Uhlenbeck process: seconds by number of points")
    for count in (10_000, 100_000, 1_000_000):
        part = x[:count]
        learned = seconds(lambda part=part: SDE(progress=False).fit(part, dt=0.01), 2)
        given = seconds(lambda part=part: SDE(learn=None).fit(part, dt=0.01), 3)
        peer = seconds(lambda part=part: kramersmoyal.km(part, bins=[5000], powers=[[1], [2]], bw=0.15), 3)
        print(f"{count:>9} points: onepath {learned:.3f}, with kernels given {given:.3f}, kramersmoyal {peer:.3f}")

    print("\nA new process, compiled programs kept from the last one")
    subprocess.run([sys.executable, "-c", A_FIT], check=True)
    jax, fit = (
        seconds(lambda script=script: subprocess.run([sys.executable, "-c", script], check=True), 5)
        for script in (ONLY_JAX, A_FIT)
    )
    print(f"that fits 500 points {fit:.2f}, that runs one function of JAX {jax:.2f}, ratio {fit / jax:.2f}")

    if hasattr(os, "sched_setaffinity") and len(cores := sorted(os.sched_getaffinity(0))) > 1:
        print("\nA warm fit of 500 points while another program keeps one core busy")
        x = np.cumsum(np.random.default_rng(0).standard_normal(501)) * 0.1
        idle = seconds(lambda: SDE(progress=False).fit(x, dt=0.1), 5)
        os.sched_setaffinity(0, cores[:2])
        with subprocess.Popen(["taskset", "-c", str(cores[0]), sys.executable, "-c", "while True: pass"]) as busy:
            both = seconds(lambda: SDE(progress=False).fit(x, dt=0.1), 5)
            os.sched_setaffinity(0, cores[1:2])
            free = seconds(lambda: SDE(progress=False).fit(x, dt=0.1), 5)
            busy.kill()
        print(f"allowed both {both:.3f}, pinned to the free one {free:.3f}, ratio {both / free:.2f}; idle {idle:.3f}")


if __name__ == "__main__":
    main()
