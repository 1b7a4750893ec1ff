"""The run folder: plain formats, atomic writes, two rotating checkpoints, one writer at a time."""

import contextlib
import hashlib
import io
import json
import logging
import os
import platform
import re
import subprocess
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import filelock
import jax
import numpy as np
from jaxtyping import PyTree

if TYPE_CHECKING:
    import xarray

logger = logging.getLogger("fredholm")
FORMATS = (1, 2)  # of run.json that can be read
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}")  # the names of files that are being written
Arrays = dict[str, np.ndarray]
ARRAYS = "arrays.npz"  # of settings, beside run.json or study.json


class RunFolder:
    """One run on disk: `run.json`, `history.nc`, `checkpoint-0.npz` and `checkpoint-1.npz`, and later figures and a report."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    @classmethod
    def free(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """A folder that is still to be made; one that holds anything is refused."""
        folder = cls(path)
        if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            raise ValueError(
                f"out: {folder.path} exists and is not empty. Choose another name, or continue it with fredholm resume {folder.path}."
            )
        return folder

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """A new folder; one that holds anything is refused."""
        return cls.free(path).make()

    def make(self) -> "RunFolder":
        """Makes the folder, and tries whether it can be written to."""
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
        folder = cls(path)
        if not (folder.path / "run.json").is_file():
            raise ValueError(f"{folder.path} is not a run folder: it has no run.json. Expected what solve(out=...) or save(...) wrote.")
        return folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for writing; a second process is refused. The lock dies with its process."""
        lock = filelock.FileLock(self.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise ValueError(f"{self.path} is in use by another process; wait until it ends, or use another folder.") from None
        try:
            for left in self.path.iterdir():  # by a process that was killed while it wrote
                if TEMPORARY.fullmatch(left.name):
                    left.unlink(missing_ok=True)
            yield
        finally:
            lock.release()

    def write(
        self, history: "xarray.Dataset", state: Arrays, step: int, settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> None:
        """Writes everything that a run is resumed and loaded from: its history, its state after so many steps, its settings, and the
        arrays of the settings that are too large for a text."""
        if arrays and not (self.path / ARRAYS).exists():
            write_arrays(self.path / ARRAYS, arrays)
        self.write_history(history)
        self.write_checkpoint(state, step)
        self.write_settings(settings)

    def read_arrays(self) -> Arrays:
        """The arrays of the settings."""
        return read_arrays(self.path / ARRAYS)

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Writes `run.json`."""
        text = json.dumps(settings, indent=2, ensure_ascii=False, allow_nan=True)
        write_atomically(self.path / "run.json", lambda file: file.write(text.encode()))

    def read_settings(self) -> dict[str, Any]:
        """Reads `run.json`."""
        try:
            settings = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise ValueError(f"{self.path / 'run.json'} cannot be read: {error}.") from error
        found = settings.get("format") if isinstance(settings, dict) else None
        if found not in FORMATS:
            known = " and ".join(map(str, FORMATS))
            raise ValueError(f"{self.path}: the run's format is {found!r}; this version of fredholm reads formats {known}.")
        return settings

    def write_history(self, history: "xarray.Dataset") -> None:
        """Writes `history.nc`."""
        content = history.to_netcdf(engine="h5netcdf")
        write_atomically(self.path / "history.nc", lambda file: file.write(bytes(content)))

    def read_history(self) -> "xarray.Dataset":
        """Reads `history.nc`, whole."""
        import xarray

        with xarray.open_dataset(self.path / "history.nc", engine="h5netcdf") as history:
            return history.load()

    def write_checkpoint(self, arrays: Arrays, step: int) -> int:
        """Writes over the older of the two checkpoints, and says which that was."""
        slot = min((0, 1), key=self._slot_step)
        content = {**arrays, "step": np.asarray(step), "digest": np.frombuffer(_digest(arrays, step), np.uint8)}
        write_atomically(self._slot(slot), lambda file: np.savez(file, allow_pickle=False, **content))
        return slot

    def shrink(self, settings: Mapping[str, Any]) -> None:
        """Keeps the networks of the newest checkpoint, from which a run is loaded, and drops what only its next step would need; `settings`
        are those of `run.json`, which say so."""
        arrays, step = self.read_checkpoint()
        kept = {name: value for name, value in arrays.items() if name.startswith((".u", ".average", ".method"))}
        self.write_settings(settings)
        other = 1 - self.write_checkpoint(kept, step)
        self._slot(other).unlink(missing_ok=True)

    def read_checkpoint(self) -> tuple[Arrays, int]:
        """The newest checkpoint that is whole; a damaged one is passed over with a message."""
        found = []
        for slot in (0, 1):
            if self._slot(slot).exists():
                try:
                    found.append(_read_npz(self._slot(slot)))
                except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
                    logger.warning("%s is damaged (%s); using the checkpoint before it.", self._slot(slot), error)
        if not found:
            raise ValueError(f"{self.path}: there is no whole checkpoint to continue from.")
        return max(found, key=lambda item: item[1])

    def _slot(self, slot: int) -> Path:
        return self.path / f"checkpoint-{slot}.npz"

    def _slot_step(self, slot: int) -> int:
        """The step of a checkpoint; −1 where there is none or it is damaged, so that it is the one written over."""
        try:
            return _read_npz(self._slot(slot))[1]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return -1


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Writes to a temporary file beside `path`, then renames: a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")  # as TEMPORARY says
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Named arrays as one file."""
    write_atomically(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def read_arrays(path: Path) -> Arrays:
    """What `write_arrays` wrote; nothing where there is no such file."""
    if not path.is_file():
        return {}
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from error


def file_name(name: str) -> str:
    """A name as that of a file: without blanks and other signs."""
    return "".join(letter if letter.isalnum() or letter in "-_.=" else "-" for letter in name).strip("-.") or "run"


def flatten(tree: PyTree) -> Arrays:
    """The arrays of a pytree by their path."""
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def unflatten(skeleton: PyTree, arrays: Arrays) -> PyTree:
    """A pytree shaped as the skeleton, with the arrays that belong to its paths."""

    def leaf_at(path: jax.tree_util.KeyPath, leaf: jax.Array | jax.ShapeDtypeStruct) -> np.ndarray:
        name = jax.tree_util.keystr(path)
        if name not in arrays:
            raise ValueError(f"the checkpoint has no {name}: it was made with another network, method or optimizer.")
        if arrays[name].shape != leaf.shape:
            raise ValueError(f"the checkpoint's {name} has shape {arrays[name].shape}; this network expects {leaf.shape}.")
        return arrays[name]

    return jax.tree_util.tree_map_with_path(leaf_at, skeleton)


def environment() -> dict[str, Any]:
    """Versions and machine, for the record; no name or path of the machine."""
    packages = ("fredholm", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "xarray")
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: metadata.version(name) for name in packages},
        "devices": [device.device_kind for device in jax.local_devices()],
        "commit": _git_commit(),
    }


def _git_commit() -> str | None:
    """The commit of the user's working directory, if it is a checkout."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _digest(arrays: Arrays, step: int) -> bytes:
    digest = hashlib.sha256(str(step).encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.digest()


def _read_npz(path: Path) -> tuple[Arrays, int]:
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    step, digest = int(arrays.pop("step")), arrays.pop("digest").tobytes()
    if digest != _digest(arrays, step):
        raise ValueError("its checksum is wrong")
    return arrays, step
