"""Delayed targets: a Polyak-averaged copy of the network inside the integral."""

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.checks import nearest, positive_integer, real
from fredholm.conditions import AbstractCondition
from fredholm.domains import AbstractDomain
from fredholm.equation import Equation
from fredholm.methods.base import AbstractMethod, Info, draw, draw_pairs, estimate, product, residuals
from fredholm.networks import Field
from fredholm.residual import AbstractResidual, place
from fredholm.rules import AbstractRule, MonteCarlo

DEFAULT_SPLIT = 100.0


class DelayedTarget(AbstractMethod):
    r"""Regularised delayed targets (Saleh et al., ICML 2024, Algorithm 1). With $\bar u$ the target, a copy of the network that
    follows it as $\bar\theta \leftarrow \tau\bar\theta + (1-\tau)\theta$ and through which no gradient flows,

    $$L(x) = \Big(f[u](x) - \frac1N\sum_{i=1}^N g[\bar u](x, t_i) - y(x)\Big)^2 + \lambda\,(u(x) - \bar u(x))^2.$$

    In the weak form the integral is split with weight M between N target nodes and N' main nodes,

    $$r = (1 - \tfrac1M)\,\frac1N\sum_{i=1}^{N} g[\bar u](x, t_i) + \tfrac1M\,\frac1{N'}\sum_{j=1}^{N'} g[u](x, t'_j) - y(x),$$

    with the regulariser at the main nodes. Only the variance of the target enters, which does not depend on θ: no bias.

    A condition on an integral has no f to hold on to and no second derivative to save: it is the product of two independent residuals,
    as in double sampling. Learned scalars inside an integral have no delayed copy; their gradient comes from nodes of its own.
    """

    tau: float = 0.99  # τ, how much of the target stays at each step; 0: the target is the network itself, detached
    regularization: float = 1.0  # λ, the weight of the pull of the network to its target
    split: float | None = None  # M, the weight of the target part; None: 100 in the weak form, all target where f is given
    main: int | AbstractRule | None = None  # N', the nodes of the main part: a number, a rule, or None for as many as the target has
    every: int | None = None  # T: copy the network to the target every T steps, instead of averaging with τ
    on: Literal["output", "f"] = "output"  # regularise the raw output u, as the published runs do, or f, as the paper's text has it

    def __check_init__(self):
        real("DelayedTarget tau", self.tau, low=0.0, below=1.0)
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
        if equation.f is not None and place(x) is None and self.on == "output" and self.regularization > 0:
            raise ValueError(
                "DelayedTarget: x is a Law without a part named point, so the network has no output at x to regularise. Name the part "
                "where the network is looked at point=, or use DelayedTarget(on='f') or regularization=0."
            )
        for residual, own in residuals(equation, rules):
            x = residual.law.sample(jax.random.key(0))
            # The equation's second draw is the main part's; the other cases are explained where they are computed.
            second = self.main_rules(own) if residual is equation and self.share(equation) > 0 else own
            needs_two = residual is not equation or self.share(equation) > 0 or bool(equation.unknowns)
            for integral, rule, other in zip(residual.integrals, own, second, strict=True):
                if needs_two:
                    _check_two(rule, other, integral.measure(x))

    def share(self, residual: AbstractResidual) -> float:
        """1/M, the weight of the main network in the integrals."""
        split = DEFAULT_SPLIT if self.split is None and residual.is_weak else self.split
        return 0.0 if split is None else 1.0 / split

    def main_rules(self, rules: Sequence[AbstractRule]) -> list[AbstractRule]:
        """The rules of the main part."""
        if self.main is None:
            return list(rules)
        return [self.main if isinstance(self.main, AbstractRule) else MonteCarlo(self.main) for _ in rules]

    def init(self, u: Field) -> Field:
        return u

    def target(self, u: Field, state: Field) -> Field:
        return state

    def residual_loss(
        self, u: Field, state: Field, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Info:
        # No gradient flows through the target: it is an argument of its own, and `solve` differentiates with respect to u alone.
        target, share, left = state, self.share(residual), residual.left(u, x)
        if share == 0.0 and not u.unknowns:
            nodes, other_nodes = draw(residual, rules, x, key), []
        else:
            nodes, other_nodes = draw_pairs(residual, rules, self.main_rules(rules) if share else rules, x, key)
        main_part = share * estimate(residual, u, x, other_nodes) if share else jnp.zeros((1,))
        inside = _with_unknowns(target, jax.lax.stop_gradient(u.unknowns))
        target_part = estimate(residual, inside, x, nodes)
        r = left + residual.sign * ((1 - share) * target_part + main_part)
        info = {"residual": jnp.sum(r**2)}
        if u.unknowns:
            info["residual"] = info["residual"] + self._pull_on_unknowns(
                u, target, residual, x, other_nodes, left + residual.sign * target_part
            )
        if self.regularization > 0:
            info["regularization"] = self.regularization * self._penalty(u, target, residual, x, other_nodes, left, main_part)
        return info

    def condition_loss(
        self, u: Field, state: Field, condition: AbstractCondition, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
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

    def _penalty(
        self,
        u: Field,
        target: Field,
        residual: AbstractResidual,
        x: Any,
        main_nodes: Sequence[Any],
        left: Float[Array, "e"],
        main_part: Float[Array, "_"],  # one number for all equations where there is none
    ) -> Float[Array, ""]:
        """(u − target)², or that of f with its main part: at x where f is given, at the main nodes in the weak form."""
        if self.on == "f":
            share = self.share(residual)
            copy = share * estimate(residual, target, x, main_nodes) if share else jnp.zeros((1,))
            return jnp.sum((left + residual.sign * main_part - residual.left(target, x) - residual.sign * copy) ** 2)

        def at(point: Float[Array, "d"]) -> Float[Array, ""]:
            return jnp.mean((u(point) - target(point)) ** 2)

        if not residual.is_weak:
            return at(place(x))
        means = [
            jnp.mean(jax.vmap(lambda t, integral=integral: at(integral.network_input(x, t)))(nodes.points))
            for integral, nodes in zip(residual.integrals, main_nodes, strict=True)
        ]
        return sum(means, jnp.zeros(())) / len(means)

    def update(self, u: Field, state: Field, step: Array) -> Field:
        if self.every is not None:
            copy = (step + 1) % self.every == 0
            return jax.tree.map(lambda old, new: jnp.where(copy, new, old) if _is_inexact(new) else new, state, u)
        return jax.tree.map(lambda old, new: self.tau * old + (1 - self.tau) * new if _is_inexact(new) else new, state, u)


def _is_inexact(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.inexact)


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
