"""How a step moves the parameters: along a gradient, or by a linear system of the rows of the method and their slopes."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.common.compiling import shapes_of
from fredholm.equation.equation import Equation
from fredholm.functions.field import Field
from fredholm.methods.protocol import AbstractMethod, Info, shares, summed
from fredholm.methods.sharing import WHOLE, Share, Sharing
from fredholm.optimizers.gauss_newton import (
    BENT,
    Damping,
    GaussNewton,
    followed,
    inverted,
    judged,
    least_squares,
    scales_of,
    shortened,
    units,
)
from fredholm.rules.base import AbstractRule
from fredholm.training.settings import RunSettings
from fredholm.training.status import ProblemWarning

OWN_DRAW = 5  # the loss of a step splits its key in four, and delayed targets take the fifth
MOST_PARAMETERS = 4000  # of a network, where p x p numbers are kept: 128 MB for each seed
Rules = Sequence[AbstractRule]  # of all integrals, with what they have learned
REMEMBERED = 10  # measurements of the curvature in its running mean


class Moved(eqx.Module):
    """The parameters after a step, and the loss before it."""

    u: Field
    optimizer: PyTree  # the optimiser's state
    loss: Float[Array, ""]
    info: Info  # its parts


class AbstractUpdate(eqx.Module):
    """One move of the parameters of one seed, on fresh points."""

    settings: eqx.AbstractVar[RunSettings]

    @abstractmethod
    def init(self, u: Field) -> PyTree:
        """The optimiser's state before the first step."""

    @abstractmethod
    def __call__(
        self,
        u: Field,
        optimizer: PyTree,
        method: PyTree,
        equation: Equation,
        rules: Rules,
        key: Key[Array, ""],
        step: Int[Array, ""],
        sharing: Sharing,
    ) -> Moved:
        """u after the step; `optimizer` and `method` are the states of the two, and `sharing` says which points this device has."""


class ByGradient(AbstractUpdate):
    """The update of an optax transformation."""

    settings: RunSettings
    transformation: optax.GradientTransformation  # built for this number of steps

    @classmethod
    def of(cls, settings: RunSettings) -> "ByGradient":
        """The update of a run."""
        return cls(settings, settings.optimizer.build(settings.steps))

    def init(self, u: Field) -> PyTree:
        return self.transformation.init(eqx.filter(u, eqx.is_inexact_array))

    def __call__(
        self,
        u: Field,
        optimizer: PyTree,
        method: PyTree,
        equation: Equation,
        rules: Rules,
        key: Key[Array, ""],
        step: Int[Array, ""],
        sharing: Sharing,
    ) -> Moved:
        settings = self.settings
        (loss, info), gradient = settings.known_method.loss_and_gradient(u, method, equation, rules, settings.batch, key, sharing)
        updates, optimizer = self.transformation.update(gradient, optimizer, eqx.filter(u, eqx.is_inexact_array))
        return Moved(eqx.apply_updates(u, updates), optimizer, loss, info)


class Linearised(NamedTuple):
    r"""The rows of a step: near these parameters the loss is $|b + A\delta|^2$ where a = b, and half of its gradient is $A^\top b$."""

    slopes: Float[Array, "n p"]  # A
    b: Float[Array, "n"]
    info: Info  # the parts of the loss


class Sample(eqx.Module):
    """The points of a step with their keys: there the rows are functions of the parameters, given as one vector."""

    method: AbstractMethod
    state: PyTree  # of the method
    shares: Sequence[Share]  # of this device
    build: Callable[[Float[Array, "p"]], Field]  # u from the vector
    sharing: Sharing = WHOLE  # over the devices

    def linearised(self, vector: Float[Array, "p"]) -> Linearised:
        """The rows and their slopes, each scaled with the root of its weight in the mean."""
        slopes, b, parts = [], [], []
        for share in self.shares:

            def rows(vector: Float[Array, "p"], *point: PyTree, share: Share = share) -> tuple[Array, tuple[Array, Info]]:
                a, b, info = self._scaled(self.build(vector), share, *point)
                return a, (b, info)

            points = (share.points, share.keys, share.weights)
            slope, (own, info) = jax.vmap(jax.jacrev(rows, has_aux=True), (None, 0, 0, 0))(vector, *points)
            slopes.append(slope.reshape(-1, len(vector)))
            b.append(jnp.ravel(own))
            parts.append({name: share.mean(values) for name, values in info.items()})
        return Linearised(jnp.concatenate(slopes), jnp.concatenate(b), self.sharing.total(summed(parts)[1]))

    def second(self, vector: Float[Array, "p"], along: Float[Array, "p"]) -> Float[Array, "n"]:
        r"""$\partial^2 a[\delta, \delta]$ of the rows, scaled as they are."""

        def rows(step: Float[Array, ""]) -> Float[Array, "n"]:
            u, found = self.build(vector + step * along), []
            for share in self.shares:
                of_each = jax.vmap(lambda *point, u=u, share=share: self._scaled(u, share, *point)[0])
                found.append(jnp.ravel(of_each(share.points, share.keys, share.weights)))
            return jnp.concatenate(found)

        zero, one = jnp.zeros((), vector.dtype), jnp.ones((), vector.dtype)
        return jax.jvp(lambda step: jax.jvp(rows, (step,), (one,))[1], (zero,), (one,))[1]

    def _scaled(
        self, u: Field, share: Share, x: PyTree, key: Key[Array, ""], of_x: Float[Array, ""]
    ) -> tuple[Float[Array, "r"], Float[Array, "r"], Info]:
        """All rows at one x, each scaled with the root of its weight in the mean."""
        found = self.method.weighted_rows(u, self.state, share, x, key)
        scales = [jnp.sqrt(jax.lax.stop_gradient(jnp.asarray(one.weight)) * of_x) for one in found.values()]
        scaled = [(scale * one.a, scale * one.b) for scale, one in zip(scales, found.values(), strict=True)]
        a, b = (jnp.concatenate(part) for part in zip(*scaled, strict=True))
        return a, b, {name: one.loss() for name, one in found.items()}

    def loss(self, vector: Float[Array, "p"]) -> Float[Array, ""]:
        """The loss at these points."""
        u = self.build(vector)
        return self.sharing.total(summed([self.method.mean(u, self.state, share) for share in self.shares])[0])


def as_vector(u: Field) -> tuple[Float[Array, "p"], Callable[[Float[Array, "p"]], Field]]:
    """All parameters of u as one vector, and u from such a vector."""
    arrays, static = eqx.partition(u, eqx.is_inexact_array)
    vector, shaped = ravel_pytree(arrays)
    return vector, lambda vector: eqx.combine(shaped(vector), static)


class Trust(NamedTuple):
    """The state of `TrustRegion`."""

    damping: Damping
    scales: Float[Array, "p"]  # the sizes of the columns
    before: Float[Array, "p"]  # the last step


class TrustRegion(AbstractUpdate):
    """Damped steps that are judged on their own points: for nodes without noise and rows with a = b."""

    settings: RunSettings
    recipe: GaussNewton

    def init(self, u: Field) -> Trust:
        vector, _ = as_vector(u)
        return Trust(Damping(jnp.zeros((), vector.dtype), jnp.asarray(2.0, vector.dtype)), jnp.zeros_like(vector), jnp.zeros_like(vector))

    def __call__(
        self,
        u: Field,
        optimizer: Trust,
        method: PyTree,
        equation: Equation,
        rules: Rules,
        key: Key[Array, ""],
        step: Int[Array, ""],
        sharing: Sharing,
    ) -> Moved:
        vector, build = as_vector(u)
        settings = self.settings
        # Every device solves the same system, from the rows of all.
        drawn = shares(equation, rules, settings.batch, key, sharing)
        sample = Sample(settings.known_method, method, drawn, build, sharing)
        slopes, b, info = sample.linearised(vector)
        slopes, b = sharing.rows((slopes, b))
        scales = scales_of(slopes, optimizer.scales)
        own = units(scales)
        scaled, before = slopes * own[None], self.recipe.momentum * optimizer.before
        trace = jnp.sum(scaled**2)
        is_first = optimizer.damping.value == 0
        damping = optimizer.damping._replace(value=jnp.where(is_first, self.recipe.damping * trace, optimizer.damping.value))
        solution = least_squares(scaled, damping.value)
        delta = before - own * solution(b + slopes @ before)
        bend = -0.5 * own * solution(sharing.rows(sample.second(vector, delta)))
        is_straight = jnp.sum((bend / own) ** 2) <= BENT**2 * jnp.sum((delta / own) ** 2)
        loss = jnp.sum(b**2)
        predicted = loss - jnp.sum((b + slopes @ delta) ** 2)
        actual = jnp.where(is_straight, loss - sample.loss(vector + delta + bend), -jnp.inf)
        is_taken, damping = judged(damping, trace, actual, predicted)
        delta = jnp.where(is_taken, delta + bend, 0.0)
        return Moved(build(vector + delta), Trust(damping, scales, delta), sum(info.values(), jnp.zeros(())), info)


class Curvature(NamedTuple):
    """The state of `Preconditioned`."""

    matrix: Float[Array, "p p"]  # a running mean of AᵀA
    inverse: Float[Array, "p p"]  # P, of the damped matrix
    damping: Float[Array, ""]  # λ, as a share of the trace
    anchor: Float[Array, "p"]  # the parameters when P was measured
    optimizer: PyTree


class Preconditioned(AbstractUpdate):
    """Steps along P times the gradient, where P comes from other points and nodes: for random nodes, and rows with a ≠ b."""

    settings: RunSettings
    recipe: GaussNewton
    transformation: optax.GradientTransformation

    def init(self, u: Field) -> Curvature:
        vector, _ = as_vector(u)
        zeros = jnp.zeros((vector.size, vector.size), vector.dtype)
        damping = jnp.asarray(self.recipe.damping, vector.dtype)
        return Curvature(zeros, zeros, damping, vector, self.transformation.init(vector))

    def __call__(
        self,
        u: Field,
        optimizer: Curvature,
        method: PyTree,
        equation: Equation,
        rules: Rules,
        key: Key[Array, ""],
        step: Int[Array, ""],
        sharing: Sharing,
    ) -> Moved:
        vector, build = as_vector(u)
        settings = self.settings

        def measured(state: Curvature) -> Curvature:
            """P at these parameters. λ follows the steps since the last P: whether they decreased the loss at points of no step."""
            drawn = shares(equation, rules, settings.batch, jax.random.fold_in(key, OWN_DRAW), sharing)
            sample = Sample(settings.known_method, method, drawn, build, sharing)
            slopes = sample.linearised(vector).slopes
            weight = jnp.maximum(1 / REMEMBERED, self.recipe.refresh / (step + self.recipe.refresh))
            matrix = state.matrix + weight * (sharing.total(slopes.T @ slopes) - state.matrix)
            is_lower = sample.loss(vector) < sample.loss(state.anchor)
            damping = jnp.where(step == 0, state.damping, followed(state.damping, is_lower))
            return Curvature(matrix, inverted(matrix, damping), damping, vector, state.optimizer)

        state = jax.lax.cond(step % self.recipe.refresh == 0, measured, lambda state: state, optimizer)
        found = settings.known_method.loss_and_gradient(u, method, equation, rules, settings.batch, key, sharing)
        (loss, info), gradient = found
        along = state.inverse @ (0.5 * ravel_pytree(gradient)[0])
        along = shortened(along, jnp.diag(state.matrix))
        move, inner = self.transformation.update(along, state.optimizer, vector)
        return Moved(build(vector + jnp.asarray(move)), state._replace(optimizer=inner), loss, info)


def update_of(settings: RunSettings) -> AbstractUpdate:
    """How the steps of a run move the parameters."""
    recipe = settings.optimizer
    if not isinstance(recipe, GaussNewton):
        return ByGradient.of(settings)
    if is_judged(settings):
        return TrustRegion(settings, recipe)
    return Preconditioned(settings, recipe, recipe.build(settings.steps))


def check_second_order(settings: RunSettings) -> None:
    """Warns of a bias that these steps follow to its end, and refuses a network whose curvature would not fit into memory."""
    problem, recipe = settings.problem, settings.optimizer
    if recipe.is_second_order and settings.network.slabs > 1:
        raise ValueError(f"Slabs: {type(recipe).__name__} has systems of the parameters of all slabs; use fr.Muon() or fr.Adam(1e-3).")
    if not recipe.is_second_order or is_judged(settings):
        return
    if settings.known_method.is_biased:
        warnings.warn(
            f"{type(recipe).__name__} with random nodes and {settings.known_method!r}: the squared estimate of an integral contains its "
            "variance, and the steps go to the minimum of the biased loss. Use DelayedTarget(), DoubleSampling() or nodes without noise.",
            ProblemWarning,
            stacklevel=3,
        )
    shapes = shapes_of(settings.network.build, problem.inputs, problem.outputs, jax.random.key(0))
    count = sum(leaf.size for leaf in jax.tree.leaves(shapes) if jnp.issubdtype(leaf.dtype, jnp.inexact)) + len(problem.unknowns)
    if count > MOST_PARAMETERS:
        raise ValueError(
            f"{type(recipe).__name__}: with random nodes it keeps p x p numbers for the p = {count} parameters of the network; expected at "
            f'most {MOST_PARAMETERS}. Use a smaller network, fr.MLP(32, 2, "tanh"), nodes without noise, or fr.Muon().'
        )


def is_judged(settings: RunSettings) -> bool:
    """True where the loss at the points of a step is without noise and a sum of squares, so that it can judge the step."""
    problem, method = settings.problem, settings.known_method
    rules = [rule for drawn in method.draws(problem, settings.rules[: len(problem.integrals)]) for rule, _ in drawn]
    return method.is_least_squares(problem) and not any(rule.is_random for rule in (*rules, *settings.rules))
