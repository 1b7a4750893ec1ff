"""Poisson's equation with a smooth source in the unit ball of many dimensions."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer
from fredholm.domains.directions import Directions
from fredholm.equation.equation import Equation
from fredholm.equation.operators import directional
from fredholm.equation.residual import Integral
from fredholm.functions.constrained import Constrained
from fredholm.functions.mlp import MLP
from fredholm.problems.classes import MANY_DIMENSIONS
from fredholm.problems.inside_ball import EvenRadius, InsideBall, network_in_ball

Place = Float[Array, "d"]


class PoissonBall(Equation):
    r"""$-\Delta u = f$ in the unit ball of $\mathbb{R}^d$, u = 0 on its surface, with the solution

    $$u(x) = (1 - |x|^2)\,s(x), \qquad s(x) = \frac1{\sqrt d} \sum_{i<d} c_i \sin\big(x_i + \cos x_{i+1} + x_{i+1}\cos x_i\big),$$

    and standard normal numbers c: the two-body interactions of Hu, Shukla, Karniadakis and Kawaguchi (2024), divided by √d. x has a uniform
    direction and a uniform radius. The form of the network meets the boundary condition. The Laplacian is an expectation over random
    directions, so a step costs the same number of passes in any dimension.
    """

    def __init__(self, dim: int = 100):
        """`dim` is d, at least 2."""
        dim = positive_integer("PoissonBall dim", dim, least=2)
        network = Constrained(network_in_ball(MLP(512, 1, "silu", scaled=False), dim), InsideBall(1.0))
        strengths = tuple(map(float, np.random.default_rng(2024).normal(size=dim - 1) / np.sqrt(dim)))
        super().__init__(
            domain=EvenRadius(dim),
            integrals=Integral(Directions(dim), lambda u, x, v: -directional(u, x, v, order=2), at=lambda x, v: x),
            y=lambda x: source(x, jnp.asarray(strengths)),
            exact=lambda x: (1 - jnp.sum(x**2)) * interaction(x, jnp.asarray(strengths)),
            defaults=MANY_DIMENSIONS.defaults(network, 2_000, 250),
        )

    def recipe(self) -> dict[str, Any]:
        return {"dim": self.inputs}


def interaction(x: Place, strengths: Float[Array, "e"]) -> Float[Array, ""]:
    r"""$s(x)$."""
    here, there = x[:-1], x[1:]
    return jnp.sum(strengths * jnp.sin(here + jnp.cos(there) + there * jnp.cos(here)))


def source(x: Place, strengths: Float[Array, "e"]) -> Float[Array, ""]:
    r"""$f = -\Delta\big[(1 - |x|^2)\,s\big] = 2 d\,s + 4\,x\cdot\nabla s - (1 - |x|^2)\,\Delta s$, with Δs term by term."""
    here, there = x[:-1], x[1:]
    a = here + jnp.cos(there) + there * jnp.cos(here)
    first, second = 1 - there * jnp.sin(here), jnp.cos(here) - jnp.sin(there)
    bend = jnp.cos(a) * (-there * jnp.cos(here) - jnp.cos(there)) - jnp.sin(a) * (first**2 + second**2)
    along = jnp.sum(strengths * jnp.cos(a) * (here * first + there * second))
    laplacian = jnp.sum(strengths * bend)
    return 2 * len(x) * jnp.sum(strengths * jnp.sin(a)) + 4 * along - (1 - jnp.sum(x**2)) * laplacian
