r"""The base class of methods: a pair of rows (a, b) at one x, whose gradient is $2\,\mathbb{E}[\partial a^\top b]$."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.common.findings import Finding
from fredholm.domains.base import AbstractDomain
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import independent_residuals
from fredholm.equation.residual import AbstractCondition, AbstractResidual, Place
from fredholm.functions.field import Field, Function
from fredholm.methods.sharing import WHOLE, Share, Sharing, mean_in_tiles
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.rules.base import AbstractRule

if TYPE_CHECKING:
    import xarray

State = TypeVar("State")
Info = dict[str, Float[Array, ""]]


class Rows(eqx.Module):
    r"""Two vectors at one x that a method makes from a residual. The loss is $w\,\mathbb{E}[a^\top b]$, and its gradient is
    $2 w\,\mathbb{E}[\partial a^\top b]$: only a is differentiated, b is constant.

    The standard method has a = b, the residual itself; double sampling two independent residuals; delayed targets f[u], and the residual
    with the target inside of the integral. First-order training, Gauss–Newton steps and linear systems all come from these rows.
    """

    a: Float[Array, "r"]
    b: Float[Array, "r"]
    weight: Float[Array, ""] | float = 1.0  # w

    def loss(self) -> Float[Array, ""]:
        r"""$w\,a^\top b$, with the gradient $2 w\,\partial a^\top b$."""
        product = jnp.sum(self.a * jax.lax.stop_gradient(self.b))
        return jax.lax.stop_gradient(self.weight) * (2 * product - jax.lax.stop_gradient(product))


def independent_rows(u: Function, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]) -> Rows:
    """Two independent residuals, each multiplied with the other: unbiased, since their noises are independent."""
    one, other = independent_residuals(residual, u, rules, x, key)
    return Rows(jnp.concatenate([one, other]), jnp.concatenate([other, one]), 0.5)


class Evaluations(NamedTuple):
    """The number of evaluations of f and of the integrands in a step."""

    at_x: int  # evaluations of f for each x; 0 in the weak form
    at_nodes: int  # of integrands for each x, at its own nodes
    shared: int  # of integrands for all x together, at shared nodes of a domain that is the same at every x
    measured: int  # of integrands for the method's own measurements, independent of the batch

    def of_integrands(self, batch: int) -> int:
        """Evaluations of integrands in the loss of a step with `batch` points x."""
        return batch * self.at_nodes + self.shared

    def of_step(self, batch: int) -> int:
        """Evaluations of f and of integrands in the loss of a step with `batch` points x."""
        return batch * self.at_x + self.of_integrands(batch)


class Trained(eqx.Module):
    """One seed of a training, as a diagnosis sees it."""

    equation: Equation
    u: Field  # the network itself
    answer: Field  # its averaged parameters, or the same again
    target: Field  # the function inside the integrals
    rules: tuple[AbstractRule, ...]
    batch: int
    steps: int  # the number of steps done
    optimizer: AbstractOptimizer | None  # None where it was the user's own and is unknown


class AbstractMethod(eqx.Module, Generic[State]):
    """How a residual with estimated integrals becomes a loss.

    A method is one file. It defines its `rows` at one x, the number of evaluations of the integrands, the symptoms of a failing run and
    the weight of its target. `init` makes the state that the next step needs besides the network, and `update` runs after the optimiser's
    step. The means over all x, whole or in tiles, are the same for all methods. u is any callable whose arrays are its parameters.
    """

    # ---- the mathematics ----

    @abstractmethod
    def rows(
        self, u: Function, state: State, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]
    ) -> Mapping[str, Rows]:
        """The rows at one x by the name of their part of the loss, "residual" first; the loss is the sum of the parts.

        Args:
            u: the unknown function, through which the gradient flows.
            state: the state of the method between steps.
            residual: the equation or one of its conditions. Of the rows of a condition, only "residual" is used.
            rules: the rule of each of the residual's integrals.
            x: a point of the residual's domain.
            key: for the nodes at this x.
        """

    def init(self, u: Function) -> State:
        """The state before the first step."""
        return None  # type: ignore[return-value]

    def update(self, u: Function, state: State, equation: Equation, batch: int, step: Int[Array, ""], key: Key[Array, ""]) -> State:
        """The state after the optimiser's step number `step`, which made u; `key` is the key of the next step."""
        return state

    def state_at(self, u: Function, target: Function, equation: Equation, batch: int, key: Key[Array, ""]) -> State:
        """The state of a training with this network and this target."""
        return self.init(target)

    def target(self, u: Function, state: State) -> Function:
        """The function inside the integrals."""
        return u

    # ---- its properties ----

    def check(self, equation: Equation, rules: Sequence[AbstractRule]) -> None:
        """Raises `ValueError` where the method makes no sense for the equation or the rules (`equation.rules(rule)`)."""

    def draws(self, equation: Equation, rules: Sequence[AbstractRule]) -> list[list[tuple[AbstractRule, int]]]:
        """For each integral of the equation the rules whose nodes its integrand is evaluated at, for one x, and how often at each node."""
        return [[(rule, 1)] for rule in rules]

    def measured(self, equation: Equation) -> int:
        """Evaluations of integrands in each step for the method's own measurements."""
        return 0

    def symptoms(self, history: "xarray.Dataset", steps: int, trained: Trained | None = None) -> list[Finding]:
        """The symptoms of this method in the history of a run of `steps` steps. With `trained` they have more numbers."""
        return []

    def why_failed(self, ends: str, trained: Trained) -> Finding:
        """What to do about failed seeds. `ends` describes how they ended."""
        return Finding("error", "failed", f"{ends}. Use a smaller learning rate.")

    def target_weight(self, equation: Equation) -> float | None:
        """The weight of the delayed target in the residual; None where there is no target. The history records
        the variance of the estimated target times the square of this weight."""
        return None

    def recorded(self, state: State) -> Info:
        """The numbers of the state that the history records."""
        return {}

    @property
    def is_biased(self) -> bool:
        """True where the variance of random nodes shifts the solution."""
        return False

    def is_least_squares(self, equation: Equation) -> bool:
        """True where a = b for nodes without noise: then the loss is a sum of squares, and a step can be judged by its decrease."""
        return False

    @property
    def has_target(self) -> bool:
        """True where a delayed copy of the network is inside the integrals."""
        return False

    @property
    def fewest_nodes(self) -> int:
        """The smallest number of independent nodes that the method can work with."""
        return 1

    @property
    def remark(self) -> str:
        """A remark that `Auto` adds to its reasons when it chooses the method."""
        return ""

    # ---- the same for all methods ----

    def evaluations(self, equation: Equation, rules: Sequence[AbstractRule]) -> Evaluations:
        """How often a step evaluates the equation's integrands, and f; `rules` are those of all integrals (`equation.rules(rule)`)."""
        x = equation.domain.sample(jax.random.key(0))
        at_nodes = shared = 0
        for integral, drawn in zip(equation.integrals, self.draws(equation, rules[: len(equation.integrals)]), strict=True):
            is_fixed, measure = isinstance(integral.over, AbstractDomain), integral.measure(x)
            for rule, times in drawn:
                nodes = times * rule.size(measure)
                shared, at_nodes = (shared + nodes, at_nodes) if rule.is_shared and is_fixed else (shared, at_nodes + nodes)
        return Evaluations(0 if equation.is_weak else 1, at_nodes, shared, self.measured(equation))

    def loss(
        self, u: Function, state: State, equation: Equation, rules: Sequence[AbstractRule], batch: int, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Info]:
        """The loss of one step and its parts: the mean over a fresh batch of x, plus the conditions."""
        return summed([self.mean(u, state, share) for share in shares(equation, rules, batch, key)])

    def loss_and_gradient(
        self,
        u: Function,
        state: State,
        equation: Equation,
        rules: Sequence[AbstractRule],
        batch: int,
        key: Key[Array, ""],
        sharing: Sharing = WHOLE,
    ) -> tuple[tuple[Float[Array, ""], Info], PyTree]:
        """`loss` with its gradient by u, in the structure of u.

        With a `sharing`, each device does the forward and the backward pass of its points, a tile at a time, and the sums are added up.
        The x and the nodes are the same, and the sums are in another order. The memory is that of one tile. Conditions have their own
        points and are not cut into tiles.
        """
        if sharing == WHOLE:
            return eqx.filter_value_and_grad(self.loss, has_aux=True)(u, state, equation, rules, batch, key)

        def of(share: Share) -> tuple[Info, PyTree]:
            def loss(u: Function) -> tuple[Float[Array, ""], Info]:
                return summed([self.mean(u, state, share)])

            (_, info), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(u)
            return info, gradient

        own, *others = shares(equation, rules, batch, key, sharing)
        found = [mean_in_tiles(of, own, sharing.tile), *map(of, others)]
        info, gradient = summed([info for info, _ in found])[1], jax.tree.map(lambda *parts: sum(parts), *(part for _, part in found))
        info, gradient = sharing.total((info, gradient))
        return summed([info]), gradient

    def weighted_rows(self, u: Function, state: State, share: Share, x: Place, key: Key[Array, ""]) -> Mapping[str, Rows]:
        """The rows at one x of a share, by the name of their part of the loss, with the weight of a condition in theirs."""
        rows = self.rows(u, state, share.residual, share.rules, x, key)
        if not isinstance(share.residual, AbstractCondition):
            return rows
        own = rows["residual"]
        return {"conditions": Rows(own.a, own.b, share.residual.weight * own.weight)}

    def mean(self, u: Function, state: State, share: Share) -> Info:
        """The parts of the loss of one share: means over its points."""

        def at_one_point(x: Place, key: Key[Array, ""]) -> Info:
            return {name: part.loss() for name, part in self.weighted_rows(u, state, share, x, key).items()}

        return {name: share.mean(values) for name, values in jax.vmap(at_one_point)(share.points, share.keys).items()}


def shares(equation: Equation, rules: Sequence[AbstractRule], batch: int, key: Key[Array, ""], sharing: Sharing = WHOLE) -> list[Share]:
    """All random points of a step; of a `sharing`, those of this device. The nodes at each point are drawn later, from the keys."""
    key_points, key_nodes, key_conditions, key_step = jax.random.split(key, 4)
    rules = [rule.in_step(jax.random.fold_in(key_step, index)) for index, rule in enumerate(rules)]
    (_, own), *others = residuals(equation, rules)
    # Each device draws only its own x: here the keys of all stand for them.
    keys = sharing.own(Share.of(equation, own, jax.random.split(key_points, batch), jax.random.split(key_nodes, batch)))
    points, importance = jax.vmap(equation.domain.weighted_sample)(keys.points)
    drawn = [keys.at(points, keys.keys, keys.weights if importance is None else keys.weights * importance)]
    for index, (condition, own) in enumerate(others):
        key = jax.random.fold_in(key_conditions, index)
        assert isinstance(condition, AbstractCondition)
        points = condition.points(batch, own, key)
        keys = jax.random.split(jax.random.fold_in(key, 0), len(jax.tree.leaves(points)[0]))
        drawn.append(sharing.own(Share.of(condition, own, points, keys)))
    return drawn


def summed(found: Sequence[Info]) -> tuple[Float[Array, ""], Info]:
    """The loss, and its parts by their names."""
    info: Info = {}
    for part in found:
        info |= {name: info.get(name, jnp.zeros(())) + value for name, value in part.items()}
    return sum(info.values(), jnp.zeros(())), info


def ema_weight(step: Int[Array, ""], decay: float) -> Float[Array, ""]:
    r"""$\max\big(1 - a, \frac{50}{k + 49}\big)$ after step k, the weight of the newest value in an exponential average over the last
    $1/(1 - a)$ steps, or over about the last fiftieth where there are fewer. So the first values, which carry no information, are
    soon forgotten, and the weight does not depend on the length of the run. `step` is k − 1 and `decay` is a."""
    return jnp.maximum(1 - decay, 50 / (step + 50))


def lerp(old: PyTree, new: PyTree, weight: Float[Array, ""] | float) -> PyTree:
    """Every number, interpolated from the old value to the new. With the weight 1 it is exactly the new one."""
    return jax.tree.map(lambda a, b: (1 - weight) * a + weight * b if eqx.is_inexact_array(b) else b, old, new)
