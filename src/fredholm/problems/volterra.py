"""Volterra integro-differential equations with exact solutions."""

from typing import Any

import jax.numpy as jnp

from fredholm.domains import Interval, Point
from fredholm.equation import Condition, Defaults, Equation, Integral
from fredholm.methods import DelayedTarget
from fredholm.networks import MLP
from fredholm.operators import derivative
from fredholm.optimizers import Adam, Cosine
from fredholm.rules import MonteCarlo


class Volterra(Equation):
    r"""$u'(x) + u(x) = \int_0^x e^{t-x}\,u(t)\,dt$ on [0, 5] with u(0) = 1; the solution is $u(x) = e^{-x}\cosh x$.

    The demonstration of DeepXDE (Lu et al., SIAM Review 2021), there with a fixed Gauss rule.
    """

    def __init__(self):
        super().__init__(
            domain=Interval(0.0, 5.0),
            f=lambda u, x: derivative(u, x) + u(x),
            integrals=[Integral(over=lambda x: Interval(0.0, x[0]), g=lambda u, x, t: jnp.exp(t[0] - x[0]) * u(t))],
            conditions=[Condition(at=Point(0.0), value=1.0)],
            exact=lambda x: jnp.exp(-x[0]) * jnp.cosh(x[0]),
            defaults=Defaults(DelayedTarget(tau=0.99), MonteCarlo(1), MLP(32, 3, "tanh"), Adam(1e-3, Cosine()), 10_000, 200),
        )

    def recipe(self) -> dict[str, Any]:
        return {}
