"""StochasticForceInference 2: polynomials of order 5 or 9, terms chosen by PASTIS.

The workflow of its user guide ("Running inference"). Clean data take the linear estimators with their "auto" presets:
compute_diffusion_constant, infer_force_linear, infer_diffusion_linear. Noisy or coarse data take the parametric ones
(infer_force, infer_diffusion), as its section "Choosing an estimator" says. Either way the force is made sparse by
PASTIS, the recommended criterion, and the diffusion too, unless it declines to, when all terms are kept as in that
workflow. Errors come from compute_force_error, compute_diffusion_error and predict_ci.
Monomials as in its quick start, D = σσ'/2 on symmetric matrices. Missing rows are masked; gaps are in the times. Its
compilation cache is switched on (SFI_JAX_CACHE_DIR); single precision is its default, and double changed no result that
was tried. Its warnings are its own word against its answer.
"""

import contextlib
import warnings

import numpy as np
from contract import Answer

PACKAGES = ("StochasticForceInference", "jax", "numpy")


def fit(observed, order):
    from SFI import OverdampedLangevinInference, TrajectoryCollection
    from SFI.bases import monomials_up_to

    missing = np.isnan(observed.x).any(axis=1)
    data = {"X": np.where(missing[:, None], 0.0, observed.x), "mask": ~missing if missing.any() else None}
    clock = {"dt": observed.dt} if observed.t is None else {"t": observed.t}
    force = monomials_up_to(order=order, dim=observed.dimension, rank="vector")
    diffusion = monomials_up_to(order=order, dim=observed.dimension, rank="symmetric_matrix")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        inference = OverdampedLangevinInference(TrajectoryCollection.from_arrays(**data, **clock))
        if observed.regime == "clean":
            inference.compute_diffusion_constant()
            inference.infer_force_linear(force)
            inference.sparsify_force(criterion="PASTIS")
            inference.infer_diffusion_linear(diffusion)
        else:
            inference.infer_force(force)
            inference.sparsify_force(criterion="PASTIS")
            inference.infer_diffusion(diffusion)
        with contextlib.suppress(RuntimeError):  # it declines where the scores' covariance is singular
            inference.sparsify_diffusion(criterion="PASTIS")
        inference.compute_force_error()
        inference.compute_diffusion_error()
    return Fitted(inference, [str(w.message) for w in said if issubclass(w.category, UserWarning | RuntimeWarning)])


class Fitted:
    def __init__(self, inference, said):
        self.inference, self.said = inference, said

    def answer(self, points):
        force, diffusion = (
            field.predict_ci(points.astype(np.float32))
            for field in (self.inference.force_inferred, self.inference.diffusion_inferred)
        )
        answer = Answer(np.asarray(force["mean"], float), 2 * np.asarray(diffusion["mean"], float))
        answer.with_drift_errors(np.asarray(force["std"], float))
        return answer.with_covariance_errors(2 * np.asarray(diffusion["std"], float))

    def flags(self):
        return self.said
