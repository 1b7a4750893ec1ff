"""Foci that are learned: a mixture of rays, fitted to the integrands of a training as it goes."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from fredholm.common.checks import positive_integer, real
from fredholm.domains.base import AbstractDomain, Nodes, Place
from fredholm.domains.rays import Rays
from fredholm.rules.base import AbstractRule
from fredholm.rules.focused import counts_of, mixed_nodes
from fredholm.rules.monte_carlo import MonteCarlo

CANDIDATES = 32  # points that are tried in place of each focus
ROUNDS, RATE = 20, 0.02  # steps of Adam in a fit, and their size as a share of the spread of the points
SURE = 2.0  # standard errors by which a candidate must be better
SMALLEST = -6.0  # of the logarithm of a weight beside the largest: a focus never dies out


class Foci(NamedTuple):
    """A fit: what `LearnedFoci` knows between steps."""

    places: Float[Array, "c d"]
    logarithms: Float[Array, "c"]  # of the weights
    is_known: Bool[Array, ""]  # False before the first fit: then all nodes are plain


class LearnedFoci(AbstractRule):
    r"""`Focused` nodes whose foci are found during the training: a mixture of rays, fitted to the network's own integrand.

    Every so many steps the integrand g is evaluated at the nodes of `places` new points x. The foci s and their weights maximise the
    likelihood of the mixture for points of density |g|, the cross-entropy method (Rubinstein, 1999) with population Monte Carlo: points
    where |g| is large are tried in place of each focus, then all of them move along the gradient,

    $$\max_s \sum_i w_i\,|g(t_i)|\,\log\big(p + (1 - p)\,q_s(t_i)\big).$$

    A fit uses the network of past steps and random numbers of its own, and the weights of the nodes are those of the mixture: so a bad fit
    costs variance and never the mean. It is a function of seed and step, so a resumed run equals an uninterrupted one. Before the
    first fit, and wherever the rule is used outside of a training, all nodes are plain.
    Train with an unbiased method, `DoubleSampling("all")`: the standard loss is smallest where the noise is, so u never becomes large at a
    source and there is nothing to find (in five dimensions: an error of .56 in place of .04, docs/rules.md).

    A fit adds n times `places`/`interval` evaluations to a step.

    Args:
        n: the number of nodes.
        foci: how many foci there are.
        plain: p, the share of plain nodes.
        interval: steps between two fits.
        places: points x of a fit.

    Examples:
        >>> import fredholm as fr
        >>> fr.LearnedFoci(16).n
        16

    See also:
        `Focused`, `Importance`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("LearnedFoci n", n, least=2))  # this many points, plain and by rays
    foci: int = eqx.field(default=1, converter=lambda n: positive_integer("LearnedFoci foci", n))  # places that the rays start from
    plain: float = 0.5  # the share of plain nodes
    interval: int = eqx.field(default=100, converter=lambda n: positive_integer("LearnedFoci interval", n))  # steps between two fits
    places: int = eqx.field(default=128, converter=lambda n: positive_integer("LearnedFoci places", n))  # points x of a fit

    def __check_init__(self) -> None:
        real("LearnedFoci plain", self.plain, low=1e-3, below=1.0)

    def size(self, domain: AbstractDomain) -> int:
        return self.n

    @property
    def is_random(self) -> bool:
        return True

    @property
    def groups(self) -> tuple[int, ...]:
        return tuple(n for n in counts_of(self.n, self.plain) if n)

    @property
    def refits_every(self) -> int | None:
        return self.interval

    @property
    def fit_points(self) -> int:
        return self.places

    def check(self, domain: AbstractDomain) -> None:
        _ = Rays(domain, jnp.zeros((1, domain.dimension)), jnp.ones(1)).bases  # raises where there are no rays

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        return self.with_fit(self.first_fit(domain.dimension)).nodes(domain, key)

    def first_fit(self, dimension: int) -> Foci:
        return Foci(jnp.zeros((self.foci, dimension)), jnp.zeros(self.foci), jnp.asarray(False))

    def with_fit(self, fit: Foci) -> "FittedFoci":
        return FittedFoci(self, fit)

    def refit(
        self,
        fit: Foci,
        measure: Callable[[Place], AbstractDomain],
        x: PyTree,
        nodes: Float[Array, "m k d"],
        sizes: Float[Array, "m k"],
        key: Key[Array, ""],
    ) -> Foci:
        sizes = jnp.where(jnp.isfinite(sizes), sizes, 0.0)
        # A few samples of a heavy tail must not decide: truncated weights (Ionides, 2008).
        sizes = jnp.minimum(sizes, jnp.mean(sizes) * jnp.sqrt(sizes.size))
        shares = sizes / jnp.maximum(jnp.sum(sizes), jnp.finfo(sizes.dtype).tiny)
        points = nodes.reshape(-1, nodes.shape[-1])

        def terms(places: Float[Array, "c d"], logarithms: Float[Array, "c"]) -> Float[Array, "m k"]:
            """The likelihood, sample by sample."""

            def at_one_x(x: Place, t: Float[Array, "k d"]) -> Float[Array, "k"]:
                return jax.vmap(Rays(measure(x), places, jnp.exp(logarithms)).log_ratio)(t)

            return shares * jnp.logaddexp(jnp.log(self.plain), jnp.log1p(-self.plain) + jax.vmap(at_one_x)(x, nodes))

        tried = points[jax.random.choice(key, len(points), (CANDIDATES,), p=shares.ravel())]

        def improved(number: Int[Array, ""], places: Float[Array, "c d"]) -> Float[Array, "c d"]:
            """The foci with the best of all candidates in place of one, where it is better beyond its standard error."""
            now = terms(places, fit.logarithms)

            def gain(place: Float[Array, "d"]) -> Float[Array, ""]:
                change = terms(places.at[number].set(place), fit.logarithms) - now
                return jnp.sum(change) - SURE * jnp.sqrt(jnp.sum(change**2))

            gains = jax.lax.map(gain, tried, batch_size=4)
            best = jnp.argmax(gains)
            return jnp.where((gains[best] > 0) | ~fit.is_known, places.at[number].set(tried[best]), places)

        begun = jnp.where(fit.is_known, fit.places, tried[jnp.arange(self.foci) % CANDIDATES])
        places = jax.lax.fori_loop(0, self.foci, improved, begun)
        spread = jnp.std(points)
        climb = optax.adam(RATE)

        def move(_: Int[Array, ""], carry: PyTree) -> PyTree:
            (steps, logarithms), state = carry
            slopes = jax.grad(lambda s, w: -jnp.sum(terms(places + spread * s, w)), argnums=(0, 1))(steps, logarithms)
            updates, state = climb.update(slopes, state)
            return optax.apply_updates((steps, logarithms), updates), state

        begin = (jnp.zeros_like(places), fit.logarithms)
        (steps, logarithms), _ = jax.lax.fori_loop(0, ROUNDS, move, (begin, climb.init(begin)))
        logarithms = jnp.maximum(logarithms - jnp.max(logarithms), SMALLEST)
        places = places + spread * steps
        is_good = jnp.all(jnp.isfinite(places)) & jnp.all(jnp.isfinite(logarithms)) & (jnp.sum(sizes) > 0)
        found = Foci(places, logarithms, jnp.asarray(True))
        return jax.tree.map(lambda new, old: jnp.where(is_good, new, old), found, fit)


class FittedFoci(AbstractRule):
    """`LearnedFoci` with its fit, within a step."""

    rule: LearnedFoci
    fit: Foci

    def size(self, domain: AbstractDomain) -> int:
        return self.rule.n

    @property
    def is_random(self) -> bool:
        return True

    @property
    def groups(self) -> tuple[int, ...]:
        return self.rule.groups

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        rays = Rays(domain, self.fit.places, jnp.exp(self.fit.logarithms))
        n_plain, n_rays = counts_of(self.rule.n, self.rule.plain)
        keys = jax.random.split(key, 3)
        plain, by_rays, instead = (
            MonteCarlo(n).nodes(one, k).points for one, n, k in zip((domain, rays, domain), (n_plain, n_rays, n_rays), keys, strict=True)
        )
        mixed = mixed_nodes(domain, rays, jnp.concatenate([plain, by_rays]), n_plain, n_rays)
        all_plain = Nodes(jnp.concatenate([plain, instead]), jnp.full(self.rule.n, jnp.asarray(domain.mass) / self.rule.n))
        return jax.tree.map(lambda known, unknown: jnp.where(self.fit.is_known, known, unknown), mixed, all_plain)
