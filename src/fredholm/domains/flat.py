"""Intervals, boxes and simplices, with Lebesgue measure."""

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import Number, Numbers, Scalar, Vector, is_concrete, limit, sequence, vector
from fredholm.common.linear_algebra import absolute_determinant, solve
from fredholm.domains.base import AbstractDomain, Base


class Interval(AbstractDomain):
    r"""$[a, b]$ with length as its measure: $t = a + (b-a) z$, weight $b - a$.

    Args:
        low (number): a: a number, or an array of shape () where the limit depends on x.
        high (number): b.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> float(fr.Interval(0.0, 2.0).mass)
        2.0
        >>> memory = fr.Integral(over=lambda x: fr.Interval(0.0, x[0]), g=lambda u, x, t: u(t))  # a limit that moves with x

    See also:
        `Box`, `HalfLine`, `Line`, `Split`.
    """

    low: Scalar  # a: a number, or an array of shape () where the limit depends on x
    high: Scalar  # b

    def __init__(self, low: Number, high: Number):
        self.low, self.high = limit("Interval low", low), limit("Interval high", high)
        if is_concrete(self.low, self.high) and not float(self.low) <= float(self.high):
            raise ValueError(
                f"Interval: got low={float(self.low):g}, high={float(self.high):g}; expected low <= high, both finite. Swap the limits "
                "(and the sign of the integral)."
            )

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,)

    @property
    def mass(self) -> Float[Array, ""]:
        return jnp.asarray(self.high - self.low)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        return self.low + (self.high - self.low) * z, self.mass

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        return jnp.where((point[0] >= self.low) & (point[0] <= self.high), 1.0, 0.0)


class Box(AbstractDomain):
    r"""$\prod_i [a_i, b_i]$ with volume as its measure: $t = a + (b-a)\circ z$, weight $\prod_i (b_i - a_i)$.

    Args:
        low (array): a, of shape (d,).
        high (array): b, of shape (d,).

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> float(fr.Box((0.0, 0.0), (2.0, 3.0)).mass)
        6.0
        >>> memory = fr.Integral(over=lambda p: fr.Box((0.0, 0.0), (p[0], p[1])), g=lambda u, p, q: u(q))

    See also:
        `Interval`, `Product`, `Simplex`.
    """

    low: Vector  # a, of shape (d,)
    high: Vector  # b, of shape (d,)

    def __init__(self, low: Numbers, high: Numbers):
        self.low, self.high = vector("Box low", low), vector("Box high", high)
        if len(self.low) != len(self.high):
            raise ValueError(f"Box: got {len(self.low)} lower and {len(self.high)} upper limits; expected as many of each.")
        if is_concrete(self.low, self.high) and any(float(a) > float(b) for a, b in zip(self.low, self.high, strict=True)):
            raise ValueError(f"Box: got low={self.low}, high={self.high}; expected low <= high on every axis. Swap the limits.")

    @property
    def dimension(self) -> int:
        return len(self.low)

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,) * self.dimension

    @property
    def mass(self) -> Float[Array, ""]:
        return jnp.prod(jnp.asarray(self.high) - jnp.asarray(self.low))

    def map(self, z: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        low = jnp.asarray(self.low)
        return low + (jnp.asarray(self.high) - low) * z, self.mass

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        return jnp.where(jnp.all((point >= jnp.asarray(self.low)) & (point <= jnp.asarray(self.high))), 1.0, 0.0)


class Simplex(AbstractDomain):
    r"""$\{t = v_0 + \sum_i s_i (v_i - v_0) : s_i \ge 0, \sum_i s_i \le 1\}$, the hull of d+1 vertices, with volume as its measure.

    From the cube: $s_i = (1 - r_i)\prod_{j<i} r_j$ with $r_i = z_i^{1/(d+1-i)}$ has constant Jacobian $1/d!$, so equal volumes of the cube
    become equal volumes of the simplex.

    Args:
        vertices (array): v_0, ..., v_d, of shape (d+1, d).

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> round(float(fr.Simplex([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]).mass), 4)
        0.5

    See also:
        `Box`.
    """

    vertices: tuple[Vector, ...]  # v_0, ..., v_d, of shape (d+1, d)

    def __init__(self, vertices: Sequence[Numbers] | np.ndarray | Array):
        vertices = sequence("Simplex", vertices)
        if len(vertices) < 2:
            raise ValueError(f"Simplex: got {vertices!r}; expected d+1 vertices in d dimensions, for instance ((0, 0), (1, 0), (0, 1)).")
        self.vertices = tuple(vector("Simplex vertex", vertex) for vertex in vertices)
        if any(len(vertex) != len(self.vertices) - 1 for vertex in self.vertices):
            raise ValueError(
                f"Simplex: got {len(self.vertices)} vertices in {[len(vertex) for vertex in self.vertices]} dimensions; expected d+1 "
                "vertices in d dimensions, for instance ((0, 0), (1, 0), (0, 1))."
            )
        if is_concrete(self.vertices) and abs(float(np.linalg.det(np.asarray(self.vertices)[1:] - np.asarray(self.vertices)[0]))) == 0:
            raise ValueError(f"Simplex: got vertices {self.vertices} that lie in a plane; expected a volume above 0.")

    @property
    def dimension(self) -> int:
        return len(self.vertices) - 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,) * self.dimension

    @property
    def mass(self) -> Float[Array, ""]:
        return absolute_determinant(self._edges()) / math.factorial(self.dimension)

    def map(self, z: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        d = self.dimension
        remaining, shares = jnp.ones(()), []
        for axis in range(d):
            ratio = z[axis] ** (1 / (d - axis))
            shares.append(remaining * (1 - ratio))
            remaining = remaining * ratio
        return jnp.asarray(self.vertices[0]) + jnp.stack(shares) @ self._edges(), self.mass

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        shares = solve(self._edges().T, point - jnp.asarray(self.vertices[0]))
        return jnp.where(jnp.all(shares >= 0) & (jnp.sum(shares) <= 1), 1.0, 0.0)

    def _edges(self) -> Float[Array, "d d"]:
        first, *others = (jnp.asarray(vertex) for vertex in self.vertices)
        return jnp.stack([other - first for other in others])
