"""What a command does before JAX starts: devices, the cache of compiled programs, logging."""

import contextlib
import hashlib
import logging
import platform
import sys
import warnings
from pathlib import Path

import jax

import fredholm as fr
from fredholm.problems.coagulation_table import cache_directory
from fredholm.training.devices import keep_programs

logger = logging.getLogger("fredholm")


def start_jax() -> None:
    """Every core a device, and compiled programs kept between commands. A program that started JAX before us keeps its devices."""
    with contextlib.suppress(RuntimeError):
        fr.use_all_cores()
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        folder = compilation_cache()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            logger.info("no cache of compiled programs: %s", error)
            return
        keep_programs(folder)


def compilation_cache() -> Path:
    """Where compiled programs are kept. They hold instructions of this processor: a home that machines share has a folder for each kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        processor = platform.processor()
    digest = hashlib.sha256(f"{platform.machine()} {processor}".encode()).hexdigest()[:12]
    return cache_directory() / "programs" / digest


class _Lines(logging.Handler):
    """Writes to whatever standard error is now: a progress bar or a test may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


@contextlib.contextmanager
def logging_to_terminal(verbose: bool):
    """Warnings of the library on standard error; everything, with its time, where `verbose`."""
    handler, before = _Lines(), logger.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s" if verbose else "fredholm: %(message)s"))
    logger.setLevel(logging.DEBUG if verbose else logging.WARNING)
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            # A warning of the library is a line like the others, without the place in its code.
            warnings.simplefilter("always", fr.ProblemWarning)
            shown = warnings.showwarning
            warnings.showwarning = lambda message, category, *place: (
                logger.warning("%s", message) if issubclass(category, fr.ProblemWarning) else shown(message, category, *place)
            )
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
