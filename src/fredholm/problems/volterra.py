"""Volterra integro-differential equations with exact solutions."""

from typing import Any

import jax.numpy as jnp

from fredholm.domains.combined import Point
from fredholm.domains.flat import Interval
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Equation
from fredholm.equation.operators import derivative
from fredholm.equation.residual import Integral
from fredholm.functions.mlp import MLP
from fredholm.problems.classes import ONE_SAMPLE, SMOOTH


class Volterra(Equation):
    r"""$u'(x) + u(x) = \int_0^x e^{t-x}\,u(t)\,dt$ on [0, 5] with u(0) = 1; the solution is $u(x) = e^{-x}\cosh x$.

    The demonstration of DeepXDE (Lu et al., SIAM Review 2021), there with a fixed Gauss rule; here by default with one random sample of the
    integral at each point.
    """

    def __init__(self):
        super().__init__(
            domain=Interval(0.0, 5.0),
            f=lambda u, x: derivative(u, x) + u(x),
            integrals=[Integral(over=lambda x: Interval(0.0, x[0]), g=lambda u, x, t: jnp.exp(t[0] - x[0]) * u(t))],
            conditions=[Condition(at=Point(0.0), value=1.0)],
            exact=lambda x: jnp.exp(-x[0]) * jnp.cosh(x[0]),
            defaults=ONE_SAMPLE.defaults(MLP(32, 3, "tanh"), 10_000, 200),
        )

    def recipe(self) -> dict[str, Any]:
        return {}


class Volterra2(Equation):
    r"""$u'(x) + \int_0^x u(t)\,dt = 2\pi\cos 2\pi x + \frac{1}{\pi}\sin^2 \pi x$ on [0, 1] with u(0) = 0;
    the solution is $u(x) = \sin 2\pi x$.

    An equation of the first demonstrations of integrals in physics-informed networks (Lu et al., SIAM Review 2021).
    """

    def __init__(self):
        super().__init__(
            domain=Interval(0.0, 1.0),
            f=derivative,
            integrals=[Integral(over=lambda x: Interval(0.0, x[0]), g=lambda u, x, t: -u(t))],
            y=lambda x: 2 * jnp.pi * jnp.cos(2 * jnp.pi * x[0]) + jnp.sin(jnp.pi * x[0]) ** 2 / jnp.pi,
            conditions=[Condition(at=Point(0.0), value=0.0)],
            exact=lambda x: jnp.sin(2 * jnp.pi * x[0]),
            defaults=SMOOTH.defaults(MLP(32, 3, "tanh"), 10_000, 64),
        )

    def recipe(self) -> dict[str, Any]:
        return {}
