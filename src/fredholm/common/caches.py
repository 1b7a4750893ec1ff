"""The cache on disk: everything in it can be made again."""

import hashlib
import os
import platform
import sys
from pathlib import Path


def cache_directory() -> Path:
    """$FREDHOLM_CACHE, else the user's cache directory of this system."""
    if chosen := os.environ.get("FREDHOLM_CACHE"):
        return Path(chosen)
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "fredholm"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "fredholm" / "Cache"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "fredholm"


def processor_directory(name: str) -> Path:
    """The cache of compiled programs for this kind of processor. Machines that share a home directory have one folder for each kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        processor = platform.processor()
    digest = hashlib.sha256(f"{platform.machine()} {processor}".encode()).hexdigest()[:12]
    return cache_directory() / name / digest
