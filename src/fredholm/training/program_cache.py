"""Compiled programs, kept between processes."""

import warnings
from pathlib import Path

import jax

from fredholm.common.caches import distrusted, make_private, processor_directory
from fredholm.common.checks import instance


def keep_programs(folder: Path | str | None = None) -> None:
    """Keeps compiled programs on disk, so that the next run of the same equation and settings starts in a third of the time.

    `folder` may be shared with other processes of this user, and with nobody else, since the programs in it are run; default: a folder in
    the user's cache directory. The command line does this by itself.

    Args:
        folder (path): where compiled programs are kept; None: a folder in the user's cache directory.

    Returns:
        Nothing.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> callable(fr.keep_programs)  # at the top of a program: fr.keep_programs()
        True

    See also:
        `use_all_cores`.
    """
    folder = processor_directory("programs") if folder is None else Path(instance("keep_programs", folder, (str, Path), "a folder"))
    if reason := distrusted(folder):
        raise ValueError(f"keep_programs: got {folder}, and {reason}: its programs would be run as yours. Give a folder of your own.")
    try:
        make_private(folder)
    except OSError as error:
        raise OSError(
            f"keep_programs: got {folder}, which cannot be made ({error.strerror}); expected a folder to write into. Give another one, or "
            "set FREDHOLM_CACHE."
        ) from error
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Small programs too: checking an equation compiles hundreds of them, which takes most of the time before the first step.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # JAX writes a program in place. Another process may read a partial file, and a killed writer leaves one behind. JAX then warns and
    # compiles the program again, so the user has nothing to do.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")
