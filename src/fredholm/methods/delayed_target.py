"""Delayed targets: a Polyak-averaged copy of the network inside the integral."""

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.checks import nearest, positive_integer, real
from fredholm.domains import Law
from fredholm.equation import Equation
from fredholm.methods.base import AbstractMethod, Info, draw, draw_pairs, estimate
from fredholm.networks import Field
from fredholm.rules import AbstractRule, MonteCarlo

DEFAULT_SPLIT = 100.0


class DelayedTarget(AbstractMethod):
    r"""Regularised delayed targets (Saleh et al., ICML 2024, Algorithm 1). With $\bar u$ the target, a copy of the network that
    follows it as $\bar\theta \leftarrow \tau\bar\theta + (1-\tau)\theta$ and through which no gradient flows,

    $$L(x) = \Big(f[u](x) - \frac1N\sum_{i=1}^N g[\bar u](x, t_i) - y(x)\Big)^2 + \lambda\,(u(x) - \bar u(x))^2.$$

    In the weak form the integral is split with weight M between N target nodes and N' main nodes,

    $$r = (1 - \tfrac1M)\,\frac1N\sum_{i=1}^{N} g[\bar u](x, t_i) + \tfrac1M\,\frac1{N'}\sum_{j=1}^{N'} g[u](x, t'_j) - y(x),$$

    with the regulariser at the main nodes. Only the variance of the target enters, which does not depend on θ: no bias.
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
        if equation.f is not None and isinstance(equation.domain, Law) and self.on == "output" and self.regularization > 0:
            raise ValueError(
                "DelayedTarget: x is a Law, so the network has no output at x to regularise. Use DelayedTarget(on='f') or regularization=0."
            )
        if self.share(equation) > 0:
            for integral, rule in zip(equation.integrals, self.main_rules(rules), strict=True):
                if not callable(integral.over):
                    rule.check(integral.over)

    def share(self, equation: Equation) -> float:
        """1/M, the weight of the main network in the integrals."""
        split = DEFAULT_SPLIT if self.split is None and equation.f is None else self.split
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

    def residual_loss(self, u: Field, state: Field, equation: Equation, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]) -> Info:
        # No gradient flows through the target: it is an argument of its own, and `solve` differentiates with respect to u alone.
        target, share, left = state, self.share(equation), equation.left(u, x)
        if share == 0.0:
            inside = estimate(equation, target, x, draw(equation, rules, x, key))
            main_nodes, main_part = [], jnp.zeros((1,))
        else:
            nodes, main_nodes = draw_pairs(equation, rules, self.main_rules(rules), x, key)
            main_part = share * estimate(equation, u, x, main_nodes)
            inside = (1 - share) * estimate(equation, target, x, nodes) + main_part
        residual = left + equation.sign * inside
        info = {"residual": jnp.sum(residual**2)}
        if self.regularization > 0:
            if self.on == "f":
                own = left + equation.sign * main_part
                copy = equation.left(target, x) + (equation.sign * share * estimate(equation, target, x, main_nodes) if share else 0.0)
                penalty = jnp.sum((own - copy) ** 2)
            else:
                penalty = self._output_penalty(u, target, equation, x, main_nodes)
            info["regularization"] = self.regularization * penalty
        return info

    def _output_penalty(self, u: Field, target: Field, equation: Equation, x: Any, main_nodes: Sequence[Any]) -> Float[Array, ""]:
        """The mean over outputs of (u − target)², at x where f is given, at the main nodes in the weak form."""

        def at(point: Float[Array, "d"]) -> Float[Array, ""]:
            return jnp.mean((u(point) - target(point)) ** 2)

        if equation.f is not None:
            return at(x)
        means = [
            jnp.mean(jax.vmap(lambda t, integral=integral: at(integral.network_input(x, t)))(nodes.points))
            for integral, nodes in zip(equation.integrals, main_nodes, strict=True)
        ]
        return sum(means, jnp.zeros(())) / len(means)

    def update(self, u: Field, state: Field, step: Array) -> Field:
        if self.every is not None:
            copy = (step + 1) % self.every == 0
            return jax.tree.map(lambda old, new: jnp.where(copy, new, old) if _is_inexact(new) else new, state, u)
        return jax.tree.map(lambda old, new: self.tau * old + (1 - self.tau) * new if _is_inexact(new) else new, state, u)


def _is_inexact(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.inexact)
