"""The work for one run, in any process: train from the newest checkpoint, score, shrink. And a finished run as bytes."""

import contextlib
import dataclasses
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fredholm.api import resume, solve
from fredholm.results.load import load
from fredholm.results.solution import Solution
from fredholm.storage.files import write_atomically
from fredholm.storage.run_folder import ARRAYS, RunFolder
from fredholm.study.kept import diagnosed, profile_of
from fredholm.study.result import PART, RESULT, result_key
from fredholm.study.run import Run
from fredholm.training.progress import Shown
from fredholm.training.record import PARTS, RunRecord, SavedRun
from fredholm.training.settings import FIELDS

FILES = ("run.json", ARRAYS, "history.nc", "checkpoint-0.npz", "checkpoint-1.npz", RESULT)


def perform(
    run: Run,
    folder: Path,
    *,
    progress: Shown = False,
    checkpoint_every: int | None = None,
    minutes: float | None = None,
    keep_all: bool = False,
    origin: Mapping[str, Any] | None = None,
) -> Solution:
    """Trains a run in its folder until it is finished. After a crash the same call continues from the newest checkpoint. A finished run
    keeps only its networks; with `keep_all` it keeps everything, and can be continued with more steps."""
    if result_key(folder) == run.key:
        return load(folder, **_own(run))
    keywords: dict[str, Any] = {"throw": False, "progress": progress, "checkpoint_every": checkpoint_every, "minutes": minutes}
    solution = _trained(run, folder, keywords, origin)
    if not _is_finished(solution.record):
        return solution  # out of time: the same call continues
    kept = RunFolder(folder)
    score = solution.score()
    profile = profile_of(solution)
    content = {"key": run.key, "metric": score[0] if score else "loss", "scores": {}, "evaluations": solution.evaluations}
    content |= {"profile": None if profile is None else profile.plain(), "diagnosis": diagnosed(solution)}
    if score is not None:
        content["scores"] = {name: _plain(values) for name, values in solution.evaluate().items()}
    with kept.locked():
        if not keep_all:
            kept.shrink(dataclasses.replace(solution.record, kept="networks").to_json())
        write_atomically(folder / RESULT, lambda file: file.write(json.dumps(content).encode()))
    with contextlib.suppress(OSError):
        (folder / ".lock").unlink()
    return solution


def _trained(run: Run, folder: Path, keywords: dict[str, Any], origin: Mapping[str, Any] | None) -> Solution:
    settings = run.rebuilt()
    record = _record(folder)
    if record is None:
        shutil.rmtree(folder, ignore_errors=True)  # killed before its first checkpoint was complete
        given = {name: getattr(settings, name) for name in FIELDS}
        return solve(**given, out=folder, label=run.name, origin=origin, **keywords)
    if _is_finished(record) and record.done >= settings.steps:
        return load(folder, **_own(run))
    own = {name: getattr(settings, name) for name in PARTS if record.settings.is_own(name)}
    return resume(folder, max(settings.steps, record.done), **{**own, "stop": settings.stop}, **keywords)


def _own(run: Run) -> dict[str, Any]:
    """The parts of a run that its folder does not hold, for `load`."""
    return {"problem": run.problem(), "network": run.own.get("network")}


def _is_finished(record: RunRecord) -> bool:
    """True where nothing is left to train: the last step, a stopping rule, or every seed failed."""
    return not any(entry.status.is_unfinished for entry in record.status)


def _record(folder: Path) -> RunRecord | None:
    """The record of the newest checkpoint; None where there is no run that can be continued."""
    try:
        return SavedRun.read(RunFolder.open(folder)).record
    except (ValueError, OSError):
        return None


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def pack(folder: Path) -> dict[str, bytes]:
    """A finished run as the bytes of its files: what a worker sends back, so that no file system need be shared."""
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).is_file()}


def unpack(files: Mapping[str, bytes], folder: Path) -> None:
    """Makes the folder of a finished run, whole or not at all."""
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}{PART}")
    temporary.mkdir(parents=True)
    try:
        for name in FILES:  # these names only, whatever was sent
            if name in files:
                (temporary / name).write_bytes(files[name])
        shutil.rmtree(folder, ignore_errors=True)  # an unfinished run that was there
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def describe_failure(error: BaseException) -> str:
    """The reason of a failed run, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
