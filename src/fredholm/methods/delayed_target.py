"""Delayed targets: a Polyak-averaged copy of the network inside the integral."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from fredholm.common.checks import nearest, positive_integer, real
from fredholm.common.findings import Finding
from fredholm.domains.base import AbstractDomain, Nodes
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, draw_pairs, estimate, weighted_integrand
from fredholm.equation.residual import AbstractCondition, AbstractResidual, Integral, Place, network_point
from fredholm.functions.field import Function, evaluated, unknowns_of, with_unknowns
from fredholm.methods.history import late
from fredholm.methods.protocol import AbstractMethod, Info, Rows, Trained, ema_weight, independent_rows, lerp
from fredholm.optimizers.adam import slower
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo

if TYPE_CHECKING:
    import xarray

TARGET_TAU = 0.999  # with tau=None the target is a mean over at most the last 1000 steps
FASTEST = 0.05  # and over at least about 20: with a faster target the first steps of Maxwell's equations diverge
OBSERVED = 32  # points x at which the drift is measured in each step, whatever the batch is
SMALL_BATCH = 9.0  # in the weak form λ is 10 times the quotient with one x a step, 3 times with 20, and nearly the quotient with 400
OBSERVED_TAU = 0.999  # what was measured more than 1000 steps ago is forgotten
APART = 0.3  # a distance to the target above this share of the network's size counts as drift
REMEMBERED = 5  # a run should be this many times as long as the memory of its target
QUOTIENT_POINTS = 512  # points x at which a diagnosis measures λ


class Observed(eqx.Module):
    """The target, and the measured drift for the adaptive regulariser."""

    target: Function
    change: Float[Array, ""]  # a running mean of the squared change of the integrals along the drift
    penalty: Float[Array, ""]  # a running mean of the regulariser's penalty, (u − ū)²


class DelayedTarget(AbstractMethod[Function | Observed]):
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

    and squares r, so it keeps 1/(M N') of the excess variance of the standard loss. Without a split there is no excess variance.

    λ is an inverse step in function space: the larger the integrals' change along the drift $u - \bar u$, the smaller the step must be.
    `regularization=None` measures it, a Rayleigh quotient of running means at random nodes: in the weak form with B points x a step, whose
    gradient is the noisier the fewer they are, and where f is given,

    $$\lambda = \Big(1 + \frac9{\sqrt B}\Big)\frac{\mathbb{E}\,(\omega g[u] - \omega g[\bar u])^2}{\mathbb{E}\,(u - \bar u)^2}, \qquad
      \lambda = \frac{\mathbb{E}_x\,\big(\mathbb{E}_t\,(\omega g[u] - \omega g[\bar u])\big)^2}{\mathbb{E}\,(u - \bar u)^2}.$$

    A condition on an integral has no f, and a target would save no second derivative there. So it uses the product of two independent
    residuals, as in double sampling. Learned scalars inside an integral have no delayed copy. Their gradient comes from separate nodes.

    Args:
        tau (float): τ, how much of the target stays at each step; None: a mean over the last fiftieth of the steps, 20 to 1000.
        regularization (float): λ, the weight of the pull of the network to its target; None: measured along the drift.
        split (float): M, the published weight of the target part; None: the limit of large M.
        main (int or rule): N', the nodes of the main part (a weak form or a split has one); None: as the target's.
        every (int): T: copy the network to the target every T steps, instead of averaging with τ; default: None.
        on (str): regularise the raw output u, as the published runs do, or f, as the paper's text has it; default: 'output'.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.DelayedTarget(tau=0.99, regularization=1.0).tau
        0.99

    See also:
        `DoubleSampling`, `Auto`.
    """

    tau: float | None = None  # τ, how much of the target stays at each step; None: a mean over the last fiftieth of the steps, 20 to 1000
    regularization: float | None = None  # λ, the weight of the pull of the network to its target; None: measured along the drift
    split: float | None = None  # M, the published weight of the target part; None: the limit of large M
    main: int | AbstractRule | None = None  # N', the nodes of the main part (a weak form or a split has one); None: as the target's
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

    # ---- the state: the target, and its measured drift ----

    def init(self, u: Function) -> Function | Observed:
        return u if self.regularization is not None else Observed(u, jnp.zeros(()), jnp.zeros(()))

    def target(self, u: Function, state: Function | Observed) -> Function:
        return state.target if isinstance(state, Observed) else state

    def update(
        self, u: Function, state: Function | Observed, equation: Equation, batch: int, step: Int[Array, ""], key: Key[Array, ""]
    ) -> Function | Observed:
        if self.every is not None:
            weight = jnp.where((step + 1) % self.every == 0, 1.0, 0.0)
        else:
            weight = jnp.minimum(FASTEST, ema_weight(step, TARGET_TAU)) if self.tau is None else 1 - self.tau
        target = lerp(self.target(u, state), u, weight)
        if not isinstance(state, Observed):
            return target
        # fold_in(key, i) is the key i of any split(key, n), and the loss splits the key of its step in four.
        key = jax.random.fold_in(key, 4)
        return self.observe(u, Observed(target, state.change, state.penalty), equation, batch, step + 1, key)

    def state_at(self, u: Function, target: Function, equation: Equation, batch: int, key: Key[Array, ""]) -> Function | Observed:
        state = self.init(target)
        return self.observe(u, state, equation, batch, jnp.asarray(0), key) if isinstance(state, Observed) else state

    def observe(self, u: Function, state: Observed, equation: Equation, batch: int, step: Int[Array, ""], key: Key[Array, ""]) -> Observed:
        """The state with the drift measured once more, for the λ of the step with this number."""
        change, penalty = self.drift(u, state.target, equation, key, OBSERVED)
        if equation.is_weak:
            # The fewer x a step has, the noisier its gradient. With a split, the gradient is 1/M of the other form's, and so is λ.
            change = change * (1 + SMALL_BATCH / math.sqrt(batch)) * (self.share or 1.0)
        # One infinite integrand would stay in the running mean forever.
        weight = jnp.where(jnp.isfinite(change) & jnp.isfinite(penalty), ema_weight(step, OBSERVED_TAU), 0.0)
        pairs = ((state.change, change), (state.penalty, penalty))
        return Observed(state.target, *(lerp(old, jnp.nan_to_num(new, nan=0.0, posinf=0.0, neginf=0.0), weight) for old, new in pairs))

    def drift(
        self, u: Function, target: Function, equation: Equation, key: Key[Array, ""], points: int
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The mean squared change of the integrals from the target to the network, and the mean penalty, over `points` points x.

        In the weak form the network is inside the integral, at random nodes, and the noise of the integrand counts: one node, squared.
        Where f is given the integral is only a label, and its noise does not change the network's own gradient. There the product of two
        independent nodes estimates the square of the mean change without bias.
        """
        target = with_unknowns(target, unknowns_of(u))  # learned scalars have no delayed copy in the loss either

        def at_one_point(key: Key[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
            key_point, key_nodes, key_others = jax.random.split(key, 3)
            x = equation.domain.sample(key_point)
            nodes, others = (draw(equation, [MonteCarlo(1)] * len(equation.integrals), x, k) for k in (key_nodes, key_others))
            if equation.is_weak:
                values, penalty = self._main_values_and_penalty(u, target, equation, x, nodes)
                pairs = zip(values, equation.integrals, nodes, strict=True)
                changes = [of_u - weighted_integrand(one, target, x, n) for of_u, one, n in pairs]
                return sum((jnp.sum(change**2) for change in changes), jnp.zeros(())), penalty.loss()
            _, penalty = self._main_values_and_penalty(u, target, equation, x, nodes)
            one, other = (estimate(equation, u, x, n) - estimate(equation, target, x, n) for n in (nodes, others))
            return jnp.sum(one * other), penalty.loss()

        change, penalty = jax.vmap(at_one_point)(jax.random.split(key, points))
        return jnp.mean(change), jnp.mean(penalty)

    def weight(self, state: Function | Observed) -> Float[Array, ""]:
        """λ."""
        if not isinstance(state, Observed):
            return jnp.asarray(self.regularization, float)
        # Before the first drift the change is only rounding error, and dividing it by 0 would ruin the first step.
        # A mean of products of independent nodes may be negative where noise dominates.
        drifted = state.penalty > 0
        return jnp.where(drifted, jnp.maximum(state.change, 0.0) / jnp.where(drifted, state.penalty, 1.0), 0.0)

    def recorded(self, state: Function | Observed) -> Info:
        return {"regularization_weight": self.weight(state)} if isinstance(state, Observed) else {}

    # ---- the rows ----

    @property
    def share(self) -> float:
        """1/M, the weight of the main network in the integrals."""
        return 0.0 if self.split is None else 1.0 / self.split

    def has_main(self, residual: AbstractResidual) -> bool:
        """True where the network itself is also inside the integrals, at separate nodes."""
        return residual.is_weak or self.split is not None

    def main_rules(self, rules: Sequence[AbstractRule]) -> list[AbstractRule]:
        """The rules of the main part."""
        if self.main is None:
            return list(rules)
        return [self.main if isinstance(self.main, AbstractRule) else MonteCarlo(self.main) for _ in rules]

    def rows(
        self,
        u: Function,
        state: Function | Observed,
        residual: AbstractResidual,
        rules: Sequence[AbstractRule],
        x: Place,
        key: Key[Array, ""],
    ) -> dict[str, Rows]:
        if isinstance(residual, AbstractCondition):
            return {"residual": independent_rows(u, residual, rules, x, key)}
        target, unknowns = self.target(u, state), unknowns_of(u)
        nodes, other_nodes = self._draw(residual, rules, x, key, bool(unknowns))
        values, penalty = self._main_values_and_penalty(u, target, residual, x, other_nodes)
        main = sum((jnp.sum(value, axis=0) for value in values), jnp.zeros((1,)))
        local = residual.local_residual(u, x)
        inside = estimate(residual, with_unknowns(target, jax.lax.stop_gradient(unknowns)), x, nodes)
        delayed = local + residual.sign * inside  # the residual with the target in all of the integrals
        if residual.is_weak and self.split is None:
            rows = Rows(local + residual.sign * main, delayed)
        else:
            r = local + residual.sign * ((1 - self.share) * inside + self.share * main)
            pulled = [self._pull_on_unknowns(u, target, residual, x, other_nodes)] if unknowns else []
            rows = Rows(jnp.concatenate([r, *pulled]), jnp.concatenate([r, *(delayed for _ in pulled)]))
        if self.regularization == 0:
            return {"residual": rows}
        return {"residual": rows, "regularization": Rows(penalty.a, penalty.b, penalty.weight * self.weight(state))}

    def _draw(
        self, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""], has_unknowns: bool
    ) -> tuple[list[Nodes], list[Nodes]]:
        """The nodes of the target, and independent nodes of the network where it needs them."""
        if self.has_main(residual):
            return draw_pairs(residual, rules, self.main_rules(rules), x, key)
        return draw_pairs(residual, rules, rules, x, key) if has_unknowns else (draw(residual, rules, x, key), [])

    def _main_values_and_penalty(
        self, u: Function, target: Function, residual: AbstractResidual, x: Place, nodes: Sequence[Nodes]
    ) -> tuple[list[Float[Array, "_ e"]], Rows]:
        """The weighted integrands of the network itself (empty where it is not inside the integrals), and the penalty of the regulariser.
        With `on="output"` the penalty is u − ū, at x where f is given and at the main nodes in the weak form. With `on="f"` it is the
        change of f and of the main part."""
        if residual.is_weak and self.on == "output" and self.regularization != 0:
            return self._at_main_nodes(u, target, residual, x, nodes)
        values = []
        if self.has_main(residual):
            values = [weighted_integrand(integral, u, x, n) for integral, n in zip(residual.integrals, nodes, strict=True)]
        if self.regularization == 0:
            return values, Rows(jnp.zeros((1,)), jnp.zeros((1,)))
        if self.on == "output":
            point = network_point(x)
            apart = jnp.atleast_1d(u(point) - target(point))
            return values, Rows(apart, apart, 1 / apart.size)
        # In the weak form the paper's f is the main part, a share 1/M of the integral. Without a split it is the whole integral.
        share = 1.0 if self.split is None else self.share
        main = sum((jnp.sum(value, axis=0) for value in values), jnp.zeros((1,)))
        copy = estimate(residual, target, x, nodes) if self.has_main(residual) else jnp.zeros((1,))
        change = residual.local_residual(u, x) - residual.local_residual(target, x) + residual.sign * share * (main - copy)
        return values, Rows(change, change)

    def _at_main_nodes(
        self, u: Function, target: Function, residual: AbstractResidual, x: Place, nodes: Sequence[Nodes]
    ) -> tuple[list[Float[Array, "_ e"]], Rows]:
        """The network's own integrands and its distance to the target at their nodes, both from one evaluation at each node."""
        values, distances = [], []
        for integral, drawn in zip(residual.integrals, nodes, strict=True):

            def at_node(t: Place, w: Float[Array, ""], integral: Integral = integral) -> tuple[Float[Array, "e"], Float[Array, "m"]]:
                point = integral.network_input(x, t)
                own = evaluated(u, point)
                return w * integral.integrand(own, x, t), jnp.atleast_1d(own(point) - target(point))

            value, distance = jax.vmap(at_node)(drawn.points, drawn.weights)
            values.append(value)
            distances.append(jnp.ravel(distance) / math.sqrt(distance.size))
        apart = jnp.concatenate(distances)
        return values, Rows(apart, apart, 1 / len(distances))

    def _pull_on_unknowns(
        self, u: Function, target: Function, residual: AbstractResidual, x: Place, nodes: Sequence[Nodes]
    ) -> Float[Array, "e"]:
        """A row with value 0. Its gradient is that of the target part by the learned scalars inside the integrals.

        Scalars have no delayed copy. In the squared residual, the noise of the target part would bias them as in the standard loss. Here
        the row is multiplied with a residual from other nodes, with the target in all integrals, so the gradient is unbiased.
        """
        inside = with_unknowns(target, unknowns_of(u))
        part = residual.sign * (1 - self.share) * estimate(residual, inside, x, nodes)
        return part - jax.lax.stop_gradient(part)

    # ---- its properties ----

    def check(self, equation: Equation, rules: Sequence[AbstractRule]) -> None:
        if not rules:
            raise ValueError("DelayedTarget: the equation has no integral to put a target into; use Standard().")
        x = equation.domain.sample(jax.random.key(0))
        if equation.f is not None and network_point(x) is None and self.on == "output" and self.regularization != 0:
            raise ValueError(
                "DelayedTarget: x is a Law without a part named point, so the network has no output at x to regularise. Name the part "
                "where the network is evaluated point=, or use DelayedTarget(on='f') or regularization=0."
            )
        if self.main is not None and not self.has_main(equation):
            raise ValueError(
                f"DelayedTarget: got main={self.main!r} for an equation with f and without a split; expected none: the network itself is "
                "not inside the integrals there, so that N' nodes have no use. Leave main out, or give split=M, the published form."
            )
        for residual, own in residuals(equation, rules):
            x = residual.law.sample(jax.random.key(0))
            # The equation's second draw is the main part's; the other cases are explained where they are computed.
            second = self.main_rules(own) if residual is equation and self.has_main(equation) else own
            needs_two = residual is not equation or self.has_main(equation) or bool(equation.unknowns)
            for integral, rule, other in zip(residual.integrals, own, second, strict=True):
                if needs_two:
                    _check_two(rule, other, integral.measure(x))

    def draws(self, equation: Equation, rules: Sequence[AbstractRule]) -> list[list[tuple[AbstractRule, int]]]:
        if not self.has_main(equation):
            return [[(rule, 2 if equation.unknowns else 1)] for rule in rules]
        # Regularised on f, the target is evaluated at the main nodes too; and learned scalars have their gradient from there.
        times = 2 if self.on == "f" and self.regularization != 0 else 1
        pulled = bool(equation.unknowns) and not (equation.is_weak and self.split is None)
        return [[(rule, 1), (main, times + pulled)] for rule, main in zip(rules, self.main_rules(rules), strict=True)]

    def measured(self, equation: Equation) -> int:
        if self.regularization is not None:
            return 0
        of_target = self.on == "f" and self.has_main(equation)  # the penalty evaluates the target's own integrands, and u's main part
        each = 2 + of_target if equation.is_weak else 4 + self.has_main(equation) + of_target
        return OBSERVED * each * len(equation.integrals)

    def target_weight(self, equation: Equation) -> float | None:
        return 1 - self.share

    def is_least_squares(self, equation: Equation) -> bool:
        return not equation.unknowns and (self.split is not None or not equation.is_weak)

    @property
    def has_target(self) -> bool:
        return True

    @property
    def remark(self) -> str:
        return "τ follows the run, λ is measured along the drift, N' = N"

    def symptoms(self, history: "xarray.Dataset", steps: int, trained: Trained | None = None) -> list[Finding]:
        # A lagging target is far from the network for that reason alone.
        found = self._lag(steps) or self._apart(history, trained)
        return [] if found is None else [found]

    def _lag(self, steps: int) -> Finding | None:
        if self.tau is None and self.every is None:
            return None
        window = float(self.every) if self.every is not None else 1 / (1 - (self.tau or 0.0))
        if window * REMEMBERED < steps:
            return None
        which = f"every = {self.every}" if self.every is not None else f"τ = {self.tau:g}"
        text = (
            f"the target lags: with {which} it remembers {window:.0f} steps of a run of {steps}, so that the integrals still hold "
            "the first networks. Leave τ to follow the run: DelayedTarget(tau=None)."
        )
        return Finding("warning", "lag", text, {"method": dataclasses.replace(self, tau=None, every=None)})

    def _apart(self, history: "xarray.Dataset", trained: Trained | None) -> Finding | None:
        apart = late(history, "drift") / max(late(history, "size"), np.finfo(float).tiny)
        if not apart > APART:
            return None
        weight = late(history, "regularization_weight") if self.regularization is None else self.regularization
        text = (
            f"the network is {apart:.0%} of its size away from its target: they drift apart, since the pull λ = {weight:.3g} is too weak "
            f"for this operator{self._quotient(trained)}. "
        )
        if self.adaptive() == self and trained is not None:
            calmer = slower(trained.optimizer)
            text += f"λ and τ are measured already: use a smaller learning rate, {calmer!r}."
            return Finding("warning", "drift", text, {"optimizer": calmer})
        return Finding("warning", "drift", f"{text}Leave λ and τ to be measured: DelayedTarget().", {"method": self.adaptive()})

    def why_failed(self, ends: str, trained: Trained) -> Finding:
        if self.regularization is None:
            calmer = slower(trained.optimizer)
            text = f"{ends}. λ is measured already: use a smaller learning rate, {calmer!r}."
            return Finding("error", "failed", text, {"optimizer": calmer})
        text = f"{ends}. The pull λ = {self.regularization:g} is too weak for this operator{self._quotient(trained)}; "
        return Finding("error", "failed", f"{text}leave it to DelayedTarget().", {"method": self.adaptive()})

    def adaptive(self) -> "DelayedTarget":
        """The method with τ and λ left to be measured."""
        return dataclasses.replace(self, regularization=None, split=None, tau=None, every=None)

    def _quotient(self, trained: Trained | None) -> str:
        """The right λ, measured along the drift, as the end of a sentence."""
        if trained is None:
            return ""
        own = dataclasses.replace(self, split=None, regularization=None)
        measure = jax.jit(lambda key: own.drift(trained.u, trained.target, trained.equation, key, QUOTIENT_POINTS))
        change, penalty = measure(jax.random.key(12))
        found = float(change / penalty)
        return f"; measured along the drift, λ should be {max(found, 0.0):.3g}" if math.isfinite(found) else ""


def _check_two(rule: AbstractRule, other: AbstractRule, measure: AbstractDomain) -> None:
    other.check(measure)
    needed = rule.size(measure) + other.size(measure)
    if measure.samples is not None and rule.is_random and needed > measure.samples:
        raise ValueError(
            f"DelayedTarget: a weak form, a condition on an integral and learned scalars need two independent draws of the integral, "
            f"here of {needed} samples, and {measure.samples} are given at each x. Give more samples, or use fewer nodes."
        )
