"""An exported solution runs without fredholm, in a clean process, and agrees to rounding."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import fredholm as fr

SETTINGS = {"rule": fr.MonteCarlo(2), "network": fr.MLP(8, 1), "steps": 20, "batch": 8, "seeds": 2, "progress": False}
READ = """
import sys, numpy as np, jax, jax.export
from pathlib import Path
u = jax.export.deserialize(bytearray(Path("u.bin").read_bytes())).call
np.save("values.npy", np.asarray(u(np.load("points.npy"))))
assert "fredholm" not in sys.modules
"""


@pytest.mark.skipif(importlib.util.find_spec("flatbuffers") is None, reason="JAX writes exported functions with flatbuffers")
def test_an_exported_solution_runs_without_the_library(tmp_path):
    solution = fr.solve(fr.problems.Volterra(), fr.DelayedTarget(), **SETTINGS)
    assert solution.export(tmp_path / "u.bin") == tmp_path / "u.bin"
    points = np.linspace(0.0, 5.0, 11, dtype=np.float32)[:, None]
    np.save(tmp_path / "points.npy", points)
    subprocess.run([sys.executable, "-c", READ], cwd=tmp_path, check=True, env={"PATH": "/usr/bin", "JAX_PLATFORMS": "cpu"})
    np.testing.assert_allclose(np.load(tmp_path / "values.npy"), solution(points), rtol=1e-5, atol=1e-6)
