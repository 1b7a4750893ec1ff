"""A partial integro-differential equation of two inputs, with an exact solution."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.domains.combined import Point, Product
from fredholm.domains.flat import Box, Interval
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Equation
from fredholm.equation.operators import derivative
from fredholm.equation.residual import Integral
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.problems.classes import SMOOTH

HALF_PI = 0.5 * math.pi
Place = Float[Array, "2"]  # (x, t)


class Parabolic(Equation):
    r"""$\partial_t u = \partial_x^2 u + \int_0^{\pi/2} u(s, t)\,ds - e^{-t}$ for x in $[0, \frac\pi2]$ and t in [0, 1] with u(0, t) = 0,
    $u(\frac\pi2, t) = e^{-t}$ and $u(x, 0) = \sin x$; the solution is $u(x, t) = e^{-t}\sin x$.

    Asked for in issue 95 of DeepXDE: an integral over one of two inputs.
    """

    def __init__(self):
        def heat(u: Function, point: Place) -> Float[Array, ""]:
            return derivative(u, point, axis=1) - derivative(u, point, axis=0, order=2)

        def everywhere(u: Function, point: Place, s: Float[Array, "1"]) -> Float[Array, ""]:
            return u(jnp.stack([s[0], point[1]]))

        rod, times = Interval(0.0, HALF_PI), Interval(0.0, 1.0)
        super().__init__(
            domain=Box((0.0, 0.0), (HALF_PI, 1.0)),
            f=heat,
            integrals=[Integral(rod, everywhere, at=lambda point, s: jnp.stack([s[0], point[1]]))],
            y=lambda point: -jnp.exp(-point[1]),
            conditions=[
                Condition(at=Product(Point(0.0), times), value=0.0),
                Condition(at=Product(Point(HALF_PI), times), value=lambda point: jnp.exp(-point[1])),
                Condition(at=Product(rod, Point(0.0)), value=lambda point: jnp.sin(point[0])),
            ],
            exact=lambda point: jnp.exp(-point[1]) * jnp.sin(point[0]),
            defaults=SMOOTH.defaults(MLP(32, 3, "tanh"), 20_000, 64),
        )

    def recipe(self) -> dict[str, Any]:
        return {}
