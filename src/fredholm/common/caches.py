"""Folders for what can be computed again: reference tables and compiled programs.

What lies there is used as it is, and a compiled program is run. So a folder counts only where nobody else can have put anything into it.
"""

import hashlib
import os
import platform
from pathlib import Path
from typing import NamedTuple

import platformdirs


class Cache(NamedTuple):
    """Where the caches are."""

    folder: Path
    refused: str = ""  # why the folder that was wanted is not used; empty where it is


def cache_directory() -> Path:
    """$FREDHOLM_CACHE; default: the user's cache directory on this system, on Linux $XDG_CACHE_HOME/fredholm or ~/.cache/fredholm.

    Where another user may write to it, a private folder beside the user's own. `OSError` where no folder can be made.
    """
    return cache().folder


def cache() -> Cache:
    """The folder of the caches, and why it is another one than was wanted."""
    chosen, usual = os.environ.get("FREDHOLM_CACHE"), platformdirs.user_cache_path("fredholm", appauthor=False)
    refused = ""
    for folder in (Path(chosen) if chosen else usual, usual, usual.with_name("fredholm-private")):
        reason = distrusted(folder) or _cannot_be_made(folder)
        if not reason:
            return Cache(folder, refused)
        refused = refused or reason
    raise OSError(f"there is no folder for caches: {refused}. Set FREDHOLM_CACHE to a folder of your own.")


def distrusted(folder: Path) -> str:
    """Why what lies in a folder must not be used, in words; empty where only this user or the administrator can have put it there."""
    if not hasattr(os, "geteuid"):
        return ""  # elsewhere than on POSIX it is in the user's profile
    try:
        found = folder.stat()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{folder} cannot be read ({error.strerror})"
    if found.st_uid not in (0, os.geteuid()):
        return f"{folder} belongs to another user"
    return f"others may write to {folder} (chmod go-w would end that)" if found.st_mode & 0o022 else ""


def _cannot_be_made(folder: Path) -> str:
    try:
        make_private(folder)
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"
    return ""


def make_private(folder: Path) -> Path:
    """Makes a folder that only this user can read, where it does not exist."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def processor_directory(name: str) -> Path:
    """A folder for compiled code, one for each kind of processor: machines of different kinds may share a home directory."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        processor = platform.processor()
    digest = hashlib.sha256(f"{platform.machine()} {processor}".encode()).hexdigest()[:12]
    return make_private(make_private(cache_directory() / name) / digest)
