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
from fredholm.common.linear_algebra import assembled
from fredholm.equation.probe import fresh
from fredholm.functions.field import Field
from fredholm.methods.protocol import AbstractMethod, shares
from fredholm.methods.sharing import Share
from fredholm.training.settings import RunSettings
from fredholm.training.update import as_vector

GROUPS = 32  # of steps, whose sums are kept apart: an estimate without each of them gives the error bars
SMALLEST = 1e-12  # a parameter counts as at least this share of the largest
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
    a, b = (slopes.reshape(-1, slopes.shape[-1]) for slopes in (share.weights[:, None, None] * found.a, found.b))
    return assembled(a, b, jnp.ravel(found.value))


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
    replicates: np.ndarray  # (g, p): without each group of steps, to first order
    condition: float
    dropped: int = 0  # directions of the parameters that the rows do not determine
    slowest: float = np.nan  # the least real part of the eigenvalues: where it is negative a training by the method diverges


def solved(matrix: np.ndarray, right: np.ndarray, start: np.ndarray) -> Solution:
    """The solution of the summed system, and of the systems without each group; `start` is where the rows were taken. Directions that the
    rows do not determine are not followed."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return Solution(np.full_like(start, np.nan), np.full((1, len(start)), np.nan), np.inf)
    used = np.flatnonzero(np.any(right != 0, axis=1) | np.any(matrix != 0, axis=(1, 2)))
    total, side = matrix.sum(axis=0), right.sum(axis=0)
    sizes = np.abs(np.diag(total))
    units = 1 / np.sqrt(np.maximum(sizes, SMALLEST * np.max(sizes) or 1.0))
    scaled = units[:, None] * total * units
    left, values, turned = np.linalg.svd(scaled)
    kept = values > np.finfo(float).eps * len(values) * values[0]
    inverse = units[:, None] * (turned[kept].T / values[kept]) @ left[:, kept].T * units
    parameters = start - inverse @ side
    # What the rows of a group sum to at the solution moves it when they are left out, to first order in the share of a group.
    moves = np.array([inverse @ (right[g] + matrix[g] @ (parameters - start)) for g in used]).reshape(len(used), len(start))
    replicates = parameters + moves * (len(used) / max(len(used) - 1, 1))
    condition = float(values[0] / values[-1]) if values[-1] > 0 else np.inf
    return Solution(parameters, replicates, condition, int(np.sum(~kept)), float(np.min(np.linalg.eigvals(scaled).real)))


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
