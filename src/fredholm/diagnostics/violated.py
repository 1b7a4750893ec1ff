"""Does a condition hold? Where the equation does and its condition does not, u is another of the equation's solutions."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.findings import Finding
from fredholm.equation.conditions import Condition, IntegralCondition
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.reference import independent_rules
from fredholm.equation.residual import AbstractCondition, Place
from fredholm.functions.field import Field
from fredholm.rules.monte_carlo import MonteCarlo

POINTS = 512  # at which a condition is looked at
VIOLATED = 0.01  # a condition whose squared residual is above this share of its squared terms does not hold


def violated(equation: Equation, u: Field) -> list[Finding]:
    """The conditions with a value that do not hold; two faces have none to compare with, and data have noise."""
    found = []
    for index, condition in enumerate(equation.conditions):
        if not isinstance(condition, (Condition, IntegralCondition)):
            continue
        share = _share(condition, u)
        if share > VIOLATED:
            wanted = max(1.0, 10 * condition.weight)
            text = (
                f"the equation holds, but condition {index + 1} is off by {math.sqrt(share):.0%} of its terms: u is another of the "
                f"equation's solutions. Give it more weight than {condition.weight:g}: {type(condition).__name__}(..., weight={wanted:g})."
            )
            found.append(Finding("warning", "conditions", text))
    return found


def _share(condition: AbstractCondition, u: Field) -> float:
    """The squared residual over the squared terms: what it is without u, and what u adds. 0 where one given sample tells nothing."""
    try:
        rules = independent_rules(condition)
    except ValueError:
        return 0.0
    zero = jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_inexact_array(leaf) else leaf, u)

    def terms(x: Place, key: Key[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        nodes = draw(condition, rules, x, key)
        r, without = (condition.local_residual(one, x) + condition.sign * estimate(condition, one, x, nodes) for one in (u, zero))
        return jnp.sum(r**2), jnp.sum(without**2) + jnp.sum((r - without) ** 2)

    points = condition.points(POINTS, [MonteCarlo(1)], jax.random.key(16))
    keys = jax.random.split(jax.random.key(17), len(jax.tree.leaves(points)[0]))
    off, all_of_it = (float(jnp.mean(values)) for values in jax.jit(jax.vmap(terms))(points, keys))
    return off / max(all_of_it, 1e-30)
