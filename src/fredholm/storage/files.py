"""Files: written whole or not at all; read only where they are regular, of a sensible size, and hold what they should."""

import contextlib
import hashlib
import io
import math
import os
import re
import stat
import uuid
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}")  # the names of unfinished files
LARGEST = 8 << 30  # bytes: larger files are not ours
HEADER = 10_000  # characters of the header of an array
Arrays = dict[str, np.ndarray]


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Writes to a temporary file beside `path`, then renames it: a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")  # matches TEMPORARY
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
    """Writes named arrays to one file, without compression."""
    write_atomically(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def read_limited(path: Path, most: int = LARGEST) -> bytes:
    """The content of a regular file of at most `most` bytes; a `ValueError` says why it is not read. A pipe would block for ever."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path} is not a regular file.")
        if found.st_size > most:
            raise ValueError(f"{path} has {found.st_size:,} bytes; expected at most {most:,}.")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_arrays(path: Path) -> Arrays:
    """Reads the arrays that `write_arrays` wrote; none where the file does not exist."""
    return arrays_in(path, read_limited(path)) if path.exists() else {}


def arrays_in(path: Path, content: bytes) -> Arrays:
    """The arrays in the content of an .npz file. Only what the file really holds is allocated, and Python objects are refused."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if any(one.compress_type != zipfile.ZIP_STORED for one in members) or sum(one.file_size for one in members) > len(content):
                raise ValueError("its parts are compressed, or larger than the file")
            return {one.filename.removesuffix(".npy"): _array(archive.read(one)) for one in members}
    except Exception as error:  # whatever the parsers raise, the cause is the file
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path} is damaged: {' '.join(reason.split())}.") from error


def _array(content: bytes) -> np.ndarray:
    """An array in numpy's own format, once its header agrees with its length."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file, max_header_size=HEADER)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError("an array in it is not what its header says")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False, max_header_size=HEADER)


def digest_of(content: bytes) -> str:
    """A hash of a file's content."""
    return hashlib.sha256(content).hexdigest()


def file_name(name: str) -> str:
    """A name as a file name, without blanks and special characters."""
    return "".join(letter if letter.isalnum() or letter in "-_.=" else "-" for letter in name).strip("-.") or "run"
