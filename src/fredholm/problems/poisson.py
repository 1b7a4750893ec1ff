"""Poisson's equation with point charges, through the divergence theorem."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import nearest, positive_integer, real
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
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.optimizers.adam import Adam
from fredholm.problems.evaluation import InsideBalls, RadialGrid
from fredholm.rules.monte_carlo import MonteCarlo

THREE_CHARGES = ((-0.5, -0.5), (0.0, 0.0), (0.5, 0.5))


class Charges(eqx.Module):
    r"""Point charges $\rho = \sum_i q_i\,\delta(x - \mu_i)$ and the fields that they make, in closed form in d dimensions."""

    locations: Float[Array, "c d"] = eqx.field(converter=jnp.asarray)  # μ
    weights: Float[Array, "c"] = eqx.field(converter=jnp.asarray)  # q

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

    U is the network; there is no f: it is a weak form. It cannot see harmonic functions, so a solution is compared after removing
    mean and linear part (d = 2) or standardised (the paper's Algorithm 2, d > 2); a `boundary` term makes it unique. In float32 the
    squared surface measure $A^2$ underflows near d = 100. (Saleh et al., ICML 2024, Examples 2.1 and Section C.1.)
    """

    charges: Charges | AbstractDomain  # the charges, or the law that they are drawn from for each seed
    count: int  # how many are drawn for each seed, where `charges` is a law
    boundary: float  # weight of the Dirichlet condition on the unit sphere
    variable: str  # what the surface is integrated over, angles or normals

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
        r"""`dim` is d; `charges` are the locations μ, three in the plane and one at the origin elsewhere unless given, or a domain from
        which `count` of them are drawn for every seed; `weights` are the charges q, 1 unless given. `centers` and `radii` are the laws
        of the balls: $U([-1,1]^2)$ and U[.1, 1.5] in the plane, the unit ball and $r^d \sim U[0,1]$ elsewhere. `boundary` is the weight
        of the condition U = exact on the unit sphere. `variable` is what the surface is integrated over: d - 1 angles, or d normals that
        are normalised, which makes the same integral harder for a deterministic rule (Figure 18 of the paper)."""
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
                raise ValueError("Poisson weights: charges that are drawn for each seed all have weight 1; leave weights out.")
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
            defaults=_defaults(dim),
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


def _with_drawn_charges(problem: Equation, key: Key[Array, ""]) -> Equation:
    """The equation of one seed, with charges of its own."""
    assert isinstance(problem, Poisson)
    assert isinstance(problem.charges, AbstractDomain)
    drawn = Charges(jax.vmap(problem.charges.sample)(jax.random.split(key, problem.count)), jnp.ones(problem.count))
    return eqx.tree_at(lambda e: (e.y, e.exact), problem, (drawn.enclosed, drawn.potential), is_leaf=callable)


def surface(ball: Record) -> Sphere:
    """The surface of the ball."""
    return Sphere(ball.center, ball.radius)


def surface_by_normals(ball: Record) -> NormalizedSphere:
    """The surface of the ball, by another integration variable."""
    return NormalizedSphere(ball.center, ball.radius)


def flux(u: Function, ball: Record, t: Float[Array, "d"]) -> Float[Array, ""]:
    r"""$\nabla U(t) \cdot \hat n$ at a point of the surface, one directional derivative whatever d is."""
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


def _defaults(dim: int) -> Defaults:
    """The published settings (settings.md, parts C and D)."""
    if dim == 2:
        method, network, batch = DelayedTarget(tau=0.999, regularization=1.0, split=100.0), MLP(64, 3, "silu"), 400
    else:
        method, network, batch = DelayedTarget(tau=0.996, regularization=4.0, split=500.0), MLP(64, 5, "silu"), 500
    return Defaults(method, MonteCarlo(1), network, Adam(1e-3), 20_000, batch, average=0.0)
