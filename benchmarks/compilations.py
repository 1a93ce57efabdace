"""What forty series compile after one fit of their dimension: other lengths, steps, gaps and missing values.

    python benchmarks/compilations.py [--dimension 2] [--series 40]

Counted by JAX itself, in one process without kept programs; it says which series compiled what.
"""

import argparse
import os

os.environ["ONEPATH_CACHE"] = "off"

import jax
import numpy as np

from onepath import SDE


def series(rng, dimension):
    """A stable process with multiplicative noise, some readings missing, steps missing or of another length."""
    n, dt = int(rng.integers(60, 4000)), float(10.0 ** rng.uniform(-3, -0.5))
    x, times = np.zeros((n, dimension)), dt * np.arange(n)
    for i in range(1, n):
        noise = np.sqrt(dt * (1 + 0.3 * x[i - 1] ** 2)) * rng.standard_normal(dimension)
        x[i] = x[i - 1] - dt * (x[i - 1] + 0.2 * np.roll(x[i - 1], 1) * (dimension > 1)) + noise
    kept = rng.random(n) > rng.choice([0.0, 0.1])
    x, times = x[kept], times[kept]
    if rng.random() < 0.3:
        x[rng.integers(0, len(x), len(x) // 20)] = np.nan
    return (x[:, 0] if dimension == 1 else x), times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimension", type=int, default=1)
    parser.add_argument("--series", type=int, default=40)
    options = parser.parse_args()
    compiled = []

    def listen(event, _duration, **details):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(details.get("fun_name", "?"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    rng, some = np.random.default_rng(0), 0
    for k in range(options.series + 1):
        x, times = series(rng, options.dimension)
        compiled.clear()
        found = SDE(progress=False).fit(x, t=times)
        some += bool(compiled) and k > 0
        if k == 0 or compiled:
            print(f"series {k:2}: {len(x):4} rows, law {found.transition_}: compiled {', '.join(compiled)}", flush=True)
    print(f"{some} of {options.series} series after the first compiled something")


if __name__ == "__main__":
    main()
