"""A Bellman equation in any dimension, with an exact solution."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer, real
from fredholm.domains.distributions import Normal
from fredholm.equation.equation import Equation
from fredholm.equation.residual import Integral
from fredholm.functions.mlp import MLP
from fredholm.problems.classes import ONE_SAMPLE

State = Float[Array, "d"]


class Bellman(Equation):
    r"""$V(x) = \gamma\,\mathbb{E}[V(x')] + R(x)$ with $x' = \rho\,x + \sqrt{1-\rho^2}\,\xi$, $\xi \sim \mathcal{N}(0, I)$, in d dimensions.

    The value of a reward R that is collected along a chain of states and discounted by γ at each step: the time-discrete Feynman-Kac
    formula of the Ornstein-Uhlenbeck process, whose stationary law $\mathcal{N}(0, I)$ is that of x. Hermite's polynomials are its
    eigenfunctions, $\mathbb{E}[x'] = \rho x$ and $\mathbb{E}[x'^2 - 1] = \rho^2(x^2 - 1)$. So for

    $$R(x) = \frac{1}{\sqrt d}\sum_i \Big(x_i + \tfrac{1}{\sqrt2}(x_i^2 - 1)\Big), \qquad
      V(x) = \frac{1}{\sqrt d}\sum_i \Big(\frac{x_i}{1 - \gamma\rho} + \frac{x_i^2 - 1}{\sqrt2\,(1 - \gamma\rho^2)}\Big).$$

    The theory example of Saleh et al., ICML 2024; the bias of the squared one-sample error is Baird's (1995), the delayed target that of
    temporal-difference learning.
    """

    discount: float  # γ
    memory: float  # ρ

    def __init__(self, dim: int = 4, discount: float = 0.9, memory: float = 0.8):
        """`dim` is d, `discount` is γ, `memory` is ρ, how much of the state is left after a step."""
        dim = positive_integer("dim", dim)
        self.discount = real("discount", discount, low=0.0, below=1.0)
        self.memory = real("memory", memory, low=0.0, below=1.0)
        gamma, rho = self.discount, self.memory
        noise = math.sqrt(1 - rho**2)
        super().__init__(
            domain=Normal((0.0,) * dim),
            f=lambda u, x: u(x),
            integrals=[
                Integral(Normal((0.0,) * dim), lambda u, x, xi: gamma * u(rho * x + noise * xi), at=lambda x, xi: rho * x + noise * xi)
            ],
            y=lambda x: value(x, 1.0, 1.0),
            exact=lambda x: value(x, 1 / (1 - gamma * rho), 1 / (1 - gamma * rho**2)),
            defaults=ONE_SAMPLE.defaults(MLP(64, 3, "silu"), 10_000, 400),
        )

    def recipe(self) -> dict[str, Any]:
        return {"dim": self.inputs, "discount": self.discount, "memory": self.memory}


def value(x: State, first: float, second: float) -> Float[Array, ""]:
    r"""$d^{-1/2} \sum_i (a\,x_i + b\,(x_i^2 - 1)/\sqrt2)$."""
    return jnp.sum(first * x + second * (x**2 - 1) / math.sqrt(2)) / math.sqrt(len(x))
