"""Measures the table of noise in many dimensions in docs/rules.md: `python docs/make_variance_table.py` (about a minute on one core)."""

import math
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import fredholm as fr
from fredholm.domains.base import AbstractDomain
from fredholm.functions.field import Field
from fredholm.rules import AbstractRule

PLACES, DRAWS = 20, 400
DIMENSIONS = (10, 100)
RATE, SPREAD = 1.0, 0.25  # of the jumps

Integrand = Callable[[Field, jax.Array, jax.Array], jax.Array]


def second(u: Field, x: jax.Array, v: jax.Array) -> jax.Array:
    """The second derivative along a direction."""
    return fr.directional(u, x, v, order=2)


def jump(u: Field, x: jax.Array, z: jax.Array) -> jax.Array:
    """What a jump changes."""
    return u(x + z) - u(x)


def lengths(d: int) -> AbstractDomain:
    """A jump of random length in a uniform direction, as a fractional Laplacian has."""
    return fr.Product(fr.PowerLaw(0.0, 1.0, 1.5), fr.Directions(d, "sphere"))


def leap(u: Field, x: jax.Array, t: jax.Array) -> jax.Array:
    """u after both signs of such a jump."""
    jump = t[0] * t[1:] / math.sqrt(len(x))
    return u(x + jump) + u(x - jump) - 2 * u(x)


def lines(d: int) -> dict[str, tuple[AbstractDomain, AbstractRule, Integrand, int]]:
    """Measure, rule, integrand and passes through the network for one node."""
    laplacian = {
        f"Laplacian, `{kind}`": (fr.Directions(d, kind), fr.MonteCarlo(4), second, 4) for kind in ("signs", "normal", "sphere", "axes")
    }
    jumps = fr.Jumps(RATE, fr.Normal((0.0,) * d, SPREAD))
    return {
        **laplacian,
        "Laplacian, `axes`, `WithoutReplacement(4)`": (fr.Directions(d, "axes"), fr.WithoutReplacement(4), second, 4),
        "Laplacian, `sphere`, `Orthogonal(4)`": (fr.Directions(d, "sphere"), fr.Orthogonal(4), second, 4),
        "jump, `MonteCarlo(4)`": (jumps, fr.MonteCarlo(4), jump, 1),
        "jump, `Antithetic(2)`": (jumps, fr.Antithetic(2), jump, 1),
        "jump, scrambled net of 4": (jumps, fr.QuasiMonteCarlo(4, fr.Sobol(), fr.Scramble()), jump, 1),
        "jump, `without_first_order`, `MonteCarlo(4)`": (jumps, fr.MonteCarlo(4), fr.without_first_order(jump, (0.0,) * d), 2),
        "a length and a direction, `MonteCarlo(4)`": (lengths(d), fr.MonteCarlo(4), leap, 1),
        "a length and a direction, `Radial(Gauss(4))`": (lengths(d), fr.Radial(fr.Gauss(4)), leap, 1),
    }


def noise(d: int, measure: AbstractDomain, rule: AbstractRule, g: Integrand, passes: int) -> float:
    """The variance of an estimate, times the passes that it takes, over the mean square of the integral: the median over networks and x."""

    @jax.jit
    def of(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        key_network, key_x, key_nodes = jax.random.split(key, 3)
        u = Field(fr.MLP(64, 2, "tanh").build(d, 1, key_network), {}, d, 1)
        x = jax.random.uniform(key_x, (d,), minval=-1.0)

        def estimate(key: jax.Array) -> jax.Array:
            nodes = rule.nodes(measure, key)
            return jnp.sum(nodes.weights * jax.vmap(lambda t: g(u, x, t))(nodes.points))

        found = jax.vmap(estimate)(jax.random.split(key_nodes, DRAWS))
        return jnp.mean(found), jnp.var(found, ddof=1)

    means, variances = (
        np.asarray(one, float) for one in zip(*(of(key) for key in jax.random.split(jax.random.key(d), PLACES)), strict=True)
    )
    return float(np.median(variances)) * rule.size(measure) * passes / float(np.mean(means**2))


def flux(d: int, rule: AbstractRule) -> float:
    """The standard deviation of the flux of a charge at the origin through a ball of Figure 4: the median over the balls."""
    problem = fr.problems.Poisson(d, charges=[[0.0] * d])

    def of(key: jax.Array) -> jax.Array:
        ball = problem.domain.sample(key)

        def estimate(key: jax.Array) -> jax.Array:
            nodes = rule.nodes(problem.integrals[0].measure(ball), key)
            away = nodes.points / jnp.linalg.norm(nodes.points, axis=1, keepdims=True) ** d
            return (
                jnp.sum(nodes.weights * jnp.sum(away * (nodes.points - ball.center[None]), axis=1))
                / ball.radius
                / fr.Sphere((0.0,) * d).mass
            )

        return jnp.std(jax.vmap(estimate)(jax.random.split(key, DRAWS)))

    return float(np.median(np.asarray(jax.jit(jax.vmap(of))(jax.random.split(jax.random.key(d), 10 * PLACES)))))


def table() -> str:
    """Both tables."""
    found = ["| estimate, four nodes | " + " | ".join(f"d = {d}" for d in DIMENSIONS) + " |", "|---" * (1 + len(DIMENSIONS)) + "|"]
    for name in lines(10):
        found.append(f"| {name} | " + " | ".join(f"{noise(d, *lines(d)[name]):.2g}" for d in DIMENSIONS) + " |")
    found += ["", "| flux of a charge, standard deviation with 16 nodes | d = 2 | d = 5 | d = 10 |", "|---|---|---|---|"]
    for name, make in {
        "`MonteCarlo(16)`": lambda d: fr.MonteCarlo(16),
        "`Focused(16, foci)`": lambda d: fr.Focused(16, [[0.0] * d]),
        "`Focused(16, foci, quasi=True)`": lambda d: fr.Focused(16, [[0.0] * d], quasi=True),
        "`Focused(16, [0.3 away])`": lambda d: fr.Focused(16, [[0.3 / math.sqrt(d)] * d]),
    }.items():
        found.append(f"| {name} | " + " | ".join(f"{flux(d, make(d)):.2g}" for d in (2, 5, 10)) + " |")
    return "\n".join(found)


if __name__ == "__main__":
    page = Path(__file__).parent / "rules.md"
    start, stop = "<!-- noise -->", "<!-- end of noise -->"
    before, rest = page.read_text(encoding="utf-8").split(start)
    content = table()
    page.write_text(f"{before}{start}\n{content}\n{stop}{rest.split(stop)[1]}", encoding="utf-8")
    print(content)
