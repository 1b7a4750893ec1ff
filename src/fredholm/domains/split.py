"""An interval cut at points that may depend on x: every piece has nodes of its own, so that a kink at a cut costs no accuracy."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import Number, Numbers, Scalar, Vector, limit, vector
from fredholm.domains.base import AbstractDomain, Atoms, Base, Nodes
from fredholm.domains.flat import Interval


class Split(AbstractDomain):
    r"""$[a, b]$ with length as its measure, cut at one or more points: $\int_a^b g\,dt = \int_a^c g\,dt + \int_c^b g\,dt$.

    For an integrand with a kink or a jump at t = c, such as $|x - t|$ or $\min(x, t)$: `Split(0.0, 1.0, at=x[0])`. Rules on one axis
    (`Gauss(n)`, `Even(n)`, ...) take n nodes on each piece. `MonteCarlo` draws from the whole interval. A cut outside of the interval cuts
    nothing: its piece is empty.

    Args:
        low (number): a: a number, or an array of shape () where the limit depends on x.
        high (number): b.
        at (number or list): c: one cut or several.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> kinked = fr.Integral(over=lambda x: fr.Split(0.0, 1.0, at=x[0]), g=lambda u, x, t: jnp.abs(x[0] - t[0]) * u(t))

    See also:
        `Interval`, `AbsPower`.
    """

    low: Scalar  # a: a number, or an array of shape () where the limit depends on x
    high: Scalar  # b
    at: Vector  # c: one cut or several

    def __init__(self, low: Number, high: Number, at: Numbers):
        whole = Interval(limit("Split low", low), limit("Split high", high))
        self.low, self.high = whole.low, whole.high
        self.at = vector("Split at", at if isinstance(at, (tuple, list)) or getattr(at, "ndim", 0) else (at,))

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Atoms.of(len(self.at) + 1), Base.UNIT)

    @property
    def mass(self) -> Float[Array, ""]:
        return jnp.asarray(self.high - self.low)

    def map(self, z: Float[Array, "2"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        cuts = jnp.sort(jnp.clip(jnp.asarray(self.at, float), self.low, self.high))
        edges = jnp.concatenate([jnp.reshape(jnp.asarray(self.low, float), (1,)), cuts, jnp.reshape(jnp.asarray(self.high, float), (1,))])
        piece = z[0].astype(int)
        start, length = edges[piece], edges[piece + 1] - edges[piece]
        return start + length * z[1:], (len(self.at) + 1) * length

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        return Interval(self.low, self.high).draws(key, n)  # a random node has no use for the pieces, whose lengths would only add noise

    def density(self, point: Float[Array, "1"]) -> Float[Array, ""]:
        return Interval(self.low, self.high).density(point)
