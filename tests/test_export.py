"""An exported solution runs without fredholm, in a clean process, and agrees to rounding."""

import importlib.util
import subprocess
import sys
from pathlib import Path

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
READ_ARRAYS = """
import sys, numpy as np
from reader import read
np.save("values.npy", read("u.npz")(np.load("points.npy")))
assert not {"fredholm", "jax"} & set(sys.modules)
"""


@pytest.mark.skipif(importlib.util.find_spec("flatbuffers") is None, reason="JAX writes exported functions with flatbuffers")
def test_an_exported_solution_runs_without_the_library(tmp_path):
    solution = fr.solve(fr.problems.Volterra(), fr.DelayedTarget(), **SETTINGS)
    assert solution.export(tmp_path / "u.bin") == tmp_path / "u.bin"
    points = np.linspace(0.0, 5.0, 11, dtype=np.float32)[:, None]
    np.save(tmp_path / "points.npy", points)
    subprocess.run([sys.executable, "-c", READ], cwd=tmp_path, check=True, env={"PATH": "/usr/bin", "JAX_PLATFORMS": "cpu"})
    np.testing.assert_allclose(np.load(tmp_path / "values.npy"), solution(points), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("network", [fr.MLP(6, 2), fr.Chebyshev(9), fr.Fourier(4)])
def test_the_arrays_of_a_solution_are_read_with_numpy_alone(network, tmp_path):
    is_series = network.is_linear
    rule = fr.Gauss(8) if is_series else fr.MonteCarlo(2)
    solution = fr.solve(fr.problems.Volterra(), fr.Standard(), **{**SETTINGS, "network": network, "rule": rule}, throw=False)
    solution.export(tmp_path / "u.npz")
    points = np.linspace(0.0, 5.0, 11)[:, None]
    np.save(tmp_path / "points.npy", points)
    reader = Path(__file__).parents[1] / "docs" / "read_exported.py"
    (tmp_path / "reader.py").write_text(reader.read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([sys.executable, "-c", READ_ARRAYS], cwd=tmp_path, check=True, env={"PATH": "/usr/bin"})
    expected = solution(points)
    np.testing.assert_allclose(np.load(tmp_path / "values.npy"), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_what_has_no_formula_in_arrays_says_what_to_write(tmp_path):
    solution = fr.solve(
        fr.problems.Volterra(), fr.DelayedTarget(), **{**SETTINGS, "network": fr.Constrained(fr.MLP(4, 1), lambda n, x: n(x))}
    )
    with pytest.raises(ValueError, match=r"u\.bin"):
        solution.export(tmp_path / "u.npz")
