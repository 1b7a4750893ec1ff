"""Ends a training of networks when the relative residual is below a tolerance, and says at the end whether it is."""

import equinox as eqx
import jax

from fredholm.diagnostics.quality import qualities
from fredholm.functions.field import Field
from fredholm.training.callbacks import AfterRecord
from fredholm.training.devices import gather
from fredholm.training.progress import Watched
from fredholm.training.status import Status
from fredholm.training.training import Training

CHECKS = 5  # a residual is measured after every such part of a training: each takes seconds


class Reached(AfterRecord):
    """Measures the relative residual of every seed that has not failed, by `quality`: a few times during the training, and at its end."""

    def __init__(self, training: Training, tolerance: float):
        super().__init__()
        self._training, self._tolerance = training, tolerance
        self._next = training.settings.steps / CHECKS

    def after_record(self, training: Watched) -> Status | None:
        if training.step < min(self._next, training.settings.steps):
            return None
        self._next = training.step + training.settings.steps / CHECKS
        return Status.STOPPED if training.step < training.settings.steps and self._is_reached() else None

    def judged(self, training: Watched, ended: Status) -> Status:
        return Status.UNREACHED if ended is Status.FINISHED and not self._is_reached() else ended

    def _is_reached(self) -> bool:
        states, settings = gather(self._training.states), self._training.settings
        answer: Field = states.u if states.average is None else states.average
        alive = [index for index, is_alive in enumerate(states.alive) if is_alive]
        fields = [jax.tree.map(lambda leaf, index=index: leaf[index] if eqx.is_array(leaf) else leaf, answer) for index in alive]
        equations = [settings.problem.for_seed(settings.seeds[index]) for index in alive]
        return bool(alive) and all(one.worst <= self._tolerance for one in qualities(equations, fields))
