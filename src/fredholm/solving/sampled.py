"""The solve of a linear class with random nodes, as an engine: sums over steps, and a system that is solved for every record."""

import logging
import time
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.common.compiling import filter_compiled_once
from fredholm.common.keys import Keys, seed_keys
from fredholm.equation.equation import Equation
from fredholm.equation.probe import fresh, probe_points
from fredholm.functions.field import Field
from fredholm.methods.protocol import shares
from fredholm.methods.sharing import Sharing, mean_in_tiles
from fredholm.solving.sums import GROUPS, Newton, Solution, Sums, is_affine, solved, system_of
from fredholm.storage.files import Arrays
from fredholm.storage.run_folder import flatten
from fredholm.training.devices import Layout, over_seeds, place, points_at_once
from fredholm.training.engine import AbstractEngine
from fredholm.training.processes import agreed
from fredholm.training.recording import Recorder
from fredholm.training.settings import RunSettings
from fredholm.training.status import SeedStatus, Status
from fredholm.training.step import TrainState
from fredholm.training.update import as_vector

if TYPE_CHECKING:
    import xarray

logger = logging.getLogger("fredholm")
MOST_PARAMETERS = 1500  # of a class: 32 sums of p x p numbers, 576 MB for each seed
CHUNK_SECONDS = 1.0  # how long a chunk of steps should take
PROBED = 200  # points at which error bars are measured
FIRST_PART = 16  # Newton's method begins on this part of the steps
ITERATIONS = 30  # of Newton's method, at most


class SumsSolve(AbstractEngine):
    """One pass over steps × batch samples, with the same keys as a training; the sums are the checkpoint. Where the equation is not affine,
    Newton's method on a part of the samples goes before.

    A record solves the system of the samples so far. Its `standard_error` is the delete-a-group jackknife's, relative to the size of u: it
    is the error from the limit of the class for infinitely many samples, and not from the solution of the equation.
    """

    def __init__(self, settings: RunSettings):
        self.settings = settings
        keys, equation, u = self._begun(seed_keys(settings.seeds))
        arrays, self._static = eqx.partition(u, eqx.is_array)
        parameters = sum(leaf.size for leaf in jax.tree.leaves(arrays)) // len(settings.seeds)
        self.layout = Layout.of(len(settings.seeds), settings.batch, settings.batch * parameters**2)
        self._u, self._keys = place(arrays, self.layout), place(keys, self.layout)
        equation_arrays, self._equation_static = eqx.partition(equation, eqx.is_array)
        self._equation = place(equation_arrays, self.layout, equation.is_drawn)
        self._start = np.stack([np.asarray(as_vector(self._one(seed))[0]) for seed in range(len(settings.seeds))])
        count, size = self._start.shape
        if size > MOST_PARAMETERS:
            raise ValueError(
                f"{type(settings.network).__name__}: got {size} coefficients; expected at most {MOST_PARAMETERS} with random nodes, where "
                f"{GROUPS} sums of p x p numbers are kept. Use a smaller class, or a network: fr.MLP()."
            )
        zeros = Sums(*(jnp.zeros(shape, self._start.dtype) for shape in ((count, GROUPS, size, size), (count, GROUPS, size))))
        self.sums = place(zeros, self.layout)
        self._chunk = over_seeds(self._many_steps, (True, True, equation.is_drawn, True, False, False), self.layout, 1)
        self.step, self.seconds, self._chunk_steps = 0, 0.0, 1
        self.records, self.recorded_steps = [], []
        self._found: tuple[int, list[Solution]] | None = None
        self._is_centered = is_affine(settings)
        _, self._state_static = eqx.partition(self.states, eqx.is_array)
        self._loss = over_seeds(self._one_loss, (True, equation.is_drawn, True, False), self.layout, 1)
        self._recorder = Recorder(settings, self._state_static, equation, self.layout, 1)
        self._points = probe_points(settings.problem, PROBED)

    def _begun(self, keys: Key[Array, "s"]) -> tuple[Keys, Equation, Field]:
        """The keys, the equation and u of every seed, stacked; the equation only where each seed has its own."""
        problem = self.settings.problem

        def one(key: Key[Array, ""]) -> tuple[Keys, Equation | None, Field]:
            own = Keys.split(key)
            equation = problem.realize(own.problem)
            return own, equation if problem.is_drawn else None, fresh(equation, self.settings.network, own.network)

        stacked, drawn, u = filter_compiled_once(eqx.filter_vmap(one))(keys)
        return stacked, problem if drawn is None else drawn, u

    def _one(self, seed: int) -> Field:
        """The first u of one seed."""
        return eqx.combine(jax.tree.map(lambda leaf: leaf[seed], self._u), self._static)

    def _many_steps(
        self, sums: Sums, arrays: PyTree, equation_arrays: PyTree, keys: Keys, start: Int[Array, ""], stop: Int[Array, ""]
    ) -> Sums:
        settings, method = self.settings, self.settings.known_method
        u, equation = eqx.combine(arrays, self._static), eqx.combine(equation_arrays, self._equation_static)
        sharing = Sharing(self.layout.points)

        def body(step: Int[Array, ""], sums: Sums) -> Sums:
            systems = []
            for share in shares(equation, settings.rules, settings.batch, jax.random.fold_in(keys.data, step), sharing):
                tile = points_at_once(share.keys.size, share.keys.size * sums.right.shape[-1] * sums.right.dtype.itemsize)
                systems.append(mean_in_tiles(lambda share: system_of(method, u, share), share, tile))
            matrix, right = sharing.total(jax.tree.map(lambda *parts: sum(parts), *systems))
            return Sums(sums.matrix.at[step % GROUPS].add(matrix), sums.right.at[step % GROUPS].add(right))

        return jax.lax.fori_loop(start, stop, body, sums)

    def advance(self, stop: int) -> None:
        """Sums over more steps, for about a second, and solves where a record is due."""
        begin, settings = time.perf_counter(), self.settings
        if not self._is_centered:
            self._center()
        due = (self.step // settings.record_every + 1) * settings.record_every
        stop = -agreed(-min(stop, due, self.step + self._chunk_steps))
        self.sums = self._chunk(self.sums, self._u, self._equation, self._keys, self.step, stop)
        jax.block_until_ready(self.sums)
        elapsed = time.perf_counter() - begin
        self._chunk_steps = max(1, min(4 * self._chunk_steps, int((stop - self.step) * CHUNK_SECONDS / max(elapsed, 1e-9))))
        self.step = stop
        if stop in (due, settings.steps):
            self._record()
        self.seconds += time.perf_counter() - begin

    def _center(self) -> None:
        """Newton's method on the first part of the samples, frozen. One step with all of them follows: what is then left of Newton's error
        is the square of the noise of the part."""
        steps, zeros = max(GROUPS, self.settings.steps // FIRST_PART), self.sums
        newton = [Newton.at(start) for start in self._start]
        for _ in range(ITERATIONS):
            self._move(np.stack([one.parameters for one in newton]))
            sums = self._chunk(zeros, self._u, self._equation, self._keys, 0, steps)
            pairs = zip(newton, np.asarray(sums.matrix), np.asarray(sums.right), strict=True)
            newton = [one.after(matrix.sum(axis=0), right.sum(axis=0)) for one, matrix, right in pairs]
            if all(one.is_done for one in newton):
                break
        self._move(np.stack([one.base for one in newton]))
        self._is_centered = True
        for seed, one in zip(self.settings.seeds, newton, strict=True):
            if not one.is_done:
                logger.warning("seed %d: Newton's method on the first samples did not converge in %d iterations.", seed, ITERATIONS)

    def _move(self, parameters: np.ndarray) -> None:
        """Takes the rows at other parameters."""
        fields = [as_vector(self._one(seed))[1](jnp.asarray(vector)) for seed, vector in enumerate(parameters)]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(eqx.filter(one, eqx.is_array) for one in fields))
        self._start, self._u, self._found = parameters, place(stacked, self.layout), None

    def _record(self) -> None:
        arrays = place(eqx.filter(self.states, eqx.is_array), self.layout)
        loss = np.asarray(self._loss(arrays, self._equation, self._keys, self.step), float)
        measured = np.array(self._recorder(arrays, {}, self._equation, self._keys, self.step), float)
        found = self._solved()
        record = {"loss": loss, **dict(zip(self._recorder.names, measured.T, strict=True))}
        for name in ("condition", "dropped", "slowest"):
            record[name] = np.array([float(getattr(one, name)) for one in found])
        if self._points is not None:
            record["standard_error"] = np.array([self._standard_error(seed, one) for seed, one in enumerate(found)])
        if self.step == self.settings.steps:
            self._say(found)
        self.records.append(record)
        self.recorded_steps.append(self.step)

    def _say(self, found: list[Solution]) -> None:
        """What a person should know of the systems."""
        dropped, slowest = max(one.dropped for one in found), min(one.slowest for one in found)
        if dropped:
            text = "the rows do not determine %d directions of the %d coefficients: a condition is missing, or the class is too large."
            logger.warning(text, dropped, self._start.shape[1])
        if slowest < 0:
            text = "the system has an eigenvalue with real part %.1e: a training by this method would diverge; the solve does not."
            logger.info(text, slowest)

    def _one_loss(self, arrays: PyTree, equation_arrays: PyTree, keys: Keys, step: Int[Array, ""]) -> Float[Array, ""]:
        """The loss at fresh points: with those of the sums it would be the least that the noise allows."""
        settings, method = self.settings, self.settings.known_method
        state, equation = eqx.combine(arrays, self._state_static), eqx.combine(equation_arrays, self._equation_static)
        key = jax.random.fold_in(keys.measure, step)
        return method.loss(state.u, state.method, equation, settings.rules, settings.batch, key)[0]

    def _solved(self) -> list[Solution]:
        """The solution of every seed so far; the start before the first step."""
        if self._found is None or self._found[0] != self.step:
            sums = zip(np.asarray(self.sums.matrix), np.asarray(self.sums.right), self._start, strict=True)
            self._found = self.step, [solved(*one) for one in sums]
        return self._found[1]

    def _standard_error(self, seed: int, found: Solution) -> float:
        """The root mean square of the jackknife's standard error of u, relative to that of u."""
        _, build = as_vector(self._one(seed))
        points = self._points

        @filter_compiled_once
        def values(parameters: Float[Array, "g p"]) -> Float[Array, "g n m"]:
            return jax.vmap(lambda vector: jax.vmap(lambda x: jnp.atleast_1d(build(vector)(x)))(points))(parameters)

        u = np.asarray(values(jnp.asarray(np.concatenate([found.parameters[None], found.replicates]), self._start.dtype)), float)
        count = len(u) - 1
        variance = (count - 1) * np.mean(np.var(u[1:], axis=0))
        return float(np.sqrt(variance / np.mean(u[0] ** 2)))

    @property
    def states(self) -> TrainState:
        """The states of all seeds, stacked."""
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(self._state(seed, one) for seed, one in enumerate(self._solved())))

    def _state(self, seed: int, found: Solution) -> TrainState:
        _, build = as_vector(self._one(seed))
        u = build(jnp.asarray(found.parameters, self._start.dtype))
        alive = jnp.asarray(np.isfinite(found.parameters).all())
        nothing: dict[str, Any] = {"failed_at": jnp.asarray(-1), "failed_loss": jnp.asarray(jnp.nan), "limit": jnp.asarray(jnp.inf)}
        return TrainState(u, (), self.settings.known_method.init(u), None, alive=alive, fits=(None,) * len(self.settings.rules), **nothing)

    def snapshot(self) -> Arrays:
        """The sums, and u by path."""
        sums = {f"sum/{name}": np.asarray(value) for name, value in self.sums._asdict().items()}
        return {**flatten(eqx.filter(self.states, eqx.is_array)), **sums, "center": self._start}

    def restore(self, arrays: Arrays, step: int, history: "xarray.Dataset", seconds: float) -> None:
        """Goes on from the sums of a checkpoint."""
        self.sums = place(Sums(*(jnp.asarray(arrays[f"sum/{name}"], self._start.dtype) for name in Sums._fields)), self.layout)
        self._move(np.asarray(arrays["center"], self._start.dtype))
        self.step, self.seconds, self._is_centered = step, seconds, self._is_centered or step > 0
        kept = history.sel(step=history.step <= step)
        self.recorded_steps = [int(value) for value in kept.step]
        self.records = [{str(name): np.asarray(kept[name].sel(step=at)) for name in kept} for at in self.recorded_steps]

    def status(self, ended: Status) -> list[SeedStatus]:
        """The status of each seed: one whose system has no finite solution has failed."""
        failed = SeedStatus(Status.NONFINITE, self.step)
        return [SeedStatus(ended, self.step) if np.isfinite(one.parameters).all() else failed for one in self._solved()]
