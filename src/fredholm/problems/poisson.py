"""Poisson's equation with point charges, through the divergence theorem."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import nearest, numbers, positive_integer, real
from fredholm.domains.base import AbstractDomain, Record
from fredholm.domains.combined import Law
from fredholm.domains.distributions import PowerLaw
from fredholm.domains.flat import Box, Interval
from fredholm.domains.normalized_sphere import NormalizedSphere
from fredholm.domains.round import Ball, Sphere, unit_sphere_area
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.evaluation import AbstractEvaluation, Evaluation
from fredholm.equation.operators import directional
from fredholm.equation.residual import Integral
from fredholm.equation.view import View
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.functions.scaled import Scaled
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.standard import Standard
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.muon import Muon
from fredholm.problems.evaluation import HIGH_DIMENSION, InsideBalls, RadialGrid
from fredholm.rules.even import Even
from fredholm.rules.focused import Focused
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.randomize import Rotation

SMALL = 0.05  # size of the first network's values, in three and more dimensions
THREE_CHARGES = ((-0.5, -0.5), (0.0, 0.0), (0.5, 0.5))


class Charges(eqx.Module):
    r"""Point charges $\rho = \sum_i q_i\,\delta(x - \mu_i)$ and the fields that they make, in closed form in d dimensions."""

    locations: Float[Array, "c d"] = eqx.field(converter=lambda given: jnp.asarray(numbers("Charges locations", given)))  # μ
    weights: Float[Array, "c"] = eqx.field(converter=lambda given: jnp.asarray(numbers("Charges weights", given)))  # q

    def potential(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        r"""$U(x) = \sum_i \frac{q_i}{2\pi}\ln|x-\mu_i|$ in the plane, $\sum_i q_i\,\frac{|x-\mu_i|^{2-d}}{(2-d)\,|S^{d-1}|}$ elsewhere."""
        d = x.shape[0]
        distance = jnp.maximum(jnp.linalg.norm(x[None, :] - self.locations, axis=-1), 1e-12)
        each = jnp.log(distance) if d == 2 else distance ** (2 - d) / (2 - d)
        return jnp.sum(self.weights * each) / unit_sphere_area(d)

    def field(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        r"""$E(x) = \nabla U(x) = \sum_i q_i\,\frac{x - \mu_i}{|S^{d-1}|\,|x-\mu_i|^d}$."""
        d = x.shape[0]
        away = x[None, :] - self.locations
        distance = jnp.maximum(jnp.linalg.norm(away, axis=-1), 1e-12)
        return (self.weights / distance**d) @ away / unit_sphere_area(d)

    def enclosed(self, ball: Record) -> Float[Array, ""]:
        r"""$\sum_i q_i\,[\,|\mu_i - c| < r\,]$, the charge inside a ball."""
        inside = jnp.sum((self.locations - ball.center[None, :]) ** 2, axis=-1) < ball.radius**2
        return jnp.sum(jnp.where(inside, self.weights, 0.0))


class Poisson(Equation):
    r"""$\nabla^2 U = \rho$ for point charges, as the divergence theorem on random balls B with centre c and radius r,

    $$\oint_{\partial B} \nabla U \cdot \hat n\,dS = \sum_i q_i\,[\mu_i \in B].$$

    The network is U. It is a weak form, without f. It leaves harmonic functions free, so the score removes mean and linear part (d = 2), or
    standardises (the paper's Algorithm 2, d > 2); a `boundary` condition makes the solution unique. In float32 the squared surface measure
    $A^2$ underflows near d = 100. (Saleh et al., ICML 2024, Examples 2.1 and Section C.1.)
    """

    charges: Charges | AbstractDomain  # the charges, or a law from which each seed draws its own
    count: int  # the number of charges of each seed, where `charges` is a law
    boundary: float  # weight of the Dirichlet condition on the unit sphere
    variable: str  # the integration variable of the surface, angles or normals

    def __init__(
        self,
        dim: int = 2,
        charges: object = None,
        weights: object = None,
        *,
        count: int = 3,
        centers: AbstractDomain | None = None,
        radii: AbstractDomain | None = None,
        boundary: float = 0.0,
        variable: Literal["angles", "normals"] = "angles",
        evaluation: AbstractEvaluation | None = None,
    ):
        r"""`dim` is d. `charges` are the locations μ, an array of shape (c, d); default: three in the plane, one at the origin elsewhere.
        Or `charges` is a domain, from which each seed draws `count` locations. `weights` are the charges q, an array of shape (c,);
        default: 1. `centers` and `radii` are the laws of the balls; default: $U([-1,1]^2)$ and U[.1, 1.5] in the plane, the unit ball and
        $r^d \sim U[0,1]$ elsewhere. `boundary` is the weight of the condition U = exact on the unit sphere. `variable` is the integration
        variable of the surface: d - 1 angles, or d normal variables that are normalised, which makes the same integral harder for a
        deterministic rule (Figure 18 of the paper)."""
        if variable not in ("angles", "normals"):
            raise nearest("variable", str(variable), ("angles", "normals"))
        self.variable = variable
        dim = positive_integer("Poisson dim", dim, least=2)
        self.count = positive_integer("Poisson count", count)
        self.boundary = real("Poisson boundary", boundary, low=0.0)
        if isinstance(charges, AbstractDomain):
            if charges.dimension != dim:
                raise ValueError(f"Poisson charges: got a law in {charges.dimension} dimensions; expected {dim}.")
            if weights is not None:
                raise ValueError("Poisson weights: charges that are drawn for each seed have weight 1; leave weights out.")
            self.charges = charges
            present = Charges(jax.vmap(charges.sample)(jax.random.split(jax.random.key(0), self.count)), jnp.ones(self.count))
        else:
            default = THREE_CHARGES if dim == 2 else (tuple([0.0] * dim),)
            self.charges = present = _fixed_charges(dim, default if charges is None else charges, weights)
        planar = dim == 2
        origin = (0.0,) * dim
        law = Law(
            center=centers or (Box((-1.0, -1.0), (1.0, 1.0)) if planar else Ball(origin, 1.0)),
            radius=radii or (Interval(0.1, 1.5) if planar else PowerLaw(0.0, 1.0, power=float(dim))),
        )
        if law.parts["center"].dimension != dim or law.parts["radius"].dimension != 1:
            raise ValueError(f"Poisson centers, radii: expected laws in {dim} and in 1 dimension.")
        on_boundary = Condition(at=Sphere(origin, 1.0), value=present.potential, weight=self.boundary)
        super().__init__(
            domain=law,
            integrals=[Integral(over=surface if variable == "angles" else surface_by_normals, g=flux)],
            y=present.enclosed,
            conditions=[on_boundary] if self.boundary else [],
            exact=present.potential,
            evaluation=evaluation or _evaluation(dim, law),
            inputs=dim,
            view=View(outputs=("U",)),
            defaults=_defaults(dim, self.charges),
            published=_published(dim),
            drawn=_with_drawn_charges if isinstance(charges, AbstractDomain) else None,
        )

    def recipe(self) -> dict[str, Any]:
        law = self.domain.parts if isinstance(self.domain, Law) else {}
        fixed = {} if isinstance(self.charges, AbstractDomain) else {"weights": self.charges.weights}
        return {
            "dim": self.inputs,
            "charges": self.charges if isinstance(self.charges, AbstractDomain) else self.charges.locations,
            "count": self.count,
            "centers": law["center"],
            "radii": law["radius"],
            "boundary": self.boundary,
            "variable": self.variable,
            "evaluation": self.evaluation,
            **fixed,
        }


class PoissonSeveral(Poisson):
    r"""`Poisson` with three charges of different weight away from the origin, q = 1, −½ and ¼, in d dimensions: at ½ on the first axis, at
    −0.3 on the second, and at 0.4 on the first and the second both.

    The truth has no symmetry, so the score is over independent points in the training's balls.
    """

    def __init__(self, dim: int = 3):
        """`dim` is d, at least 3."""
        dim = positive_integer("PoissonSeveral dim", dim, least=3)
        charges = np.zeros((3, dim))
        charges[0, 0], charges[1, 1], charges[2, :2] = 0.5, -0.3, 0.4
        balls = InsideBalls(Ball((0.0,) * dim, 1.0), PowerLaw(0.0, 1.0, power=float(dim)))
        score = Evaluation(at=balls, n=10_000, score="mse_normalized", metrics=HIGH_DIMENSION)
        super().__init__(dim, charges, (1.0, -0.5, 0.25), evaluation=score)

    def recipe(self) -> dict[str, Any]:
        return {"dim": self.inputs}


def _with_drawn_charges(problem: Equation, key: Key[Array, ""]) -> Equation:
    """The equation of one seed, with its own charges."""
    assert isinstance(problem, Poisson)
    assert isinstance(problem.charges, AbstractDomain)
    drawn = Charges(jax.vmap(problem.charges.sample)(jax.random.split(key, problem.count)), jnp.ones(problem.count))
    return eqx.tree_at(lambda e: (e.y, e.exact), problem, (drawn.enclosed, drawn.potential), is_leaf=callable)


def surface(ball: Record) -> Sphere:
    """The surface of the ball."""
    return Sphere(ball.center, ball.radius)


def surface_by_normals(ball: Record) -> NormalizedSphere:
    """The surface of the ball, with normalised normal variables as the integration variable."""
    return NormalizedSphere(ball.center, ball.radius)


def flux(u: Function, ball: Record, t: Float[Array, "d"]) -> Float[Array, ""]:
    r"""$\nabla U(t) \cdot \hat n$ at a point of the surface: one directional derivative in any dimension."""
    return directional(u, t, (t - ball.center) / ball.radius)


def _fixed_charges(dim: int, locations: object, weights: object) -> Charges:
    locations = jnp.asarray(locations, float)
    if locations.ndim != 2 or locations.shape[1] != dim or not len(locations):
        raise ValueError(f"Poisson charges: got shape {locations.shape}; expected (number of charges, {dim}).")
    weights = jnp.ones(len(locations)) if weights is None else jnp.asarray(weights, float)
    if weights.shape != (len(locations),):
        raise ValueError(f"Poisson weights: got shape {weights.shape}; expected ({len(locations)},), one for each charge.")
    if not (np.all(np.isfinite(locations)) and np.all(np.isfinite(weights))):
        raise ValueError("Poisson charges, weights: got a number that is not finite.")
    return Charges(locations, weights)


def _evaluation(dim: int, law: Law) -> AbstractEvaluation:
    if dim == 2:
        plane = Box((-1.0, -1.0), (1.0, 1.0))
        metrics = ("mse", "relative_l2", "mse_mean_free", "mse_linear_free", "mse_normalized")
        return Evaluation(at=plane, n=5000, score="mse_linear_free", metrics=metrics)
    return RadialGrid(at=InsideBalls(law.parts["center"], law.parts["radius"]))


def _defaults(dim: int, charges: Charges | AbstractDomain) -> Defaults:
    """The best settings that are known (docs/benchmarks.md). In the plane an even rule sees the flux. In higher dimension it goes through
    small caps, which uniform nodes miss: half of the nodes are on rays from the charges. There the network starts small, since it keeps a
    part of what it starts with: the weak form cannot see harmonic functions."""
    if dim == 2:
        return Defaults(Standard(), Even(32, Rotation()), MLP(64, 3, "silu", scaled=False), Muon(), 10_000, 24)
    if isinstance(charges, AbstractDomain):  # of each seed its own, where no rule knows them
        return _published(dim)
    sizes = np.abs(np.asarray(charges.weights))
    there = sizes > 0
    weights = None if len(set(sizes[there])) == 1 else sizes[there]
    rule = Focused(16, np.asarray(charges.locations)[there], weights) if np.any(there) else MonteCarlo(16)
    network = Scaled(MLP(64, 5, "silu", scaled=False), (0.0,) * dim, (1.0,) * dim, (0.0,), (SMALL,), units=())
    return Defaults(Standard(), rule, network, Muon(), 20_000, 64)


def _published(dim: int) -> Defaults:
    """As in the published runs, with fewer steps: the base case of the plane, where M = 100 replaces the 1000 of the paper's text, and the
    case of one sample in higher dimension."""
    if dim == 2:
        method, network, batch = DelayedTarget(tau=0.999, regularization=1.0, split=100.0), MLP(64, 3, "silu", scaled=False), 400
    else:
        method, network, batch = DelayedTarget(tau=0.996, regularization=4.0, split=500.0), MLP(64, 5, "silu", scaled=False), 500
    return Defaults(method, MonteCarlo(1), network, Adam(1e-3), 20_000, batch, average=0.0)
