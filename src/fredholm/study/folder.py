"""The folder of a study: its runs by name, the pool of their results by hash, and its progress."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fredholm.storage.files import file_name, read_arrays, write_arrays, write_atomically
from fredholm.storage.run_folder import ARRAYS, RunFolder
from fredholm.study.outcome import Outcome
from fredholm.study.profile import Profile
from fredholm.study.result import PART, RESULT, result_key, steps_done
from fredholm.study.run import Run
from fredholm.training.record import RunRecord

STUDY = "study.json"
FORMAT = 1
POOLS = ("runs", "../runs", ".")  # the study's own, one that several studies share, or a folder for each run by its name


class State(NamedTuple):
    """The progress of one run."""

    name: str
    word: str  # finished, failed, under way or missing
    done: int  # steps
    reason: str  # why it failed


class StudyFolder:
    """A study on disk: `study.json`, the pool of run folders, and later tables, figures and a page."""

    def __init__(self, path: Path, title: str, runs: Sequence[Run], pool: str = "runs", about: dict[str, Any] | None = None):
        self.path, self.title, self.runs, self.about = path, title, list(runs), about or {}
        self.known: Mapping[str, Outcome] = {}  # results of runs that were done elsewhere, by name: they are not trained again
        self._pool = pool

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], title: str, runs: Sequence[Run], *, pool: str = "runs", about: dict[str, Any] | None = None
    ) -> "StudyFolder":
        """The folder for these runs: new, or that of the same study, to which runs may have been added since. Nothing is written yet."""
        folder = cls(Path(path), title, runs, pool, about)
        if not folder.runs:
            raise ValueError(f"study {title!r}: got no runs; expected at least one.")
        names = [run.name for run in runs]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"study {title!r}: two runs are called {twice[0]!r}; expected different names.")
        if (folder.path / STUDY).is_file():
            _check_same(cls.open(folder.path), folder)
        elif folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            raise ValueError(f"out: {folder.path} exists and is not the folder of a study. Choose another name.")
        return folder

    def begin(self) -> None:
        """Writes `study.json`. What a run that had failed with other settings has left under the same name is cleared away."""
        if (self.path / STUDY).is_file():
            before = {run.name: run for run in StudyFolder.open(self.path).runs}
            for run in self.runs:
                other = before.get(run.name)
                if other is not None and other.key != run.key and not _is_trained_longer(self, run, other):
                    self.clear_failure(other)
                    if self.is_by_name:
                        shutil.rmtree(self.place(run), ignore_errors=True)
        runs = [run.record() for run in self.runs]
        text = json.dumps({"format": FORMAT, "title": self.title, "pool": self._pool, "about": self.about, "runs": runs}, indent=1)
        try:
            self.pool.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(parents=True, exist_ok=True)
            arrays = {name: array for run in self.runs for name, array in run.settings.arrays.items()}
            if arrays:
                write_arrays(self.path / ARRAYS, arrays)
            write_atomically(self.path / STUDY, lambda file: file.write(text.encode()))
        except OSError as error:
            raise ValueError(f"out: cannot write to {self.path}: {error.strerror or error}. Choose another folder.") from error

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "StudyFolder":
        """An existing study."""
        place = Path(path) / STUDY
        if not place.is_file():
            raise ValueError(f"{path} is not the folder of a study: it has no {STUDY}. Expected what fredholm study or reproduce wrote.")
        try:
            content = json.loads(place.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["pool"] not in POOLS:
                raise ValueError(f"its format is {content['format']!r}, and this version of fredholm reads {FORMAT}")
            arrays = read_arrays(Path(path) / ARRAYS)
            runs = [Run.from_record(run, arrays) for run in content["runs"]]
            return cls(Path(path), str(content["title"]), runs, content["pool"], dict(content["about"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{place} cannot be read: {error}.") from error

    @property
    def pool(self) -> Path:
        """Where the run folders are, each by its key."""
        return {POOLS[0]: self.path / "runs", POOLS[1]: self.path.parent / "runs", POOLS[2]: self.path}[self._pool]

    @property
    def is_by_name(self) -> bool:
        """True where every run has a folder of its name, and can be continued with more steps."""
        return self._pool == POOLS[2]

    def place(self, run: Run) -> Path:
        """The folder of a run."""
        return self.pool / (file_name(run.name) if self.is_by_name else run.key)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the pool: one process at a time starts runs in it."""
        with RunFolder(self.pool).locked():
            for left in self.pool.glob(f".*{PART}"):  # left by a process that was killed while it received a result
                shutil.rmtree(left, ignore_errors=True)
            yield

    def is_finished(self, run: Run) -> bool:
        """True where the run has its result."""
        return run.name in self.known or self.has_folder(run)

    def has_folder(self, run: Run) -> bool:
        """True where the run was finished here, with its networks."""
        return result_key(self.place(run)) == run.key

    def missing(self) -> list[Run]:
        """The runs that have no result yet, those that failed among them; runs with equal settings once."""
        waiting = {run.key: run for run in reversed(self.runs) if not self.is_finished(run)}
        return list(reversed(waiting.values()))

    def write_failure(self, run: Run, reason: str) -> None:
        """Notes why a run failed; it is tried again next time."""
        text = json.dumps({"reason": reason})
        write_atomically(self._failure(run), lambda file: file.write(text.encode()))

    def clear_failure(self, run: Run) -> None:
        """Forgets why a run failed."""
        self._failure(run).unlink(missing_ok=True)

    def failure(self, run: Run) -> str:
        """Why a run failed; empty where it did not."""
        try:
            return "" if self.is_finished(run) else str(json.loads(self._failure(run).read_text(encoding="utf-8"))["reason"])
        except (OSError, ValueError, KeyError):
            return ""

    def state(self, run: Run) -> State:
        """The progress of a run."""
        if self.is_finished(run):
            return State(run.name, "finished", run.settings.steps, "")
        done, reason = steps_done(self.place(run)), self.failure(run)
        return State(run.name, "failed" if reason else "under way" if done else "missing", done, reason)

    def _failure(self, run: Run) -> Path:
        return self.pool / f"{run.key}.failed.json"


def _changed(run: Run, other: Run) -> list[str]:
    """The settings in which two runs differ."""
    return [name for name, value in run.settings.values.items() if value != other.settings.values.get(name)]


def _is_trained_longer(folder: StudyFolder, run: Run, other: Run) -> bool:
    return folder.is_by_name and _changed(run, other) == ["steps"] and run.settings.steps > other.settings.steps


def _has_answer(folder: StudyFolder, run: Run) -> bool:
    """True where a run is finished and a seed of it succeeded: a result that other settings would replace."""
    if not folder.has_folder(run):
        return False
    return any(not entry.status.is_failure for entry in RunRecord.read(RunFolder(folder.place(run))).status)


def _check_same(before: StudyFolder, now: StudyFolder) -> None:
    """Refuses a folder where other settings have made results. Runs may be added and left out, and those that have no result, as they
    failed, may be edited."""
    known = {run.name: run for run in before.runs}
    hint = "Choose another folder with --out, or go back to the settings that made this one."
    for run in now.runs:
        other = known.get(run.name)
        if other is not None and other.key != run.key:
            if _is_trained_longer(now, run, other) or not _has_answer(before, other):
                continue
            changed = _changed(run, other)
            raise ValueError(f"{now.path}: the study there has a run {run.name!r} with another {' and '.join(changed)}. {hint}")
    if not any(run.name in known for run in now.runs):
        raise ValueError(f"{now.path}: the study there, {before.title!r}, has none of these runs. {hint}")


def outcome(folder: StudyFolder, run: Run) -> Outcome | None:
    """The result of a run, or None where it has none."""
    if not folder.has_folder(run):
        return folder.known.get(run.name)
    kept = RunFolder(folder.place(run))
    record = RunRecord.read(kept)
    result = json.loads((kept.path / RESULT).read_text(encoding="utf-8"))
    arrays = {name: np.array([np.nan if value is None else value for value in values]) for name, values in result["scores"].items()}
    more = (result.get("evaluations"), Profile.read(result.get("profile")), str(result.get("diagnosis", "")))
    return Outcome(run, kept.read_history(), record.status, str(result["metric"]), arrays, record.seconds, *more)


def outcomes(folder: StudyFolder) -> dict[str, Outcome]:
    """The finished runs of a study, by name."""
    found = {run.name: outcome(folder, run) for run in folder.runs}
    return {name: one for name, one in found.items() if one is not None}
