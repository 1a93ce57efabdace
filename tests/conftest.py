"""The suite's own choices: one compilation cache, shapes checked, double precision only where a test asks for it."""

import jax
import jaxtyping
import pytest

# every module that states shapes; `typing.Self`, which the estimators return, is nothing that beartype can check here
SHAPED = ("build", "completion", "features", "graph", "kernels", "linalg", "posterior", "transition", "transitions")
jaxtyping.install_import_hook([f"onepath.{module}" for module in SHAPED], "beartype.beartype")


def pytest_configure(config):
    jax.config.update("jax_compilation_cache_dir", str(config.rootpath / ".jax_cache"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


@pytest.fixture
def double():
    """For tests that call the engine directly: the estimator does this by itself."""
    with jax.enable_x64(True):
        yield
