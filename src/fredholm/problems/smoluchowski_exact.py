r"""Coagulation on the half-line, where Smoluchowski's equation has exact solutions.

The second integral runs to infinity, where a network does not decay. So the unknown is $v = e^{\lambda |x|}\,n$, $|x| = \sum_i x_i$:
the exponentials of the first integral cancel, $e^{-\lambda |x - x'|} e^{-\lambda |x'|} = e^{-\lambda |x|}$, and the second becomes an
expectation over exponential variables, which every rule knows (Gauss-Laguerre among them),

$$\partial_t v(x) = \frac12 \int_{[0, x]} K(x - x', x')\,v(x - x')\,v(x')\,dx'
    - \frac{v(x)}{\lambda^d}\,\mathbb{E}_{x'' \sim \text{Exp}(\lambda)^d}\left[K(x, x'')\,v(x'')\right].$$
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer, real
from fredholm.domains.combined import Point, Product
from fredholm.domains.distributions import Exponential
from fredholm.domains.flat import Interval
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.evaluation import Evaluation
from fredholm.equation.residual import Integral
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.problems.classes import ONE_SAMPLE, SMOOTH
from fredholm.problems.coagulation_kernels import AdditiveKernel, Coagulation, ConstantKernel, Size
from fredholm.problems.smoluchowski import smaller, time_derivative
from fredholm.rules.gauss import Gauss

TERMS = 128  # of the series in k; its largest term is near k = (1 - N)^(1/d) x, so it serves sizes up to about 60


class AbstractHalfLine(eqx.Module):
    r"""An exact solution n(x, t) on $[0, \infty)^d$, from $n_0 = e^{-|x|}$, and the equation for $v = e^{\lambda |x|}\,n$."""

    coagulation: eqx.AbstractVar[Coagulation]  # K and n_0
    decay: eqx.AbstractVar[float]  # λ

    @abstractmethod
    def exact(self, point: Float[Array, "p"]) -> Float[Array, ""]:
        """v at a point (x, t)."""

    def loss(self, u: Function, point: Float[Array, "p"], y: Size) -> Float[Array, ""]:
        r"""$-\lambda^{-d} K(x, x'')\,v(x, t)\,v(x'', t)$, whose mean over $\text{Exp}(\lambda)^d$ is the second integral."""
        return self.coagulation.loss(u, point, y) / self.decay**self.coagulation.dim

    def density(self, u: Function, point: Float[Array, "p"]) -> Float[Array, ""]:
        r"""$n = e^{-\lambda |x|}\,v$, for a network or any other function v."""
        return jnp.exp(-self.decay * jnp.sum(point[:-1])) * u(point)

    def mass(self, u: Function, t: Float[Array, ""] | float, nodes: int = 32) -> Float[Array, ""]:
        r"""$\int |x|\,n(x, t)\,dx$, which coagulation conserves: d at all times. By Gauss-Laguerre quadrature."""
        drawn = Gauss(n=nodes).nodes(self.sizes, jax.random.key(0))
        at_time = jnp.full((1,), t)
        values = jax.vmap(lambda x: jnp.sum(x) * u(jnp.concatenate([x, at_time])))(drawn.points)
        return jnp.sum(drawn.weights * values) / self.decay**self.coagulation.dim

    @property
    def sizes(self) -> Product:
        """The law of the sizes, exponential with mean 1/λ."""
        return Product(*[Exponential(0.0, 1 / self.decay)] * self.coagulation.dim)

    def equation(self, defaults: Defaults) -> dict[str, Any]:
        """The arguments of `Equation`."""
        domain = Product(self.sizes, Interval(0.0, self.coagulation.duration))
        return {
            "domain": domain,
            "f": time_derivative,
            "integrals": [Integral(smaller, self.coagulation.gain), Integral(self.sizes, self.loss)],
            "conditions": [Condition(Product(self.sizes, Point(0.0)), self.exact)],
            "exact": self.exact,
            "evaluation": Evaluation(at=domain),
            "defaults": defaults,
        }


class ConstantSolution(AbstractHalfLine):
    r"""K = 1, d sizes, with $N = 2/(t + 2)$:  $n = N^2 e^{-|x|} \sum_k (1 - N)^k \prod_i x_i^k/k!$; for d = 1 this is $N^2 e^{-N x}$."""

    coagulation: Coagulation
    decay: float

    def exact(self, point: Float[Array, "p"]) -> Float[Array, ""]:
        x, t = point[:-1], point[-1]
        number = 2 / (t + 2)
        k = np.arange(TERMS)
        factorial = np.array([np.sum(np.log(np.arange(1, n + 1))) for n in k])
        # By logarithms: single terms leave the range of float32 long before their sum does. The floor keeps t = 0 and x = 0 finite.
        logarithm = k * jnp.log(jnp.maximum((1 - number) * jnp.prod(x), 1e-35)) - len(x) * factorial
        return number**2 * jnp.exp(jax.scipy.special.logsumexp(logarithm) - (1 - self.decay) * jnp.sum(x))


class GolovinSolution(AbstractHalfLine):
    r"""K = x + x', with $T = 1 - e^{-t}$:  $n = (1 - T)\,e^{-(1 + T) x}\,\frac{I_1(2 x \sqrt T)}{x \sqrt T}$."""

    coagulation: Coagulation
    decay: float

    def exact(self, point: Float[Array, "2"]) -> Float[Array, ""]:
        x, t = point
        T = -jnp.expm1(-t)
        root = jnp.sqrt(jnp.maximum(T, 1e-12))
        z = jnp.maximum(2 * x * root, 1e-3)  # Below, I_1(z)/z is 1/2 to the last digit of float32, and at 0 it would be 0/0.
        exponent = z - 2 * x * root - ((1 - root) ** 2 - self.decay) * x  # z - (1 + T) x, from small numbers
        return (1 - T) * jnp.exp(exponent) * 2 * jax.scipy.special.i1e(z) / z


def exponential_density(x: Size) -> Float[Array, ""]:
    r"""$n_0(x) = e^{-|x|}$."""
    return jnp.exp(-jnp.sum(x))


class SmoluchowskiConstant(Equation):
    r"""$\partial_t n = \frac12 \int_{[0,x]} n(x - x')\,n(x')\,dx' - n \int_{[0,\infty)^d} n$ with $n_0 = e^{-|x|}$, for
    $v = e^{\lambda |x|}\,n$; exact solution: `ConstantSolution`."""

    solution: ConstantSolution

    def __init__(self, dim: int = 1, duration: float = 1.0, decay: float | None = None):
        """`dim` is d, `duration` the last time, `decay` is λ, three quarters of the slowest decay of n unless given: v is bounded."""
        coagulation = Coagulation(positive_integer("dim", dim), ConstantKernel(), exponential_density, duration=duration)
        # Along the diagonal n decays like exp(-(1 - (1 - N)^(1/d)) |x|).
        slowest = 1 - (1 - 2 / (coagulation.duration + 2)) ** (1 / dim)
        self.solution = ConstantSolution(coagulation, real("decay", 0.75 * slowest if decay is None else decay, low=1e-3))
        super().__init__(**self.solution.equation(ONE_SAMPLE.defaults(MLP(64, 3, "silu"), 10_000, 400)))

    def recipe(self) -> dict[str, Any]:
        return {"dim": self.inputs - 1, "duration": self.solution.coagulation.duration, "decay": self.solution.decay}


class SmoluchowskiGolovin(Equation):
    r"""$\partial_t n = \frac12 \int_0^x x\,n(x - x')\,n(x')\,dx' - n \int_0^\infty (x + x'')\,n(x'')\,dx''$ with $n_0 = e^{-x}$, for
    $v = e^{\lambda x}\,n$; exact solution: `GolovinSolution`."""

    solution: GolovinSolution

    def __init__(self, duration: float = 0.5, decay: float | None = None):
        r"""`duration` is the last time, `decay` is λ: unless given one and a half times the slowest decay of n, $(1 - \sqrt T)^2$, which is
        slow: v then grows a little, but its mean square over the second integral's variables stays finite, which needs less than twice."""
        coagulation = Coagulation(1, AdditiveKernel(), exponential_density, duration=duration)
        slowest = (1 - (1 - np.exp(-coagulation.duration)) ** 0.5) ** 2
        self.solution = GolovinSolution(coagulation, real("decay", 1.5 * slowest if decay is None else decay, low=1e-3))
        # Both integrals have one dimension. By one random sample the kernel, which has no bound, is noise: a seed in four diverged.
        super().__init__(**self.solution.equation(SMOOTH.defaults(MLP(64, 3, "silu"), 40_000, 32)))

    def recipe(self) -> dict[str, Any]:
        return {"duration": self.solution.coagulation.duration, "decay": self.solution.decay}
