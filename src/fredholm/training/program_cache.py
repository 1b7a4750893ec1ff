"""Compiled programs, kept between processes."""

import warnings
from pathlib import Path

import jax

from fredholm.common.caches import processor_directory


def keep_programs(folder: Path | str | None = None) -> None:
    """Compiled programs are kept in `folder`, which other processes may share: the next run of the same equation and settings starts in a
    third of the time. Unless given it is one of the user's cache directory, as for the command line, which does this by itself."""
    folder = processor_directory("programs") if folder is None else Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"keep_programs: got {folder}, which cannot be made ({error.strerror}); expected a folder to write into. Give another one, or "
            "set FREDHOLM_CACHE."
        ) from error
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # The check of an equation is hundreds of small programs, and they take most of the time before the first step.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # JAX writes a program in place. Another process may find a part of it, and so may all later ones where the writer was killed; JAX warns
    # and compiles it itself, so there is nothing for the user to do.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")
