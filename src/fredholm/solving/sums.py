r"""Linear classes with random nodes: one pass of sums over the samples, and then one linear system.

Where u is linear in its parameters and the equation is affine, the rows of a method are $a = a_0 + A\theta$ and $b = b_0 + B\theta$. Its
training ends where $\mathbb{E}[w A^\top B]\,\theta = -\mathbb{E}[w A^\top b_0]$. Learning rates, τ and λ drop out.
"""

import time
from typing import TYPE_CHECKING, NamedTuple

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
from fredholm.methods.protocol import AbstractMethod, Share, mean_in_tiles, shares
from fredholm.storage.files import Arrays
from fredholm.storage.run_folder import flatten
from fredholm.training.devices import EVERYWHERE, SEEDS, over_seeds, place, points_at_once, seed_mesh
from fredholm.training.engine import AbstractEngine
from fredholm.training.recording import Recorder
from fredholm.training.settings import RunSettings
from fredholm.training.status import SeedStatus, Status
from fredholm.training.step import TrainState
from fredholm.training.update import as_vector

if TYPE_CHECKING:
    import xarray

GROUPS = 32  # of steps, whose sums are kept apart: an estimate without each of them gives the error bars
MOST_PARAMETERS = 1500  # of a class: 32 sums of p x p numbers, 576 MB for each seed
CHUNK_SECONDS = 1.0  # how long a chunk of steps should take
AFFINE = 1e-5  # slopes at two functions that differ by at most this share: an affine equation
PROBED = 200  # points at which error bars are measured


class Sums(NamedTuple):
    """The sums over the samples of each group of steps."""

    matrix: Float[Array, "g p p"]  # of w Aᵀ B
    right: Float[Array, "g p"]  # of w Aᵀ b₀


class Sloped(NamedTuple):
    """The rows at one x, and their slopes by the parameters."""

    a: Float[Array, "r p"]  # of a, with the function inside a target held fixed
    b: Float[Array, "r p"]  # of b, with the target the function itself
    value: Float[Array, "r"]  # b


def sloped(method: AbstractMethod, u: Field, share: Share, x: PyTree, key: Key[Array, ""]) -> Sloped:
    """The rows of a method at one x, where its target is u itself, as it is at the end of a training."""
    vector, build = as_vector(u)

    def rows(vector: Float[Array, "p"], inside: Float[Array, "p"]) -> tuple[Float[Array, "r"], Float[Array, "r"]]:
        own = next(iter(method.weighted_rows(build(vector), method.init(build(inside)), share, x, key).values()))
        scale = jnp.sqrt(jnp.asarray(own.weight, own.a.dtype))
        return scale * own.a, scale * own.b

    of_a = jax.jacrev(lambda moved: rows(moved, vector)[0])(vector)
    of_b = jax.jacrev(lambda moved: rows(moved, moved)[1])(vector)
    return Sloped(of_a, of_b, rows(vector, vector)[1])


def system_of(method: AbstractMethod, u: Field, share: Share) -> tuple[Float[Array, "p p"], Float[Array, "p"]]:
    """The means of Aᵀ B and Aᵀ b over the points of a share."""
    found = jax.vmap(lambda x, key: sloped(method, u, share, x, key))(share.points, share.keys)
    a, b = (slopes.reshape(-1, slopes.shape[-1]) for slopes in (found.a, found.b))
    return a.T @ b / share.keys.size, a.T @ jnp.ravel(found.value) / share.keys.size


def is_affine(settings: RunSettings) -> bool:
    """True where the rows of the method have the same slopes at two random functions of the class."""
    problem, method = settings.problem.for_seed(settings.seeds[0]), settings.known_method
    if problem.unknowns:
        return False

    @filter_compiled_once
    def slopes(key: Key[Array, ""]) -> list[Array]:
        u = fresh(problem, settings.network, jax.random.key(0))
        vector, build = as_vector(u)
        u = build(jax.random.normal(key, vector.shape, vector.dtype))
        drawn = shares(problem, settings.rules, 4, jax.random.key(1))
        found = [jax.vmap(lambda x, k, share=share: sloped(method, u, share, x, k)[:2])(share.points, share.keys) for share in drawn]
        return jax.tree.leaves(found)

    one, other = (slopes(jax.random.key(number)) for number in (2, 3))
    return all(bool(jnp.max(jnp.abs(p - q)) <= AFFINE * jnp.max(jnp.abs(p))) for p, q in zip(one, other, strict=True))


class Solution(NamedTuple):
    """The parameters that a system gives, and what is known of them."""

    parameters: np.ndarray
    replicates: np.ndarray  # (g, p): without each group of steps
    condition: float


def solved(matrix: np.ndarray, right: np.ndarray, start: np.ndarray) -> Solution:
    """The solution of the summed system, and of the systems without each group; `start` is where the rows were taken."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return Solution(np.full_like(start, np.nan), np.full((1, len(start)), np.nan), np.inf)
    used = np.flatnonzero(np.any(right != 0, axis=1) | np.any(matrix != 0, axis=(1, 2)))
    total, side = matrix.sum(axis=0), right.sum(axis=0)
    units = 1 / np.sqrt(np.maximum(np.abs(np.diag(total)), np.finfo(float).tiny))

    def solution(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        return start - units * np.linalg.lstsq(units[:, None] * matrix * units, units * right, rcond=None)[0]

    condition = float(np.linalg.cond(units[:, None] * total * units))
    replicates = [solution(total - matrix[g], side - right[g]) for g in used] if len(used) > 1 else [solution(total, side)]
    return Solution(solution(total, side), np.array(replicates), condition)


class SumsSolve(AbstractEngine):
    """One pass over steps × batch samples, with the same keys as a training; the sums are the checkpoint.

    A record solves the system of the samples so far. Its `standard_error` is the delete-a-group jackknife's, relative to the size of u: it
    is the error from the limit of the class for infinitely many samples, and not from the solution of the equation.
    """

    def __init__(self, settings: RunSettings):
        self.settings = settings
        self.mesh = seed_mesh(len(settings.seeds))
        keys, equation, u = self._begun(seed_keys(settings.seeds))
        arrays, self._static = eqx.partition(u, eqx.is_array)
        self._u, self._keys = place(arrays, self.mesh), place(keys, self.mesh)
        equation_arrays, self._equation_static = eqx.partition(equation, eqx.is_array)
        self._equation = place(equation_arrays, self.mesh, SEEDS if equation.is_drawn else EVERYWHERE)
        self._start = np.stack([np.asarray(as_vector(self._one(seed))[0]) for seed in range(len(settings.seeds))])
        count, size = self._start.shape
        if size > MOST_PARAMETERS:
            raise ValueError(
                f"{type(settings.network).__name__}: got {size} coefficients; expected at most {MOST_PARAMETERS} with random nodes, where "
                f"{GROUPS} sums of p x p numbers are kept. Use a smaller class, or a network: fr.MLP()."
            )
        zeros = Sums(*(jnp.zeros(shape, self._start.dtype) for shape in ((count, GROUPS, size, size), (count, GROUPS, size))))
        self.sums = place(zeros, self.mesh)
        self._chunk = over_seeds(self._many_steps, (True, True, equation.is_drawn, True, False, False), self.mesh, 1)
        self.step, self.seconds, self._chunk_steps = 0, 0.0, 1
        self.records, self.recorded_steps = [], []
        self._found: tuple[int, list[Solution]] | None = None
        _, self._state_static = eqx.partition(self.states, eqx.is_array)
        self._loss = over_seeds(self._one_loss, (True, equation.is_drawn, True, False), self.mesh, 1)
        self._recorder = Recorder(settings, self._state_static, equation, self.mesh, 1)
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

        def body(step: Int[Array, ""], sums: Sums) -> Sums:
            for share in shares(equation, settings.rules, settings.batch, jax.random.fold_in(keys.data, step)):
                tile = points_at_once(share.keys.size, share.keys.size * sums.right.shape[-1] * sums.right.dtype.itemsize)
                matrix, right = mean_in_tiles(lambda share: system_of(method, u, share), share, tile)
                sums = Sums(sums.matrix.at[step % GROUPS].add(matrix), sums.right.at[step % GROUPS].add(right))
            return sums

        return jax.lax.fori_loop(start, stop, body, sums)

    def advance(self, stop: int) -> None:
        """Sums over more steps, for about a second, and solves where a record is due."""
        begin, settings = time.perf_counter(), self.settings
        due = (self.step // settings.record_every + 1) * settings.record_every
        stop = min(stop, due, self.step + self._chunk_steps)
        self.sums = self._chunk(self.sums, self._u, self._equation, self._keys, self.step, stop)
        jax.block_until_ready(self.sums)
        elapsed = time.perf_counter() - begin
        self._chunk_steps = max(1, min(4 * self._chunk_steps, int((stop - self.step) * CHUNK_SECONDS / max(elapsed, 1e-9))))
        self.step = stop
        if stop in (due, settings.steps):
            self._record()
        self.seconds += time.perf_counter() - begin

    def _record(self) -> None:
        arrays = place(eqx.filter(self.states, eqx.is_array), self.mesh)
        loss = np.asarray(self._loss(arrays, self._equation, self._keys, self.step), float)
        measured = np.array(self._recorder(arrays, {}, self._equation, self._keys, self.step), float)
        found = self._solved()
        record = {"loss": loss, **dict(zip(self._recorder.names, measured.T, strict=True))}
        record["condition"] = np.array([one.condition for one in found])
        if self._points is not None:
            record["standard_error"] = np.array([self._standard_error(seed, one) for seed, one in enumerate(found)])
        self.records.append(record)
        self.recorded_steps.append(self.step)

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
        nothing = {"failed_at": jnp.asarray(-1), "failed_loss": jnp.asarray(jnp.nan), "limit": jnp.asarray(jnp.inf)}
        return TrainState(u, (), self.settings.known_method.init(u), None, alive=alive, **nothing)

    def snapshot(self) -> Arrays:
        """The sums, and u by path."""
        sums = {f"sum/{name}": np.asarray(value) for name, value in self.sums._asdict().items()}
        return {**flatten(eqx.filter(self.states, eqx.is_array)), **sums}

    def restore(self, arrays: Arrays, step: int, history: "xarray.Dataset", seconds: float) -> None:
        """Goes on from the sums of a checkpoint."""
        self.sums = place(Sums(*(jnp.asarray(arrays[f"sum/{name}"], self._start.dtype) for name in Sums._fields)), self.mesh)
        self.step, self.seconds, self._found = step, seconds, None
        kept = history.sel(step=history.step <= step)
        self.recorded_steps = [int(value) for value in kept.step]
        self.records = [{str(name): np.asarray(kept[name].sel(step=at)) for name in kept} for at in self.recorded_steps]

    def status(self, ended: Status) -> list[SeedStatus]:
        """The status of each seed: one whose system has no finite solution has failed."""
        failed = SeedStatus(Status.NONFINITE, self.step)
        return [SeedStatus(ended, self.step) if np.isfinite(one.parameters).all() else failed for one in self._solved()]
