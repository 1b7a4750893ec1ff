"""Shared set-up: two CPU devices, strict shapes, and runtime type checks on the whole package."""

from jaxtyping import install_import_hook

with install_import_hook("fredholm", "beartype.beartype"):
    import fredholm as fr

import jax
import pytest

fr.use_all_cores(2)
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture
def key():
    return jax.random.key(7)
