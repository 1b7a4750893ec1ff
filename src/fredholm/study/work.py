"""What is done for one run, whoever does it: train from the newest checkpoint, score, shrink; and a finished run as bytes."""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fredholm.api import resume, solve
from fredholm.results.solution import Solution, load
from fredholm.storage.run_folder import RunFolder, write_atomically
from fredholm.storage.serialisation import decode
from fredholm.study.run import PARTS, Run
from fredholm.training.status import Status

RESULT = "result.json"  # a run that has it is finished
FILES = ("run.json", "history.nc", "checkpoint-0.npz", "checkpoint-1.npz", RESULT)
PART = ".part"  # a folder that is being received
KEPT = ("steps", "batch", "seeds", "record_every", "precision", "average")
Tell = Callable[[Any], object]


def perform(run: Run, folder: Path, *, tell: Tell | None = None, checkpoint_every: int | None = None) -> None:
    """Brings a run to its end in its folder. Killed at any moment, it goes on from its newest checkpoint when it is called again."""
    if (folder / RESULT).is_file():
        return
    solution = _trained(run, folder, {"throw": False, "progress": tell or False, "checkpoint_every": checkpoint_every})
    kept = RunFolder(folder)
    score = solution.score()
    content = {"key": run.key, "metric": score[0] if score else "loss", "scores": {}}
    if score is not None:
        content["scores"] = {name: _plain(values) for name, values in solution.evaluate().items()}
    with kept.locked():
        kept.shrink(solution.settings)
        write_atomically(folder / RESULT, lambda file: file.write(json.dumps(content).encode()))
    with contextlib.suppress(OSError):
        (folder / ".lock").unlink()


def _trained(run: Run, folder: Path, keywords: dict[str, Any]) -> Solution:
    if not _has_checkpoint(folder):
        shutil.rmtree(folder, ignore_errors=True)  # killed before its first checkpoint was whole
        parts = {name: decode(run.settings[name]) for name in PARTS[1:]} | {name: run.settings[name] for name in KEPT}
        return solve(problem=run.problem(), **parts, out=folder, label=run.name, **keywords)
    settings = RunFolder(folder).read_settings()
    unfinished = any(Status[name] is Status.INTERRUPTED for name, _ in settings["status"])
    return resume(folder, problem=run.problem(), **keywords) if unfinished else load(folder, problem=run.problem())


def _has_checkpoint(folder: Path) -> bool:
    try:
        RunFolder.open(folder).read_settings()
        RunFolder(folder).read_checkpoint()
        RunFolder(folder).read_history()
    except (ValueError, OSError):
        return False
    return True


def steps_done(folder: Path) -> int:
    """The steps of a run's newest checkpoint; 0 where there is none."""
    try:
        return int(json.loads((folder / "run.json").read_text(encoding="utf-8"))["done"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


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
        shutil.rmtree(folder, ignore_errors=True)  # an unfinished run of before
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def describe_failure(error: BaseException) -> str:
    """The reason of a failed run, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
