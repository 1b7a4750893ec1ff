"""Fredholm equations with exact solutions: of the first and second kind, and a nonlinear one."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.domains.combined import Point
from fredholm.domains.flat import Interval
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Equation
from fredholm.equation.operators import derivative
from fredholm.equation.residual import Integral
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.problems.classes import SMOOTH

HALF_PI = 0.5 * math.pi
Number = Float[Array, "1"]


def smoothed(u: Function, x: Number, t: Number) -> Float[Array, ""]:
    r"""$e^{-|x-t|}\,u(t)$: the covariance of the Ornstein-Uhlenbeck process."""
    return jnp.exp(-jnp.abs(x[0] - t[0])) * u(t)


def smoothed_sine(x: Number) -> Float[Array, ""]:
    r"""$\int_0^1 e^{-|x-t|}\sin(\pi t)\,dt = \frac{2\sin \pi x + \pi(e^{-x} + e^{x-1})}{1 + \pi^2}$."""
    return (2 * jnp.sin(jnp.pi * x[0]) + jnp.pi * (jnp.exp(-x[0]) + jnp.exp(x[0] - 1))) / (1 + jnp.pi**2)


def both_sides(g: Callable[..., Array]) -> list[Integral]:
    """The kernel has a kink at t = x, so that the integral is taken on each side of it."""
    return [Integral(lambda x: Interval(0.0, x[0]), g), Integral(lambda x: Interval(x[0], 1.0), g)]


class FredholmFirstKind(Equation):
    r"""$\int_0^1 e^{-|x-t|}\,u(t)\,dt = y(x)$ on [0, 1]; the solution is $u(x) = \sin \pi x$.

    Of the first kind: u is inside the integral only, and the inverse, $u = \frac12(y - y'')$ with terms at the two ends, takes two
    derivatives. So an error of the residual at frequency k comes back $k^2$ times larger; the network's smoothness is the regulariser
    (Kress, Linear Integral Equations, chapter 15).
    """

    def __init__(self):
        super().__init__(
            domain=Interval(0.0, 1.0),
            integrals=both_sides(smoothed),
            y=smoothed_sine,
            exact=lambda x: jnp.sin(jnp.pi * x[0]),
            defaults=SMOOTH.defaults(MLP(32, 3, "tanh"), 10_000, 64),
        )

    def recipe(self) -> dict[str, Any]:
        return {}


class FredholmSecondKind(Equation):
    r"""$u(x) = \int_0^1 e^{-|x-t|}\,u(t)\,dt + y(x)$ on [0, 1]; the solution is $u(x) = \sin \pi x$.

    Of the second kind, with $\|K\| = \max_x \int_0^1 e^{-|x-t|}dt = 2 - 2e^{-1/2} = .79$: a contraction (Kress, Linear Integral Equations,
    chapter 2).
    """

    def __init__(self):
        super().__init__(
            domain=Interval(0.0, 1.0),
            f=lambda u, x: u(x),
            integrals=both_sides(smoothed),
            y=lambda x: jnp.sin(jnp.pi * x[0]) - smoothed_sine(x),
            exact=lambda x: jnp.sin(jnp.pi * x[0]),
            defaults=SMOOTH.defaults(MLP(32, 3, "tanh"), 10_000, 64),
        )

    def recipe(self) -> dict[str, Any]:
        return {}


class FredholmNonlinear(Equation):
    r"""$u'(x) = \cos x - x + \frac14 \int_{-\pi/2}^{\pi/2} x\,t\,u(t)^2\,dt$ on $[-\frac\pi2, \frac\pi2]$ with $u(-\frac\pi2) = 0$;
    the solution is $u(x) = 1 + \sin x$.

    Section 4.5 of A-PINN (Yuan et al., Journal of Computational Physics 2022).
    """

    def __init__(self):
        super().__init__(
            domain=Interval(-HALF_PI, HALF_PI),
            f=derivative,
            integrals=[Integral(Interval(-HALF_PI, HALF_PI), lambda u, x, t: 0.25 * x[0] * t[0] * u(t) ** 2)],
            y=lambda x: jnp.cos(x[0]) - x[0],
            conditions=[Condition(at=Point(-HALF_PI), value=0.0)],
            exact=lambda x: 1 + jnp.sin(x[0]),
            defaults=SMOOTH.defaults(MLP(32, 3, "tanh"), 10_000, 64),
        )

    def recipe(self) -> dict[str, Any]:
        return {}
