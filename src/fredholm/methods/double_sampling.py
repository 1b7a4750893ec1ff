"""Double sampling: the product of two independent residuals."""

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.checks import nearest
from fredholm.domains import AbstractDomain, Nodes
from fredholm.equation import Equation
from fredholm.methods.base import AbstractMethod, Info, draw, product, weighted_integrand
from fredholm.methods.shares import residuals
from fredholm.networks import Field
from fredholm.residual import AbstractResidual
from fredholm.rules import AbstractRule, MonteCarlo


class DoubleSampling(AbstractMethod):
    r"""Two independent estimates of the residual, multiplied: unbiased, and possibly negative,

    $$\hat L(x) = \hat r_1(x)\,\hat r_2(x), \qquad \mathbb{E}\,\hat L = L.$$

    `pairs="split"` cuts N independent nodes into two halves. `pairs="all"` multiplies every node with every other, the U-statistic
    $\hat r^2 - s^2/N$ with the unbiased sample variance $s^2$: the same expectation from the same nodes with less variance.
    A randomised node rule is drawn twice (Saleh et al., ICML 2024, equation 17).
    """

    pairs: Literal["split", "all"] = "split"  # split: two halves of the nodes; all: every pair of nodes

    def __check_init__(self):
        if self.pairs not in ("split", "all"):
            raise nearest("pairs", str(self.pairs), ("split", "all"))

    def check(self, equation: Equation, rules: Sequence[AbstractRule]) -> None:
        if not rules:
            raise ValueError("DoubleSampling: the equation has no integral to sample; use Standard().")
        for residual, own in residuals(equation, rules):
            x = residual.law.sample(jax.random.key(0))
            for integral, rule in zip(residual.integrals, own, strict=True):
                self._check_rule(rule, integral.measure(x), chosen=integral.rule is not None)

    def _check_rule(self, rule: AbstractRule, measure: AbstractDomain, *, chosen: bool) -> None:
        if measure.samples == 1:
            raise ValueError(
                "DoubleSampling: there is one given sample at each x (offline pairs), and two residuals from the same sample are not "
                "independent: their product is biased like the standard loss. Give at least 2 samples at each x, or use DelayedTarget()."
            )
        if rule.has_negative_weights(measure):
            raise ValueError(
                f"DoubleSampling: got {rule!r}, which has negative weights (sum |w| = {rule.absolute_weight(measure):.3g}): "
                "the noise of each of the two residuals is magnified by that factor, and that of their product by its square. "
                "Use MonteCarlo(n) or QuasiMonteCarlo(n, randomize=Shift())."
            )
        if not rule.is_random and not chosen:  # Fixed nodes that one integral was given on purpose have no noise to make independent.
            raise ValueError(
                f"DoubleSampling: got {rule!r}, whose nodes are always the same, so two draws are not independent. "
                "Use MonteCarlo(n), or give the rule randomize=Shift() or Rotation()."
            )
        if isinstance(rule, MonteCarlo) and rule.n < 2:
            raise ValueError("DoubleSampling: got MonteCarlo(1); two independent residuals need at least 2 points, MonteCarlo(2).")
        if isinstance(rule, MonteCarlo) and self.pairs == "split" and rule.n % 2:
            raise ValueError(f"DoubleSampling(pairs='split'): got MonteCarlo({rule.n}); expected an even number of points.")

    def residual_loss(
        self, u: Field, state: Any, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Info:
        if self.pairs == "all" and all(isinstance(rule, MonteCarlo) for rule in rules):
            return {"residual": self._all_pairs(u, residual, draw(residual, rules, x, key), x)}
        halves = [MonteCarlo(rule.n // 2) if isinstance(rule, MonteCarlo) else rule for rule in rules]
        return {"residual": product(u, residual, halves, x, key)}

    def _all_pairs(self, u: Field, residual: AbstractResidual, nodes: Sequence[Nodes], x: Any) -> Float[Array, ""]:
        r, variance = residual.left(u, x), jnp.zeros((1,))
        for integral, drawn in zip(residual.integrals, nodes, strict=True):
            values = weighted_integrand(integral, u, x, drawn)  # each is 1/N of a sample of the integral
            n = values.shape[0]
            r = r + residual.sign * jnp.sum(values, axis=0)
            variance = variance + n * jnp.var(values, axis=0, ddof=1)  # the unbiased variance of the mean of n samples
        return jnp.sum(r**2 - variance)
