"""Learn a double well from one simulated path, print what was learned, and draw it over the truth.

Writes `out/double_well.png` and `out/graph.svg`.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import onepath
from onepath.compare.processes import PROCESSES

TRUTH, FIT, DATA = "#1b1b1b", "#0072b2", "#9a9a9a"


def draw_function(axes: Axes, x: np.ndarray, fit: np.ndarray, band: tuple[np.ndarray, np.ndarray], truth: np.ndarray):
    axes.fill_between(x, *band, color=FIT, alpha=0.2, lw=0, label="90 % band")
    axes.plot(x, fit, color=FIT, lw=2, label="learned")
    axes.plot(x, truth, color=TRUTH, lw=1.2, ls="--", label="truth")


def main() -> None:
    process = PROCESSES["double_well_multiplicative"]
    path = process.simulate(10_000, random_state=1)[0]
    sde = onepath.SDE().fit(path, dt=process.dt)
    print(f"Truth      {process.equation}")
    print(sde.summary())

    states = path[:, 0]
    x = np.linspace(*np.quantile(states, [0.005, 0.995]), 300)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    left.plot(process.dt * np.arange(len(states)), states, color=DATA, lw=0.6)
    left.set(xlabel="time t", ylabel="state x", title="One path in …")
    draw_function(middle, x, sde.drift(x), sde.drift_band(x), process.drift(x[:, None])[:, 0])
    middle.set(xlabel="state x", ylabel="drift f(x)", title="… drift …")
    draw_function(right, x, sde.diffusion(x), sde.diffusion_band(x), process.diffusion(x[:, None])[:, 0, 0])
    right.set(xlabel="state x", ylabel="diffusion σ(x)", title="… and diffusion out")
    right.set_ylim(bottom=0)
    middle.legend(frameon=False)

    folder = Path("out")
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "double_well.png", dpi=150)
    (folder / "graph.svg").write_text(sde.graph_.draw(), encoding="utf-8")
    print(f"Wrote {folder / 'double_well.png'} and {folder / 'graph.svg'}")


if __name__ == "__main__":
    main()
