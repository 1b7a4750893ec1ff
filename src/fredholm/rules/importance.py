"""Importance sampling: nodes from a proposal, with weights that correct for it."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import instance, is_concrete, positive_integer, real
from fredholm.domains.base import AbstractDomain, Base, Nodes
from fredholm.domains.warped import Warped
from fredholm.rules.base import AbstractRule, to_bases
from fredholm.rules.monte_carlo import MonteCarlo


class Importance(AbstractRule):
    r"""Nodes from a proposal of density q, where the integrand is large, with weights that correct for it:

    $$\int g\,d\mu = \mathbb{E}_{t\sim q}\left[\frac{p(t)}{q(t)}\,g(t)\right], \qquad p = d\mu/dt.$$

    The proposal is a domain of mass 1 with a density (`Normal`, `Exponential`, `PowerLaw`, a `Product` of them), or a function that
    makes one from the integral's domain, for limits that depend on x. It must reach everywhere the integral does. A node of the
    proposal outside of the integral's domain gets weight 0 and is moved inside, so that the integrand is never evaluated outside.

    `fit_importance` makes an `Importance` from the integrand itself. Any rule draws from the proposal, `MonteCarlo(n)` or another.

    Args:
        rule (rule): how nodes of the proposal are chosen.
        proposal (domain or function): q, or a function of the integral's domain.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> tilted = fr.Importance(fr.MonteCarlo(4), proposal=fr.Exponential(0.0, 0.5))

    See also:
        `fit_importance`, `Focused`.
    """

    rule: AbstractRule  # how nodes of the proposal are chosen
    proposal: AbstractDomain | Callable[[AbstractDomain], AbstractDomain]  # q, or a function of the integral's domain

    def __check_init__(self) -> None:
        instance("Importance rule", self.rule, AbstractRule, "MonteCarlo(16)")
        if not isinstance(self.proposal, AbstractDomain) and not callable(self.proposal):
            raise ValueError(
                f"Importance proposal: got {self.proposal!r}; expected a distribution, or a function of the integral's domain."
            )

    def size(self, domain: AbstractDomain) -> int:
        return self.rule.size(self._proposal(domain))

    @property
    def is_random(self) -> bool:
        return self.rule.is_random

    def absolute_weight(self, domain: AbstractDomain) -> float:
        return self.rule.absolute_weight(self._proposal(domain))

    def has_negative_weights(self, domain: AbstractDomain) -> bool:
        return self.rule.has_negative_weights(self._proposal(domain))

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        proposal = self._proposal(domain)
        drawn = self.rule.nodes(proposal, key)
        if isinstance(proposal, Warped):  # the same measure with other variables: its weights are already right
            return drawn
        wanted, drawn_from = jax.vmap(domain.density)(drawn.points), jax.vmap(proposal.density)(drawn.points)
        inside = (wanted > 0) & (drawn_from > 0)
        middle = to_bases(jnp.full((1, len(domain.bases)), 0.5), domain.bases, (Base.UNIT,) * len(domain.bases))[0]
        points = jnp.where(inside[:, None], drawn.points, domain.map(middle)[0][None])
        return Nodes(points, drawn.weights * jnp.where(inside, wanted / jnp.where(inside, drawn_from, 1.0), 0.0))

    def check(self, domain: AbstractDomain) -> None:
        proposal = self._proposal(domain)
        self.rule.check(proposal)
        if isinstance(proposal, Warped):
            return
        if proposal.dimension != domain.dimension:
            raise ValueError(
                f"Importance: got a proposal in {proposal.dimension} dimensions for {type(domain).__name__} in {domain.dimension}; "
                "expected the same."
            )
        domain.density(jnp.zeros(domain.dimension))  # Both raise where there is no density in space.
        proposal.density(jnp.zeros(domain.dimension))
        if is_concrete(domain, proposal):
            with jax.ensure_compile_time_eval():
                _check_proposal(proposal, domain)

    def _proposal(self, domain: AbstractDomain) -> AbstractDomain:
        return self.proposal if isinstance(self.proposal, AbstractDomain) else self.proposal(domain)


def _check_proposal(proposal: AbstractDomain, domain: AbstractDomain) -> None:
    if not np.isclose(float(proposal.mass), 1.0, rtol=1e-5):
        raise ValueError(
            f"Importance proposal: got {type(proposal).__name__} of mass {float(proposal.mass):g}; expected a distribution, of mass 1 "
            "(PowerLaw(a, b) is the uniform one)."
        )
    tried = domain.draws(jax.random.key(0), 256).points
    missed = jax.vmap(proposal.density)(tried) <= 0
    if bool(jnp.any(missed)):
        raise ValueError(
            f"Importance proposal: got {type(proposal).__name__}, which never reaches {tried[int(jnp.argmax(missed))]} of "
            f"{type(domain).__name__}; expected one that is positive wherever the integrand is, else the integral is biased. Widen it."
        )


class Warp(eqx.Module):
    """A proposal in the base variables of any domain: the function `domain -> Warped(domain, edges)`."""

    edges: tuple[tuple[float, ...], ...]  # for each axis: 0 = first edge < ... < last edge = 1, equally likely pieces

    def __call__(self, domain: AbstractDomain) -> Warped:
        return Warped(domain, self.edges)


def fit_importance(
    g: Callable[[Any], Float[Array, "..."]],
    domain: AbstractDomain,
    key: Key[Array, ""],
    *,
    rule: AbstractRule = MonteCarlo(1),  # noqa: B008  (a frozen module is as good as a number)
    bins: int = 32,
    samples: int = 4096,
    rounds: int = 4,
    floor: float = 0.1,
) -> Importance:
    r"""An `Importance` rule fitted to |g| from pilot samples, on any domain (spheres and unbounded ones too).

    On each axis of the base variables the proposal has `bins` equally likely pieces, narrow where $\omega g$ is large: with
    the other axes averaged out, the density on an axis that minimises the variance is the root mean square of $\omega g$ there
    (Lepage's VEGAS, 1978). A share `floor` of the density stays uniform on each axis, so no weight exceeds 1/floor per
    axis and a peak that the pilot missed costs variance, not bias. The fit's samples are not used again: the rule stays unbiased.

    The edges are in base variables, so the rule also serves the same integral at another x, with moved limits.

    Args:
        g (function): the integrand at one point t.
        domain (domain): the measure.
        key (JAX key): a JAX key.
        rule (rule): how nodes of the fitted density are chosen; default: MonteCarlo(n=1).
        bins (int): pieces on each axis; default: 32.
        samples (int): pilot samples a round; default: 4096.
        rounds (int): rounds of the fit; default: 4.
        floor (float): the share of the density that stays uniform; default: 0.1.

    Returns:
        An `Importance` rule.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> fitted = fr.fit_importance(lambda t: jnp.exp(-10 * t[0]), fr.Interval(0.0, 1.0), jax.random.key(0), samples=100, rounds=1)

    See also:
        `Importance`, `Focused`.
    """
    bins, samples = positive_integer("fit_importance bins", bins, least=2), positive_integer("fit_importance samples", samples, least=100)
    floor, rounds = real("fit_importance floor", floor, low=1e-3, high=1.0), positive_integer("fit_importance rounds", rounds)
    axes = len(domain.bases)
    edges = np.tile(np.linspace(0, 1, bins + 1), (axes, 1))

    @jax.jit
    def pilot(edges: Float[Array, "axes pieces"], y: Float[Array, "n axes"]) -> Float[Array, "n"]:
        points, weights = jax.vmap(Warped(domain, edges).map)(y)
        return weights * jax.vmap(lambda point: jnp.linalg.norm(jnp.ravel(g(point))))(points)

    for step in range(rounds):
        y = jax.random.uniform(jax.random.fold_in(key, step), (samples, axes))
        squares = np.asarray(pilot(jnp.asarray(edges, float), y), float) ** 2
        if not np.all(np.isfinite(squares)):
            raise ValueError(
                "fit_importance: the integrand is not finite at some of the pilot samples; expected numbers on the whole domain."
            )
        pieces = np.minimum((np.asarray(y) * bins).astype(int), bins - 1)
        edges = np.stack([_refined(edges[axis], pieces[:, axis], squares, floor) for axis in range(axes)])
    return Importance(rule, Warp(_as_tuples(edges)))


def _refined(edges: np.ndarray, piece: np.ndarray, squares: np.ndarray, floor: float) -> np.ndarray:
    """New edges on one axis: equal shares of a density that follows the root mean square in each piece."""
    bins = len(edges) - 1
    count = np.bincount(piece, minlength=bins)
    # The samples of a piece are weighted by its width: a share of the integral of |omega g|, not yet of its density.
    share = np.sqrt(np.bincount(piece, weights=squares, minlength=bins) / np.maximum(count, 1))
    share = share / np.sum(share) if np.sum(share) > 0 else np.full(bins, 1 / bins)
    cumulative = np.concatenate([[0.0], np.cumsum((1 - floor) * share + floor * np.diff(edges))])
    refined = np.interp(np.linspace(0, 1, bins + 1), cumulative / cumulative[-1], edges)
    refined[0], refined[-1] = 0.0, 1.0
    return refined


def _as_tuples(edges: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(edge) for edge in axis) for axis in edges)
