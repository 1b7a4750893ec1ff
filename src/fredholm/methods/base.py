"""What the four families share: the mean over a batch of points, and integrals at one point."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.conditions import AbstractCondition
from fredholm.domains import Nodes
from fredholm.draws import fold_in, split
from fredholm.equation import Equation
from fredholm.methods.shares import Share, mean_in_tiles, shares
from fredholm.networks import Field
from fredholm.residual import AbstractResidual, Integral
from fredholm.rules import AbstractRule, MonteCarlo

Info = dict[str, Float[Array, ""]]


class AbstractMethod(eqx.Module):
    """How the residual, whose integrals are only estimated, becomes a loss.

    `init` makes what the next step needs besides the network. In each step `observe` measures what the method wants to know,
    `loss_and_gradient` is what the optimiser gets, and `update` follows its step. A family says what the loss is at one x, `residual_loss`;
    the means over all x, whole or in parts, are the same for all.
    """

    def check(self, equation: Equation, rules: Sequence[AbstractRule]) -> None:
        """Raises `ValueError` where the method makes no sense for the equation or the rules (`equation.rules(rule)`)."""

    def init(self, u: Field) -> Any:
        """The state before the first step."""
        return None

    def observe(self, u: Field, state: Any, equation: Equation, batch: int, step: Int[Array, ""], key: Key[Array, ""]) -> Any:
        """The state with what the method measures for itself before a step with so many x, on points of its own."""
        return state

    def recorded(self, state: Any) -> Info:
        """What the history should hold of the state."""
        return {}

    @abstractmethod
    def residual_loss(
        self, u: Field, state: Any, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Info:
        """The parts of the loss at one x; what is trained on is their sum. `rules` are those of the residual's own integrals."""

    def condition_loss(
        self, u: Field, state: Any, condition: AbstractCondition, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Float[Array, ""]:
        """The loss of a condition at one x, without its weight: a condition is a residual like the equation."""
        return self.residual_loss(u, state, condition, rules, x, key)["residual"]

    def update(self, u: Field, state: Any, step: Int[Array, ""]) -> Any:
        """The state after the optimiser's step."""
        return state

    def target(self, u: Field, state: Any) -> Field:
        """The network inside the integrals."""
        return u

    def loss(
        self, u: Field, state: Any, equation: Equation, rules: Sequence[AbstractRule], batch: int, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Info]:
        """The loss of one step and its parts: the mean over a fresh batch of x, plus the conditions."""
        return _summed([self._mean(u, state, share) for share in shares(equation, rules, batch, key)])

    def loss_and_gradient(
        self, u: Field, state: Any, equation: Equation, rules: Sequence[AbstractRule], batch: int, key: Key[Array, ""], at_once: int
    ) -> tuple[tuple[Float[Array, ""], Info], Any]:
        """`loss` with its gradient by u. Where the batch is larger than so many x, these go there and back again through the network before
        the next: the same x and nodes, and the same sums in another order, but never more in memory than that many need. Conditions, whose
        points are not the equation's, stay whole."""
        if at_once >= batch:
            return eqx.filter_value_and_grad(self.loss, has_aux=True)(u, state, equation, rules, batch, key)

        def of(share: Share) -> tuple[Info, Any]:
            def loss(u: Field) -> tuple[Float[Array, ""], Info]:
                return _summed([self._mean(u, state, share)])

            (_, info), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(u)
            return info, gradient

        own, *others = shares(equation, rules, batch, key)
        found = [mean_in_tiles(of, own, at_once), *map(of, others)]
        return _summed([info for info, _ in found]), jax.tree.map(lambda *parts: sum(parts), *(gradient for _, gradient in found))

    def _mean(self, u: Field, state: Any, share: Share) -> Info:
        def at_one_point(x: Any, key: Key[Array, ""]) -> Info:
            if not isinstance(share.residual, AbstractCondition):
                return self.residual_loss(u.remembering(), state, share.residual, share.rules, x, key)
            loss = self.condition_loss(u.remembering(), state, share.residual, share.rules, x, key)
            return {"conditions": share.residual.weight * loss}

        return {name: jnp.mean(values) for name, values in jax.vmap(at_one_point)(share.points, share.keys).items()}


def _summed(found: Sequence[Info]) -> tuple[Float[Array, ""], Info]:
    """The loss, and its parts by their names."""
    info: Info = {}
    for part in found:
        info |= {name: info.get(name, jnp.zeros(())) + value for name, value in part.items()}
    return sum(info.values(), jnp.zeros(())), info


def growing_share(step: Int[Array, ""], stays: float) -> Float[Array, ""]:
    r"""$\max\big(1 - a, \frac{50}{k + 49}\big)$ after step k, the share of the newest in a mean over the last $1/(1 - a)$ steps, or over
    about the last fiftieth of fewer, so that the first values, which know nothing yet, are soon forgotten; and nothing depends on how
    many steps are still to come. `step` is k − 1 and `stays` is a."""
    return jnp.maximum(1 - stays, 50 / (step + 50))


def moved(old: Any, new: Any, share: Any) -> Any:
    """Every number a share of the way from the old value to the new; with the share 1 it is the new one, to the last bit."""
    return jax.tree.map(lambda a, b: (1 - share) * a + share * b if eqx.is_inexact_array(b) else b, old, new)


def weighted_integrand(integral: Integral, u: Field, x: Any, nodes: Nodes) -> Float[Array, "k e"]:
    r"""$w_i\, g(u, x, t_i)$ at every node; the sum over i estimates the integral."""
    return jax.vmap(lambda t, w: w * integral.integrand(u, x, t))(nodes.points, nodes.weights)


def estimate(residual: AbstractResidual, u: Field, x: Any, nodes: Sequence[Nodes]) -> Float[Array, "e"]:
    """The sum of all integrals at x, each from its own nodes."""
    return sum(
        (jnp.sum(weighted_integrand(integral, u, x, n), axis=0) for integral, n in zip(residual.integrals, nodes, strict=True)),
        jnp.zeros((1,)),
    )


def draw(residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]) -> list[Nodes]:
    """One draw of nodes for every integral."""
    return [
        rule.nodes(integral.measure(x), fold_in(key, index))
        for index, (integral, rule) in enumerate(zip(residual.integrals, rules, strict=True))
    ]


def looked_at(equation: Equation, n: int) -> Float[Array, "n d"] | None:
    """About n points where the network is looked at: those of the evaluation, or nodes of the first integral. None where there are
    neither."""
    if equation.evaluation is not None:
        return equation.evaluation.points(n)
    if not equation.integrals:
        return None
    integral = equation.integrals[0]

    def one(key: Key[Array, ""]) -> Any:
        key_point, key_node = split(key)
        x = equation.domain.sample(key_point)
        return integral.network_input(x, MonteCarlo(1).nodes(integral.measure(x), key_node).points[0])

    points = jax.vmap(one)(split(jax.random.key(2024), n))
    return points if isinstance(points, jax.Array) and points.shape[1:] == (equation.inputs,) else None


def draw_pairs(
    residual: AbstractResidual, first: Sequence[AbstractRule], second: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
) -> tuple[list[Nodes], list[Nodes]]:
    """Two independent draws of nodes for every integral."""
    pairs = [
        one.pair(other, integral.measure(x), fold_in(key, index))
        for index, (integral, one, other) in enumerate(zip(residual.integrals, first, second, strict=True))
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def product(u: Field, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]) -> Float[Array, ""]:
    """Two independent residuals at x, multiplied, and summed over the equations: unbiased, since their noises are independent."""
    first, second = draw_pairs(residual, rules, rules, x, key)
    left = residual.left(u, x)
    one, other = (left + residual.sign * estimate(residual, u, x, nodes) for nodes in (first, second))
    return jnp.sum(one * other)
