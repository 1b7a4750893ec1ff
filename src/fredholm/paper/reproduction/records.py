"""What a finished run leaves in a repository: its recorded curves, in one small file. Verdicts are made from these files, and a run that
has one is not trained again."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fredholm.storage.files import file_name, read_arrays, write_arrays
from fredholm.study.outcome import Outcome
from fredholm.study.run import Run
from fredholm.training.status import SeedStatus, Status

ABOUT = "about"  # the array that holds what is not a curve, as JSON
KEPT = ("error", "loss", "integration_variance", "excess_variance", "drift")  # what claims are about


def record_place(folder: Path, run: Run) -> Path:
    """The file of a run."""
    return folder / f"{file_name(run.name)}.npz"


def write_record(folder: Path, one: Outcome) -> None:
    """Writes the recorded curves of a run, with its settings and how each seed ended."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {quantity: one.curve(quantity).astype(np.float32) for quantity in KEPT if quantity in one.history}
    ends = [(entry.status.name, entry.step) for entry in one.status]
    about = {"settings": one.run.settings.values, "metric": one.metric, "seconds": round(one.seconds, 1), "status": ends}
    write_arrays(record_place(folder, one.run), {**arrays, "step": one.steps.astype(np.int32), ABOUT: np.array(json.dumps(about))})


def read_record(folder: Path, run: Run) -> Outcome | None:
    """The outcome of a run without its scores, or None where there is none with the settings of this run.

    Settings that the library did not have yet when the record was written are not compared.
    """
    import xarray  # here, since it takes long to import

    place = record_place(folder, run)
    if not place.is_file():
        return None
    arrays = read_arrays(place)
    about = json.loads(str(arrays.pop(ABOUT)))
    now = json.loads(json.dumps(run.settings.values))
    if any(now[name] != value for name, value in about["settings"].items() if name in now):
        return None
    steps = arrays.pop("step")
    history = xarray.Dataset({name: (("seed", "step"), curve) for name, curve in arrays.items()}, {"seed": list(run.seeds), "step": steps})
    status = tuple(SeedStatus(Status[word], step) for word, step in about["status"])
    return Outcome(run, history, status, about["metric"], {}, about["seconds"])


def read_records(folder: Path, runs: Iterable[Run]) -> dict[str, Outcome]:
    """The outcomes of those of these runs that have a record, by name."""
    found = {run.name: read_record(folder, run) for run in runs}
    return {name: one for name, one in found.items() if one is not None}
