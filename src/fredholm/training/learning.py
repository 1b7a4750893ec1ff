"""Rules that learn: their fits between steps, and the fits after every so many of them."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.domains.base import Place
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import weighted_integrand
from fredholm.equation.residual import AbstractResidual, Integral
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule

OWN_DRAW = 6  # a step splits its key in four; delayed targets take the fifth and measurements of the curvature the sixth


def first_fits(equation: Equation, rules: Sequence[AbstractRule]) -> tuple[PyTree, ...]:
    """The fit of each rule before the first step; None for those that do not learn."""
    fits = []
    for residual, integral, rule in _all(equation, rules):
        known = rule.refits_every is not None
        fits.append(rule.first_fit(integral.measure(residual.law.sample(jax.random.key(0))).dimension) if known else None)
    return tuple(fits)


def fitted(rules: Sequence[AbstractRule], fits: Sequence[PyTree]) -> tuple[AbstractRule, ...]:
    """The rules with what they have learned."""
    return tuple(rule if fit is None else rule.with_fit(fit) for rule, fit in zip(rules, fits, strict=True))


def refitted(
    equation: Equation, rules: Sequence[AbstractRule], fits: Sequence[PyTree], u: Function, step: Int[Array, ""], key: Key[Array, ""]
) -> tuple[PyTree, ...]:
    """The fits after a step that made u. They depend on seed and step alone, so a resumed run has the same."""
    found = []
    for index, ((residual, integral, rule), fit) in enumerate(zip(_all(equation, rules), fits, strict=True)):
        if fit is None or rule.refits_every is None:
            found.append(fit)
            continue
        own = jax.random.fold_in(jax.random.fold_in(key, OWN_DRAW), index)
        again = _refit(residual, integral, rule, u, own)
        found.append(jax.lax.cond((step + 1) % rule.refits_every == 0, again, lambda fit: fit, fit))
    return tuple(found)


def _refit(residual: AbstractResidual, integral: Integral, rule: AbstractRule, u: Function, key: Key[Array, ""]):
    """The fit that follows a fit."""
    of_points, of_nodes, of_fit = jax.random.split(key, 3)

    def again(fit: PyTree) -> PyTree:
        x = jax.vmap(residual.law.sample)(jax.random.split(of_points, rule.fit_points))

        def at_one_x(x: Place, key: Key[Array, ""]) -> tuple[Float[Array, "k d"], Float[Array, "k"]]:
            nodes = rule.with_fit(fit).nodes(integral.measure(x), key)
            return nodes.points, jnp.linalg.norm(weighted_integrand(integral, u, x, nodes), axis=-1)

        points, sizes = jax.vmap(at_one_x)(x, jax.random.split(of_nodes, rule.fit_points))
        return rule.refit(fit, integral.measure, x, points, sizes, of_fit)

    return again


def _all(equation: Equation, rules: Sequence[AbstractRule]) -> list[tuple[AbstractResidual, Integral, AbstractRule]]:
    """Every integral with its residual and its rule, in the order of the rules."""
    return [
        (residual, integral, rule)
        for residual, own in residuals(equation, rules)
        for integral, rule in zip(residual.integrals, own, strict=True)
    ]
