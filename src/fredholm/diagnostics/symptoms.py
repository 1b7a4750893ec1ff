"""What a history alone tells of a training that goes wrong: the same tests warn while it runs and speak in a diagnosis."""

from typing import TYPE_CHECKING

from fredholm.common.findings import Finding
from fredholm.methods.protocol import AbstractMethod, Trained

if TYPE_CHECKING:
    import xarray

RECORDS, STEPS = 10, 200  # of a shorter history nothing is said


def symptoms_in_history(history: "xarray.Dataset", method: AbstractMethod, steps: int, trained: Trained | None = None) -> list[Finding]:
    """The symptoms that a history shows, of a run of so many steps; nothing before its half, when much has yet to settle."""
    if history.sizes["step"] < RECORDS or not int(history["step"][-1]) >= max(STEPS, steps / 2):
        return []
    return method.symptoms(history, steps, trained)
