"""A fixed rule on the first axis, and random nodes on all others."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import instance, positive_integer
from fredholm.domains.base import AbstractDomain, Atoms, Nodes, base_nodes
from fredholm.domains.combined import Product
from fredholm.rules.base import AbstractNodeRule, AbstractRule, cached_base_nodes, to_bases
from fredholm.rules.gauss import Gauss


class Radial(AbstractRule):
    r"""A rule $(r_i, w_i)$ on the first axis of a measure, its radius, and n random nodes on all other axes, its direction, for each r:

    $$\int g\,d\mu \approx \sum_i \frac{w_i}n \sum_{j=1}^n \omega_{ij}\,g\big(t(r_i, \xi_{ij})\big), \qquad \xi_{ij} \text{ independent}.$$

    In many dimensions the radius decides and the directions differ little: only their variance is left. It serves
    `Product(PowerLaw(...), Directions(d, "sphere"))`, a `Ball`, and every other measure whose first base axis matters most. The estimate
    has the error of the rule on the first axis: none for `Even(n, Shift())`, which is unbiased, and a negligible one for Gauss nodes where
    g is smooth in r.

    Args:
        radii: the rule on the first axis.
        n: the number of directions for each radius.

    Examples:
        >>> import fredholm as fr
        >>> fr.Radial(fr.Gauss(4)).size(fr.Ball((0.0,) * 50))
        4

    See also:
        `Ball`, `Directions`, `Gauss`.
    """

    radii: AbstractNodeRule = Gauss(8)  # on the first axis of the base measure
    n: int = eqx.field(default=1, converter=lambda n: positive_integer("Radial n", n))  # directions for each radius

    def __check_init__(self) -> None:
        instance("Radial radii", self.radii, AbstractNodeRule, "Gauss(8)")

    def size(self, domain: AbstractDomain) -> int:
        return self.n * len(cached_base_nodes(self.radii, domain.bases[:1])[1])

    @property
    def is_random(self) -> bool:
        return True

    def check(self, domain: AbstractDomain) -> None:
        if domain.samples is not None or len(domain.bases) < 2 or isinstance(domain.bases[0], Atoms):
            raise ValueError(
                f"{self!r}: got {type(domain).__name__} with {len(domain.bases)} axes; expected a radius and at least one axis more. "
                "Use Gauss(n) or MonteCarlo(n)."
            )

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        self.check(domain)
        first = domain.bases[:1]
        of_radii, of_directions = jax.random.split(key)
        nodes, shares = (jnp.asarray(part, float) for part in cached_base_nodes(self.radii, first))
        if self.radii.randomize is not None:
            nodes = self.radii.randomize.move_base(nodes, of_radii)
        nodes = jnp.repeat(to_bases(nodes, first, (self.radii.axis_measure(first[0]),)), self.n, axis=0)
        points, weights = self._spread(domain, nodes, of_directions)
        return Nodes(points, weights * jnp.repeat(shares, self.n) / self.n)

    def _spread(
        self, domain: AbstractDomain, radii: Float[Array, "k 1"], key: Key[Array, ""]
    ) -> tuple[Float[Array, "k d"], Float[Array, "k"]]:
        """The points with these numbers on the first axis, with the weights of single nodes."""
        k = len(radii)
        if isinstance(domain, Product) and len(domain.parts[0].bases) == 1:  # the other parts have draws of their own
            first, weights = jax.vmap(domain.parts[0].map)(radii)
            others = Product(*domain.parts[1:]).draws(key, k)
            return jnp.concatenate([first, others.points], axis=-1), weights * k * others.weights
        return jax.vmap(domain.map)(jnp.concatenate([radii, base_nodes(domain.bases[1:], key, k)], axis=1))
