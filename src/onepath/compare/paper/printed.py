"""Every number of the paper's six tables, as printed: (L, δ_f, δ_σ)."""

from typing import NamedTuple


class Row(NamedTuple):
    """The paper's three metrics: loss L, relative errors of drift and diffusion at the test points."""

    loss: float
    drift: float
    diffusion: float


PRINTED: dict[tuple[str, str, str], Row] = {
    # table 1, exponential decay volatility
    ("exponential-1", "matern", "benchmark"): Row(-2.547, 0.394, 0.033),
    ("exponential-1", "matern", "non-learned"): Row(-2.532, 0.506, 0.081),
    ("exponential-1", "matern", "learned"): Row(-2.546, 0.388, 0.048),
    ("exponential-2", "matern", "benchmark"): Row(-1.887, 0.322, 0.085),
    ("exponential-2", "matern", "non-learned"): Row(-1.887, 0.472, 0.062),
    ("exponential-2", "matern", "learned"): Row(-1.900, 0.249, 0.035),
    # table 2, trigonometric process
    ("trigonometric-1", "matern", "benchmark"): Row(-3.411, 0.327, 0.442),
    ("trigonometric-1", "matern", "non-learned"): Row(-3.675, 0.157, 0.093),
    ("trigonometric-1", "matern", "learned"): Row(-3.678, 0.269, 0.088),
    ("trigonometric-2", "matern", "benchmark"): Row(-3.808, 3.454, 0.198),
    ("trigonometric-2", "matern", "non-learned"): Row(-2.405, 0.832, 0.665),
    ("trigonometric-2", "matern", "learned"): Row(-3.642, 1.481, 0.242),
    # table 3, geometric Brownian motion
    ("gbm", "linear", "benchmark"): Row(-2.755, 2.077, 0.236),
    ("gbm", "linear", "non-learned"): Row(-2.800, 0.763, 0.015),
    ("gbm", "linear", "learned"): Row(-2.800, 0.672, 0.008),
    ("gbm", "matern", "benchmark"): Row(-2.755, 2.018, 0.237),
    ("gbm", "matern", "non-learned"): Row(-1.420, 0.962, 0.355),
    ("gbm", "matern", "learned"): Row(-2.800, 0.500, 0.010),
    # table 4, Ornstein-Uhlenbeck process
    ("ou", "matern", "benchmark"): Row(-2.973, 1.799, 0.006),
    ("ou", "matern", "non-learned"): Row(-2.971, 1.038, 0.065),
    ("ou", "matern", "learned"): Row(-2.973, 0.459, 0.012),
    ("ou", "linear", "benchmark"): Row(-2.977, 0.212, 0.006),
    ("ou", "linear", "non-learned"): Row(-2.957, 0.510, 0.011),
    ("ou", "linear", "learned"): Row(-2.978, 1.066, 0.013),
}
"""Tables 1 to 4, by trajectory, kernel and method."""

PRINTED_BY_STEP: dict[tuple[str, str], tuple[Row, ...]] = {
    # table 5
    ("exponential-2", "non-learned"): (
        Row(-1.887, 0.472, 0.062),
        Row(-1.872, 0.669, 0.299),
        Row(-1.896, 0.702, 0.419),
        Row(-1.871, 0.886, 0.505),
        Row(37.778, 0.805, 0.370),
        Row(-1.802, 0.901, 0.605),
        Row(-0.356, 0.880, 0.641),
        Row(-1.774, 0.913, 0.505),
        Row(-1.044, 0.878, 0.249),
        Row(-1.648, 0.940, 0.439),
    ),
    ("exponential-2", "learned"): (
        Row(-1.887, 0.889, 0.033),
        Row(-1.843, 0.897, 0.181),
        Row(-1.888, 0.881, 0.415),
        Row(-1.922, 0.902, 0.502),
        Row(-1.928, 0.855, 0.574),
        Row(-1.928, 0.982, 0.590),
        Row(-1.818, 0.865, 0.638),
        Row(-1.496, 0.913, 0.228),
        Row(-1.881, 0.919, 0.659),
        Row(-1.883, 0.952, 0.695),
    ),
    # table 6
    ("trigonometric-1", "non-learned"): (
        Row(-3.675, 0.259, 0.093),
        Row(-3.883, 0.717, 0.300),
        Row(-3.729, 0.702, 0.419),
        Row(-3.784, 0.836, 0.499),
        Row(-4.027, 0.904, 0.587),
        Row(-3.910, 0.911, 0.594),
        Row(-3.909, 0.954, 0.636),
        Row(-3.652, 0.772, 0.668),
        Row(-3.939, 0.880, 0.657),
        Row(-3.505, 0.888, 0.254),
    ),
    ("trigonometric-1", "learned"): (
        Row(-3.674, 0.163, 0.092),
        Row(-3.807, 0.792, 0.299),
        Row(-3.725, 0.654, 0.434),
        Row(-3.798, 0.848, 0.495),
        Row(-4.019, 0.852, 0.593),
        Row(-3.942, 0.952, 0.597),
        Row(-3.562, 0.925, 0.211),
        Row(-3.930, 0.767, 0.669),
        Row(-3.424, 0.935, 0.145),
        Row(-3.926, 0.880, 0.705),
    ),
}
"""Tables 5 and 6, the effect of time discretisation, by trajectory and method; k = 1 to 10 in turn."""


def printed_row(trajectory: str, kernel: str, method: str, view: str, k: int) -> Row | None:
    """What the paper prints for this run, if anything; `view` and `k` as in `cases.Case`."""
    if view == "whole":
        return PRINTED.get((trajectory, kernel, method))
    rows = PRINTED_BY_STEP.get((trajectory, method))
    return None if rows is None else rows[k - 1]
