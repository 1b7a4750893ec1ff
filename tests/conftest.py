"""Shared set-up: two CPU devices, strict shapes, and runtime type checks on the whole package."""

import atexit
import dataclasses
import gc
import os
import shutil
import signal
import sys
import tempfile

# Compiling takes most of the suite's time: it is done without LLVM's expensive passes, and never twice in one session.
# The old emitters of fused loops take a third less time to compile than the new ones; two workers leave no core to compile in parallel on.
os.environ["XLA_FLAGS"] = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # the first process; its workers find it set
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="fredholm-tests-")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"  # where in our code an operation comes from is not asked

from jaxtyping import install_import_hook

with install_import_hook("fredholm", "beartype.beartype"):
    import fredholm as fr

import jax
import pytest

from fredholm.solving.correction import Estimate

# A shell turns Ctrl-C off for what it runs in the background, and for its children: a suite that is run so hears it all the same.
signal.signal(signal.SIGINT, signal.default_int_handler)
fr.use_all_cores(2)
jax.config.update("jax_numpy_rank_promotion", "raise")
# Traced programs are a million objects that stay: to look through them for garbage as often as Python does takes a twentieth of the time.
gc.freeze()
gc.set_threshold(50_000, 20, 100)


@pytest.fixture(autouse=True)
def no_probing(request, monkeypatch):
    """Tests that train do not ask whether the solution is unique, which takes seconds each time; test_inspection.py does."""
    if "probing" not in request.keywords:
        monkeypatch.setattr(sys.modules["fredholm.api"], "warn_if_ill_posed", lambda settings: None)


@pytest.fixture(autouse=True)
def no_pilot(request, monkeypatch):
    """Tests that train do not try a series first, nor let a pilot choose, which takes seconds; test_auto.py and test_series.py do."""
    if "pilot" not in request.keywords:
        settings = sys.modules["fredholm.training.settings"]
        monkeypatch.setattr(settings, "GENERAL", dataclasses.replace(settings.GENERAL, method=fr.DelayedTarget()))
        monkeypatch.setattr(sys.modules["fredholm.api"], "solved_by_series", lambda settings, callbacks: (None, []))


@pytest.fixture(autouse=True)
def no_scaling(request, monkeypatch):
    """Tests that train do not look for the units of their equation, which takes half a second each time; test_scaled.py does."""
    if "scaling" not in request.keywords:
        monkeypatch.setattr(fr.MLP, "needs_frame", False)


@pytest.fixture(autouse=True)
def no_quality(request, monkeypatch):
    """Tests that print a solution do not measure how good it is, which takes a second each time; test_printed.py does."""
    if "quality" not in request.keywords:
        monkeypatch.setattr(sys.modules["fredholm.results.solution"], "qualities", lambda equations, fields: [])


@pytest.fixture(autouse=True)
def no_estimate(request, monkeypatch):
    """Nor do they estimate its error and certify it, which takes several seconds; test_estimate.py does."""
    if "estimating" not in request.keywords:
        nothing = Estimate(float("nan"), "not asked for in tests")
        monkeypatch.setattr(sys.modules["fredholm.results.printed"], "trusted", lambda solution: [])
        monkeypatch.setattr(sys.modules["fredholm.results.solution"], "estimated", lambda *given: (nothing, None))


@pytest.fixture
def key():
    return jax.random.key(7)
