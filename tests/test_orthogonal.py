"""Small linear systems inside compiled steps: as exact as LAPACK, and without it, since its batches can block the threads they wait for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.common.linear_algebra import absolute_determinant, orthonormal_columns, solve
from fredholm.equation.evaluation import METRICS

# The last has columns that differ by little, where making them orthogonal once is not enough in single precision.
MATRICES = {
    "gaussian": np.random.default_rng(0).normal(size=(6, 6)),
    "tall": np.random.default_rng(1).normal(size=(40, 3)),
    "nearly singular": np.ones((8, 8)) + 1e-4 * np.random.default_rng(2).normal(size=(8, 8)),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_columns_are_orthonormal_and_span_what_they_should(matrix):
    matrix = matrix.astype(np.float32)
    basis = np.asarray(orthonormal_columns(jnp.asarray(matrix)), float)
    triangle = basis.T @ matrix
    np.testing.assert_allclose(basis.T @ basis, np.eye(matrix.shape[1]), atol=2e-6)
    np.testing.assert_allclose(np.tril(triangle, -1), 0, atol=1e-5)
    assert (np.diag(triangle) > 0).all()
    np.testing.assert_allclose(basis @ triangle, matrix, atol=1e-5)


def test_systems_and_volumes_are_those_of_numpy():
    matrix, right = MATRICES["gaussian"].astype(np.float32), np.arange(6.0, dtype=np.float32)
    np.testing.assert_allclose(solve(jnp.asarray(matrix), jnp.asarray(right)), np.linalg.solve(matrix, right), rtol=1e-4)
    assert float(absolute_determinant(jnp.asarray(matrix))) == pytest.approx(abs(np.linalg.det(matrix)), rel=1e-5)
    assert float(absolute_determinant(jnp.ones((3, 3)))) == pytest.approx(0, abs=1e-5), "no volume, and no division by it"


def _simplex(x):
    corners = jnp.concatenate([x[None], x[None] + jnp.eye(5)])
    simplex = fr.Simplex(corners)
    return simplex.map(jnp.full((5,), 0.3)), simplex.density(x + 0.1)


COMPILED = {
    "rotation": lambda x: fr.Sphere(x, 1.0).rotate(jax.random.key(0), jnp.ones((4, 5))),
    "rotation of x": lambda x: fr.Sphere(jnp.zeros(5), 1.0).rotate(jax.random.key(jnp.int32(x[0])), jnp.ones((4, 5))),
    "simplex": _simplex,
    **{name: lambda x, metric=metric: metric(x[:, None], 0 * x[:, None] + 1, x[:, None] ** 2) for name, metric in METRICS.items()},
}


@pytest.mark.parametrize("work", COMPILED.values(), ids=COMPILED)
def test_no_compiled_step_calls_lapack(work):
    text = jax.jit(jax.vmap(work)).lower(jnp.ones((3, 5))).as_text()
    assert "lapack" not in text


def test_the_word_by_which_lapack_is_recognised():
    assert "lapack" in jax.jit(jnp.linalg.qr).lower(jnp.eye(3)).as_text()
