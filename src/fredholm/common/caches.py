"""Folders for what can be computed again: reference tables and compiled programs."""

import hashlib
import os
import platform
from pathlib import Path

import platformdirs


def cache_directory() -> Path:
    """$FREDHOLM_CACHE; default: the user's cache directory on this system, on Linux $XDG_CACHE_HOME/fredholm or ~/.cache/fredholm."""
    chosen = os.environ.get("FREDHOLM_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("fredholm", appauthor=False)


def processor_directory(name: str) -> Path:
    """A folder for compiled code, one for each kind of processor: machines of different kinds may share a home directory."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        processor = platform.processor()
    digest = hashlib.sha256(f"{platform.machine()} {processor}".encode()).hexdigest()[:12]
    return cache_directory() / name / digest
