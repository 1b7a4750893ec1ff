"""Probability distributions: domains of mass 1."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import Matrix, Number, Numbers, Scalar, Vector, is_concrete, limit, positive, real, rows, scalar, vector
from fredholm.common.linear_algebra import cholesky, solve
from fredholm.domains.base import AbstractDistribution, Base


class Normal(AbstractDistribution):
    r"""$\mathcal{N}(m, s^2 I)$ in d dimensions, $t = m + s\,z$ with z standard normal; or with a covariance,

    $\mathcal{N}(m, \Sigma)$: $t = m + L z$ with Cholesky's $L L^\top = \Sigma$. `Normal((0.0, 0.0), covariance=((1.0, 0.5), (0.5, 2.0)))`.

    Args:
        mean (array): m, of shape (d,); default: (0.0,).
        scale (number): s, a positive number: the standard deviation of each coordinate, 1 where a covariance is given; default: 1.0.
        covariance (array): Σ, of shape (d, d); None: s² on the diagonal.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Normal((0.0, 0.0), 1.0).dimension
        2
        >>> blurred = fr.Integral(over=lambda x: fr.Normal(x[0], 0.1), g=lambda u, x, t: u(t))

    See also:
        `LogNormal`, `Line`.
    """

    mean: Vector  # m, of shape (d,)
    scale: Scalar  # s, a positive number: the standard deviation of each coordinate, 1 where a covariance is given
    covariance: Matrix | None  # Σ, of shape (d, d); None: s² on the diagonal

    def __init__(self, mean: Numbers = (0.0,), scale: Scalar = 1.0, covariance: Numbers | None = None):
        if np.ndim(scale) == 2 and covariance is None:  # type: ignore[arg-type]
            raise ValueError("Normal scale: got a matrix; expected the standard deviation, a number. Give the matrix as covariance=.")
        # A single number is a point of the line, as it is for LogNormal.
        self.mean = vector("Normal mean", jnp.reshape(mean, (1,)) if isinstance(mean, jax.Array) and mean.ndim == 0 else _point(mean))
        self.scale = positive("Normal scale", scale, "the standard deviation")
        self.covariance = None if covariance is None else _covariance(covariance, len(self.mean))
        if covariance is not None and is_concrete(scale) and float(scale) != 1.0:
            raise ValueError(f"Normal: got scale={float(scale):g} and a covariance; expected one of them.")

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.NORMAL,) * self.dimension

    def map(self, z: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        spread = self.scale * z if self.covariance is None else self._factor() @ z
        return jnp.asarray(self.mean) + spread, jnp.ones(())

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        away = point - jnp.asarray(self.mean)
        if self.covariance is None:
            return jnp.prod(_standard_normal(away / self.scale) / self.scale)
        factor = self._factor()
        return jnp.prod(_standard_normal(solve(factor, away)) / jnp.diagonal(factor))

    def _factor(self) -> Float[Array, "d d"]:
        """L, computed once in float64 where the covariance is known."""
        if isinstance(self.covariance, tuple):
            return jnp.asarray(np.linalg.cholesky(np.asarray(self.covariance)), float)
        assert self.covariance is not None
        return cholesky(self.covariance)


class LogNormal(AbstractDistribution):
    r"""$t = \exp(m + s\,z)$ with z standard normal: a positive number whose logarithm is $\mathcal{N}(m, s^2)$.

    Args:
        mean (number): m, the mean of log t; default: 0.0.
        scale (number): s, the standard deviation of log t; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.LogNormal(0.0, 0.2).dimension
        1

    See also:
        `Normal`, `Jumps`.
    """

    mean: Scalar  # m, the mean of log t
    scale: Scalar  # s, the standard deviation of log t

    def __init__(self, mean: Scalar = 0.0, scale: Scalar = 1.0):
        self.mean, self.scale = scalar("LogNormal mean", mean), positive("LogNormal scale", scale, "the standard deviation of log t")

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
    r"""$t = a + s\,z$ with z of density $e^{-z}$ on $[0, \infty)$: density $e^{-(t-a)/s}/s$.

    Args:
        low (number): a, where it starts; default: 0.0.
        scale (number): s, the mean of t - a; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> waiting = fr.Integral(over=fr.Exponential(0.0, scale=2.0), g=lambda u, x, t: u(x + t))

    See also:
        `HalfLine`, `PowerLaw`.
    """

    low: Scalar  # a, where it starts
    scale: Scalar  # s, the mean of t - a

    def __init__(self, low: Scalar = 0.0, scale: Scalar = 1.0):
        self.low, self.scale = scalar("Exponential low", low), positive("Exponential scale", scale, "the mean")

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

    Args:
        low (number): a >= 0: a number, or an array of shape () where the limit depends on x.
        high (number): b > a.
        power (float): p > 0; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.PowerLaw(0.0, 1.0, power=0.5).dimension
        1

    See also:
        `AbsPower`, `Exponential`.
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


def _covariance(given: Numbers, size: int) -> Matrix:
    """A covariance matrix: tuples of floats where its numbers are known, else an array."""
    matrix = rows("Normal covariance", given)
    if matrix.shape != (size, size):
        raise ValueError(f"Normal covariance: got shape {matrix.shape}; expected {(size, size)}, as the mean has {size} coordinates.")
    if isinstance(matrix, jax.Array) and not is_concrete(matrix):
        return matrix
    known = np.asarray(matrix, float)
    if not np.allclose(known, known.T) or float(np.linalg.eigvalsh(known)[0]) <= 0:
        raise ValueError(f"Normal covariance: got {known.tolist()}; expected a symmetric matrix with positive eigenvalues.")
    return tuple(tuple(map(float, row)) for row in known)


def _standard_normal(z: Float[Array, "*d"]) -> Float[Array, "*d"]:
    return jnp.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
