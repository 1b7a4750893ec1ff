"""Polynomials in place of the network: what the equation allows, and what learned scalars are, without any training."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from fredholm.common.compiling import compiled_once
from fredholm.common.findings import Finding
from fredholm.diagnostics.uniqueness import Perturbed, exponents_of
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, estimated
from fredholm.equation.frame import frame_of
from fredholm.equation.reference import reference_rules
from fredholm.equation.residual import AbstractCondition, AbstractResidual, Place
from fredholm.functions.constrained import Formed
from fredholm.functions.field import Field, Function
from fredholm.rules.base import AbstractRule

DEGREE, UNBOUNDED_DEGREE = 24, 8  # of the polynomials on one axis; on axes without end high powers are huge
POINTS = 128  # points of each residual, besides four for each coefficient
ROUNDS = 6  # Gauss-Newton steps: the equation may be nonlinear
FIT, CHECK = 20, 21  # seeds of the points of the fit, and of others
MOVED = 0.01  # a learned scalar that moves by more than this share of itself is named
FIRM = 10.0  # the weight of the data is made so many times larger
Parameters = Float[Array, "p"]  # of the polynomials, and changes of the learned scalars


class Richer(NamedTuple):
    """What polynomials do where the network does not: they are solved for, so no training can get stuck."""

    share: float  # the squared residual with the best polynomials, conditions included, as a share of that of the network
    degree: int
    coefficients: int


class Polynomials:
    """u with polynomials added to it, in its `Constrained` form if it has one, and its learned scalars free."""

    def __init__(self, equation: Equation, u: Field):
        frame = frame_of(equation)
        self._equation, self._center, self._scale = equation, np.asarray(frame.center), np.asarray(frame.radius)
        self._falls = not frame.is_bounded
        self._exponents = exponents_of(equation.inputs, UNBOUNDED_DEGREE if self._falls else DEGREE)
        self._u = jax.tree.map(lambda leaf: jnp.asarray(leaf, float) if eqx.is_inexact_array(leaf) else leaf, u)
        self.names = sorted(u.unknowns)
        self.coefficients = u.outputs * len(self._exponents)
        self.size, self.degree = self.coefficients + len(self.names), int(self._exponents.sum(axis=1).max())
        self._rules = [rule for one in (equation, *equation.conditions) for rule in reference_rules(one, gauss=(32, 12), net=512)]
        self._system = compiled_once(self._compute)

    def field(self, parameters: Parameters) -> Field:
        """u with these parameters."""
        u, coefficients = self._u, parameters[: self.coefficients].reshape(self._u.outputs, -1)
        form = u.network.form if isinstance(u.network, Formed) else None
        inner = u.network.network.network if isinstance(u.network, Formed) else u.network
        network: Function = Perturbed(inner, coefficients, self._center, self._scale, self._exponents, self._falls)
        network = network if form is None else Formed(Field(network, {}, u.inputs, u.outputs), form)
        unknowns = {name: u.unknowns[name] + parameters[self.coefficients + at] for at, name in enumerate(self.names)}
        return Field(network, unknowns, u.inputs, u.outputs)

    def rows(self, parameters: np.ndarray, seed: int, firm: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """All weighted residuals at points from this seed, and their Jacobian; the weights of data are multiplied by `firm`."""
        values, jacobian = self._system(jnp.asarray(parameters), jnp.asarray(seed), jnp.asarray(firm))
        return np.asarray(values), np.asarray(jacobian)

    def _compute(
        self, parameters: Parameters, seed: Int[Array, ""], firm: Float[Array, ""]
    ) -> tuple[Float[Array, "r"], Float[Array, "r p"]]:
        def everything(parameters: Parameters) -> Float[Array, "r"]:
            u, parts = self.field(parameters), []
            for index, (residual, own) in enumerate(residuals(self._equation, self._rules)):
                key = jax.random.fold_in(jax.random.key(seed), index)
                if isinstance(residual, AbstractCondition):
                    points, weight = residual.points(POINTS, own, key), residual.weight
                else:
                    points, weight = jax.vmap(residual.law.sample)(jax.random.split(key, 4 * self.size + POINTS)), 1.0
                values = _values(residual, u, own, points)
                weight = weight * firm if isinstance(residual, Data) else weight
                parts.append(jnp.ravel(values) * jnp.sqrt(weight / len(values)))
            return jnp.concatenate(parts)

        return everything(parameters), jax.jacfwd(everything)(parameters)

    def solved(self, firm: float = 1.0) -> np.ndarray:
        """The parameters after damped Gauss-Newton steps from 0."""
        found = np.zeros(self.size)
        values, jacobian = self.rows(found, FIT, firm)
        for _ in range(ROUNDS):
            if not (np.all(np.isfinite(values)) and np.all(np.isfinite(jacobian))):
                return found
            step = np.linalg.lstsq(jacobian, -values, rcond=1e-12)[0]
            for length in (1.0, 0.3, 0.1):
                new = self.rows(found + length * step, FIT, firm)
                if np.sum(new[0] ** 2) < np.sum(values**2):
                    break
            else:
                return found
            gained = np.sum(new[0] ** 2) / np.sum(values**2)
            found, (values, jacobian) = found + length * step, new
            if gained > 0.5:
                break
        return found


def _values(residual: AbstractResidual, u: Field, rules: Sequence[AbstractRule], points: PyTree) -> Float[Array, "n e"]:
    def value(x: Place) -> Float[Array, "e"]:
        return estimated(residual, u, x, draw(residual, rules, x, jax.random.key(0)))

    return jax.vmap(value)(points)


def polynomials_instead(equation: Equation, u: Field) -> Richer | None:
    """The best polynomials added to u, by least squares of the linearised residual, conditions included. None where nothing is finite."""
    with jax.enable_x64(True):
        polynomials = Polynomials(equation, u)
        found = polynomials.solved()
        # On other points: on those of the fit, polynomials may have followed them.
        before, after = (float(np.sum(polynomials.rows(one, CHECK)[0] ** 2)) for one in (np.zeros(polynomials.size), found))
    if not (math.isfinite(before) and math.isfinite(after)) or before == 0:
        return None
    return Richer(after / before, polynomials.degree, polynomials.size)


def moved_by_weight(equation: Equation, u: Field) -> list[Finding]:
    """Learned scalars with data: what polynomials find for them that are solved for, with the weight of the data and with a larger one."""
    if not equation.unknowns or not any(isinstance(condition, Data) for condition in equation.conditions):
        return []
    with jax.enable_x64(True):
        polynomials = Polynomials(equation, u)
        with_weight, with_more = (polynomials.solved(firm)[polynomials.coefficients :] for firm in (1.0, FIRM))
    found = []
    for at, name in enumerate(polynomials.names):
        trained = float(u.unknowns[name])
        solved, firmer = trained + float(with_weight[at]), trained + float(with_more[at])
        text = f"{name} is {trained:.5g}; polynomials that are solved for have {solved:.5g}"
        text += f", {firmer:.5g} where data weigh {FIRM:g} times more"
        size = max(abs(trained), abs(solved))
        is_settled = not abs(firmer - solved) > MOVED * size
        if is_settled and not abs(trained - solved) > MOVED * size:
            found.append(Finding("ok", "weight", f"{text}."))
            continue
        why = "the training has not reached it. Train longer."
        if not is_settled:
            why = (
                "it moves with the weight, as data and equation disagree, or noise is followed. Take less weight, or Data(..., sigma=...)."
            )
        found.append(Finding("warning", "weight", f"{text}. The spread over seeds does not show this: {why}"))
    return found
