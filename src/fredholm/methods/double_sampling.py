"""Double sampling: the product of two independent residuals."""

from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from fredholm.common.checks import nearest
from fredholm.common.findings import Finding
from fredholm.domains.base import AbstractDomain, Nodes
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, weighted_integrand
from fredholm.equation.residual import AbstractResidual, Place
from fredholm.functions.field import Function
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.protocol import AbstractMethod, Rows, Trained, independent_rows
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo


class DoubleSampling(AbstractMethod[None]):
    r"""Two independent estimates of the residual, multiplied: unbiased, and possibly negative,

    $$\hat L(x) = \hat r_1(x)\,\hat r_2(x), \qquad \mathbb{E}\,\hat L = L.$$

    `pairs="split"` cuts N independent nodes into two halves. `pairs="all"` multiplies every node with every other, the U-statistic
    $\hat r^2 - s^2/N$ with the unbiased sample variance $s^2$: the same expectation from the same nodes with less variance. Where a rule
    has several kinds of nodes, as `Focused`, the variance is that within each kind. Any other randomised rule is drawn twice (Saleh et
    al., ICML 2024, equation 17).

    Args:
        pairs (str): split: two halves of the nodes; all: every pair of nodes; default: 'split'.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.DoubleSampling("all")
        DoubleSampling(pairs='all')

    See also:
        `DelayedTarget`, `Standard`.
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
        if not rule.is_random and not chosen:  # fixed nodes chosen for one integral have no noise
            raise ValueError(
                f"DoubleSampling: got {rule!r}, whose nodes are always the same, so two draws are not independent. "
                "Use MonteCarlo(n), or give the rule randomize=Shift() or Rotation()."
            )
        if isinstance(rule, MonteCarlo) and rule.n < 2:
            raise ValueError("DoubleSampling: got MonteCarlo(1); two independent residuals need at least 2 points, MonteCarlo(2).")
        if isinstance(rule, MonteCarlo) and self.pairs == "split" and rule.n % 2:
            raise ValueError(f"DoubleSampling(pairs='split'): got MonteCarlo({rule.n}); expected an even number of points.")

    def rows(
        self, u: Function, state: None, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]
    ) -> dict[str, Rows]:
        if self._has_all_pairs(rules):
            return {"residual": self._all_pairs(u, residual, rules, draw(residual, rules, x, key), x)}
        return {"residual": independent_rows(u, residual, _halves(rules), x, key)}

    def _has_all_pairs(self, rules: Sequence[AbstractRule]) -> bool:
        return self.pairs == "all" and all(min(rule.groups, default=0) >= self.fewest_nodes for rule in rules)

    def _all_pairs(self, u: Function, residual: AbstractResidual, rules: Sequence[AbstractRule], nodes: Sequence[Nodes], x: Place) -> Rows:
        r"""$\hat r^2 - \sum_k \frac{n_k}{n_k - 1} \sum_i (v_{ki} - \bar v_k)^2$, where $v_{ki}$ is the weighted integrand at a node and k
        counts the groups of nodes of all integrals: the last sum is the unbiased variance of the estimate by a group."""
        r, spread, taken = residual.local_residual(u, x), [], []
        for integral, rule, drawn in zip(residual.integrals, rules, nodes, strict=True):
            values = weighted_integrand(integral, u, x, drawn)
            r = r + residual.sign * jnp.sum(values, axis=0)
            for group in jnp.split(values, np.cumsum(rule.groups)[:-1]):
                n = group.shape[0]
                spread.append(jnp.ravel(group - jnp.mean(group, axis=0, keepdims=True)))
                taken.append(spread[-1] * (n / (n - 1)))
        return Rows(jnp.concatenate([r, *spread]), jnp.concatenate([r, *(-one for one in taken)]))

    def draws(self, equation: Equation, rules: Sequence[AbstractRule]) -> list[list[tuple[AbstractRule, int]]]:
        once = self._has_all_pairs(rules)
        return [[(rule, 1 if once or isinstance(rule, MonteCarlo) else 2)] for rule in rules]

    def is_least_squares(self, equation: Equation) -> bool:
        return True

    @property
    def fewest_nodes(self) -> int:
        return 2

    def why_failed(self, ends: str, trained: Trained) -> Finding:
        return Finding("error", "failed", f"{ends}. Use DelayedTarget(), or a smaller learning rate.", {"method": DelayedTarget()})


def _halves(rules: Sequence[AbstractRule]) -> list[AbstractRule]:
    """The rules that are drawn twice: half of the nodes of MonteCarlo, and any other rule unchanged."""
    return [MonteCarlo(rule.n // 2) if isinstance(rule, MonteCarlo) else rule for rule in rules]
