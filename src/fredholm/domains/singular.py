"""Singular kernels as measures: powers and the logarithm of the distance to a point. The user then writes the smooth factor only."""

from abc import abstractmethod

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import Number, Scalar, limit, real
from fredholm.domains.base import AbstractDomain, Atoms, Base, Power
from fredholm.domains.flat import Interval

FLAT = 4  # m: the distance is a power z^m, so that a logarithm becomes z^(m-1) log z, for which n Gauss nodes have an error like n^(-2m)


class AbstractDistance(AbstractDomain):
    """A function of the distance |t − c| as the density of a measure on [a, b]: one piece on each side of c.

    Where c lies outside of the interval, one piece is empty and the other begins at a distance above 0: the measure is still right, but
    its density is then smooth, and nodes are not as good as those of an `Interval`.
    """

    low: Scalar  # a: a number, or an array of shape () where the limit depends on x
    high: Scalar  # b
    at: Scalar  # c, the place of the singularity

    @property
    def dimension(self) -> int:
        return 1

    @property
    def mass(self) -> Float[Array, ""]:
        return sum((self._until(far) - self._until(near) for near, far in map(self._ends, (0.0, 1.0))), jnp.zeros(()))

    @abstractmethod
    def _until(self, distance: Float[Array, ""]) -> Float[Array, ""]:
        """The measure of one side up to a distance."""

    def _ends(self, side: Scalar) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The least and the largest distance on a side: 0 is the left one, 1 the right one."""
        near = jnp.where(side == 0, jnp.asarray(self.at - self.high, float), self.low - self.at)
        far = jnp.where(side == 0, jnp.asarray(self.at - self.low, float), self.high - self.at)
        return jnp.maximum(near, 0.0), jnp.maximum(far, 0.0)

    def _point(self, side: Scalar, distance: Float[Array, ""]) -> Float[Array, "1"]:
        return jnp.reshape(self.at + jnp.where(side == 0, -1.0, 1.0) * distance, (1,))

    def _inside(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        return Interval(self.low, self.high).density(point)


class AbsPower(AbstractDistance):
    r"""$\int_a^b |t - c|^p\,g(t)\,dt$ with $p > -1$ as an integral of g alone: a weakly singular kernel as the measure.

    For $|x - t|^{-1/2}$ write `Integral(lambda x: AbsPower(0.0, 1.0, at=x[0], power=-0.5), lambda u, x, t: u(t))`. `Gauss(n)` takes
    Jacobi's nodes on each side of c: exact where the smooth factor g is a polynomial of degree $2n - 1$ on each side. Random nodes have
    the density $\propto |t - c|^p$ on each side and weights without a singularity.

    Args:
        low (number): a: a number, or an array of shape () where the limit depends on x.
        high (number): b.
        at (number): c, the place of the singularity.
        power (float): p > −1.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> abel = fr.Integral(over=lambda x: fr.AbsPower(0.0, x[0], at=x[0], power=-0.5), g=lambda u, x, t: u(t))

    See also:
        `LogDistance`, `PowerLaw`, `Split`.
    """

    power: float  # p > −1

    def __init__(self, low: Number, high: Number, at: Number, power: float):
        whole = Interval(limit("AbsPower low", low), limit("AbsPower high", high))
        self.low, self.high, self.at = whole.low, whole.high, limit("AbsPower at", at)
        self.power = real("AbsPower power", power, low=-1.0)
        if self.power < -0.999:
            raise ValueError(
                f"AbsPower power: got {power!r}; expected more than -1: |t - c|^(-1) and less have no integral. Subtract what is singular, "
                "g(t) - g(c), or move a derivative from the kernel to u."
            )

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Atoms.of(2), Power.of(self.power + 1))

    def map(self, z: Float[Array, "2"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        side, share, q = z[0], z[1], self.power + 1
        near, far = self._ends(side)
        distance = near + (far - near) * share
        away = near > 0  # c lies outside: the density is not singular, and that of the nodes has to be divided out
        nodes = q * jnp.where(away & (share > 0), share, 1.0) ** self.power
        weight = jnp.where(away, (far - near) * jnp.where(away, distance, 1.0) ** self.power / nodes, far**q / q)
        return self._point(side, distance), 2 * weight

    def _until(self, distance: Float[Array, ""]) -> Float[Array, ""]:
        return distance ** (self.power + 1) / (self.power + 1)

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        distance = jnp.abs(point[0] - self.at)
        return self._inside(point) * jnp.where(distance > 0, distance, 1.0) ** self.power


class LogDistance(AbstractDistance):
    r"""$\int_a^b \log|t - c|\,g(t)\,dt$ as an integral of g alone: a logarithmic kernel as a measure, negative where $|t - c| < 1$.

    For $\log|x - t|$ write `Integral(lambda x: LogDistance(0.0, 1.0, at=x[0]), lambda u, x, t: u(t))`. With $|t - c| = R z^4$ on a side of
    length R the weight $4 R z^3 \log(R z^4)$ has no singularity; `Gauss(n)` then has an error like $n^{-8}$ for a smooth factor g.

    Args:
        low (number): a: a number, or an array of shape () where the limit depends on x.
        high (number): b.
        at (number): c, the place of the singularity.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> potential = fr.Integral(over=lambda x: fr.LogDistance(0.0, 1.0, at=x[0]), g=lambda u, x, t: u(t))

    See also:
        `AbsPower`, `Split`.
    """

    def __init__(self, low: Number, high: Number, at: Number):
        whole = Interval(limit("LogDistance low", low), limit("LogDistance high", high))
        self.low, self.high, self.at = whole.low, whole.high, limit("LogDistance at", at)

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Atoms.of(2), Base.UNIT)

    def map(self, z: Float[Array, "2"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        side, share = z[0], z[1]
        near, far = self._ends(side)
        distance = near + (far - near) * share**FLAT
        logarithm = jnp.log(jnp.where(distance > 0, distance, 1.0))
        return self._point(side, distance), 2 * (far - near) * FLAT * share ** (FLAT - 1) * logarithm

    def _until(self, distance: Float[Array, ""]) -> Float[Array, ""]:
        return distance * (jnp.log(jnp.where(distance > 0, distance, 1.0)) - 1)

    def sample(self, key: Key[Array, ""]) -> Float[Array, "1"]:
        raise ValueError("LogDistance is negative near its point, so it is no domain= of x; use it in Integral(over=...).")

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        distance = jnp.abs(point[0] - self.at)
        return self._inside(point) * jnp.log(jnp.where(distance > 0, distance, 1.0))
