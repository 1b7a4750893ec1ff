"""Pairs of random nodes that mirror each other."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from fredholm.common.checks import positive_integer
from fredholm.domains.base import AbstractDomain, Base, Nodes
from fredholm.rules.base import AbstractRule, to_bases


class Antithetic(AbstractRule):
    r"""n pairs of random nodes, z and its mirror image 1 − z on every axis of the unit cube: unbiased, and exact where the integrand is odd
    about the middle of z.

    A normal variable is mirrored about its mean, so the first-order part of $u(x + t) - u(x)$ leaves no noise (Hammersley and Morton,
    1956). What is even in t, as a second derivative along a direction, gains nothing: the second node of a pair repeats the first.

    Args:
        n (int): pairs of nodes.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Antithetic(4).size(fr.Interval(0.0, 1.0))
        8

    See also:
        `MonteCarlo`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("Antithetic n", n))  # pairs of nodes

    def size(self, domain: AbstractDomain) -> int:
        return 2 * self.n

    @property
    def is_random(self) -> bool:
        return True

    def check(self, domain: AbstractDomain) -> None:
        if domain.samples is not None:
            raise ValueError(f"{self!r}: {type(domain).__name__} has only the samples that were given; use MonteCarlo(n).")

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        self.check(domain)
        grain = float(jnp.finfo(float).eps) / 2  # from the ends, where the quantile of an unbounded axis is infinite
        u = jnp.clip(jax.random.uniform(key, (self.n, len(domain.bases))), grain, 1 - grain)
        z = to_bases(jnp.concatenate([u, 1 - u]), domain.bases, (Base.UNIT,) * len(domain.bases))
        points, weights = jax.vmap(domain.map)(z)
        return Nodes(points, weights / self.size(domain))
