"""Smoluchowski's coagulation equation in a box of sizes."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import real
from fredholm.domains.combined import Point, Product
from fredholm.domains.flat import Box, Interval
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.evaluation import AbstractEvaluation, Evaluation
from fredholm.equation.operators import derivative
from fredholm.equation.residual import Integral
from fredholm.equation.view import View
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.muon import Muon
from fredholm.problems.coagulation import AbstractReference, Collocation
from fredholm.problems.coagulation_kernels import Coagulation, Density, Kernel, linear_density
from fredholm.rules.base import AbstractRule
from fredholm.rules.even import Even
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.quasi_monte_carlo import QuasiMonteCarlo
from fredholm.rules.randomize import Scramble, Shift
from fredholm.rules.sequences import Sobol


class Smoluchowski(Equation):
    r"""The density n(x, t) of particles with d sizes $x \in [0, 1]^d$ that merge at the rate K, for $t \in [0, 1]$:

    $$\partial_t n(x) = \frac12 \int_{[0, x]} K(x - x', x')\,n(x - x')\,n(x')\,dx' - n(x) \int_{[0, 1]^d} K(x, x'')\,n(x'')\,dx'',$$

    with $n(x, 0) = n_0(x)$. The network's input is the point (x, t). The exact solution is a converged reference on a grid, computed once
    and cached on disk.

    From Saleh et al., ICML 2024, Example 2.3 and Section C.3. Where the published runs differ from the paper's text, this follows the runs:
    the kernel has a cut-off (`CutOffKernel`, not `SaturatingKernel`), the first integral has the factor ½ (the text has none,
    `gain_factor=1.0`), and the second ends at 1 instead of infinity.
    """

    coagulation: Coagulation  # K, n_0 and the two integrands
    reference: AbstractReference | None  # how the exact solution is computed

    def __init__(
        self,
        dim: int = 1,
        kernel: Kernel | None = None,
        initial: Density = linear_density,
        *,
        gain_factor: float = 0.5,
        weight: float = 1.0,
        reference: AbstractReference | None = Collocation(),  # noqa: B008 - a frozen value
        loss_rule: AbstractRule | None = None,
        evaluation: AbstractEvaluation | None = None,
    ):
        r"""`dim` is d. `kernel` is K(x, x') of two sizes of shape (d,); default: `CutOffKernel()`. `initial` is $n_0$(x). `gain_factor`
        stands before the first integral. `weight` is the weight of the initial condition in the loss. `reference` computes the exact
        solution: `Collocation()`, `EulerGrid()` as in the published runs, or None for no exact solution. `loss_rule` is the rule of the
        second integral; default: the solver's rule. The paper describes deterministic nodes for both integrals; the published runs have
        them in the first only, as midpoints, and random nodes, `MonteCarlo(n)`, in the second."""
        self.coagulation, self.reference = Coagulation(dim, kernel, initial, gain_factor=gain_factor), reference
        sizes = Box((0.0,) * self.coagulation.dim, (1.0,) * self.coagulation.dim)
        domain = Product(sizes, Interval(0.0, 1.0))
        start = Condition(Product(sizes, Point(0.0)), self.coagulation.at_start, weight=real("weight", weight, low=0.0))
        super().__init__(
            domain=domain,
            f=time_derivative,
            integrals=[Integral(smaller, self.coagulation.gain), Integral(sizes, self.coagulation.loss, loss_rule)],
            conditions=[start],
            view=_view(self.coagulation.dim),
            exact=None if reference is None else reference.solve(self.coagulation),
            evaluation=evaluation or Evaluation(at=domain, score="mse"),
            defaults=Defaults(DelayedTarget(), _nodes(self.coagulation.dim), MLP(64, 3, "silu", scaled=False), Muon(), 10_000, 47),
            # With fewer steps; f has weight 1, so there is no split.
            published=Defaults(
                DelayedTarget(tau=0.99, regularization=1.0),
                MonteCarlo(1),
                MLP(64, 3, "silu", scaled=False),
                Adam(1e-3),
                20_000,
                400,
                average=0.0,
            ),
        )

    def recipe(self) -> dict[str, Any]:
        initial = self.coagulation.initial
        return {
            "dim": self.coagulation.dim,
            "kernel": self.coagulation.kernel,
            **({} if initial is linear_density else {"initial": initial}),
            **({} if self.coagulation.gain_factor == 0.5 else {"gain_factor": self.coagulation.gain_factor}),
            "weight": self.conditions[0].weight,
            "reference": self.reference,
            "loss_rule": self.integrals[1].rule,
            "evaluation": self.evaluation,
        }


def _nodes(dim: int) -> AbstractRule:
    """Eight nodes whose draws are independent and unbiased."""
    return Even(8, Shift()) if dim == 1 else QuasiMonteCarlo(8, Sobol(), Scramble())


def _view(dim: int) -> View:
    """The density over size and time for d = 1, else over two sizes at the last time. A third size is small: most happens there."""
    sizes = ("x",) if dim == 1 else tuple(f"x_{index + 1}" for index in range(dim))
    return View((*sizes, "t"), ("n",), through=() if dim == 1 else (0.0, 0.0, *[0.05] * (dim - 2), 1.0))


def time_derivative(u: Function, point: Float[Array, "p"]) -> Float[Array, ""]:
    r"""$\partial_t n(x, t)$."""
    return derivative(u, point, axis=-1)


def smaller(point: Float[Array, "p"]) -> Box:
    """[0, x]: the possible sizes of a part of a particle of size x."""
    return Box(jnp.zeros_like(point[:-1]), point[:-1])
