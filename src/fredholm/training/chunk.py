"""The compiled part of a training: many steps of every seed in one program."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.extend.core import Jaxpr, subjaxprs
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Key

from fredholm.compiling import filter_compiled_once
from fredholm.draws import fold_in
from fredholm.equation import Equation
from fredholm.keys import Keys
from fredholm.methods import AbstractMethod
from fredholm.methods.base import growing_share, moved
from fredholm.methods.shares import equal_parts
from fredholm.networks import AbstractNetwork, Field
from fredholm.rules import AbstractRule
from fredholm.training.devices import over_seeds, points_at_once

AGAIN = 0.1  # of a step that may be computed once more than it need be, so that the rest of it fits into a cache


class TrainState(eqx.Module):
    """What the next step of one seed needs."""

    u: Field
    optimizer: Any  # the optimiser's state
    method: Any  # the method's state: for delayed targets, the target network
    average: Field | None  # the averaged network, which is the answer; None where the network itself is
    alive: Bool[Array, ""]  # False once the seed has failed; its state then stays at the last good one
    failed_at: Int[Array, ""]  # the step where it failed, or -1
    failed_loss: Float[Array, ""]  # the loss at that step
    limit: Float[Array, ""]  # a loss beyond this is a divergence


class Program(eqx.Module):
    """A training, ready to compile: the mathematics of one step."""

    method: AbstractMethod
    rules: tuple[AbstractRule, ...]
    optimizer: optax.GradientTransformation
    batch: int
    average: float = 0.0  # a; 0: none is kept
    at_once: int | None = None  # x that go through a step together, there and back; None: all of the batch

    def init(self, network: Any, equation: Equation) -> TrainState:
        """The state of one seed before its first step."""
        unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
        u = Field(network, unknowns, equation.inputs, equation.outputs)
        return TrainState(
            u,
            self.optimizer.init(eqx.filter(u, eqx.is_inexact_array)),
            self.method.init(u),
            u if self.average > 0 else None,
            alive=jnp.asarray(True),
            failed_at=jnp.asarray(-1, int),
            failed_loss=jnp.asarray(0.0, float),
            limit=jnp.asarray(jnp.inf, float),
        )

    def step(self, state: TrainState, equation: Equation, keys: Keys, step: Int[Array, ""]) -> tuple[TrainState, dict[str, Array]]:
        """One step of one seed: loss and gradient on fresh points, the optimiser, the method's own update."""
        key = fold_in(keys.data, step)
        # fold_in(key, i) is the key i of any split(key, n), and the loss splits its key in four.
        observed = self.method.observe(state.u, state.method, equation, self.batch, step, fold_in(key, 4))
        (loss, info), gradient = self.method.loss_and_gradient(
            state.u, observed, equation, self.rules, self.batch, key, self.at_once or self.batch
        )
        updates, optimizer = self.optimizer.update(gradient, state.optimizer, eqx.filter(state.u, eqx.is_inexact_array))
        u = eqx.apply_updates(state.u, updates)
        bad = ~(jnp.abs(loss) < state.limit) & (state.failed_at < 0)
        failed_at = jnp.where(bad, step, state.failed_at)
        failed_loss = jnp.where(bad, loss, state.failed_loss)
        method = self.method.update(u, observed, step)
        # The mean of the parameters that is the answer; the first network has no weight in it.
        average = None if state.average is None else moved(state.average, u, growing_share(step, self.average))
        return TrainState(u, optimizer, method, average, state.alive, failed_at, failed_loss, state.limit), {"loss": loss, **info}


def compile_chunk(program: Program, static: Any, equation: Equation, mesh: Mesh, together: int, is_short: bool) -> Callable[..., Any]:
    """`chunk(arrays, sums, equation_arrays, keys, start, stop) -> (arrays, sums)`: steps start..stop of every seed, so many seeds together,
    and the losses added to the sums.

    The bounds are traced, so that one compilation serves every length and a run does not depend on how it is cut into chunks.
    A seed that fails within the chunk goes back to the state it had at its start.
    """
    _, equation_static = eqx.partition(equation, eqx.is_array)

    def one_seed(
        arrays: Any, sums: dict[str, Array], equation_arrays: Any, keys: Keys, start: Int[Array, ""], stop: Int[Array, ""]
    ) -> tuple[Any, dict[str, Array]]:
        equation = eqx.combine(equation_arrays, equation_static)

        def body(step: Int[Array, ""], carry: tuple[Any, dict[str, Array]]) -> tuple[Any, dict[str, Array]]:
            state, info = program.step(eqx.combine(carry[0], static), equation, keys, step)
            return eqx.filter(state, eqx.is_array), {name: carry[1][name] + value for name, value in info.items()}

        last, sums = jax.lax.fori_loop(start, stop, body, (arrays, sums))
        return _keep_good(arrays, last, stop), sums

    return over_seeds(one_seed, (True, True, equation.is_drawn, True, False, False), mesh, together, is_short)


def _keep_good(before: TrainState, after: TrainState, stop: Int[Array, ""]) -> TrainState:
    """The new state where the seed is well, the one before the chunk where it is not."""
    weights = [leaf for leaf in jax.tree.leaves(after.u) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in weights]))
    failed_now = before.alive & ((after.failed_at >= 0) | ~finite)
    good = before.alive & ~failed_now
    kept = jax.tree.map(lambda old, new: jnp.where(good, new, old), before, after)
    failed_at = jnp.where(failed_now, jnp.where(after.failed_at >= 0, after.failed_at, stop), before.failed_at)
    reason = jnp.where(after.failed_at >= 0, after.failed_loss, jnp.nan)
    failed_loss = jnp.where(failed_now, reason, before.failed_loss)
    return eqx.tree_at(lambda s: (s.alive, s.failed_at, s.failed_loss), kept, (good, failed_at, failed_loss))


class Outline(eqx.Module):
    """What is known of the loss of one seed before anything is computed."""

    parts: tuple[tuple[str, jax.ShapeDtypeStruct], ...]  # of the loss, and the loss itself
    largest: int  # bytes of the largest array
    all: int  # bytes of all arrays


def outline(program: Program, network: AbstractNetwork, problem: Equation, key: Key[Array, ""]) -> Outline:
    """Follows the loss without computing it."""
    keys, equation, state = eqx.filter_eval_shape(_seed, program, network, problem, key)
    follow = eqx.filter_make_jaxpr(program.method.loss)
    followed, (loss, info), _ = follow(state.u, state.method, equation, program.rules, program.batch, keys.data)
    sizes = list(_sizes(followed.jaxpr))
    return Outline((("loss", loss), *info.items()), max(sizes, default=0), sum(sizes))


def _sizes(jaxpr: Jaxpr) -> Iterator[int]:
    for equation in jaxpr.eqns:
        made: list[Any] = [variable.aval for variable in equation.outvars]
        yield from (value.size * value.dtype.itemsize for value in made)
    for inner in subjaxprs(jaxpr):
        yield from _sizes(inner)


def in_tiles(program: Program, known: Outline, network: AbstractNetwork, problem: Equation, key: Key[Array, ""]) -> Program:
    """The program with as many x at once as are fastest here: all, unless they are too many. They also stay together where the batch
    cannot be cut so, or much of a step is the same for all x, as the network at nodes that they share: that would be computed again for
    each part."""
    if points_at_once(program.batch, known.largest) == program.batch:
        return program
    # A condition's points are not the equation's: neither are they cut with its batch, nor do they cut it.
    alone = eqx.tree_at(lambda equation: equation.conditions, problem, ())
    own = replace(program, rules=program.rules[: len(problem.integrals)])
    of_all = outline(own, network, alone, key)
    at_once = points_at_once(program.batch, of_all.largest)
    parts = equal_parts(program.batch, at_once)
    if parts == 1:
        return program
    of_one = outline(replace(own, batch=1), network, alone, key).all
    same = of_one - (of_all.all - of_one) / (program.batch - 1)
    return replace(program, at_once=at_once) if parts * same <= AGAIN * of_all.all else program


class Beginning(eqx.Module):
    """What every seed starts from, stacked."""

    keys: Keys
    equation: Equation  # stacked only where it is drawn per seed
    states: TrainState
    sums: dict[str, Array]  # a zero for each part of the loss


def begin(program: Program, network: AbstractNetwork, problem: Equation, known: Outline, keys: Key[Array, "s"]) -> Beginning:
    """Everything before the first step, from the keys of the seeds, as one program: compiling each part by itself took longer than a
    short training."""

    def one_seed(key: Key[Array, ""]) -> tuple[Keys, Equation | None, TrainState, dict[str, Array]]:
        keys, equation, state = _seed(program, network, problem, key)
        sums = {name: jnp.zeros(part.shape, part.dtype) for name, part in known.parts}
        return keys, equation if problem.is_drawn else None, state, sums

    stacked, drawn, states, sums = filter_compiled_once(eqx.filter_vmap(one_seed))(keys)
    return Beginning(stacked, problem if drawn is None else drawn, states, sums)


def _seed(program: Program, network: AbstractNetwork, problem: Equation, key: Key[Array, ""]) -> tuple[Keys, Equation, TrainState]:
    keys = Keys.split(key)
    equation = problem.realize(keys.problem)
    return keys, equation, program.init(network.build(equation.inputs, equation.outputs, keys.network), equation)
