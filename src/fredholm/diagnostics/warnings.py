"""Warnings while a training runs: what its history shows from half of it on, each thing once."""

import logging

import equinox as eqx
import jax
import numpy as np

from fredholm.common.findings import Finding
from fredholm.diagnostics.diagnosis import diagnose
from fredholm.diagnostics.symptoms import symptoms_in_history
from fredholm.functions.field import Field
from fredholm.methods.protocol import Trained
from fredholm.training.callbacks import AfterRecord
from fredholm.training.devices import gather
from fredholm.training.progress import Watched
from fredholm.training.status import Status
from fredholm.training.training import Training

logger = logging.getLogger("fredholm")
CHECKS = 20  # parts of a training, in its second half, after each of which its history is examined
LONG = 150.0  # seconds that half of a training has taken for a diagnosis of its network, which takes seconds itself


class Warnings(AfterRecord):
    """One line for each symptom, when it is first seen: from half of a training on, with every twentieth of it, those that the history
    shows, and once, at half of a long one, those that need samples of their own."""

    def __init__(self, training: Training):
        super().__init__()
        self._training, self._is_diagnosed = training, False
        self._next = training.settings.steps / 2
        self._said = {"uniqueness", "variance"}  # the equation itself was examined before the first step

    def after_record(self, training: Watched) -> Status | None:
        settings = training.settings
        if training.step < min(self._next, settings.steps):
            return None
        self._next = training.step + settings.steps / CHECKS
        found = symptoms_in_history(training.history(), settings.known_method, settings.steps)
        if not self._is_diagnosed:
            self._is_diagnosed = True
            if training.seconds >= LONG:
                found = self._diagnosed() or found
        for finding in found:
            if finding.about not in self._said:
                self._said.add(finding.about)
                logger.warning("step %d, %s: %s", training.step, finding.about, finding.text)
        return None

    def _diagnosed(self) -> list[Finding]:
        """What a diagnosis finds now, of the first seed that has not failed; what goes wrong in it must not end the training."""
        training, settings = self._training, self._training.settings
        try:
            states, method = gather(training.states), settings.known_method
            at = int(np.argmax(np.asarray(states.alive)))
            one = jax.tree.map(lambda leaf: leaf[at] if eqx.is_array(leaf) else leaf, states)
            answer, target = one.u if one.average is None else one.average, method.target(one.u, one.method)
            assert isinstance(target, Field)
            equation = settings.problem.for_seed(settings.seeds[at])
            trained = Trained(equation, one.u, answer, target, settings.rules, settings.batch, training.step, settings.optimizer)
            return list(diagnose("", training.history(), method, trained).symptoms)
        except Exception as error:
            logger.warning("step %d: the training could not be diagnosed and goes on: %s", training.step, error)
            return []
