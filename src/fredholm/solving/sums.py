r"""Linear classes with random nodes: one pass of sums over the samples, and then one linear system.

Where u is linear in its parameters and the equation is affine, the rows of a method are $a = a_0 + A\theta$ and $b = b_0 + B\theta$. Its
training ends where $\mathbb{E}[w A^\top B]\,\theta = -\mathbb{E}[w A^\top b_0]$. Learning rates, τ and λ drop out.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.compiling import filter_compiled_once
from fredholm.equation.probe import fresh
from fredholm.functions.field import Field
from fredholm.methods.protocol import AbstractMethod, Share, shares
from fredholm.training.settings import RunSettings
from fredholm.training.update import as_vector

GROUPS = 32  # of steps, whose sums are kept apart: an estimate without each of them gives the error bars
DONE = 1e-10  # of Newton's method: the norm of the sums as a share of the first, and of the step
AFFINE = 1e-5  # slopes at two functions that differ by at most this share: an affine equation


class Sums(NamedTuple):
    """The sums over the samples of each group of steps."""

    matrix: Float[Array, "g p p"]  # of w Aᵀ B
    right: Float[Array, "g p"]  # of w Aᵀ b₀


class Sloped(NamedTuple):
    """The rows at one x, and their slopes by the parameters."""

    a: Float[Array, "r p"]  # of a, with the function inside a target held fixed
    b: Float[Array, "r p"]  # of b, with the target the function itself
    value: Float[Array, "r"]  # b


def sloped(method: AbstractMethod, u: Field, share: Share, x: PyTree, key: Key[Array, ""]) -> Sloped:
    """The rows of a method at one x, where its target is u itself, as it is at the end of a training."""
    vector, build = as_vector(u)

    def rows(vector: Float[Array, "p"], inside: Float[Array, "p"]) -> tuple[Float[Array, "r"], Float[Array, "r"]]:
        own = next(iter(method.weighted_rows(build(vector), method.init(build(inside)), share, x, key).values()))
        scale = jnp.sqrt(jnp.asarray(own.weight, own.a.dtype))
        return scale * own.a, scale * own.b

    of_a = jax.jacrev(lambda moved: rows(moved, vector)[0])(vector)
    of_b = jax.jacrev(lambda moved: rows(moved, moved)[1])(vector)
    return Sloped(of_a, of_b, rows(vector, vector)[1])


def system_of(method: AbstractMethod, u: Field, share: Share) -> tuple[Float[Array, "p p"], Float[Array, "p"]]:
    """The means of Aᵀ B and Aᵀ b over the points of a share."""
    found = jax.vmap(lambda x, key: sloped(method, u, share, x, key))(share.points, share.keys)
    a, b = (slopes.reshape(-1, slopes.shape[-1]) for slopes in (found.a, found.b))
    return a.T @ b / share.keys.size, a.T @ jnp.ravel(found.value) / share.keys.size


def is_affine(settings: RunSettings) -> bool:
    """True where the rows of the method have the same slopes at two random functions of the class."""
    problem, method = settings.problem.for_seed(settings.seeds[0]), settings.known_method

    @filter_compiled_once
    def slopes(key: Key[Array, ""]) -> list[Array]:
        u = fresh(problem, settings.network, jax.random.key(0))
        vector, build = as_vector(u)
        u = build(jax.random.normal(key, vector.shape, vector.dtype))
        drawn = shares(problem, settings.rules, 4, jax.random.key(1))
        found = [jax.vmap(lambda x, k, share=share: sloped(method, u, share, x, k)[:2])(share.points, share.keys) for share in drawn]
        return jax.tree.leaves(found)

    one, other = (slopes(jax.random.key(number)) for number in (2, 3))
    return all(bool(jnp.max(jnp.abs(p - q)) <= AFFINE * jnp.max(jnp.abs(p))) for p, q in zip(one, other, strict=True))


class Solution(NamedTuple):
    """The parameters that a system gives, and what is known of them."""

    parameters: np.ndarray
    replicates: np.ndarray  # (g, p): without each group of steps
    condition: float


def solved(matrix: np.ndarray, right: np.ndarray, start: np.ndarray) -> Solution:
    """The solution of the summed system, and of the systems without each group; `start` is where the rows were taken."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return Solution(np.full_like(start, np.nan), np.full((1, len(start)), np.nan), np.inf)
    used = np.flatnonzero(np.any(right != 0, axis=1) | np.any(matrix != 0, axis=(1, 2)))
    total, side = matrix.sum(axis=0), right.sum(axis=0)
    units = 1 / np.sqrt(np.maximum(np.abs(np.diag(total)), np.finfo(float).tiny))

    def solution(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        return start - units * np.linalg.lstsq(units[:, None] * matrix * units, units * right, rcond=None)[0]

    condition = float(np.linalg.cond(units[:, None] * total * units))
    replicates = [solution(total - matrix[g], side - right[g]) for g in used] if len(used) > 1 else [solution(total, side)]
    return Solution(solution(total, side), np.array(replicates), condition)


class Newton(NamedTuple):
    """An iteration on a frozen sample, towards rows with a sum of zero: a step is taken where it decreases $\\|\\sum w A^\\top b\\|$, and
    halved where it does not. The sum of b² would select noise."""

    base: np.ndarray  # the best parameters so far
    step: np.ndarray  # what is tried next
    norm: float  # of the sums at the best parameters; infinite before the first
    first: float  # the norm at the start

    @classmethod
    def at(cls, start: np.ndarray) -> "Newton":
        """Before the first sums."""
        return cls(start, np.zeros_like(start), np.inf, np.inf)

    @property
    def parameters(self) -> np.ndarray:
        """Where the next sums are taken."""
        return self.base + self.step

    @property
    def is_done(self) -> bool:
        """True where the sums are zero to rounding, or no step is left."""
        return self.norm <= DONE * self.first or float(np.max(np.abs(self.step))) <= DONE * max(float(np.max(np.abs(self.base))), DONE)

    def after(self, matrix: np.ndarray, right: np.ndarray) -> "Newton":
        """The iteration with the sums at `parameters`."""
        norm = float(np.linalg.norm(right)) if np.isfinite(right).all() and np.isfinite(matrix).all() else np.inf
        if not norm < self.norm:
            return self._replace(step=0.5 * self.step)
        here = self.parameters
        return Newton(here, solved(matrix[None], right[None], here).parameters - here, norm, norm if self.first == np.inf else self.first)
