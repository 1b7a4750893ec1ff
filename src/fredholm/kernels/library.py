"""`layers.cc`, compiled on this machine when a program first wants it, and kept for the next process.

XLA's own products and loops are what every program had before, and has where there is no C++ compiler: the mathematics is the same, to
rounding. `FREDHOLM_KERNELS=off` in the environment asks for them.
"""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.ffi

from fredholm.caches import processor_directory

SOURCE = Path(__file__).with_name("layers.cc")
NAMES = ("rows_times", "columns_times", "tanh_layer", "silu_layer", "tangent", "backward")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-shared", "-fPIC")
PATIENCE = 60  # seconds that the compiler may take; it takes half of one


class Kernels(NamedTuple):
    """Whether there are kernels, and what a person wants to know of it."""

    are_ready: bool
    about: str

    def call(self, name: str, results: Any, *arguments: Any, **numbers: Any) -> Any:
        """Puts a kernel into the program that is being made."""
        return jax.ffi.ffi_call(f"fredholm_{name}", results)(*arguments, **numbers)


@functools.cache
def kernels() -> Kernels:
    """The kernels of this process."""
    if os.environ.get("FREDHOLM_KERNELS") == "off":
        return Kernels(False, "XLA's own: FREDHOLM_KERNELS is off")
    if not sys.platform.startswith("linux"):
        return Kernels(False, "XLA's own: ours are for Linux")
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if compiler is None:
        return Kernels(False, "XLA's own: there is no C++ compiler; with one (g++ or clang, or CXX) steps are faster")
    try:
        path, library = _library(compiler)
        for name in NAMES:
            jax.ffi.register_ffi_target(f"fredholm_{name}", jax.ffi.pycapsule(getattr(library, f"fredholm_{name}")), platform="cpu")
    except (OSError, subprocess.SubprocessError) as error:
        told = (getattr(error, "stderr", None) or str(error)).strip().splitlines() or [type(error).__name__]
        return Kernels(False, f"XLA's own: {compiler} did not make ours ({told[0]})")
    return Kernels(True, f"ours, {path}")


def _library(compiler: str) -> tuple[Path, ctypes.CDLL]:
    """The library for this source, processor, compiler and JAX: from the cache, or made there."""
    made_of = f"{SOURCE.read_text(encoding='utf-8')} {FLAGS} {metadata.version('jaxlib')} {os.path.realpath(compiler)}"
    path = _folder() / f"layers-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.so"
    try:
        return path, ctypes.CDLL(str(path))
    except OSError:  # it is not there, or not whole
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            made = Path(scratch) / path.name
            command = [compiler, *FLAGS, f"-I{jax.ffi.include_dir()}", str(SOURCE), "-o", str(made)]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
            made.replace(path)  # another process finds it whole, or not at all
        return path, ctypes.CDLL(str(path))


def _folder() -> Path:
    try:
        folder = processor_directory("kernels")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder
    except OSError:  # a home that cannot be written: for this process only
        return Path(tempfile.mkdtemp(prefix="fredholm-kernels-"))
