"""The host side of a training: chunks of steps, records, and the callbacks between them."""

import time
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fredholm.common.keys import seed_keys
from fredholm.functions.field import Field
from fredholm.storage.files import Arrays
from fredholm.storage.run_folder import flatten, unflatten
from fredholm.training.adapting import is_due, next_due, one_seed, periods
from fredholm.training.devices import CACHED, over_seeds, place, seeds_at_once
from fredholm.training.engine import AbstractEngine
from fredholm.training.imitation import imitated, is_alike
from fredholm.training.processes import agreed
from fredholm.training.recording import Recorder
from fredholm.training.settings import RunSettings
from fredholm.training.status import SeedStatus, Status, failure
from fredholm.training.step import Step, TrainState, begin, compile_chunk
from fredholm.training.tiling import layout_of, outline, shared_out

if TYPE_CHECKING:
    import xarray

CHUNK_SECONDS = 0.5  # how long a chunk of steps should take
FIRST_CHUNK = 10
DIVERGENCE = 1e6  # a seed has diverged when its loss is this many times its first value


class Training(AbstractEngine):
    """The compiled functions, and the arrays of all seeds between chunks. With `is_short` it compiles faster, and its steps are slower."""

    def __init__(self, settings: RunSettings, is_short: bool = False):
        self.settings = settings
        keys = seed_keys(settings.seeds)
        known = outline(Step.of(settings), keys[0])
        self.layout = layout_of(Step.of(settings), known, keys[0])
        self.one_step = shared_out(Step.of(settings), known, keys[0], self.layout.points)
        start = begin(self.one_step, known.parts, keys)
        equation_arrays, _ = eqx.partition(start.equation, eqx.is_array)
        self.equation_arrays = place(equation_arrays, self.layout, start.equation.is_drawn)
        arrays, self.static = eqx.partition(start.states, eqx.is_array)
        self.arrays = place(arrays, self.layout)
        self._zeros = self._sums = place(start.sums, self.layout)
        self.keys = place(start.keys, self.layout)
        # Steps of second order solve a linear system for each seed. On a CPU these go one by one: a batch of them can hang in LAPACK.
        largest = 2 * CACHED if settings.optimizer.is_second_order else known.largest // self.layout.points
        together = seeds_at_once(self.layout.seeds_each, largest)
        self._chunk = compile_chunk(self.one_step, self.static, start.equation, self.layout, together, is_short)
        self._periods = periods(settings)
        measure = one_seed(self.one_step, self.static, start.equation)
        self._measure = over_seeds(measure, (True, start.equation.is_drawn, True, False), self.layout, together)
        self._recorder = Recorder(settings, self.static, start.equation, self.layout, together)
        self.step = 0
        self.seconds = 0.0
        self.records: list[dict[str, np.ndarray]] = []
        self.recorded_steps: list[int] = []
        self._since_record = 0
        self._chunk_steps = FIRST_CHUNK

    @property
    def states(self) -> TrainState:
        """The states of all seeds, stacked."""
        return eqx.combine(self.arrays, self.static)

    def start_from(self, fields: Field) -> None:
        """Begins with these networks and scalars, one for each seed, in place of fresh ones. Networks of another structure are imitated."""
        fresh = self.states.u
        unknowns = {name: fields.unknowns.get(name, value) for name, value in fresh.unknowns.items()}
        network = fields.network if is_alike(fields.network, fresh.network) else imitated(fresh, fields, self.settings.problem)
        u = eqx.tree_at(lambda u: (u.network, u.unknowns), fresh, (network, unknowns))
        states, _ = eqx.partition(eqx.filter_vmap(self.one_step.state_of)(u), eqx.is_array)
        self.arrays = place(jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), states, self.arrays), self.layout)

    def advance(self, stop: int) -> None:
        """Trains up to step `stop`, or for about half a second if that is less; makes a record where one is due."""
        due = (self.step // self.settings.record_every + 1) * self.settings.record_every
        stop = -agreed(-next_due(self._periods, self.step, min(stop, due, self.step + self._chunk_steps)))
        is_record = stop in (due, self.settings.steps)
        begin = time.perf_counter()
        if is_due(self._periods, self.step):
            self.arrays = self._measure(self.arrays, self.equation_arrays, self.keys, self.step)
        self.arrays, self._sums = self._chunk(self.arrays, self._sums, self.equation_arrays, self.keys, self.step, stop)
        # Dispatched while the devices still run the chunk: afterwards they would wait for the host.
        measured = self._recorder(self.arrays, self._sums, self.equation_arrays, self.keys, stop) if is_record else None
        jax.block_until_ready(self.arrays.alive)  # then everything that the program returns is ready
        elapsed = time.perf_counter() - begin
        self._since_record += stop - self.step
        # The first chunk includes the compilation, so its time does not predict the next.
        grown = 2 * self._chunk_steps if self.step else FIRST_CHUNK
        self._chunk_steps = max(1, min(grown, int((stop - self.step) * CHUNK_SECONDS / max(elapsed, 1e-9)) if self.step else FIRST_CHUNK))
        self.step = stop
        if measured is not None:
            self._record(np.array(measured, float))
        self.seconds += time.perf_counter() - begin

    def _record(self, measured: np.ndarray) -> None:
        measured[:, : len(self._sums)] /= self._since_record
        self.records.append(dict(zip(self._recorder.names, measured.T, strict=True)))
        self.recorded_steps.append(self.step)
        self._sums, self._since_record = self._zeros, 0
        if len(self.records) == 1:
            # From the first record on, a seed whose loss grows beyond this limit has diverged.
            first = np.nan_to_num(np.abs(self.records[0]["loss"]), nan=1.0)
            limit = np.asarray(DIVERGENCE * np.maximum(first, 1e-3), self.arrays.limit.dtype)
            self.arrays = eqx.tree_at(lambda s: s.limit, self.arrays, place(limit, self.layout))

    def restore(self, arrays: Arrays, step: int, history: "xarray.Dataset", seconds: float) -> None:
        """Continues from a checkpoint."""
        state = unflatten(self.arrays, {name: value for name, value in arrays.items() if name.startswith(".")})
        self.arrays = place(jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), state, self.arrays), self.layout)
        expected = {"since_record": (), **{f"sum/{name}": zero.shape for name, zero in self._zeros.items()}}
        if any(name not in arrays or arrays[name].shape != shape for name, shape in expected.items()):
            raise ValueError("the checkpoint has no sums of these losses: it was made with another method.")
        self._sums = place({name: jnp.asarray(arrays[f"sum/{name}"], zero.dtype) for name, zero in self._zeros.items()}, self.layout)
        self._since_record = int(arrays["since_record"])
        self.step, self.seconds = step, seconds
        kept = history.sel(step=history.step <= step)
        self.recorded_steps = [int(value) for value in kept.step]
        self.records = [{str(name): np.asarray(kept[name].sel(step=at)) for name in kept} for at in self.recorded_steps]

    def snapshot(self) -> Arrays:
        """Everything that the next step needs, by path."""
        sums = {f"sum/{name}": np.asarray(value) for name, value in self._sums.items()}
        return {**flatten(self.arrays), **sums, "since_record": np.asarray(self._since_record)}

    def status(self, ended: Status) -> list[SeedStatus]:
        """The status of each seed."""
        arrays = self.arrays
        states = zip(np.asarray(arrays.alive), np.asarray(arrays.failed_at), np.asarray(arrays.failed_loss), strict=True)
        return [SeedStatus(ended, self.step) if alive else SeedStatus(failure(float(loss)), int(at)) for alive, at, loss in states]
