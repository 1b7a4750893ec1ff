"""The same measure with nodes that crowd at the ends: for integrands that are singular there, or decay at infinity."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer
from fredholm.domains.base import AbstractDomain, Atoms, Base
from fredholm.domains.unbounded import HalfLine, Line

REACH = 3.2  # τ at the outermost node: there the weight of a double exponential map is at rounding error
FAR = 3.85  # the same on infinite axes, where r reaches from 1e-16 to 1e16 times the scale


class Graded(AbstractDomain):
    r"""A measure by double exponential maps (Takahasi and Mori, 1974). On each axis of the unit cube

    $$z = \tfrac12\Bigl(1 + \tanh\bigl(\tfrac{\pi}{2}\sinh\tau\bigr)\Bigr), \qquad \tau = T(2y - 1),\ y \in [0, 1],$$

    so that evenly spaced y integrate algebraic and logarithmic singularities at the ends to rounding error. Half-lines and lines have
    $r = \exp(\frac\pi2 \sinh\tau)$ and $\sinh(\frac\pi2\sinh\tau)$ times their scale, for integrands that decay algebraically or
    exponentially. With `pieces` the axis is first cut into that many equal parts, each with its own map.
    """

    domain: AbstractDomain
    pieces: int = eqx.field(default=1, converter=lambda n: positive_integer("Graded pieces", n))

    @property
    def dimension(self) -> int:
        return self.domain.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        if self.pieces == 1 or self._is_infinite:
            return tuple(base if isinstance(base, Atoms) else Base.UNIT for base in self.domain.bases)
        parts = ((base,) if isinstance(base, Atoms) else (Atoms.of(self.pieces), Base.UNIT) for base in self.domain.bases)
        return tuple(base for part in parts for base in part)

    @property
    def mass(self) -> Float[Array, ""] | float:
        return self.domain.mass

    @property
    def is_finite(self) -> bool:
        return self.domain.is_finite

    @property
    def _is_infinite(self) -> bool:
        return isinstance(self.domain, (HalfLine, Line))

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        if self._is_infinite:
            return self._map_infinite(z)
        coordinates, stretch, used = [], jnp.ones(()), 0
        for base in self.domain.bases:
            if isinstance(base, Atoms):
                coordinates.append(z[used])
                used += 1
                continue
            piece = z[used] if self.pieces > 1 else jnp.zeros(())
            used += self.pieces > 1
            share, slope = clustered(z[used])
            used += 1
            stretch = stretch * slope
            coordinates.append(base.from_unit((piece + share) / self.pieces))
        point, weight = self.domain.map(jnp.stack(coordinates) if coordinates else z)
        return point, weight * stretch

    def _map_infinite(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        tau = FAR * (2 * z - 1)
        inner, slope = 0.5 * jnp.pi * jnp.sinh(tau), 0.5 * jnp.pi * jnp.cosh(tau[0]) * 2 * FAR
        domain = self.domain
        if isinstance(domain, HalfLine):
            return domain.low + domain.scale * jnp.exp(inner), domain.scale * jnp.exp(inner[0]) * slope
        assert isinstance(domain, Line)
        return domain.mean + domain.scale * jnp.sinh(inner), domain.scale * jnp.cosh(inner[0]) * slope


class Algebraic(AbstractDomain):
    r"""A half-line by $r = L\,z/(1 - z)$, or the line by $L\,s/\sqrt{1 - s^2}$ with $s = 2z - 1$, for z in [0, 1].

    Gauss nodes of z integrate rational functions that decay, as of a series on an infinite axis, to rounding error.
    """

    domain: HalfLine | Line

    @property
    def dimension(self) -> int:
        return 1

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,)

    @property
    def mass(self) -> float:
        return self.domain.mass

    @property
    def is_finite(self) -> bool:
        return False

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "1"], Float[Array, ""]]:
        domain = self.domain
        if isinstance(domain, HalfLine):
            rest = jnp.maximum(1 - z, 1e-16)
            return domain.low + domain.scale * z / rest, domain.scale / rest[0] ** 2
        s, inner = 2 * z - 1, jnp.maximum(4 * z * (1 - z), 1e-16)
        return domain.mean + domain.scale * s / jnp.sqrt(inner), 2 * domain.scale * inner[0] ** -1.5


def clustered(y: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The double exponential map of the unit interval, and its slope."""
    tau = REACH * (2 * y - 1)
    inner = 0.5 * jnp.pi * jnp.sinh(tau)
    share = 1 / (1 + jnp.exp(-2 * inner))
    return share, 2 * REACH * 0.25 * jnp.pi * jnp.cosh(tau) / jnp.cosh(inner) ** 2
