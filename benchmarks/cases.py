"""What is measured: four problems of the paper with the published batch and network, and the FLOPs of a step.

FLOPs are those of the matrix products that the mathematics needs, the same for every peer: a peer that computes something twice gets
nothing for it. With F = 2 Σ in·out for one point through the network (bias and activation are not counted),

    a value                 F
    k directional derivatives with their value                      (1 + k) F
    the gradient of either with respect to the parameters           twice as much again: ∂W and ∂h of every product, without the ∂h
                                                                    of the first layer, whose input is data
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import fredholm as fr

PROBLEMS = ("poisson-2", "poisson-10", "maxwell", "smoluchowski")
METHODS = ("standard-1", "standard-100", "double", "delayed")
LABELS = {
    "standard-1": "standard, N=1",
    "standard-100": "standard, N=100",
    "double": "double sampling, 1+1",
    "delayed": "delayed target, N=1",
}
TITLES = {"poisson-2": "Poisson, d=2", "poisson-10": "Poisson, d=10", "maxwell": "Maxwell", "smoluchowski": "Smoluchowski, d=1"}


@dataclass(frozen=True)
class Case:
    """One problem with one method: the published settings, for fredholm and for its peers."""

    problem: str
    method: str
    dim: int  # d: of space for Poisson, of the particles for Smoluchowski
    inputs: int
    outputs: int
    depth: int  # hidden layers
    activation: str
    batch: int  # V
    n: int  # N, nodes of an integral; all of them, also of double sampling
    tau: float = 0.0
    regularization: float = 0.0  # λ
    split: float = 0.0  # M; 0 where f is given
    width: int = field(default=64)

    @property
    def name(self) -> str:
        """problem/method."""
        return f"{self.problem}/{self.method}"

    @property
    def is_delayed(self) -> bool:
        """True where there is a target network."""
        return self.method == "delayed"

    @property
    def layers(self) -> list[tuple[int, int]]:
        """(in, out) of every layer."""
        widths = [self.inputs, *[self.width] * self.depth, self.outputs]
        return list(pairwise(widths))

    @property
    def flops(self) -> int:
        """Of the matrix products in one step of one seed."""
        once = 2 * sum(a * b for a, b in self.layers)
        first = 2 * self.layers[0][0] * self.layers[0][1]

        def trained(points: int, directions: int) -> int:
            return points * (1 + directions) * (3 * once - first)

        def fixed(points: int, directions: int) -> int:
            return points * (1 + directions) * once

        v, n = self.batch, self.n
        if self.problem == "smoluchowski":
            # ∂n/∂t at x, which has n(x) with it, three densities at every node, and the initial condition on V points of its own.
            main = trained(v, 1) + trained(v, 0)
            return main + (fixed(v, 0) + fixed(3 * v * n, 0) if self.is_delayed else trained(3 * v * n, 0))
        directions = 2 if self.problem == "maxwell" else 1
        # The regulariser adds the target's value at the main nodes; the network's own comes with its derivative.
        return trained(v * n, directions) + (fixed(v * n, directions) + fixed(v * n, 0) if self.is_delayed else 0)

    def equation(self) -> fr.Equation:
        """The problem."""
        if self.problem == "maxwell":
            return fr.problems.Maxwell()
        if self.problem == "smoluchowski":
            return fr.problems.Smoluchowski(self.dim)
        return fr.problems.Poisson(self.dim)

    def keywords(self) -> dict[str, Any]:
        """What `solve` is given besides the problem."""
        methods = {"standard-1": fr.Standard, "standard-100": fr.Standard, "double": fr.DoubleSampling}
        delayed = fr.DelayedTarget(tau=self.tau, regularization=self.regularization, split=self.split or None)
        return {
            "method": delayed if self.is_delayed else methods[self.method](),
            "rule": fr.MonteCarlo(self.n),
            "network": fr.MLP(self.width, self.depth, self.activation),
            "optimizer": fr.Adam(1e-3),
            "batch": self.batch,
            "average": 0.0,
        }


def case(problem: str, method: str) -> Case:
    """The published settings of a problem with a method; double sampling of Smoluchowski, which has none, takes those of Poisson.

    N is the number of points that are evaluated. (The published runs of weak forms evaluate N + 1.)
    """
    n = {"standard-1": 1, "standard-100": 100, "double": 2, "delayed": 1}[method]
    few = method == "standard-100"
    delayed = method == "delayed"
    if problem == "poisson-2":
        return Case(problem, method, 2, 2, 1, 3, "silu", 8 if few else 400, n, *((0.999, 1.0, 100.0) if delayed else ()))
    if problem == "poisson-10":
        return Case(problem, method, 10, 10, 1, 5, "silu", 10 if few else 500, n, *((0.996, 4.0, 500.0) if delayed else ()))
    if problem == "maxwell":
        return Case(problem, method, 3, 3, 3, 5, "tanh", 8 if few else 400, n, *((0.75, 64.0, 1000.0) if delayed else ()))
    return Case(problem, method, 1, 2, 1, 3, "silu", 4 if few else 400, n, *((0.99, 1.0) if delayed else ()))
