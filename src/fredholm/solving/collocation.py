"""Collocation: the points x at which a series must satisfy its equation, and the rows of the system that they make."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.domains.base import AbstractDomain, Atoms, Base
from fredholm.domains.combined import Point
from fredholm.domains.flat import Interval
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.residual import AbstractCondition, AbstractResidual, network_point
from fredholm.functions.axes import AbstractAxis, Pieces, Ray, Segment
from fredholm.functions.chebyshev import Series
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule

MOST_AXES = 3  # of the law of x: beyond, its points are a quasi-random sample
HALF_LINE_END, NORMAL_END = 60.0, 8.0  # the outermost points of an infinite law, in its own scale
FLOATS = 20_000_000  # numbers that the values of all functions at the nodes of some rows may take at once
HEAVY = 100_000_000  # from so many evaluations of functions on the program is optimised, which takes longer to compile
SOFT = 1e-5  # weight of data beside the equation and its conditions: they are fitted among the functions that satisfy these


class Block(NamedTuple):
    """The rows of one residual, at its points."""

    residual: AbstractResidual
    rules: tuple[AbstractRule, ...]
    points: Any  # stacked
    weight: float


def points_of_law(law: AbstractDomain, counts: int, at_least: int, axes: Sequence[AbstractAxis]) -> Any:
    """Points of a law, stacked: products of Chebyshev points on up to three axes, all atoms or samples, random points on more axes. They
    are clustered and cut like the axes of the series."""
    bases = law.bases
    clustering = max((axis.clustering for axis in axes if isinstance(axis, Segment)), default=0.0)
    if isinstance(law, Interval) and len(axes) == 1 and isinstance(axes[0], Pieces):
        return _points_of_pieces(law, axes[0], counts)
    if isinstance(law, Point) or not bases:
        return jax.vmap(law.sample)(jax.random.split(jax.random.key(0), 1 if law.samples is None else law.samples))
    free = [base for base in bases if not isinstance(base, Atoms)]
    if len(free) > MOST_AXES:
        return jax.vmap(law.sample)(jax.random.split(jax.random.key(5), at_least))
    own = [np.arange(float(base.count)) if isinstance(base, Atoms) else _axis_points(base, counts, clustering) for base in bases]
    z = np.stack([one.ravel() for one in np.meshgrid(*own, indexing="ij")], axis=-1)
    return jax.vmap(lambda one: law.map(one)[0])(jnp.asarray(z, float))


def _points_of_pieces(law: Interval, axis: Pieces, counts: int) -> Float[Array, "n 1"]:
    """Chebyshev points of every piece inside of an interval."""
    low, high = float(law.low), float(law.high)
    edges = [low, *(edge for edge in axis.edges if low < edge < high), high]
    s = _axis_points(Base.UNIT, counts, 0.0)
    return jnp.asarray(np.concatenate([a + (b - a) * s for a, b in itertools.pairwise(edges)])[:, None], float)


def _axis_points(base: Base, count: int, clustering: float) -> np.ndarray:
    """Chebyshev points of one axis of a base measure. The ends are not among them: f or an integrand may be singular there."""
    s = -np.cos(np.pi * (np.arange(count) + 0.5) / count)
    if base is Base.NORMAL:
        return NORMAL_END * np.sinh(2 * s) / np.sinh(2)
    if base is Base.HALF_LINE:
        r = (1 + s) / np.maximum(1 - s, 2 / HALF_LINE_END)
        return np.minimum(2 * r, HALF_LINE_END)
    if clustering:
        return 0.5 * (1 + np.tanh(clustering * s) / np.tanh(clustering))
    return 0.5 * (1 + s)


def blocks_of(
    equation: Equation, residuals: Sequence[AbstractResidual], rule: AbstractRule, counts: int, at_least: int, axes: Sequence[AbstractAxis]
) -> list[Block]:
    """The rows of the equation and of its conditions; `residuals` are these with the integrals that the rows shall use."""
    found = []
    for original, residual in zip((equation, *equation.conditions), residuals, strict=True):
        rules = tuple(integral.rule or rule for integral in residual.integrals)
        if isinstance(original, Data):
            columns = original.points(0, (), jax.random.key(0)) if original.batch is None else None
            points = columns if columns is not None else jax.vmap(original.law.sample)(jax.random.split(jax.random.key(0), at_least))
        elif isinstance(original, Equation):
            points = points_of_law(original.law, counts, at_least, axes)
        else:
            points = points_of_law(original.law, counts, max(1, at_least // 4), axes)
        weight = math.sqrt(original.weight) if isinstance(original, AbstractCondition) else 1.0
        found.append(Block(residual, rules, points, weight))
    return found


def rows_at(block: Block, u: Field, x: Any) -> Float[Array, "e"]:
    """The residual at one x."""
    inside = estimate(block.residual, u, x, draw(block.residual, block.rules, x, jax.random.key(0)))
    return block.residual.local_residual(u, x) + block.residual.sign * inside


def unit_at(u: Field, x: Any) -> Float[Array, ""] | float:
    """What the residual at x is multiplied with: where the functions of a series grow, it is measured in units of them."""
    point, network = network_point(x), u.network
    if point is None or not isinstance(network, Series) or point.shape != (u.inputs,):
        return 1.0
    along = zip(network.axes, point, strict=True)
    exponents = [axis.growth * jnp.abs(coordinate - axis.end) for axis, coordinate in along if isinstance(axis, Ray) and axis.growth]
    return jnp.exp(-jnp.sum(jnp.stack(exponents))) if exponents else 1.0


class System:
    """The residuals of all blocks and their derivatives by the parameters of u, as matrices on the host."""

    def __init__(self, blocks: Sequence[Block], skeleton: Field):
        self._skeleton = skeleton
        parameters, static = eqx.partition(skeleton, eqx.is_inexact_array)
        self.start, self._unravel = ravel_pytree(parameters)
        self._static = static
        self._evaluate = [self._compiled(block) for block in blocks]
        self._is_data = [isinstance(block.residual, Data) for block in blocks]
        self._weights = [block.weight for block in blocks]
        self._scales: list[float] | None = None
        self._counts: list[int] = []

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.start)

    def field(self, theta: np.ndarray | Array) -> Field:
        """u with these parameters."""
        return eqx.combine(self._unravel(jnp.asarray(theta, self.start.dtype)), self._static)

    def relative_residual(self, theta: np.ndarray) -> float:
        r"""The largest residual of the equation and of its conditions besides data, relative to the terms that cancel in it,
        $\sum_k |\theta_k\,\partial r/\partial\theta_k|$ or r itself, each in the root mean square. Infinite where it is not a number."""
        shares = [0.0]
        for (value, slope), is_data, weight in zip(self.raw(theta), self._is_data, self._weights, strict=True):
            if not is_data and weight > 0:
                terms = _rms(np.maximum(np.abs(slope) @ np.abs(theta), np.abs(value))) + np.finfo(float).tiny
                shares.append(float(np.max(_rms(value) / terms)))
        return max(shares) if np.isfinite(shares).all() else np.inf

    def raw(self, theta: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The residuals (n, e) of each block at these parameters, and their derivatives (n, e, p)."""
        found = (evaluate(jnp.asarray(theta, self.start.dtype)) for evaluate in self._evaluate)
        return [(np.asarray(value, float), np.asarray(slope, float)) for value, slope in found]

    def blocks_of_rows(self) -> np.ndarray:
        """The number of the block of each row."""
        return np.repeat(np.arange(len(self._counts)), self._counts)

    def scale_of(self, number: int) -> float:
        """What the residuals of a block are multiplied with; known after the first evaluation."""
        assert self._scales is not None
        return self._scales[number]

    def flat(self, u: Field) -> np.ndarray:
        """The parameters of u as a vector."""
        return np.asarray(ravel_pytree(eqx.filter(u, eqx.is_inexact_array))[0], float)

    def _compiled(self, block: Block) -> Callable[[Array], tuple[Array, Array]]:
        def of(theta: Array, x: Any) -> Float[Array, "e"]:
            u = eqx.combine(self._unravel(theta), self._static)
            return unit_at(u, x) * rows_at(block, u, x)

        count = len(jax.tree.leaves(block.points)[0])
        x = jax.tree.map(lambda leaf: leaf[0], block.points)
        nodes = sum(rule.size(integral.measure(x)) for integral, rule in zip(block.residual.integrals, block.rules, strict=True))
        together = max(1, min(count, FLOATS // (self.size * (1 + nodes))))

        def one(theta: Array, x: Any) -> tuple[Array, Array]:
            value, back = jax.vjp(lambda parameters: of(parameters, x), theta)
            return value, jax.vmap(lambda row: back(row)[0])(jnp.eye(value.shape[0], dtype=value.dtype))

        points = block.points
        compiled = jax.jit if count * nodes * self.size > HEAVY else compiled_once
        return compiled(lambda theta: jax.lax.map(lambda x: one(theta, x), points, batch_size=together))

    def __call__(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weighted residuals (r,), and their derivatives (r, p).

        Each block is scaled by the size of its own derivatives, so that units do not matter. Data weigh little beside the equation: they
        choose among the functions that satisfy it.
        """
        found = self.raw(theta)
        values = [value.reshape(-1) for value, _ in found]
        self._counts = list(map(len, values))
        slopes = [slope.reshape(-1, self.size) for _, slope in found]
        if self._scales is None:
            sizes = [float(np.sqrt(np.mean(np.sum(slope**2, axis=1)))) if slope.size else 1.0 for slope in slopes]
            shares = [SOFT if is_data else 1.0 for is_data in self._is_data]
            together = zip(self._weights, shares, sizes, values, strict=True)
            self._scales = [
                weight * share / ((size if np.isfinite(size) and size > 0 else 1.0) * math.sqrt(len(value)))
                for weight, share, size, value in together
            ]
        values = [scale * value for scale, value in zip(self._scales, values, strict=True)]
        slopes = [scale * slope for scale, slope in zip(self._scales, slopes, strict=True)]
        return np.concatenate(values), np.concatenate(slopes)


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(values**2, axis=0))
