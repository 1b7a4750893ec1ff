"""Measurements that are recorded beside the loss: variances of the integrals, drift, error against the exact solution."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.common.keys import Keys
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, weighted_integrand
from fredholm.equation.evaluation import METRICS
from fredholm.equation.probe import probe_points
from fredholm.equation.residual import AbstractCondition, AbstractResidual, Integral, as_vector
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.training.devices import Layout, over_seeds
from fredholm.training.learning import fitted
from fredholm.training.settings import RunSettings
from fredholm.training.step import TrainState

POINTS, NODES = 64, 8  # points x of one measurement, and independent nodes at each
REPLICATES = 4  # estimates by a randomised rule at each x, at a quarter of the points: such rules have many nodes
SCORED = 5000  # points at which the error is computed during training
TILE = 1000  # of these, at most this many go through the network at once: more do not fit into a core's cache
FEW = 500  # of these, about this many for the drift between network and target


def integration_variances(residual: AbstractResidual, u: Function, key: Key[Array, ""]) -> list[Float[Array, ""]] | None:
    r"""$\mathbb{E}_x \operatorname{Var}[\omega g]$ of each integral, from extra nodes, since a single one shows no variance. None where a
    measure has a single given sample."""

    def at_one_point(key: Key[Array, ""]) -> list[Float[Array, ""]] | None:
        x = residual.law.sample(key)
        given = [integral.measure(x).samples for integral in residual.integrals]
        if 1 in given:
            return None
        rules = [MonteCarlo(min(NODES, samples or NODES)) for samples in given]
        return [
            jnp.sum(jnp.var(rule.n * weighted_integrand(integral, u, x, nodes), axis=0, ddof=1))
            for integral, rule, nodes in zip(residual.integrals, rules, draw(residual, rules, x, key), strict=True)
        ]

    values = jax.vmap(at_one_point)(jax.random.split(key, POINTS))
    return None if values is None else [jnp.mean(value) for value in values]


def excess_variance(
    residual: AbstractResidual, rules: Sequence[AbstractRule], u: Function, integration: list[Float[Array, ""]], key: Key[Array, ""]
) -> Float[Array, ""]:
    """The variance of the rules' estimate, which is the bias of the standard loss: Var/N for N independent nodes, 0 for fixed nodes, and
    for randomised rules the variance over replicates."""
    total = jnp.zeros(())
    for index, (integral, rule, variance) in enumerate(zip(residual.integrals, rules, integration, strict=True)):
        if isinstance(rule, MonteCarlo):
            total = total + variance / rule.n
        elif rule.is_random:

            def at_one_point(key: Key[Array, ""], integral: Integral = integral, rule: AbstractRule = rule) -> Float[Array, ""]:
                x = residual.law.sample(key)
                replicates = jax.vmap(lambda k: jnp.sum(weighted_integrand(integral, u, x, rule.nodes(integral.measure(x), k)), axis=0))
                return jnp.sum(jnp.var(replicates(jax.random.split(key, REPLICATES)), axis=0, ddof=1))

            keys = jax.random.split(jax.random.fold_in(key, index), POINTS // 4)
            total = total + jnp.mean(jax.vmap(at_one_point)(keys))
    return total


def variances(
    settings: RunSettings, rules: Sequence[AbstractRule], equation: Equation, u: Function, target: Function, key: Key[Array, ""]
) -> dict[str, Array]:
    """The noise that the integrals add to the loss: those of the equation, and with their weights those of its conditions."""
    recorded: dict[str, Array] = {}

    def add(name: str, value: Array) -> None:
        recorded[name] = recorded.get(name, jnp.zeros(())) + value

    for index, (residual, own) in enumerate(residuals(equation, rules)):
        own_key = jax.random.fold_in(key, index) if index else key
        weight = residual.weight if isinstance(residual, AbstractCondition) else 1.0
        integration = integration_variances(residual, u, own_key) if residual.integrals else None
        if integration is None:
            continue
        add("integration_variance", weight * sum(integration, jnp.zeros(())))
        add("excess_variance", weight * excess_variance(residual, own, u, integration, own_key))
        target_weight = settings.known_method.target_weight(equation)
        if target_weight is not None and not index:
            of_target = integration_variances(residual, target, own_key)
            assert of_target is not None
            noise = excess_variance(residual, own, target, of_target, own_key)
            add("target_variance", target_weight**2 * noise)
    return recorded


def values_at(u: Function, points: Float[Array, "n d"]) -> Float[Array, "n m"]:
    """The network at many points, in parts of equal size."""
    parts = -(-len(points) // TILE)
    return jax.lax.map(lambda x: as_vector("u", u(x)), points, batch_size=-(-len(points) // parts))


def root_mean_square(values: Float[Array, "n m"]) -> Float[Array, ""]:
    """The root mean square over all points and components."""
    return jnp.sqrt(jnp.mean(values**2))


class Recorder:
    """`recorder(arrays, sums, equation_arrays, keys, step)`: the sums and the measurements of all seeds, NaN for seeds that have failed.

    It returns a single array (s, n), since the host fetches a thousand numbers as fast as one. After the first call `names` holds the names
    of its columns.
    """

    def __init__(self, settings: RunSettings, static: PyTree, equation: Equation, layout: Layout, together: int):
        self.names: tuple[str, ...] = ()
        _, equation_static = eqx.partition(equation, eqx.is_array)
        points = probe_points(equation, SCORED)
        # Where all seeds share one equation, its exact solution is computed once and not with every record.
        is_same = equation.evaluation and equation.exact and not equation.is_drawn
        known = equation.truth(points) if points is not None and is_same else None

        def one_seed(
            arrays: PyTree, sums: dict[str, Array], equation_arrays: PyTree, keys: Keys, step: Int[Array, ""]
        ) -> Float[Array, "n"]:
            equation, state = eqx.combine(equation_arrays, equation_static), eqx.combine(arrays, static)
            recorded = sums | measured(settings, equation, state, points, known, jax.random.fold_in(keys.measure, step))
            self.names = tuple(recorded)
            return jnp.where(state.alive, jnp.stack(list(recorded.values())), jnp.nan)

        self._record = over_seeds(one_seed, (True, True, equation.is_drawn, True, False), layout, together)

    def __call__(self, *arguments: PyTree) -> Float[Array, "s n"]:
        return self._record(*arguments)


def measured(
    settings: RunSettings,
    equation: Equation,
    state: TrainState,
    points: Float[Array, "n d"] | None,
    known: Float[Array, "n m"] | None,
    key: Key[Array, ""],
) -> dict[str, Array]:
    """The measurements of one seed beside its loss. `known` is the exact solution at the points, where all seeds share it."""
    method = settings.known_method
    target = method.target(state.u, state.method)
    recorded = variances(settings, fitted(settings.rules, state.fits), equation, state.u, target, key)
    recorded.update(method.recorded(state.method))
    for part, own in zip(settings.adapt, state.adapted, strict=True):
        recorded.update(part.recorded(own))
    if points is not None:
        score = METRICS[equation.evaluation.score] if equation.evaluation is not None and equation.exact is not None else None
        apart = max(1, len(points) // FEW)  # every so many points: the first ones of a grid lie in one corner
        of_u = values_at(state.u, points if score else points[::apart])
        few = of_u[::apart] if score else of_u
        recorded["drift"] = root_mean_square(few - values_at(target, points[::apart]))
        recorded["size"] = root_mean_square(few)
        if score is not None:
            truth = equation.truth(points) if known is None else known
            of_answer = {"error": of_u} if state.average is None else {"error": values_at(state.average, points), "error_main": of_u}
            for name, values in of_answer.items():
                recorded[name] = score(values, truth, points)
    recorded.update({f"unknown_{name}": value for name, value in (state.average or state.u).unknowns.items()})
    return recorded
