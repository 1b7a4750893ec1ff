"""Symptoms that the history alone shows. The same tests warn during a training and speak in a diagnosis."""

from typing import TYPE_CHECKING

from fredholm.common.findings import Finding
from fredholm.methods.protocol import AbstractMethod, Trained

if TYPE_CHECKING:
    import xarray

RECORDS, STEPS = 10, 200  # a shorter history is not judged


def symptoms_in_history(history: "xarray.Dataset", method: AbstractMethod, steps: int, trained: Trained | None = None) -> list[Finding]:
    """The symptoms in the history of a run that is planned for `steps`; none before half of them, while much has yet to settle."""
    if history.sizes["step"] < RECORDS or not int(history["step"][-1]) >= max(STEPS, steps / 2):
        return []
    return method.symptoms(history, steps, trained)
