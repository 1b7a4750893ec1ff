"""The compiled part of a training: many steps of every seed in one program."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from fredholm.common.compiling import filter_compiled_once
from fredholm.common.keys import Keys
from fredholm.equation.equation import Equation
from fredholm.equation.slabs import in_slab
from fredholm.equation.units import trained
from fredholm.functions.field import Field
from fredholm.functions.slabs import Slabs
from fredholm.methods.adapting import adapted
from fredholm.methods.protocol import ema_weight, lerp
from fredholm.methods.sharing import WHOLE, Sharing
from fredholm.training.devices import Layout, over_seeds
from fredholm.training.learning import first_fits, fitted, refitted
from fredholm.training.settings import RunSettings
from fredholm.training.update import AbstractUpdate, update_of


class TrainState(eqx.Module):
    """The state of one seed: everything that its next step needs."""

    u: Field
    optimizer: PyTree  # the optimiser's state
    method: PyTree  # the method's state: for delayed targets, the target network
    average: Field | None  # the averaged network, which is the answer; None where u itself is the answer
    alive: Bool[Array, ""]  # False once the seed has failed; its state then stays at the last good one
    failed_at: Int[Array, ""]  # the step where it failed, or -1
    failed_loss: Float[Array, ""]  # the loss at that step
    limit: Float[Array, ""]  # a loss beyond this is a divergence
    fits: tuple[PyTree, ...] = ()  # of rules that learn, one for each rule
    adapted: tuple[PyTree, ...] = ()  # the states of the adaptations


class Step(eqx.Module):
    """One step of one seed, ready to compile. Points and networks are arguments of the call."""

    settings: RunSettings
    update: AbstractUpdate  # the optimiser, built for this number of steps
    sharing: Sharing = WHOLE  # of the points of a step over devices and tiles

    @classmethod
    def of(cls, settings: RunSettings) -> "Step":
        """The step of a run."""
        return cls(settings, update_of(dataclasses.replace(settings, steps=settings.steps_of_a_slab)))

    def init(self, equation: Equation, key: Key[Array, ""]) -> TrainState:
        """The state of one seed before its first step."""
        network = self.settings.network.build(equation.inputs, equation.outputs, key)
        unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
        return self.state_of(Field(network, unknowns, equation.inputs, equation.outputs))

    def state_of(self, u: Field) -> TrainState:
        """The state of a seed that begins with this network."""
        settings = self.settings
        return TrainState(
            u,
            self.update.init(u),
            settings.known_method.init(u),
            u if settings.average > 0 else None,
            alive=jnp.asarray(True),
            failed_at=jnp.asarray(-1, int),
            failed_loss=jnp.asarray(0.0, float),
            limit=jnp.asarray(jnp.inf, float),
            fits=first_fits(settings.problem, settings.rules),
            adapted=tuple(part.init(trained(settings.problem, settings.network)) for part in settings.adapt),
        )

    def next_slab(self, state: TrainState, step: Int[Array, ""]) -> TrainState:
        """The state with the next part of the time in training, where one is due before this step: from the answer of the part before,
        with a fresh optimiser, target and average."""
        network: Any = (state.average or state.u).network
        due = jnp.minimum(step // self.settings.steps_of_a_slab, self.settings.network.slabs - 1)
        u = eqx.tree_at(lambda u: u.network, state.average or state.u, network.next())
        fresh = self.state_of(u)
        kept = (state.alive, state.failed_at, state.failed_loss, state.limit, state.adapted)
        fresh = eqx.tree_at(lambda s: (s.alive, s.failed_at, s.failed_loss, s.limit, s.adapted), fresh, kept)
        new, old = eqx.filter(fresh, eqx.is_array), eqx.filter(state, eqx.is_array)
        chosen = jax.tree.map(lambda a, b: jnp.where(network.stage < due, a, b), new, old)
        return eqx.combine(chosen, state)

    def __call__(self, state: TrainState, equation: Equation, keys: Keys, step: Int[Array, ""]) -> tuple[TrainState, dict[str, Array]]:
        """Loss and gradient on fresh points, the update of the optimiser, and the update of the method."""
        settings, method = self.settings, self.settings.known_method
        of_slab = step
        if isinstance(settings.network, Slabs):
            stage = state.u.network.stage  # type: ignore[attr-defined]
            equation, of_slab = in_slab(equation, settings.network, stage), step - stage * settings.steps_of_a_slab
        weighed = adapted(settings.adapt, equation, state.adapted)
        key, next_key = (jax.random.fold_in(keys.data, number) for number in (step, step + 1))
        rules = fitted(settings.rules, state.fits)
        moved = self.update(state.u, state.optimizer, state.method, weighed, rules, key, of_slab, self.sharing)
        u, loss = moved.u, moved.loss
        bad = ~(jnp.abs(loss) < state.limit) & (state.failed_at < 0)
        failed_at = jnp.where(bad, step, state.failed_at)
        failed_loss = jnp.where(bad, loss, state.failed_loss)
        after = method.update(u, state.method, equation, settings.batch, of_slab, next_key)
        # The average of the parameters is the answer; the initial network has no weight in it.
        average = None if state.average is None else lerp(state.average, u, ema_weight(of_slab, settings.average))
        fits = refitted(equation, settings.rules, state.fits, u, step, key)
        return TrainState(u, moved.optimizer, after, average, state.alive, failed_at, failed_loss, state.limit, fits, state.adapted), {
            "loss": loss,
            **moved.info,
        }


def compile_chunk(
    step: Step, static: PyTree, equation: Equation, layout: Layout, together: int, is_short: bool
) -> Callable[..., tuple[PyTree, dict[str, Array]]]:
    """`chunk(arrays, sums, equation_arrays, keys, start, stop) -> (arrays, sums)`: steps start..stop of every seed, with the losses added
    to the sums. `together` seeds go through a step at once.

    start and stop are traced: one compilation serves every length, and a run does not depend on how it is cut into chunks.
    A seed that fails within the chunk returns to its state before the chunk.
    """
    _, equation_static = eqx.partition(equation, eqx.is_array)

    def one_seed(
        arrays: PyTree, sums: dict[str, Array], equation_arrays: PyTree, keys: Keys, start: Int[Array, ""], stop: Int[Array, ""]
    ) -> tuple[PyTree, dict[str, Array]]:
        equation = eqx.combine(equation_arrays, equation_static)

        def body(number: Int[Array, ""], carry: tuple[PyTree, dict[str, Array]]) -> tuple[PyTree, dict[str, Array]]:
            state, info = step(eqx.combine(carry[0], static), equation, keys, number)
            return eqx.filter(state, eqx.is_array), {name: carry[1][name] + value for name, value in info.items()}

        last, sums = jax.lax.fori_loop(start, stop, body, (arrays, sums))
        return _keep_good(arrays, last, stop), sums

    return over_seeds(one_seed, (True, True, equation.is_drawn, True, False, False), layout, together, is_short)


def _keep_good(before: TrainState, after: TrainState, stop: Int[Array, ""]) -> TrainState:
    """The new state, or the state before the chunk where the seed has failed."""
    weights = [leaf for leaf in jax.tree.leaves(after.u) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in weights]))
    failed_now = before.alive & ((after.failed_at >= 0) | ~finite)
    good = before.alive & ~failed_now
    kept = jax.tree.map(lambda old, new: jnp.where(good, new, old), before, after)
    failed_at = jnp.where(failed_now, jnp.where(after.failed_at >= 0, after.failed_at, stop), before.failed_at)
    reason = jnp.where(after.failed_at >= 0, after.failed_loss, jnp.nan)
    failed_loss = jnp.where(failed_now, reason, before.failed_loss)
    return eqx.tree_at(lambda s: (s.alive, s.failed_at, s.failed_loss), kept, (good, failed_at, failed_loss))


class Beginning(eqx.Module):
    """The start of every seed, stacked."""

    keys: Keys
    equation: Equation  # stacked only where each seed has its own
    states: TrainState
    sums: dict[str, Array]  # a zero for each part of the loss


def begin(step: Step, parts: dict[str, jax.ShapeDtypeStruct], keys: Key[Array, "s"]) -> Beginning:
    """The start of every seed, from the keys of the seeds. `parts` are the shapes of the parts of the loss.

    It is one program: compiling each part by itself took longer than a short training.
    """
    problem = trained(step.settings.problem, step.settings.network)

    def one_seed(key: Key[Array, ""]) -> tuple[Keys, Equation | None, TrainState, dict[str, Array]]:
        keys, equation, state = seed_start(step, key)
        sums = {name: jnp.zeros(part.shape, part.dtype) for name, part in parts.items()}
        return keys, equation if problem.is_drawn else None, state, sums

    stacked, drawn, states, sums = filter_compiled_once(eqx.filter_vmap(one_seed))(keys)
    return Beginning(stacked, problem if drawn is None else drawn, states, sums)


def seed_start(step: Step, key: Key[Array, ""]) -> tuple[Keys, Equation, TrainState]:
    """The keys, the equation and the first state of one seed."""
    keys = Keys.split(key)
    equation = trained(step.settings.problem.realize(keys.problem), step.settings.network)
    return keys, equation, step.init(equation, keys.network)
