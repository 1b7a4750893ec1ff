"""The sums of a linear system, and small systems inside compiled steps, by Gram–Schmidt.

LAPACK is not used there, because it can deadlock. jaxlib hands a batch of small matrices to a thread pool, and the threads of that
same pool wait for the result. Once every thread waits, nothing runs any more. A training on two CPU devices with rotated nodes in 10
dimensions hung in this way.
"""

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Matrix = TypeVar("Matrix", np.ndarray, jax.Array)


def assembled(a: Matrix, b: Matrix, value: Matrix) -> tuple[Matrix, Matrix]:
    r"""The sums $A^\top B$ and $A^\top b$ of rows. With the rows (a, b) of a method, affine in θ, its training ends where
    $A^\top B\,\theta = -A^\top b$ with b taken at θ = 0. Arrays of NumPy or JAX."""
    return a.T @ b, a.T @ value


def orthonormal_columns(matrix: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Q of the decomposition QR with a positive diagonal of R."""
    return _units(_orthogonal_columns(matrix))


def solve(matrix: Float[Array, "n n"], right: Float[Array, "n"]) -> Float[Array, "n"]:
    """x with `matrix @ x = right`."""
    size, basis = len(matrix), orthonormal_columns(matrix)
    triangle, turned = basis.T @ matrix, basis.T @ right

    def substitute(back: Array, x: Float[Array, "n"]) -> Float[Array, "n"]:
        row = size - 1 - back
        return x.at[row].set((turned[row] - triangle[row] @ x) / triangle[row, row])  # x is 0 up to this row

    return jax.lax.fori_loop(0, size, substitute, jnp.zeros_like(turned))


def cholesky(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The lower triangle L with a positive diagonal and `L @ L.T == matrix`."""
    size = len(matrix)

    def add(column: Array, done: Float[Array, "n n"]) -> Float[Array, "n n"]:
        rest = matrix[:, column] - done @ done[column]
        return done.at[:, column].set(jnp.where(jnp.arange(size) >= column, rest / jnp.sqrt(rest[column]), 0.0))

    return jax.lax.fori_loop(0, size, add, jnp.zeros_like(matrix))


def absolute_determinant(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    """|det|, the volume that the columns span."""
    return jnp.prod(jnp.linalg.norm(_orthogonal_columns(matrix), axis=0))


def _orthogonal_columns(matrix: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Each column minus its projection on the columns before it. The projection is subtracted twice, which is enough for any matrix that
    is not singular to working precision (Giraud, Langou and Rozložník, 2005)."""

    def add(column: Array, done: Float[Array, "n k"]) -> Float[Array, "n k"]:
        before, rest = _units(done), matrix[:, column]
        for _ in range(2):
            rest = rest - before @ (before.T @ rest)
        return done.at[:, column].set(rest)

    return jax.lax.fori_loop(0, matrix.shape[1], add, jnp.zeros_like(matrix))


def _units(columns: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """The columns with length 1; a column of zeros stays zero."""
    return columns / jnp.maximum(jnp.linalg.norm(columns, axis=0, keepdims=True), jnp.finfo(columns.dtype).tiny)
