"""Rules for stopping before the last step, from the history."""

from abc import abstractmethod
from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np

from fredholm.common.checks import positive_integer, real

if TYPE_CHECKING:
    import xarray


class AbstractStop(eqx.Module):
    """A rule that examines the history after each record."""

    @abstractmethod
    def __call__(self, history: "xarray.Dataset") -> bool:
        """True when the training should stop."""


class Tolerance(AbstractStop):
    """Stops when the mean error over the seeds is at most `value`; where there is no exact solution, the mean loss.

    Args:
        value (number): the error to reach.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Tolerance(1e-3)
        Tolerance(value=0.001)

    See also:
        `Plateau`, `solve`.
    """

    value: float

    def __check_init__(self):
        real("Tolerance value", self.value, low=0.0)

    def __call__(self, history: "xarray.Dataset") -> bool:
        return bool(_watched(history)[-1] <= self.value)


class Plateau(AbstractStop):
    """Stops when the mean loss over the seeds has not improved by the share `improvement` over the last `records` records.

    Args:
        records (int): how many records back; default: 20.
        improvement (float): the share by which the loss must have improved; default: 0.01.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Plateau(records=10, improvement=0.02)
        Plateau(records=10, improvement=0.02)

    See also:
        `Tolerance`, `solve`.
    """

    records: int = 20
    improvement: float = 0.01

    def __check_init__(self):
        positive_integer("Plateau records", self.records)
        real("Plateau improvement", self.improvement, low=0.0, below=1.0)

    def __call__(self, history: "xarray.Dataset") -> bool:
        loss = np.nanmean(np.asarray(history["loss"]), axis=0)
        if len(loss) <= self.records:
            return False
        before = np.min(loss[: -self.records])
        return bool(np.min(loss[-self.records :]) > before - self.improvement * abs(before))


def _watched(history: "xarray.Dataset") -> np.ndarray:
    return np.nanmean(np.asarray(history["error" if "error" in history else "loss"]), axis=0)
