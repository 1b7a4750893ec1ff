"""The run folder: plain formats, atomic writes, two rotating checkpoints, one writer at a time."""

import contextlib
import hashlib
import json
import logging
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock
import jax
import numpy as np
from jaxtyping import PyTree

from fredholm.storage.files import TEMPORARY, Arrays, arrays_in, digest_of, read_arrays, read_limited, write_arrays, write_atomically
from fredholm.storage.history import LARGEST as LARGEST_HISTORY
from fredholm.storage.history import history_bytes, history_in

if TYPE_CHECKING:
    import xarray

logger = logging.getLogger("fredholm")
FORMATS = (1, 2)  # the formats of run.json that can be read
LARGEST_SETTINGS = 1 << 24  # bytes of run.json
ARRAYS = "arrays.npz"  # the large arrays of the settings, beside run.json or study.json
DIGEST, HISTORY = "digest", "history"  # keys of run.json: its own hash, and the hashes that history.nc may have


class RunFolder:
    """One run on disk: `run.json`, `history.nc`, `checkpoint-0.npz` and `checkpoint-1.npz`, and later figures and a report.

    A save writes them in this order, so that a process may be killed at any moment: the checkpoint, which comes last, says how many steps
    are done, and `run.json` knows the hash of the history before and after the save.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    @classmethod
    def free(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """A folder that can be created; `ValueError` where something is in it, other than what a run left that was killed at its start."""
        if not isinstance(path, (str, os.PathLike)):
            raise ValueError(f"out: got {path!r}; expected the path of a new folder, for instance 'runs/volterra'.")
        folder = cls(path)
        if folder.path.exists() and (not folder.path.is_dir() or not folder._is_unused()):
            raise ValueError(
                f"out: {folder.path} exists and is not empty. Choose another name, or continue it with fredholm resume {folder.path}."
            )
        return folder

    def _is_unused(self) -> bool:
        """True for an empty folder, and for one of a run that was killed before its first checkpoint."""
        found = [place.name for place in self.path.iterdir()]
        if not all(name in (".lock", "run.json", "history.nc", ARRAYS) or TEMPORARY.fullmatch(name) for name in found):
            return False
        try:
            return "run.json" not in found or self.read_settings().get("done") == 0
        except ValueError:
            return False

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """Creates a new folder; `ValueError` where it exists and is not empty."""
        return cls.free(path).make()

    def make(self) -> "RunFolder":
        """Creates the folder, and checks that it can be written to."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise ValueError(f"out: cannot write to {self.path}: {error.strerror or error}. Choose another folder.") from error
        return self

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """An existing run."""
        if not isinstance(path, (str, os.PathLike)):
            raise ValueError(f"path: got {path!r}; expected the path of a run folder, for instance 'runs/volterra'.")
        folder = cls(path)
        if not (folder.path / "run.json").is_file():
            raise ValueError(f"{folder.path} is not a run folder: it has no run.json. Expected what solve(out=...) or save(...) wrote.")
        return folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the folder for writing; `ValueError` in a second process. The lock ends with its process."""
        place = self.path / ".lock"
        if place.is_symlink():
            raise ValueError(f"{place} is a link to another place, which is not followed. Delete it.")
        lock = filelock.FileLock(place, timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise ValueError(f"{self.path} is in use by another process; wait until it ends, or use another folder.") from None
        try:
            for left in self.path.iterdir():  # by a process that was killed during a write
                if TEMPORARY.fullmatch(left.name):
                    left.unlink(missing_ok=True)
            yield
        finally:
            lock.release()

    def write(
        self,
        history: "xarray.Dataset",
        state: Arrays,
        step: int,
        settings: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
        is_last: bool = False,
    ) -> None:
        """Writes everything that `load` and `resume` need: the settings, the arrays of the settings that are too large for text, the
        history, and the training state after `step` steps. The last state of a training goes into both checkpoints."""
        if arrays and not self._has(arrays):
            write_arrays(self.path / ARRAYS, arrays)
        content = history_bytes(history)
        self.write_settings({**settings, HISTORY: [digest_of(content), *self._history_digests()]})
        write_atomically(self.path / "history.nc", lambda file: file.write(content))
        self.write_checkpoint(state, step)
        if is_last:
            self.write_checkpoint(state, step)

    def _has(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """True where these arrays are saved already: their names are hashes of their contents."""
        try:
            return set(self.read_arrays()) == set(arrays)
        except ValueError:
            return False

    def read_arrays(self) -> Arrays:
        """The arrays of the settings."""
        return read_arrays(self.path / ARRAYS)

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Writes `run.json`, with its own hash in the first line, which a person who changes the file can delete."""
        content = json.loads(json.dumps({**settings, HISTORY: settings.get(HISTORY) or self._history_digests()}))  # as a reader finds it
        text = json.dumps({DIGEST: _settings_digest(content), **content}, indent=2, ensure_ascii=False)
        write_atomically(self.path / "run.json", lambda file: file.write(text.encode()))

    def read_settings(self) -> dict[str, Any]:
        """Reads `run.json`; `ValueError` where it is not as it was written."""
        place = self.path / "run.json"
        try:
            settings = json.loads(read_limited(place, LARGEST_SETTINGS), object_pairs_hook=_without_repetition)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place} cannot be read: {error or 'it is nested too deeply'}.") from error
        found = settings.get("format") if isinstance(settings, dict) else None
        if found not in FORMATS or isinstance(found, bool):
            known = " and ".join(map(str, FORMATS))
            raise ValueError(f"{self.path}: the run's format is {found!r:.50}; this version of fredholm reads formats {known}.")
        digest = settings.pop(DIGEST, None)  # folders of older versions have none
        if digest is not None and digest != _settings_digest(settings):
            raise ValueError(
                f"{place} is damaged or was changed: its content does not fit its digest. If you have changed it yourself, delete the line "
                f'"{DIGEST}" in it.'
            )
        return settings

    def _history_digests(self) -> list[str]:
        """The hash of the history as it is on disk now; none where there is no history."""
        place = self.path / "history.nc"
        return [digest_of(read_limited(place, LARGEST_HISTORY))] if place.is_file() else []

    def read_history(self) -> "xarray.Dataset":
        """Reads `history.nc` into memory; `ValueError` where it is not as it was written."""
        place = self.path / "history.nc"
        content = read_limited(place, LARGEST_HISTORY)
        known = self.read_settings().get(HISTORY)  # folders of older versions have none
        if known is not None and digest_of(content) not in known:
            raise ValueError(f"{place} is damaged or was changed: its content does not fit its digest in run.json.")
        return history_in(place, content)

    def is_before_first_checkpoint(self) -> bool:
        """True for a run that was killed before its first checkpoint."""
        return not any(self._slot(slot).exists() for slot in (0, 1)) and self.read_settings().get("done") == 0

    def write_checkpoint(self, arrays: Arrays, step: int) -> int:
        """Overwrites the older of the two checkpoints, and returns its number."""
        slot = min((0, 1), key=self._slot_step)
        content = {**arrays, "step": np.asarray(step), "digest": np.frombuffer(_digest(arrays, step), np.uint8)}
        write_arrays(self._slot(slot), content)
        return slot

    def shrink(self, settings: Mapping[str, Any]) -> None:
        """Keeps only the networks of the newest checkpoint: the run can still be loaded, but not resumed. `settings` is the new content of
        `run.json`, which records that."""
        arrays, step = self.read_checkpoint()
        kept = {name: value for name, value in arrays.items() if name.startswith((".u", ".average", ".method"))}
        self.write_settings(settings)
        other = 1 - self.write_checkpoint(kept, step)
        self._slot(other).unlink(missing_ok=True)

    def read_checkpoint(self) -> tuple[Arrays, int]:
        """The newest intact checkpoint, and its step. A damaged one is skipped with a warning."""
        found = []
        for slot in (0, 1):
            if self._slot(slot).exists():
                try:
                    found.append(_read_checkpoint(self._slot(slot)))
                except ValueError as error:
                    logger.warning("%s Using the other checkpoint.", error)
        if not found:
            raise ValueError(f"{self.path}: there is no intact checkpoint to continue from.")
        return max(found, key=lambda item: item[1])

    def _slot(self, slot: int) -> Path:
        return self.path / f"checkpoint-{slot}.npz"

    def _slot_step(self, slot: int) -> int:
        """The step of a checkpoint; −1 where it is missing or damaged, so that it is overwritten first."""
        try:
            return _read_checkpoint(self._slot(slot))[1]
        except ValueError:
            return -1


def flatten(tree: PyTree) -> Arrays:
    """The arrays of a pytree, by their paths."""
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def unflatten(skeleton: PyTree, arrays: Arrays) -> PyTree:
    """A pytree with the structure of the skeleton, and the arrays of its paths."""

    def leaf_at(path: jax.tree_util.KeyPath, leaf: jax.Array | jax.ShapeDtypeStruct) -> np.ndarray:
        name = jax.tree_util.keystr(path)
        if name not in arrays:
            raise ValueError(f"the checkpoint has no {name}: it was made with another network, method or optimizer.")
        found = arrays[name]
        if found.shape != leaf.shape or found.dtype.kind != np.dtype(leaf.dtype).kind:
            raise ValueError(
                f"the checkpoint's {name} has shape {found.shape} and type {found.dtype}; expected {leaf.shape} and {leaf.dtype}: "
                "it was made with another network, method or optimizer."
            )
        return found

    return jax.tree_util.tree_map_with_path(leaf_at, skeleton)


def environment() -> dict[str, Any]:
    """Versions and kind of machine, for the record; no host names, no paths."""
    packages = ("fredholm", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "xarray")
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: metadata.version(name) for name in packages},
        "devices": [device.device_kind for device in jax.local_devices()],
        "commit": _git_commit(),
    }


def _git_commit() -> str | None:
    """The git commit of the current directory, if it is a repository."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _settings_digest(settings: Mapping[str, Any]) -> str:
    """A hash of the content of `run.json`, whatever its layout."""
    return digest_of(json.dumps(settings, sort_keys=True, separators=(",", ":")).encode())


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. A name that is there twice is an error: the last value would count in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _digest(arrays: Arrays, step: int) -> bytes:
    digest = hashlib.sha256(str(step).encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.digest()


def _read_checkpoint(path: Path) -> tuple[Arrays, int]:
    arrays = arrays_in(path, read_limited(path))
    step, digest = arrays.pop("step", None), arrays.pop("digest", None)
    if step is None or digest is None or step.shape != () or step.dtype.kind not in "iu" or step < 0:
        raise ValueError(f"{path} is damaged: it has no step or no checksum.")
    if digest.tobytes() != _digest(arrays, int(step)):
        raise ValueError(f"{path} is damaged: its checksum is wrong.")
    return arrays, int(step)
