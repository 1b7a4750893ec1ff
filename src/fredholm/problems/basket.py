"""An option on the product of many prices, with an exact solution."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer, real
from fredholm.domains.base import AbstractDistribution, Base
from fredholm.domains.combined import Point, Product
from fredholm.domains.directions import Directions
from fredholm.domains.flat import Interval
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.evaluation import Evaluation
from fredholm.equation.operators import directional
from fredholm.equation.residual import Integral
from fredholm.functions.constrained import Constrained
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.functions.scaled import Scaled
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.schedules import Cosine
from fredholm.problems.space_time import Place, in_space
from fredholm.rules.monte_carlo import MonteCarlo

REACH = 0.9  # the training's largest logarithm of the common level of prices
BROAD = 0.58  # w in units of that distance: at the strike the softplus is then as large as the mean of what is paid
EARLY = 1e-4  # the least time that is left in the form
SMALL = 0.1  # size of the network's values beside the softplus
SCORED = 0.3  # and the score's: the equation is not told what happens at the ends of the levels


class Prices(AbstractDistribution):
    r"""Logarithms of d prices with a common part: $x_i = l + s\,\xi_i$ with l uniform in $[-a, a]$ and standard normal ξ."""

    dim: int  # d
    reach: float  # a
    spread: float  # s

    @property
    def dimension(self) -> int:
        return self.dim

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT, *(Base.NORMAL,) * self.dim)

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        return self.reach * (2 * z[0] - 1) + self.spread * z[1:], jnp.ones(())


class Call(eqx.Module):
    """A call on the geometric mean of prices that follow Black and Scholes' model, all with the same parameters."""

    volatility: float  # σ
    correlation: float  # ϱ
    interest: float  # r
    strike: float  # K

    @property
    def drift(self) -> float:
        """Of the logarithm of a price."""
        return self.interest - 0.5 * self.volatility**2

    def variance(self, dim: int) -> float:
        """Of the mean of the logarithms of the prices, in a unit of time."""
        return self.volatility**2 * (self.correlation + (1 - self.correlation) / dim)

    def payoff(self, p: Place) -> Float[Array, ""]:
        """What the call pays at the end."""
        return jnp.maximum(jnp.exp(jnp.mean(p[:-1])) - self.strike, 0.0)

    def price(self, p: Place) -> Float[Array, ""]:
        """Black and Scholes' formula for the mean, which is log-normal."""
        left = jnp.maximum(1 - p[-1], 0.0)
        variance = self.variance(len(p) - 1)
        scale = jnp.sqrt(variance * left)
        forward = jnp.mean(p[:-1]) + (self.drift + 0.5 * variance) * left  # its logarithm
        inside = forward - math.log(self.strike)
        at_the_end = jnp.where(inside > 0, jnp.inf, -jnp.inf)
        upper = jnp.where(scale > 0, inside / jnp.where(scale > 0, scale, 1.0) + 0.5 * scale, at_the_end)
        normal = jax.scipy.stats.norm.cdf
        return jnp.exp(-self.interest * left) * (jnp.exp(forward) * normal(upper) - self.strike * normal(upper - scale))

    def along(self, u: Function, p: Place) -> Float[Array, ""]:
        """The terms of first order, the discount, and half of the second derivative along the movement that all prices share."""
        together = in_space(jnp.ones(len(p) - 1))
        common = 0.5 * self.volatility**2 * self.correlation * directional(u, p, together, order=2)
        first = directional(u, p, self.drift * together + jnp.zeros(len(p)).at[-1].set(1.0))
        return root_left(p) * (first + common - self.interest * u(p))

    def diffusion(self, u: Function, p: Place, v: Float[Array, "d"]) -> Float[Array, ""]:
        """Minus half of the second derivative along the prices' own movements."""
        return -0.5 * root_left(p) * self.volatility**2 * (1 - self.correlation) * directional(u, p, in_space(v), order=2)


class SmoothedPayoff(eqx.Module):
    r"""The form, with the distance $s \propto \sqrt{1 - t}$ that the mean $\bar x$ of x diffuses in the time that is left, and w ∝ s,

    $$u = w\,\text{softplus}\big((e^{\bar x} - K)/w\big) + \sqrt{1 - t}\,n(\tilde x, t).$$

    It meets the condition at t = 1 by construction, with the kink of the payoff. What is left is a function of the mean in units of that
    distance: $\tilde x$ has $\text{arsinh}((\bar x - \ln K)/s)$ in its place. Without the form a network has to learn a kink, and what it
    misses there spoils the prices before."""

    call: Call

    def __call__(self, n: Function, p: Place) -> Float[Array, ""]:
        left, mean, strike = root_left(p), jnp.mean(p[:-1]), self.call.strike
        distance = math.sqrt(self.call.variance(len(p) - 1)) * left
        width = BROAD * strike * distance
        level = jnp.arcsinh((mean - math.log(strike)) / distance)
        turned = jnp.concatenate([p[:-1] - mean + level, p[-1:]])
        return width * jax.nn.softplus((jnp.exp(mean) - strike) / width) + left * n(turned)


def root_left(p: Place) -> Float[Array, ""]:
    r"""$\sqrt{1 - t}$, at least a hundredth, so that it has derivatives."""
    return jnp.sqrt(jnp.maximum(1 - p[-1], EARLY))


class Basket(Equation):
    r"""The price of a call on the geometric mean of d correlated stocks, in the logarithms x of their prices, for t in [0, 1]:

    $$\partial_t u + \Big(r - \frac{\sigma^2}2\Big) \sum_i \partial_i u + \frac{\sigma^2}2 \Big(\varrho\,\partial_{\mathbf 1}^2 u
      + (1 - \varrho)\,\mathbb{E}_v\big[\partial_v^2 u\big]\Big) - r\,u = 0, \qquad u(x, 1) = \Big(\prod_i e^{x_i/d} - K\Big)_+,$$

    with random directions v for the prices' own movements and the one direction $\mathbf 1$ for what they share, exactly: among the random
    directions it would be most of the noise. The product is log-normal, so Black and Scholes' formula is the solution. x is drawn round a
    common level (`Prices`); the score is over levels of at most .3. The network stands in the form `SmoothedPayoff`.
    The equation is multiplied by $\sqrt{1 - t}$: second derivatives at the kink grow like the inverse of it.
    """

    call: Call

    def __init__(self, dim: int = 100, volatility: float = 0.3, correlation: float = 0.3, interest: float = 0.05, strike: float = 1.0):
        """`dim` is d, `volatility` is σ, `correlation` is ϱ, between 0 and 1, `interest` is r and `strike` is K."""
        dim = positive_integer("Basket dim", dim)
        volatility, strike = real("Basket volatility", volatility, low=1e-3), real("Basket strike", strike, low=1e-3)
        correlation, interest = real("Basket correlation", correlation, low=0.0, high=1.0), real("Basket interest", interest)
        self.call = call = Call(volatility, correlation, interest, strike)
        times, prices = Interval(0.0, 1.0), Prices(dim, REACH, volatility)
        super().__init__(
            domain=Product(prices, times),
            f=call.along,
            integrals=Integral(Directions(dim), call.diffusion, at=lambda p, v: p),
            conditions=[Condition(Product(prices, Point(1.0)), call.payoff, weight=10.0)],
            exact=call.price,
            evaluation=Evaluation(at=Product(Prices(dim, SCORED, volatility), times)),
            defaults=_defaults(dim, SmoothedPayoff(call)),
        )

    def recipe(self) -> dict[str, Any]:
        return {"dim": self.inputs - 1, **vars(self.call)}


def _defaults(dim: int, form: SmoothedPayoff) -> Defaults:
    """Adam, since one direction of the hundred decides: Muon would move along all of them alike."""
    network = Scaled(MLP(128, 2, "silu", scaled=False), (0.0,) * (dim + 1), (1.0,) * (dim + 1), (0.0,), (SMALL,), units=())
    return Defaults(DoubleSampling("all"), MonteCarlo(2), Constrained(network, form), Adam(3e-3, Cosine()), 3_000, 250)
