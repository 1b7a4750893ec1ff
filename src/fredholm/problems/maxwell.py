"""Ampère's law for a closed polygon of wires, through Stokes' theorem."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.domains.base import AbstractDomain, Base, Record
from fredholm.domains.combined import Law
from fredholm.domains.disc import Disc
from fredholm.domains.distributions import PowerLaw
from fredholm.domains.round import Ball, Circle, Sphere
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.evaluation import AbstractEvaluation, Evaluation
from fredholm.equation.operators import curl, directional
from fredholm.equation.residual import Integral
from fredholm.equation.view import View
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.standard import Standard
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.muon import Muon
from fredholm.problems.wires import Wires
from fredholm.rules.even import Even
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.randomize import Rotation

CORNER = 3**-0.5
RECTANGLE = ((CORNER, -CORNER, -CORNER), (CORNER, CORNER, CORNER), (-CORNER, CORNER, CORNER), (-CORNER, -CORNER, -CORNER))


class Maxwell(Equation):
    r"""$\nabla \times \nabla \times A = J$ for the current I in thin wires, as Stokes' theorem on random discs D with centre c,
    radius r and normal n,

    $$\oint_{\partial D} (\nabla \times A) \cdot dl = \sum_{\text{wires through } D} \pm I,$$

    with plus where the current crosses along n. The network is the vector potential A, with three outputs. It is a weak form, without f,
    and without a gauge term. It leaves a constant free, so the score inside the discs removes the mean of each component. (Saleh et al.,
    ICML 2024, Example 2.2 and Section C.2. The A and B that the paper prints have the opposite sign: they solve
    $\nabla \times \nabla \times A = -J$. Signs here are those of `Wires`.)
    """

    wires: Wires  # the polygon, its current, and the closed forms of A and B

    def __init__(
        self,
        vertices: object = RECTANGLE,
        current: float = 1.0,
        *,
        centers: AbstractDomain | None = None,
        radii: AbstractDomain | None = None,
        evaluation: AbstractEvaluation | None = None,
    ):
        r"""`vertices` are the corners of the polygon of wires, of shape (m, 3), in the direction of the `current`; the last is joined to
        the first. `centers` and `radii` are the laws of the discs; default: the unit ball, and $r^3 \sim U[0, 1]$ as in the published runs.
        The paper's text has $r^2 \sim U[0, 1]$, `radii=PowerLaw(0.0, 1.0, power=2.0)`. Normals are uniform on the sphere."""
        self.wires = Wires(vertices, current)
        centers = Ball((0.0, 0.0, 0.0), 1.0) if centers is None else centers
        radii = PowerLaw(0.0, 1.0, power=3.0) if radii is None else radii
        if centers.dimension != 3 or radii.dimension != 1:
            raise ValueError(f"Maxwell centers, radii: got laws in {centers.dimension} and {radii.dimension} dimensions; expected 3 and 1.")
        discs = Law(center=centers, normal=Sphere((0.0, 0.0, 0.0), 1.0), radius=radii)
        super().__init__(
            domain=discs,
            integrals=[Integral(over=rim, g=circulation)],
            y=self.wires.through,
            exact=self.wires.potential,
            evaluation=evaluation
            or Evaluation(at=InsideDiscs(discs), score="mse_mean_free", metrics=("mse", "relative_l2", "mse_mean_free")),
            inputs=3,
            outputs=3,
            view=View("xyz", ("A_x", "A_y", "A_z"), through=(0.0, 0.0, 0.0), low=(-1.0, -1.0), high=(1.0, 1.0), output=2, lines=curl),
            defaults=Defaults(Standard(), Even(32, Rotation()), MLP(64, 5, "tanh", scaled=False), Muon(3e-3), 10_000, 24),
            # The base case of Maxwell's problem, with fewer steps.
            published=Defaults(
                DelayedTarget(tau=0.75, regularization=64.0, split=1000.0),
                MonteCarlo(1),
                MLP(64, 5, "tanh", scaled=False),
                Adam(1e-3),
                20_000,
                400,
                average=0.0,
            ),
        )

    def recipe(self) -> dict[str, Any]:
        law = self.domain.parts if isinstance(self.domain, Law) else {}
        return {
            "vertices": self.wires.vertices,
            "current": self.wires.current,
            "centers": law["center"],
            "radii": law["radius"],
            "evaluation": self.evaluation,
        }


def rim(disc: Record) -> Circle:
    """The circle that bounds the disc."""
    return Circle(disc.center, disc.radius, disc.normal)


def circulation(u: Function, disc: Record, t: Float[Array, "3"]) -> Float[Array, ""]:
    r"""$(\nabla \times A) \cdot \hat\tau = \partial_n A_r - \partial_r A_n$ at a point of the rim, tangent $\hat\tau = n \times \hat r$.

    In the frame $(\hat r, \hat\tau, n)$ of the circle two directional derivatives are enough, where the curl needs three. They share the
    network's values at t; a `vmap` over both takes three to four times as long.
    """
    radial = (t - disc.center) / disc.radius
    return directional(u, t, disc.normal) @ radial - directional(u, t, radial) @ disc.normal


class InsideDiscs(AbstractDomain):
    """Uniform points inside random discs: the region that the training volumes cover."""

    discs: Law  # the law of center, normal and radius

    @property
    def dimension(self) -> int:
        return 3

    @property
    def bases(self) -> tuple[Base, ...]:
        return (*self.discs.bases, Base.UNIT, Base.UNIT)

    @property
    def mass(self) -> float:
        return 1.0

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "3"], Float[Array, ""]]:
        disc, _ = self.discs.map(z[:-2])
        return Disc(disc.center, disc.radius, disc.normal).map(z[-2:])[0], jnp.ones(())

    def sample(self, key: Key[Array, ""]) -> Float[Array, "3"]:
        key_disc, key_point = jax.random.split(key)
        disc = self.discs.sample(key_disc)
        return Disc(disc.center, disc.radius, disc.normal).sample(key_point)
