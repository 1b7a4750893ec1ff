"""Fractional equations with exact solutions: the fractional Laplacian on a ball, and two-sided fractional derivatives on an interval."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer, real
from fredholm.domains.combined import Point, Product
from fredholm.domains.directions import Directions
from fredholm.domains.distributions import PowerLaw
from fredholm.domains.flat import Interval
from fredholm.domains.round import Ball
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.operators import derivative, directional
from fredholm.equation.residual import Integral
from fredholm.functions.constrained import Constrained
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.problems.classes import MANY_DIMENSIONS, SINGULAR, SMOOTH
from fredholm.problems.inside_ball import EvenRadius, InsideBall, network_in_ball
from fredholm.rules.gauss import Gauss
from fredholm.rules.radial import Radial

Place = Float[Array, "d"]
FEW = 10  # up to so many dimensions x is uniform in the ball; beyond, uniform points are all at its surface, and the radius is uniform


class Jumps(eqx.Module):
    r"""The parts of the fractional Laplacian of order α at one x, multiplied by $\alpha\,r_0^{\alpha/2}/(C\,|S^{d-1}|)$:
    see `FractionalPoisson`."""

    order: float  # α

    def here(self, u: Function, x: Place) -> Float[Array, ""]:
        r"""$r_0^{-\alpha/2}\,u(x)$."""
        return surface_distance(x) ** (-self.order / 2) * extended(u, x)

    def near(self, u: Function, x: Place, t: Float[Array, "p"]) -> Float[Array, ""]:
        r"""$\frac{\alpha\,r_0^{2-\alpha/2}}{2(2-\alpha)}\,\partial_\xi^2 u(x + s r_0 b\,\xi)$."""
        room, jump, direction = surface_distance(x), t[0], t[1:-2] / math.sqrt(len(x))
        there = x + (t[-2] + t[-1]) * room * jump * direction
        bend = directional(lambda p: directional(u, p, direction), there, direction)
        return self.order * room ** (2 - self.order / 2) / (2 * (2 - self.order)) * bend

    def far(self, u: Function, x: Place, t: Float[Array, "p"]) -> Float[Array, ""]:
        r"""$\frac{r_0^{-\alpha/2}}2\,\big(u(x + r\xi) + u(x - r\xi)\big)$ with $r = r_0/b'$."""
        room = surface_distance(x)
        jump = room / t[0] * t[1:] / math.sqrt(len(x))
        return room ** (-self.order / 2) * (extended(u, x + jump) + extended(u, x - jump)) / 2

    def source(self, x: Place) -> Float[Array, ""]:
        r"""$\alpha\,r_0^{\alpha/2} f(x)/(C\,|S|)$; C and f share the factors that grow with d."""
        alpha, d = self.order, len(x)
        # f/(C|S|) without the common factor 2^α Γ((d+α)/2)/Γ(d/2): C|S| has 2/|Γ(-α/2)|, f has Γ(α/2 + 2).
        factor = 0.5 * math.gamma(alpha / 2 + 2) * abs(math.gamma(-alpha / 2))
        return alpha * surface_distance(x) ** (alpha / 2) * factor * (1 - (1 + alpha / d) * jnp.sum(x**2))


class FractionalPoisson(Equation):
    r"""$(-\Delta)^{\alpha/2} u = f$ in the unit ball of any dimension d, u = 0 outside; with
    $f = 2^\alpha\,\Gamma(\tfrac\alpha2 + 2)\,\Gamma(\tfrac{d+\alpha}2)/\Gamma(\tfrac d2)\,\big(1 - (1 + \tfrac\alpha d)|x|^2\big)$ the
    solution is $u(x) = (1 - |x|^2)_+^{1 + \alpha/2}$ (Dyda, 2012).

    The operator is an expectation over a jump of length r in a uniform direction ξ. With $\delta = 2u(x) - u(x + r\xi) - u(x - r\xi)$,
    $C = 2^\alpha\,\Gamma(\tfrac{d+\alpha}2)/(\pi^{d/2}\,|\Gamma(-\tfrac\alpha2)|)$ and $r_0 = 1 - |x|$, the distance to the surface,

    $$(-\Delta)^{\alpha/2} u(x) = C\,|S^{d-1}| \Big\{ \frac{r_0^{2-\alpha}}{2(2-\alpha)}\,\mathbb{E}\Big[\frac{\delta}{r^2}\Big]_{r = r_0 b}
        + \frac{r_0^{-\alpha}}{2\alpha}\,\mathbb{E}[\delta]_{r = r_0/b'} \Big\},$$

    $b \sim \text{Beta}(2-\alpha, 1)$ and $b' \sim \text{Beta}(\alpha, 1)$.

    For small r the second difference is rounding noise in float32. So the near part has the directional second derivative at a point in
    between, with the same expectation: $\delta/r^2 = -\mathbb{E}[\partial_\xi^2 u(x + s r \xi)]$ with s = v + w, v and w uniform in
    $[-\frac12, \frac12]$; near jumps stay inside the ball, where u is smooth. The equation is multiplied by
    $\alpha\,r_0^{\alpha/2}/(C\,|S^{d-1}|)$: u vanishes like $r_0^{\alpha/2}$, so then all terms and their variance are bounded up to the
    surface. Beyond ten dimensions x has a uniform radius: uniform points would all be at the surface, and the score too.
    """

    order: float  # α

    def __init__(self, dim: int = 2, order: float = 1.5):
        """`dim` is d, at least 2; `order` is α, between 0 and 2."""
        dim, self.order = positive_integer("dim", dim, least=2), real("order", order, low=0.01, high=1.99)
        alpha, jumps, directions, between = self.order, Jumps(self.order), Directions(dim, "sphere"), Interval(-0.5, 0.5)
        super().__init__(
            domain=EvenRadius(dim) if dim > FEW else Ball((0.0,) * dim),
            f=jumps.here,
            integrals=[
                Integral(Product(PowerLaw(0.0, 1.0, 2 - alpha), directions, between, between), jumps.near),
                Integral(Product(PowerLaw(0.0, 1.0, alpha), directions), jumps.far),
            ],
            y=jumps.source,
            exact=lambda x: jnp.maximum(1 - jnp.sum(x**2), 0.0) ** (1 + alpha / 2),
            defaults=_defaults(dim, InsideBall(alpha / 2)),
        )

    def recipe(self) -> dict[str, Any]:
        return {"dim": self.inputs, "order": self.order}


def _defaults(dim: int, form: InsideBall) -> Defaults:
    """In many dimensions the length of a jump decides and its direction hardly matters, and coordinates are small."""
    if dim <= FEW:
        return SINGULAR.defaults(Constrained(MLP(64, 3, "silu"), form), 3_000, 100)
    network = network_in_ball(MLP(512, 1, "silu", scaled=False), dim)
    return Defaults(DoubleSampling(), Radial(Gauss(4)), Constrained(network, form), MANY_DIMENSIONS.optimizer, 3_000, 250)


def extended(u: Function, x: Place) -> Float[Array, ""]:
    """u inside the unit ball and 0 outside, whatever the network is there."""
    inside = jnp.sum(x**2) < 1
    # Outside, the network is evaluated at the origin: far away it may overflow.
    return jnp.where(inside, u(jnp.where(inside, x, jnp.zeros_like(x))), 0.0)


def surface_distance(x: Place) -> Float[Array, ""]:
    r"""$r_0 = 1 - |x|$, at least 1e-6, the resolution of float32, so that one can divide by it."""
    return jnp.maximum(1 - jnp.sqrt(jnp.sum(x**2)), 1e-6)


class FractionalInterval(Equation):
    r"""$D_{0+}^\alpha u + D_{1-}^\alpha u = f$ on [0, 1] with the two Riemann-Liouville derivatives, u = u' = 0 at both ends; the
    solution is $u(x) = x^3 (1-x)^3$.

    Where u and u' vanish at the ends, $1 < \alpha < 2$, the derivatives are $D_{0+}^\alpha u(x) = \frac{x^{2-\alpha}}{\Gamma(3-\alpha)}\,
    \mathbb{E}[u''(x - x\,b)]$ with $b \sim \text{Beta}(2-\alpha, 1)$ and its mirror image. The power weight of the kernel becomes the
    measure; with uniform nodes the variance would be infinite. With (k, c) = (3, 1), (4, -3), (5, 3), (6, -1),
    $f(x) = \sum_k c_k \frac{k!}{\Gamma(k+1-\alpha)} \big(x^{k-\alpha} + (1-x)^{k-\alpha}\big)$ (DeepXDE; Pang, Lu and
    Karniadakis, fPINNs, 2019).
    """

    order: float  # α

    def __init__(self, order: float = 1.5):
        """`order` is α, between 1 and 2."""
        self.order = alpha = real("order", order, low=1.01, high=1.99)
        ends = [Point(0.0), Point(1.0)]
        jumps = PowerLaw(0.0, 1.0, 2 - alpha)
        super().__init__(
            domain=Interval(0.0, 1.0),
            integrals=[
                Integral(jumps, lambda u, x, b: half_derivative(u, x, x, b[0], alpha)),
                Integral(jumps, lambda u, x, b: half_derivative(u, x, x - 1, b[0], alpha)),
            ],
            y=lambda x: sum(
                c * math.factorial(k) / math.gamma(k + 1 - alpha) * (x[0] ** (k - alpha) + (1 - x[0]) ** (k - alpha))
                for k, c in ((3, 1), (4, -3), (5, 3), (6, -1))
            ),
            conditions=[Condition(at=end, value=0.0) for end in ends] + [Condition(at=end, value=0.0, of=derivative) for end in ends],
            exact=lambda x: (x[0] * (1 - x[0])) ** 3,
            defaults=SMOOTH.defaults(MLP(32, 3, "tanh"), 10_000, 32),
        )

    def recipe(self) -> dict[str, Any]:
        return {"order": self.order}


def half_derivative(u: Function, x: Place, way: Place, b: Float[Array, ""], alpha: float) -> Float[Array, ""]:
    r"""$\frac{|w|^{2-\alpha}}{\Gamma(3-\alpha)}\,u''(x - b\,w)$: w = x leads to the left end, w = x - 1 to the right one."""
    return jnp.abs(way[0]) ** (2 - alpha) / math.gamma(3 - alpha) * derivative(u, x - b * way, order=2)
