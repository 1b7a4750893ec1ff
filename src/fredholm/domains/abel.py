"""The measure of fractional calculus: a power of the distance to the upper limit."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import Number, Scalar, limit, real
from fredholm.domains.base import AbstractDomain, Base, Power
from fredholm.domains.flat import Interval


class Abel(AbstractDomain):
    r"""$\int_a^b (b - t)^p\,g(t)\,dt$ with $p > -1$ as an integral of g alone: Abel's kernel as the measure.

    With b = x[0] it is the kernel of fractional integrals and derivatives; `fr.caputo` and `fr.memory` write it for you. `Gauss(n)` takes
    Jacobi's nodes, exact where g is a polynomial of degree $2n - 1$. Random nodes have the density $\propto (b - t)^p$ and equal weights.

    Args:
        low (number): a, or an array of shape () where the limit depends on x.
        high (number): b, likewise.
        power (float): p > −1.

    Raises:
        ValueError: where the power is −1 or less, or a limit is no number; the message says what to do.

    Examples:
        >>> import fredholm as fr
        >>> half = fr.Integral(lambda x: fr.Abel(0.0, x[0], power=-0.5), lambda u, x, t: u(t))
        >>> float(fr.Abel(0.0, 4.0, power=-0.5).mass)
        4.0

    See also:
        `caputo`, `memory`, `AbsPower`, `Integral`.
    """

    low: Scalar  # a: a number, or an array of shape () where the limit depends on x
    high: Scalar  # b
    power: float  # p > −1

    def __init__(self, low: Number, high: Number, power: float):
        whole = Interval(limit("Abel low", low), limit("Abel high", high))
        self.low, self.high, self.power = whole.low, whole.high, real("Abel power", power, low=-1.0)
        if self.power < -0.999:
            raise ValueError(f"Abel power: got {power!r}; expected more than -1: (b - t)^(-1) and less have no integral.")

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Power.of(self.power + 1),)

    @property
    def mass(self) -> Float[Array, ""]:
        return jnp.asarray(self.high - self.low, float) ** (self.power + 1) / (self.power + 1)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        return self.high - (self.high - self.low) * z, self.mass

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        distance = self.high - point[0]
        return Interval(self.low, self.high).density(point) * jnp.where(distance > 0, distance, 1.0) ** self.power
