"""Points x that follow the residual."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.common.checks import positive_integer, real
from fredholm.domains.base import AbstractDomain
from fredholm.equation.equation import Equation
from fredholm.functions.field import Function
from fredholm.methods.adapting import AbstractAdaptation, AbstractReweighted, check_independent, squared_residual
from fredholm.rules.base import AbstractRule

CELL = 32  # points whose estimates are averaged


class Pool(eqx.Module):
    """The state of `ResidualPoints`: points of the domain, and the share of each."""

    points: PyTree  # stacked
    shares: Float[Array, "n"]  # the probability of each point


class Pooled(AbstractReweighted):
    """A domain whose points come from a pool. The weight 1/(n p) keeps the mean over the pool."""

    base: AbstractDomain
    pool: Pool

    def weighted_sample(self, key: Key[Array, ""]) -> tuple[Any, Float[Array, ""]]:
        shares = self.pool.shares
        at = jnp.minimum(jnp.searchsorted(jnp.cumsum(shares), jax.random.uniform(key, ()), side="right"), len(shares) - 1)
        return jax.tree.map(lambda leaf: leaf[at], self.pool.points), 1 / (len(shares) * shares[at])


class ResidualPoints(AbstractAdaptation[Pool]):
    r"""Residual-based adaptive sampling: x is drawn where the residual is large, and weighted so that the loss keeps its mean.

    Every so many steps fresh points $x_i$ of the domain are drawn, n of them, and each has an estimate of its squared residual, the product
    of two independent ones. The points are cut into cells of 32 neighbours, at medians along one axis after the other; $e_i$ is the mean
    over the cell. A step draws $x_i$ with the probability and the weight

    $$p_i = (1 - s)\,\frac{\max(e_i, 0)^k}{\sum_j \max(e_j, 0)^k} + \frac sn, \qquad w_i = \frac1{n p_i},$$

    so that $\mathbb{E}[w\,\hat L(x)]$ is the mean of the loss over the domain, whatever the estimates are; s bounds the weights by 1/s.

    The estimate has no bias. The square of one estimate would be the squared residual plus the variance of the nodes: points would go where
    the integral is noisy, and not where the equation is violated (tests/test_adapting.py shows both). It is averaged before it is cut off
    at 0, since the positive part of a noisy number follows the noise too. Wu et al. (2023) have the method without weights, for residuals
    without noise.

    Args:
        every: steps between two pools.
        n: points in a pool.
        power: k; 0.5 follows the size of the residual, 1 its square.
        uniform: s, the share that stays uniform.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> points = fr.ResidualPoints()  # fr.solve(problem, adapt=points)

    See also:
        `Balanced`, `Mixture`.
    """

    every: int = 100  # steps between two pools of points
    n: int = 2048  # points in a pool
    power: float = 0.5  # k: 0.5 for the size of the residual, 1 for its square
    uniform: float = 0.5  # s, the share of the points that stays uniform

    def __check_init__(self):
        positive_integer("ResidualPoints n", self.n)
        if self.n % CELL or (self.n // CELL) & (self.n // CELL - 1):
            raise ValueError(f"ResidualPoints n: got {self.n}; expected {CELL} times a power of 2, as 2048.")
        real("ResidualPoints power", self.power, low=0.0)
        if real("ResidualPoints uniform", self.uniform, low=0.0, high=1.0) == 0:
            raise ValueError("ResidualPoints uniform: got 0; expected a share above 0: points that are never drawn cannot have a weight.")

    def check(self, problem: Equation, rules: Sequence[AbstractRule]) -> None:
        check_independent("ResidualPoints", problem)

    def init(self, problem: Equation) -> Pool:
        points = jax.vmap(problem.domain.sample)(jax.random.split(jax.random.key(0), self.n))
        return Pool(points, jnp.full(self.n, 1 / self.n))

    def measured(
        self, state: Pool, u: Function, equation: Equation, rules: Sequence[AbstractRule], step: Int[Array, ""], key: Key[Array, ""]
    ) -> Pool:
        key_points, key_nodes = jax.random.split(key)
        points = _in_cells(jax.vmap(equation.domain.sample)(jax.random.split(key_points, self.n)), self.n)
        found = jax.vmap(lambda x, key: squared_residual(equation, rules, u, x, key))(points, jax.random.split(key_nodes, self.n))
        of_cells = jnp.mean(jnp.reshape(jnp.where(jnp.isfinite(found), found, 0.0), (-1, CELL)), axis=1)
        wanted = jnp.repeat(jnp.maximum(of_cells, 0.0) ** self.power, CELL)
        total = jnp.sum(wanted)
        shares = jnp.where(total > 0, wanted / jnp.where(total > 0, total, 1.0), 1 / self.n)
        return Pool(points, (1 - self.uniform) * shares + self.uniform / self.n)

    def applied(self, equation: Equation, state: Pool) -> Equation:
        return eqx.tree_at(lambda e: e.domain, equation, Pooled(equation.domain, state))

    def recorded(self, state: Pool) -> dict[str, Float[Array, ""]]:
        return {"points_concentration": len(state.shares) * jnp.sum(state.shares**2)}  # 1 where they are uniform


def _in_cells(points: PyTree, n: int) -> PyTree:
    """The points in an order in which each `CELL` of them are neighbours: halved at the median along one axis after the other."""
    coordinates = jnp.concatenate([jnp.reshape(jnp.asarray(leaf, float), (n, -1)) for leaf in jax.tree.leaves(points)], axis=1)
    order = jnp.arange(n)
    for level in range((n // CELL).bit_length() - 1):
        blocks = order.reshape(2**level, -1)
        along = coordinates[:, level % coordinates.shape[1]][blocks]
        order = jnp.take_along_axis(blocks, jnp.argsort(along, axis=1), axis=1).ravel()
    return jax.tree.map(lambda leaf: leaf[order], points)
