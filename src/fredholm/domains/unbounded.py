"""The half-line and the line, with length as their measure: infinite, so they can be integrated over but not sampled from."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import Scalar, positive, scalar
from fredholm.domains.base import AbstractDomain, Base


class AbstractUnbounded(AbstractDomain):
    """An unbounded range of numbers, with length as its measure."""

    @property
    def dimension(self) -> int:
        return 1

    @property
    def mass(self) -> float:
        return math.inf

    @property
    def is_finite(self) -> bool:
        return False


class HalfLine(AbstractUnbounded):
    r"""$[a, \infty)$ with length as its measure, by the change of variables $t = a + s\,z$, $dt = s\,e^{z}\,(e^{-z} dz)$:

    $$\int_a^\infty g(t)\,dt = \mathbb{E}_{z \sim e^{-z}}\left[s\,e^{z} g(a + s z)\right].$$

    Choose the scale s near the length over which g decays: a random rule has finite variance only where g falls
    faster than $e^{-z/2}$, and `Gauss` (Laguerre) is exact where $g e^{z}$ is a polynomial in z.

    Args:
        low (number): a; default: 0.0.
        scale (number): s, a positive number; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> tail = fr.Integral(over=lambda x: fr.HalfLine(x[0], scale=1.0), g=lambda u, x, t: u(t))

    See also:
        `Line`, `Exponential`, `Interval`.
    """

    low: Scalar  # a
    scale: Scalar  # s, a positive number

    def __init__(self, low: Scalar = 0.0, scale: Scalar = 1.0):
        self.low, self.scale = scalar("HalfLine low", low), positive("HalfLine scale", scale, "the length over which the integrand decays")

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.HALF_LINE,)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        return self.low + self.scale * z, self.scale * jnp.exp(z[0])

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        return jnp.where(point[0] >= self.low, 1.0, 0.0)


class Line(AbstractUnbounded):
    r"""$(-\infty, \infty)$ with length as its measure, by $t = m + s\,z$, $dt = s\sqrt{2\pi}\,e^{z^2/2}\,\varphi(z)\,dz$
    with $\varphi$ the standard normal density.

    Choose m and s near the centre and the width of g: a random rule has finite variance only where g falls faster than $e^{-z^2/4}$.

    Args:
        mean (number): m; default: 0.0.
        scale (number): s, a positive number; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> everywhere = fr.Integral(over=fr.Line(0.0, scale=1.0), g=lambda u, x, t: jnp.exp(-t[0] ** 2) * u(t))

    See also:
        `HalfLine`, `Normal`.
    """

    mean: Scalar  # m
    scale: Scalar  # s, a positive number

    def __init__(self, mean: Scalar = 0.0, scale: Scalar = 1.0):
        self.mean, self.scale = scalar("Line mean", mean), positive("Line scale", scale, "the width of the integrand")

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.NORMAL,)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        return self.mean + self.scale * z, self.scale * math.sqrt(2 * math.pi) * jnp.exp(0.5 * z[0] ** 2)

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        return jnp.ones(())
