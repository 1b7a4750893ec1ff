"""Delayed targets: a Polyak-averaged copy of the network inside the integral."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.checks import nearest, positive_integer, real
from fredholm.conditions import AbstractCondition
from fredholm.domains import AbstractDomain, Nodes
from fredholm.draws import split
from fredholm.equation import Equation
from fredholm.methods.base import (
    AbstractMethod,
    Info,
    draw,
    draw_pairs,
    estimate,
    growing_share,
    moved,
    product,
    weighted_integrand,
)
from fredholm.methods.shares import residuals
from fredholm.networks import Field
from fredholm.residual import AbstractResidual, place
from fredholm.rules import AbstractRule, MonteCarlo

TARGET_TAU = 0.999  # with tau=None the target is a mean over at most the last 1000 steps
FASTEST = 0.05  # and over at least about 20: a target that follows at once holds nothing back, and the first steps of Maxwell's run away
OBSERVED = 32  # points x at which the drift is measured in each step, whatever the batch is
SMALL_BATCH = 9.0  # in the weak form λ is 10 times the quotient with one x a step, 3 times with 20, and nearly the quotient with 400
OBSERVED_TAU = 0.999  # what was measured more than 1000 steps ago is forgotten


class Observed(eqx.Module):
    """The target, and what the adaptive regulariser has measured of its drift."""

    target: Field
    change: Float[Array, ""]  # a running mean of the squared change of the integrals along the drift
    penalty: Float[Array, ""]  # a running mean of what the regulariser penalises, (u − ū)²


class DelayedTarget(AbstractMethod):
    r"""Regularised delayed targets (Saleh et al., ICML 2024, Algorithm 1). With $\bar u$ the target, a copy of the network that
    follows it as $\bar\theta \leftarrow \tau\bar\theta + (1-\tau)\theta$ and through which no gradient flows,

    $$L(x) = \Big(f[u](x) - \frac1N\sum_{i=1}^N g[\bar u](x, t_i) - y(x)\Big)^2 + \lambda\,(u(x) - \bar u(x))^2.$$

    The variance of the target does not depend on θ, so it does not bias. In the weak form there is no f, and the gradient comes from
    N' nodes of their own, with the regulariser at these nodes,

    $$\nabla L(x) = 2\,\Big(\frac1N\sum_{i=1}^{N} g[\bar u](x, t_i) - y(x)\Big)\,\nabla\frac1{N'}\sum_{j=1}^{N'} g[u](x, t'_j)
      + \lambda\,\nabla (u - \bar u)^2.$$

    That is M times the limit M → ∞ of the published form, `split=M`, with λM in place of λ: under Adam, which does not see the factor, M
    and λ are one parameter. The published form splits the integral,

    $$r = (1 - \tfrac1M)\,\frac1N\sum_{i=1}^{N} g[\bar u](x, t_i) + \tfrac1M\,\frac1{N'}\sum_{j=1}^{N'} g[u](x, t'_j) - y(x),$$

    and squares r, so it keeps 1/(M N') of the excess variance of the standard loss; without a split nothing of it is left.

    λ is an inverse step in function space: the larger the integrals' change along the drift $u - \bar u$, the smaller the step must be.
    `regularization=None` measures it, a Rayleigh quotient of running means at random nodes: in the weak form with B points x a step, whose
    gradient is the noisier the fewer they are, and where f is given,

    $$\lambda = \Big(1 + \frac9{\sqrt B}\Big)\frac{\mathbb{E}\,(\omega g[u] - \omega g[\bar u])^2}{\mathbb{E}\,(u - \bar u)^2}, \qquad
      \lambda = \frac{\mathbb{E}_x\,\big(\mathbb{E}_t\,(\omega g[u] - \omega g[\bar u])\big)^2}{\mathbb{E}\,(u - \bar u)^2}.$$

    A condition on an integral has no f to hold on to and no second derivative to save: it is the product of two independent residuals,
    as in double sampling. Learned scalars inside an integral have no delayed copy; their gradient comes from nodes of its own.
    """

    tau: float | None = None  # τ, how much of the target stays at each step; None: a mean over the last fiftieth of the steps, 20 to 1000
    regularization: float | None = None  # λ, the weight of the pull of the network to its target; None: measured along the drift
    split: float | None = None  # M, the published weight of the target part; None: the limit of large M
    main: int | AbstractRule | None = None  # N', the nodes of the main part: a number, a rule, or None for as many as the target has
    every: int | None = None  # T: copy the network to the target every T steps, instead of averaging with τ
    on: Literal["output", "f"] = "output"  # regularise the raw output u, as the published runs do, or f, as the paper's text has it

    def __check_init__(self):
        if self.tau is not None:
            real("DelayedTarget tau", self.tau, low=0.0, below=1.0)
        if self.regularization is not None:
            real("DelayedTarget regularization", self.regularization, low=0.0)
        if self.split is not None:
            real("DelayedTarget split", self.split, low=1.0)
        if self.main is not None and not isinstance(self.main, AbstractRule):
            positive_integer("DelayedTarget main", self.main)
        if self.every is not None:
            positive_integer("DelayedTarget every", self.every)
        if self.on not in ("output", "f"):
            raise nearest("on", str(self.on), ("output", "f"))

    def check(self, equation: Equation, rules: Sequence[AbstractRule]) -> None:
        if not rules:
            raise ValueError("DelayedTarget: the equation has no integral to put a target into; use Standard().")
        x = equation.domain.sample(jax.random.key(0))
        if equation.f is not None and place(x) is None and self.on == "output" and self.regularization != 0:
            raise ValueError(
                "DelayedTarget: x is a Law without a part named point, so the network has no output at x to regularise. Name the part "
                "where the network is looked at point=, or use DelayedTarget(on='f') or regularization=0."
            )
        for residual, own in residuals(equation, rules):
            x = residual.law.sample(jax.random.key(0))
            # The equation's second draw is the main part's; the other cases are explained where they are computed.
            second = self.main_rules(own) if residual is equation and self.has_main(equation) else own
            needs_two = residual is not equation or self.has_main(equation) or bool(equation.unknowns)
            for integral, rule, other in zip(residual.integrals, own, second, strict=True):
                if needs_two:
                    _check_two(rule, other, integral.measure(x))

    def share(self, residual: AbstractResidual) -> float:
        """1/M, the weight of the main network in the integrals."""
        return 0.0 if self.split is None else 1.0 / self.split

    def has_main(self, residual: AbstractResidual) -> bool:
        """True where the network itself stands in the integrals too, at nodes of its own."""
        return residual.is_weak or self.split is not None

    def main_rules(self, rules: Sequence[AbstractRule]) -> list[AbstractRule]:
        """The rules of the main part."""
        if self.main is None:
            return list(rules)
        return [self.main if isinstance(self.main, AbstractRule) else MonteCarlo(self.main) for _ in rules]

    def init(self, u: Field) -> Field | Observed:
        return u if self.regularization is not None else Observed(u, jnp.zeros(()), jnp.zeros(()))

    def target(self, u: Field, state: Field | Observed) -> Field:
        return state.target if isinstance(state, Observed) else state

    def weight(self, state: Field | Observed) -> Float[Array, ""]:
        """λ."""
        if not isinstance(state, Observed):
            return jnp.asarray(self.regularization, float)
        # Before the first drift there is nothing to weigh, and what seems to change is rounding: divided by 0 it would ruin the first step.
        # Products of independent nodes may have a negative mean where they are mostly noise.
        drifted = state.penalty > 0
        return jnp.where(drifted, jnp.maximum(state.change, 0.0) / jnp.where(drifted, state.penalty, 1.0), 0.0)

    def recorded(self, state: Field | Observed) -> Info:
        return {"regularization_weight": self.weight(state)} if isinstance(state, Observed) else {}

    def observe(
        self, u: Field, state: Field | Observed, equation: Equation, batch: int, step: Int[Array, ""], key: Key[Array, ""]
    ) -> Field | Observed:
        if not isinstance(state, Observed):
            return state
        change, penalty = self.drift(u, state.target, equation, key, OBSERVED)
        if equation.is_weak:
            # The fewer x a step has, the less it knows of where to go; and the split's gradient is 1/M of the other, and so is its λ.
            change = change * (1 + SMALL_BATCH / math.sqrt(batch)) * (self.share(equation) or 1.0)
        # One node where the integrand is infinite would stay in the running mean for good.
        share = jnp.where(jnp.isfinite(change) & jnp.isfinite(penalty), growing_share(step, OBSERVED_TAU), 0.0)
        pairs = ((state.change, change), (state.penalty, penalty))
        return Observed(state.target, *(moved(old, jnp.nan_to_num(new, nan=0.0, posinf=0.0, neginf=0.0), share) for old, new in pairs))

    def drift(
        self, u: Field, target: Field, equation: Equation, key: Key[Array, ""], points: int
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """What the step from the target to the network changes, the integrals and what the regulariser penalises: the means of both squares
        over so many x.

        In the weak form the network stands under the integral, at random nodes, and the change of the integrand counts with its noise: one
        node, squared. Where f is given the integral is only a label, whose noise does not move the network's own gradient: two independent
        nodes, multiplied, are the square of what the integrals change in the mean.
        """

        target = _with_unknowns(target, u.unknowns)  # learned scalars have no delayed copy in the loss either

        def at_one_point(key: Key[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
            key_point, key_nodes, key_others = split(key, 3)
            x = equation.domain.sample(key_point)
            nodes, others = (draw(equation, [MonteCarlo(1)] * len(equation.integrals), x, k) for k in (key_nodes, key_others))
            _, penalty = self._main_part_and_penalty(u, target, equation, x, nodes, equation.left(u, x))
            if not equation.is_weak:
                one, other = (estimate(equation, u, x, n) - estimate(equation, target, x, n) for n in (nodes, others))
                return jnp.sum(one * other), penalty
            pairs = zip(equation.integrals, nodes, strict=True)
            changes = [weighted_integrand(one, u, x, n) - weighted_integrand(one, target, x, n) for one, n in pairs]
            return sum((jnp.sum(change**2) for change in changes), jnp.zeros(())), penalty

        change, penalty = jax.vmap(at_one_point)(split(key, points))
        return jnp.mean(change), jnp.mean(penalty)

    def residual_loss(
        self,
        u: Field,
        state: Field | Observed,
        residual: AbstractResidual,
        rules: Sequence[AbstractRule],
        x: Any,
        key: Key[Array, ""],
    ) -> Info:
        # No gradient flows through the target: it is an argument of its own, and `solve` differentiates with respect to u alone.
        target, left = self.target(u, state), residual.left(u, x)
        if self.has_main(residual):
            nodes, other_nodes = draw_pairs(residual, rules, self.main_rules(rules), x, key)
        elif u.unknowns:
            nodes, other_nodes = draw_pairs(residual, rules, rules, x, key)
        else:
            nodes, other_nodes = draw(residual, rules, x, key), []
        main_part, penalty = self._main_part_and_penalty(u, target, residual, x, other_nodes, left)
        target_part = estimate(residual, _with_unknowns(target, jax.lax.stop_gradient(u.unknowns)), x, nodes)
        if residual.is_weak and self.split is None:
            info = {"residual": self._one_sided(left + residual.sign * main_part, left + residual.sign * target_part)}
        else:
            info = {"residual": self._square(u, target, residual, x, other_nodes, left, main_part, target_part)}
        if self.regularization != 0:
            info["regularization"] = jax.lax.stop_gradient(self.weight(state)) * penalty
        return info

    def _main_part_and_penalty(
        self, u: Field, target: Field, residual: AbstractResidual, x: Any, nodes: Sequence[Nodes], left: Float[Array, "e"]
    ) -> tuple[Float[Array, "_"], Float[Array, ""]]:
        """The network's own integrals, one 0 for all equations where it has none, and what the regulariser penalises: (u − target)² at x
        where f is given and at the main nodes in the weak form, or that of f with its main part."""
        if residual.is_weak and self.on == "output" and self.regularization != 0:
            return self._at_main_nodes(u, target, residual, x, nodes)
        main_part = estimate(residual, u, x, nodes) if self.has_main(residual) else jnp.zeros((1,))
        if self.regularization == 0:
            return main_part, jnp.zeros(())
        if self.on == "output":
            return main_part, jnp.mean((u(place(x)) - target(place(x))) ** 2)
        # The paper's f of the weak form is the main part, a share 1/M of the integral; without a split it is the integral.
        share = 1.0 if self.split is None else self.share(residual)
        copy = estimate(residual, target, x, nodes) if self.has_main(residual) else jnp.zeros((1,))
        change = left - residual.left(target, x) + residual.sign * share * (main_part - copy)
        return main_part, jnp.sum(change**2)

    def _at_main_nodes(
        self, u: Field, target: Field, residual: AbstractResidual, x: Any, nodes: Sequence[Nodes]
    ) -> tuple[Float[Array, "e"], Float[Array, ""]]:
        """The network's own integrals and its distance to the target at their nodes, both from one look at each node."""
        parts, distances = [], []
        for integral, drawn in zip(residual.integrals, nodes, strict=True):

            def at_node(t: Any, w: Float[Array, ""], integral: Any = integral) -> tuple[Float[Array, "e"], Float[Array, ""]]:
                seen, point = u.remembering(), integral.network_input(x, t)
                return w * integral.integrand(seen, x, t), jnp.mean((seen(point) - target(point)) ** 2)

            values, squares = jax.vmap(at_node)(drawn.points, drawn.weights)
            parts.append(jnp.sum(values, axis=0))
            distances.append(jnp.mean(squares))
        return sum(parts, jnp.zeros((1,))), sum(distances, jnp.zeros(())) / len(distances)

    def _one_sided(self, main: Float[Array, "e"], delayed: Float[Array, "e"]) -> Float[Array, ""]:
        """The product of the network's residual and the target's, with the gradient 2 · (the target's) · ∂(the network's)."""
        product = jnp.sum(main * jax.lax.stop_gradient(delayed))
        return 2 * product - jax.lax.stop_gradient(product)

    def _square(
        self,
        u: Field,
        target: Field,
        residual: AbstractResidual,
        x: Any,
        other_nodes: Sequence[Any],
        left: Float[Array, "e"],
        main_part: Float[Array, "_"],  # one number for all equations where there is none
        target_part: Float[Array, "_"],
    ) -> Float[Array, ""]:
        """The squared residual, split between target and network where there is an M."""
        share = self.share(residual)
        r = left + residual.sign * ((1 - share) * target_part + share * main_part)
        pull = self._pull_on_unknowns(u, target, residual, x, other_nodes, left + residual.sign * target_part) if u.unknowns else 0.0
        return jnp.sum(r**2) + pull

    def condition_loss(
        self, u: Field, state: Field | Observed, condition: AbstractCondition, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Float[Array, ""]:
        return product(u, condition, rules, x, key)

    def _pull_on_unknowns(
        self, u: Field, target: Field, residual: AbstractResidual, x: Any, nodes: Sequence[Any], r: Float[Array, "e"]
    ) -> Float[Array, ""]:
        """0, with the gradient 2 r ∂(target part) with respect to the learned scalars that stand inside the integrals.

        Scalars have no delayed copy. Taken through the square, the noise of the target part would bias them as it does the standard
        loss; from other nodes than those of r, which has the target in all of the integrals, the gradient is unbiased.
        """
        inside = _with_unknowns(target, u.unknowns)
        part = residual.sign * (1 - self.share(residual)) * estimate(residual, inside, x, nodes)
        return 2 * jnp.sum(jax.lax.stop_gradient(r) * (part - jax.lax.stop_gradient(part)))

    def update(self, u: Field, state: Field | Observed, step: Int[Array, ""]) -> Field | Observed:
        old = self.target(u, state)
        if self.every is not None:
            share = jnp.where((step + 1) % self.every == 0, 1.0, 0.0)
        else:
            share = jnp.minimum(FASTEST, growing_share(step, TARGET_TAU)) if self.tau is None else 1 - self.tau
        target = moved(old, u, share)
        return Observed(target, state.change, state.penalty) if isinstance(state, Observed) else target


def _with_unknowns(target: Field, unknowns: dict[str, Array]) -> Field:
    return Field(target.network, unknowns, target.inputs, target.outputs)


def _check_two(rule: AbstractRule, other: AbstractRule, measure: AbstractDomain) -> None:
    other.check(measure)
    needed = rule.size(measure) + other.size(measure)
    if measure.samples is not None and rule.is_random and needed > measure.samples:
        raise ValueError(
            f"DelayedTarget: a weak form, a condition on an integral and learned scalars need two independent draws of the integral, "
            f"here of {needed} samples, and {measure.samples} are given at each x. Give more samples, or use fewer nodes."
        )
