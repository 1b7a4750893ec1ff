"""Sums and jumps: measures made of atoms, and the intensity of a jump process."""

import math
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Real

from fredholm.common.checks import Numbers, Scalar, Vector, is_concrete, numbers, positive, positive_integer, rows
from fredholm.domains.base import AbstractDistribution, AbstractDomain, Atoms, Base

TAIL = 1e-9  # the probability beyond the default of `most` in PoissonCounts


class Discrete(AbstractDomain):
    r"""$\sum_i w_i\,g(t_i)$: a sum over given points as an integral, of mass $\sum_i w_i$.

    Rules on one axis (`Even`, `Gauss`, ...) take every point, whatever their n: the sum is exact. Random rules draw points in
    proportion to their weights where the weights are known numbers. Otherwise they draw evenly, and the node weights correct for it.

    Args:
        points (array): t_i, of shape (n, d); they may depend on x.
        weights (array): w_i >= 0: known numbers, or an array of shape (n,) that depends on x; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> coin = fr.Integral(over=fr.Discrete([[-1.0], [1.0]]), g=lambda u, x, t: u(x + t))

    See also:
        `Given`, `Jumps`.
    """

    points: Real[np.ndarray | Array, "n d"]  # t_i, of shape (n, d); they may depend on x
    weights: Vector  # w_i >= 0: known numbers, or an array of shape (n,) that depends on x

    def __init__(self, points: Numbers, weights: Numbers | None = None):
        self.points = rows("Discrete points", points)
        n = len(self.points)
        self.weights = (1.0,) * n if weights is None else _weights(weights, n)

    def arguments(self) -> dict[str, Any]:
        """The arguments that make this domain again. The weights are an array, since there may be many."""
        return {"points": self.points, "weights": np.asarray(self.weights) if isinstance(self.weights, tuple) else self.weights}

    @property
    def dimension(self) -> int:
        return self.points.shape[1]

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Atoms.of(len(self.points), _shares(self.weights)),)

    @property
    def mass(self) -> Float[Array, ""] | float:
        return math.fsum(self.weights) if isinstance(self.weights, tuple) else jnp.sum(self.weights)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        atom = z[0].astype(int)
        weight = jnp.asarray(self.mass, float) if isinstance(self.weights, tuple) else len(self.points) * self.weights[atom]
        return jnp.asarray(self.points, float)[atom], weight


class PoissonCounts(AbstractDistribution):
    r"""The number of jumps in a unit of time, $P(t = k) = e^{-\lambda} \lambda^k / k!$ for $k = 0, 1, \ldots$, of mass 1.

    The counts end at `most` (default: the first count beyond which the probability is below 1e-9). The rest is normalised. As with
    `Discrete`, rules on one axis take every count.

    Args:
        rate (number): lambda > 0; it may depend on x if `most` is given.
        most (int): the largest count; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.PoissonCounts(2.0).dimension
        1

    See also:
        `Jumps`, `Discrete`.
    """

    rate: Scalar  # lambda > 0; it may depend on x if `most` is given
    most: int  # the largest count

    def __init__(self, rate: Scalar, most: int | None = None):
        self.rate = positive("PoissonCounts rate", rate, "the mean number of jumps")
        if most is None and not is_concrete(rate):
            raise ValueError("PoissonCounts: the rate depends on x, so give the largest count, PoissonCounts(rate, most=20).")
        if is_concrete(rate):
            self.rate = float(rate)
        self.most = _largest_count(float(self.rate)) if most is None else positive_integer("PoissonCounts most", most)

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        known = tuple(map(float, np.asarray(_poisson(np, self.rate, self.most)))) if isinstance(self.rate, float) else None
        return (Atoms.of(self.most + 1, known),)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        if isinstance(self.rate, float):
            return z, jnp.ones(())
        return z, (self.most + 1) * _poisson(jnp, self.rate, self.most)[z[0].astype(int)]


class Jumps(AbstractDomain):
    r"""The jumps of a compound Poisson process: $\int g\,d\nu = \lambda\,\mathbb{E}[g(t)]$ with jumps t of a law, at the rate λ.

    In the generator of a jump-diffusion, `Integral(over=Jumps(0.5, Normal((0.0,), 0.2)), g=lambda u, x, t: u(x + t) - u(x))`.

    Args:
        rate (number): lambda > 0, jumps in a unit of time; it may depend on x.
        size (domain): the law of a jump, a distribution.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> merton = fr.Integral(over=fr.Jumps(2.0, fr.Normal(0.0, 0.5)), g=lambda u, x, t: u(x + t) - u(x))

    See also:
        `PoissonCounts`, `Normal`.
    """

    rate: Scalar  # lambda > 0, jumps in a unit of time; it may depend on x
    size: AbstractDomain  # the law of a jump, a distribution

    def __init__(self, rate: Scalar, size: AbstractDomain):
        self.rate, self.size = positive("Jumps rate", rate, "jumps in a unit of time"), size
        if not isinstance(size, AbstractDomain) or not size.is_finite:
            raise ValueError(f"Jumps size: got {size!r}; expected the law of a jump, for instance Normal((0.0,), 0.2).")

    @property
    def dimension(self) -> int:
        return self.size.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return self.size.bases

    @property
    def mass(self) -> Float[Array, ""]:
        return jnp.asarray(self.rate)

    def map(self, z: Float[Array, "k"]) -> tuple[Any, Float[Array, ""]]:
        point, weight = self.size.map(z)
        return point, weight * self.rate / self.size.mass

    def sample(self, key: Key[Array, ""]) -> Any:
        return self.size.sample(key)

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        return self.size.density(point) * self.rate / self.size.mass


def _weights(given: Numbers, n: int) -> Vector:
    weights = numbers("Discrete weights", given)
    if weights.shape != (n,):
        raise ValueError(f"Discrete weights: got shape {weights.shape}; expected ({n},), one for each point.")
    if isinstance(weights, jax.Array) and not is_concrete(weights):
        return weights
    known = tuple(map(float, np.asarray(weights)))
    if min(known) < 0 or not 0 < math.fsum(known) < math.inf:
        raise ValueError(f"Discrete weights: got {known}; expected numbers of at least 0, not all 0. A sign belongs into g.")
    return known


def _shares(weights: Vector) -> tuple[float, ...] | None:
    if not isinstance(weights, tuple) or len(set(weights)) == 1:
        return None
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def _poisson(numpy: ModuleType, rate: Scalar, most: int) -> Float[np.ndarray | Array, "n"]:
    """The probabilities of 0, ..., most, normalised, by numpy or by jax.numpy."""
    logarithm = numpy.arange(most + 1) * numpy.log(rate) - np.asarray([math.lgamma(k + 1) for k in range(most + 1)])
    unnormalised = numpy.exp(logarithm - numpy.max(logarithm))
    return unnormalised / numpy.sum(unnormalised)


def _largest_count(rate: float) -> int:
    """The first count beyond which less than `TAIL` is left."""
    probability, cumulative, count = math.exp(-rate), math.exp(-rate), 0
    if probability == 0.0:
        raise ValueError(f"PoissonCounts rate: got {rate:g}; expected less than 700. Use Normal((rate,), sqrt(rate)), which it is by then.")
    while 1 - cumulative > TAIL:
        count += 1
        probability *= rate / count
        cumulative += probability
        if count > 2000:
            break
    return max(1, count)
