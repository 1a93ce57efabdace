"""The scoreboard as one picture: how many times the best error each method makes, problem by problem."""

import numpy as np
from adapters import ORACLE
from judge import FAILURES, SILENT
from problems import PROBLEMS
from summary import cells, in_order

WORST = 8.0
"""Errors above this many times the best have one colour."""

SIGNS = {SILENT: "!", "refused": "–", "crashed": "×", "over time": "…", "cannot be installed": "∅"}


def ratios(board, methods, score):
    """Error over the best one of the problem (the oracle's apart), (problems, methods); NaN where there is none."""
    table = np.full((len(PROBLEMS), len(methods)), np.nan)
    for i, problem in enumerate(PROBLEMS):
        for j, method in enumerate(methods):
            cell = board.get((method, problem))
            if cell is not None and cell.medians[score] is not None:
                table[i, j] = cell.medians[score]
        rivals = [table[i, j] for j, method in enumerate(methods) if method != ORACLE and np.isfinite(table[i, j])]
        table[i] /= min(rivals) if rivals else np.nan
    return table


def draw(results, path):
    """Write the picture: bright is best, dark is worse, signs say what went wrong with half of the seeds or more."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import LogNorm

    board = cells(results)
    methods = in_order(board)
    figure, axes = plt.subplots(1, 2, figsize=(12, 8.5), sharey=True, layout="constrained")
    for axis, score in zip(axes, ("drift", "diffusion"), strict=True):
        table = ratios(board, methods, score)
        image = axis.imshow(np.clip(table, 1, WORST), norm=LogNorm(1, WORST), cmap="viridis_r", aspect="auto")
        for (i, j), ratio in np.ndenumerate(table):
            _mark(axis, i, j, ratio, board.get((methods[j], list(PROBLEMS)[i])))
        axis.set_title(f"error of the {score}, in units of the smallest")
        axis.set_xticks(range(len(methods)), methods, rotation=35, ha="right")
    axes[0].set_yticks(range(len(PROBLEMS)), [name.replace("_", " ") for name in PROBLEMS])
    bar = figure.colorbar(image, ax=axes, shrink=0.6, ticks=[1, 2, 4, 8], label="times the smallest error")
    bar.ax.set_yticklabels(["1", "2", "4", "8 or more"])
    bar.ax.minorticks_off()
    figure.supxlabel("! silently wrong   – refused   × crashed   … over time   (half of the seeds or more)", fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _mark(axis, i, j, ratio, cell):
    if cell is None:
        return
    signs = [SIGNS[s] for s in FAILURES if cell.statuses[s] >= cell.seeds / 2]
    number = "" if not np.isfinite(ratio) else f"{ratio:.1f}" if ratio < 99.5 else ">99"
    colour = "white" if ratio > np.sqrt(WORST) else "black"
    axis.text(j, i, " ".join([number, *signs]).strip(), ha="center", va="center", fontsize=7, color=colour)
