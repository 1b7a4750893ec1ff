"""What is recorded beside the loss: variances of the integrals, drift, error to the truth."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key

from fredholm.equation import Equation, Integral, as_vector
from fredholm.keys import Keys
from fredholm.methods import DelayedTarget
from fredholm.methods.base import draw, weighted_integrand
from fredholm.metrics import METRICS
from fredholm.networks import Field
from fredholm.rules import AbstractRule, MonteCarlo
from fredholm.training.chunk import Program
from fredholm.training.devices import EVERYWHERE, SEEDS, over_seeds

POINTS, NODES = 64, 16  # volumes of one measurement, and independent nodes at each of them
REPLICATES = 4  # draws of a randomised rule at each of a quarter of the volumes: such rules have many nodes
SCORED = 5000  # points at which the error is looked at during training


def integration_variances(equation: Equation, u: Field, key: Key[Array, ""]) -> list[Float[Array, ""]]:
    r"""$\mathbb{E}_x \operatorname{Var}[\omega g]$ of each integral, from nodes of their own: one node has no variance."""

    def at_one_point(key: Key[Array, ""]) -> list[Float[Array, ""]]:
        x = equation.domain.sample(key)
        return [
            jnp.sum(jnp.var(NODES * weighted_integrand(integral, u, x, nodes), axis=0, ddof=1))
            for integral, nodes in zip(
                equation.integrals, draw(equation, [MonteCarlo(NODES)] * len(equation.integrals), x, key), strict=True
            )
        ]

    return [jnp.mean(values) for values in jax.vmap(at_one_point)(jax.random.split(key, POINTS))]


def excess_variance(
    equation: Equation, rules: tuple[AbstractRule, ...], u: Field, integration: list[Float[Array, ""]], key: Key[Array, ""]
) -> Float[Array, ""]:
    """The variance of the rules' estimate, by which the standard loss is biased: Var/N for independent nodes, 0 for fixed ones, and for
    randomised rules what replicates show."""
    total = jnp.zeros(())
    for index, (integral, rule, variance) in enumerate(zip(equation.integrals, rules, integration, strict=True)):
        if isinstance(rule, MonteCarlo):
            total = total + variance / rule.n
        elif rule.is_random:

            def at_one_point(key: Key[Array, ""], integral: Integral = integral, rule: AbstractRule = rule) -> Float[Array, ""]:
                x = equation.domain.sample(key)
                draws = jax.vmap(lambda k: jnp.sum(weighted_integrand(integral, u, x, rule.nodes(integral.measure(x), k)), axis=0))
                return jnp.sum(jnp.var(draws(jax.random.split(key, REPLICATES)), axis=0, ddof=1))

            keys = jax.random.split(jax.random.fold_in(key, index), POINTS // 4)
            total = total + jnp.mean(jax.vmap(at_one_point)(keys))
    return total


def drift(equation: Equation, u: Field, target: Field, points: Float[Array, "n d"]) -> Float[Array, ""]:
    """The root mean square difference between the network and its target."""
    return jnp.sqrt(jnp.mean(jax.vmap(lambda x: jnp.mean((u(x) - target(x)) ** 2))(points)))


def compile_measure(program: Program, static: Any, equation: Equation, mesh: Mesh) -> Callable[..., Any]:
    """`measure(arrays, equation_arrays, keys, step) -> {name: (s,)}`, for all seeds at once."""
    _, equation_static = eqx.partition(equation, eqx.is_array)
    evaluation, method = equation.evaluation, program.method
    points = None if evaluation is None else evaluation.points(SCORED)

    def one_seed(arrays: Any, equation_arrays: Any, keys: Keys, step: Int[Array, ""]) -> dict[str, Array]:
        equation, state = eqx.combine(equation_arrays, equation_static), eqx.combine(arrays, static)
        target = method.target(state.u, state.method)
        recorded: dict[str, Array] = {}
        if equation.integrals:
            key = jax.random.fold_in(keys.measure, step)
            integration = integration_variances(equation, state.u, key)
            recorded["integration_variance"] = sum(integration, jnp.zeros(()))
            recorded["excess_variance"] = excess_variance(equation, program.rules, state.u, integration, key)
            if isinstance(method, DelayedTarget):
                of_target = excess_variance(equation, program.rules, target, integration_variances(equation, target, key), key)
                recorded["target_variance"] = (1 - method.share(equation)) ** 2 * of_target
        if points is not None:
            recorded["drift"] = drift(equation, state.u, target, points[:500])
        if points is not None and evaluation is not None and equation.exact is not None:
            truth = equation.truth(points)
            answers = {"error": state.u} if state.average is None else {"error": state.average, "error_main": state.u}
            for name, answer in answers.items():
                prediction = jax.vmap(lambda x, answer=answer: as_vector("u", answer(x)))(points)
                recorded[name] = METRICS[evaluation.score](prediction, truth, points)
        recorded.update({f"unknown_{name}": value for name, value in state.u.unknowns.items()})
        return recorded

    drawn = equation.is_drawn
    axes = (0, 0 if drawn else None, 0, None)
    return over_seeds(jax.vmap(one_seed, in_axes=axes), mesh, (SEEDS, SEEDS if drawn else EVERYWHERE, SEEDS, EVERYWHERE))
