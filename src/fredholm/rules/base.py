"""The base classes of integration rules: nodes and weights for any domain."""

from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.checks import instance
from fredholm.domains.base import AbstractDomain, Base, Nodes, Place

MAXIMUM_NODES = 1_000_000  # a rule that needs more nodes on one domain is refused


class AbstractRule(eqx.Module):
    """How an integral becomes a weighted sum of the integrand at nodes."""

    @abstractmethod
    def size(self, domain: AbstractDomain) -> int:
        """k, the number of nodes on this domain."""

    @abstractmethod
    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        """The nodes of one draw."""

    @property
    @abstractmethod
    def is_random(self) -> bool:
        """True where two draws with different keys are independent, and each estimates the integral without bias."""

    def pair(self, other: "AbstractRule", domain: AbstractDomain, key: Key[Array, ""]) -> tuple[Nodes, Nodes]:
        """Two independent draws, this rule's and the other's."""
        first, second = jax.random.split(key)
        return self.nodes(domain, first), other.nodes(domain, second)

    def in_step(self, key: Key[Array, ""]) -> "AbstractRule":
        """The rule within one training step, given the key of the step. Most rules ignore it, and every x gets its own draw."""
        return self

    @property
    def is_shared(self) -> bool:
        """True where all x of a step have the same nodes."""
        return False

    @property
    def groups(self) -> tuple[int, ...]:
        """The sizes of groups of nodes, in their order; the nodes of a group are independent and have the same law. Empty where
        nodes depend on each other."""
        return ()

    # ---- of rules that learn during a training ----

    @property
    def refits_every(self) -> int | None:
        """The steps between two fits of a rule that learns; None for all others."""
        return None

    @property
    def fit_points(self) -> int:
        """The number of points x of a fit."""
        return 0

    def first_fit(self, dimension: int) -> PyTree:
        """The fit before the first step, for measures of this dimension."""
        return None

    def with_fit(self, fit: PyTree) -> "AbstractRule":
        """The rule within a step, with what it has learned."""
        return self

    def refit(
        self,
        fit: PyTree,
        measure: Callable[[Place], AbstractDomain],
        x: PyTree,
        nodes: Float[Array, "m k d"],
        sizes: Float[Array, "m k"],
        key: Key[Array, ""],
    ) -> PyTree:
        """The next fit: `sizes` are those of the weighted integrand at the nodes of the points x, whose measures are `measure(x)`."""
        return fit

    def check(self, domain: AbstractDomain) -> None:
        """Raises `ValueError` where the rule makes no sense on the domain."""

    def fits(self, domain: AbstractDomain) -> bool:
        """True where the rule makes sense on the domain."""
        try:
            self.check(domain)
            self.size(domain)
        except ValueError:
            return False
        return True

    def absolute_weight(self, domain: AbstractDomain) -> float:
        r"""$\sum_i |w_i|$ of the rule on the base measure, where $\sum_i w_i = 1$: the factor by which it magnifies errors of g."""
        return 1.0

    def has_negative_weights(self, domain: AbstractDomain) -> bool:
        """True where some weights are negative, so that a sum of squares is no longer positive."""
        return False


class AbstractRandomization(eqx.Module):
    """A random move of a fixed set of nodes that makes the rule unbiased."""

    fixed: eqx.AbstractVar[bool]  # drawn once for the whole training (True), or anew for every x and step (False)

    def __check_init__(self) -> None:
        instance(f"{type(self).__name__} fixed", self.fixed, bool, "True")

    @abstractmethod
    def move_base(self, nodes: Float[Array, "k b"], key: Key[Array, ""]) -> Float[Array, "k b"]:
        """Moves nodes in the unit cube."""

    @abstractmethod
    def move_points(self, domain: AbstractDomain, points: Float[Array, "k d"], key: Key[Array, ""]) -> Float[Array, "k d"]:
        """Moves points on the domain."""

    @abstractmethod
    def check(self, rule: "AbstractNodeRule", domain: AbstractDomain) -> None:
        """Raises `ValueError` where the move would not leave every single node distributed as the domain's measure."""


class AbstractNodeRule(AbstractRule):
    r"""Fixed nodes $z_i$ and weights $w_i$ of the base measure, mapped to the domain, and moved at random with `randomize`.

    $$\int g\,d\mu = \mathbb{E}_{z\sim\beta}[\omega(z)\,g(t(z))] \approx \sum_i w_i\,\omega(z_i)\,g(t(z_i)), \qquad \sum_i w_i = 1.$$

    Nodes are built once, in float64 on the host.
    """

    # A type checker would put an abstract field first among the arguments of every rule. It sees a class variable instead.
    if TYPE_CHECKING:
        randomize: ClassVar[AbstractRandomization | None]
    else:
        randomize: eqx.AbstractVar[AbstractRandomization | None]

    def __check_init__(self) -> None:
        if self.randomize is not None:
            instance(f"{type(self).__name__} randomize", self.randomize, AbstractRandomization, "Shift(), Rotation() or None")

    @abstractmethod
    def base_nodes(self, bases: tuple[Base, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of shape (k, axes), and weights of shape (k,) that sum to 1. `axis_measure` gives the measure of each axis."""

    def axis_measure(self, base: Base) -> Base:
        """The measure of the rule's nodes on an axis: the unit interval. The inverse distribution function then maps them to `base`.

        A rule that has nodes for the base measure itself (Hermite's on a normal axis) returns `base`.
        """
        return Base.UNIT

    @property
    def is_digital(self) -> bool:
        """True for a digital net in base 2. It stays a net under scrambling."""
        return False

    def size(self, domain: AbstractDomain) -> int:
        return len(cached_base_nodes(self, domain.bases)[1])

    @property
    def is_random(self) -> bool:
        return self.randomize is not None and not self.randomize.fixed

    def absolute_weight(self, domain: AbstractDomain) -> float:
        return float(np.sum(np.abs(cached_base_nodes(self, domain.bases)[1])))

    def has_negative_weights(self, domain: AbstractDomain) -> bool:
        return bool(np.min(cached_base_nodes(self, domain.bases)[1]) < 0)

    def check(self, domain: AbstractDomain) -> None:
        if domain.samples is not None and self.is_random:
            raise ValueError(
                f"{self!r}: two of its draws may take the same sample, and {type(domain).__name__} has only the {domain.samples} that were "
                "given. Use MonteCarlo(n), whose draws share none, or a rule without randomize, which takes them all."
            )
        if self.randomize is not None:
            self.randomize.check(self, domain)
        if not domain.is_finite:
            self._check_range(domain)

    def _check_range(self, domain: AbstractDomain) -> None:
        """Refuses overflow: on an infinite measure, the weight of an outer node is a tiny share times a huge factor."""
        nodes, _ = cached_base_nodes(self, domain.bases)
        logarithm = np.zeros(len(nodes))
        for axis, base in enumerate(domain.bases):
            if self.axis_measure(base) == base:
                logarithm += base.decay(nodes[:, axis])
        dtype = jnp.result_type(float)
        most = float(np.log(float(jnp.finfo(dtype).max))) - 5
        if np.max(logarithm) > most:
            raise ValueError(
                f"{self!r} on {type(domain).__name__}: the weight of its outermost node has a factor exp({np.max(logarithm):.0f}), beyond "
                f"{dtype} (exp({most:.0f})). Use fewer nodes, or jax.config.update('jax_enable_x64', True)."
            )

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        self.check(domain)
        base_nodes, shares = cached_base_nodes(self, domain.bases)
        z = jnp.asarray(base_nodes, float)
        move = self.randomize
        if move is not None:
            key = jax.random.key(0) if move.fixed else key
            z = move.move_base(z, key)
        points, weights = jax.vmap(domain.map)(to_bases(z, domain.bases, tuple(map(self.axis_measure, domain.bases))))
        if move is not None:
            points = move.move_points(domain, points, key)
        return Nodes(points, weights * jnp.asarray(shares, float))


def to_bases(z: Float[Array, "k b"], bases: tuple[Base, ...], measures: tuple[Base, ...]) -> Float[Array, "k b"]:
    """Each axis from the unit interval to its base measure, where its nodes are not given in that measure already."""
    if bases == measures:
        return z
    axes = enumerate(zip(bases, measures, strict=True))
    return jnp.stack([z[:, axis] if base == measure else base.from_unit(z[:, axis]) for axis, (base, measure) in axes], axis=-1)


@lru_cache(maxsize=256)
def cached_base_nodes(rule: AbstractNodeRule, bases: tuple[Base, ...]) -> tuple[np.ndarray, np.ndarray]:
    """`rule.base_nodes(bases)`, built once."""
    return rule.base_nodes(bases)
