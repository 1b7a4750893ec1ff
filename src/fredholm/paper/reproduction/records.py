"""The curves of a figure's runs in one small file, from which its verdicts can be made again without the runs."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from fredholm.storage.files import read_arrays, write_arrays
from fredholm.study.outcome import Outcome
from fredholm.study.run import Run
from fredholm.training.status import SeedStatus, Status

ABOUT = "about"  # the array that holds what is not a curve, as JSON
KEPT = ("error", "loss", "integration_variance", "excess_variance", "drift")  # what claims are about


def write_records(path: Path, found: Mapping[str, Outcome]) -> None:
    """Writes the recorded curves of these runs, with how each seed ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays, about = dict[str, np.ndarray](), dict[str, object]()
    for name, one in found.items():
        arrays |= {f"{name}/{quantity}": one.curve(quantity).astype(np.float32) for quantity in KEPT if quantity in one.history}
        arrays[f"{name}/step"] = one.steps.astype(np.int32)
        ends = [(entry.status.name, entry.step) for entry in one.status]
        about[name] = {"key": one.run.key, "metric": one.metric, "seconds": round(one.seconds, 1), "status": ends}
    write_arrays(path, {**arrays, ABOUT: np.array(json.dumps(about))})


def read_records(path: Path, runs: Iterable[Run]) -> dict[str, Outcome]:
    """The outcomes of those of these runs that the file has, without their scores."""
    import xarray  # here, since it takes long to import

    arrays = read_arrays(path)
    about = json.loads(str(arrays[ABOUT]))
    found = {}
    for run in runs:
        if run.name not in about:
            continue
        here, steps = about[run.name], arrays[f"{run.name}/step"]
        names = [name for name in arrays if name.rpartition("/")[0] == run.name and not name.endswith("/step")]
        curves = {name.rpartition("/")[2]: (("seed", "step"), arrays[name]) for name in names}
        history = xarray.Dataset(curves, coords={"seed": list(run.seeds), "step": steps})
        status = tuple(SeedStatus(Status[word], step) for word, step in here["status"])
        found[run.name] = Outcome(run, history, status, here["metric"], {}, here["seconds"])
    return found
