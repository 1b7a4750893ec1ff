"""Probability distributions: domains of mass 1."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import Number, Numbers, Scalar, Vector, is_concrete, limit, positive, real, vector
from fredholm.domains.base import AbstractDistribution, Base


class Normal(AbstractDistribution):
    r"""$\mathcal{N}(m, s^2 I)$ in d dimensions: $t = m + s\,z$ with z standard normal."""

    mean: Vector  # m, of shape (d,)
    scale: Scalar  # s, a positive number

    def __init__(self, mean: Numbers = (0.0,), scale: Scalar = 1.0):
        # A single number is a point of the line, as it is for LogNormal.
        self.mean = vector("Normal mean", jnp.reshape(mean, (1,)) if isinstance(mean, jax.Array) and mean.ndim == 0 else _point(mean))
        self.scale = positive("Normal scale", scale, "the standard deviation")

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.NORMAL,) * self.dimension

    def map(self, z: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        return jnp.asarray(self.mean) + self.scale * z, jnp.ones(())

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        return jnp.prod(_standard_normal((point - jnp.asarray(self.mean)) / self.scale) / self.scale)


class LogNormal(AbstractDistribution):
    r"""$t = \exp(m + s\,z)$ with z standard normal: a positive number whose logarithm is $\mathcal{N}(m, s^2)$."""

    mean: Scalar  # m, the mean of log t
    scale: Scalar  # s, the standard deviation of log t

    def __init__(self, mean: Scalar = 0.0, scale: Scalar = 1.0):
        self.mean, self.scale = mean, positive("LogNormal scale", scale, "the standard deviation of log t")

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.NORMAL,)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        return jnp.exp(self.mean + self.scale * z), jnp.ones(())

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        t = jnp.where(point[0] > 0, point[0], 1.0)
        return jnp.where(point[0] > 0, _standard_normal((jnp.log(t) - self.mean) / self.scale) / (self.scale * t), 0.0)


class Exponential(AbstractDistribution):
    r"""$t = a + s\,z$ with z of density $e^{-z}$ on $[0, \infty)$: density $e^{-(t-a)/s}/s$."""

    low: Scalar  # a, where it starts
    scale: Scalar  # s, the mean of t - a

    def __init__(self, low: Scalar = 0.0, scale: Scalar = 1.0):
        self.low, self.scale = low, positive("Exponential scale", scale, "the mean")

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.HALF_LINE,)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        return self.low + self.scale * z, jnp.ones(())

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        z = (point[0] - self.low) / self.scale
        return jnp.where(z >= 0, jnp.exp(-jnp.maximum(z, 0.0)) / self.scale, 0.0)


class PowerLaw(AbstractDistribution):
    r"""A number r in $(a, b]$ whose power is uniform, $r^p \sim U[a^p, b^p]$: density $\propto r^{p-1}$.

    With p = d this is the law of the radius of a uniform point in a d-dimensional ball; with p < 1 it takes up a singular kernel,
    $\int_0^x s^{p-1} v(s)\,ds = \frac{x^p}{p}\,\mathbb{E}\,v(s)$ with `PowerLaw(0.0, x[0], power=p)`.
    """

    low: Scalar  # a >= 0: a number, or an array of shape () where the limit depends on x
    high: Scalar  # b > a
    power: float  # p > 0

    def __init__(self, low: Number, high: Number, power: float = 1.0):
        self.low, self.high = limit("PowerLaw low", low), limit("PowerLaw high", high)
        self.power = real("PowerLaw power", power, low=1e-6)
        if is_concrete(self.low, self.high) and not 0 <= float(self.low) < float(self.high):
            raise ValueError(f"PowerLaw: got low={float(self.low):g}, high={float(self.high):g}; expected 0 <= low < high.")

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        low, high = self.low**self.power, self.high**self.power
        # Counted from the upper end: uniform numbers live in [0, 1), and a radius must never be exactly zero.
        return (high - (high - low) * z) ** (1 / self.power), jnp.ones(())

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        inside = (point[0] > self.low) & (point[0] <= self.high)
        r = jnp.where(inside, point[0], self.high)
        return jnp.where(inside, self.power * r ** (self.power - 1) / (self.high**self.power - self.low**self.power), 0.0)


def _point(mean: Numbers) -> Numbers:
    return (mean,) if isinstance(mean, (int, float)) else mean


def _standard_normal(z: Float[Array, "*d"]) -> Float[Array, "*d"]:
    return jnp.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
