"""What a command does before JAX starts: devices, the cache of compiled programs, logging."""

import contextlib
import logging
import sys
import warnings

import jax

from fredholm.training.devices import use_all_cores
from fredholm.training.processes import join
from fredholm.training.program_cache import keep_programs
from fredholm.training.status import ProblemWarning

logger = logging.getLogger("fredholm")


def start_jax(is_distributed: bool = False) -> None:
    """Every core a device, and compiled programs kept between commands. A program that started JAX before us keeps its devices. With
    `is_distributed` the devices are those of all processes of the run."""
    with contextlib.suppress(RuntimeError):
        use_all_cores()
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        try:
            keep_programs()
        except (OSError, ValueError) as error:
            logger.info("no cache of compiled programs: %s", error)
    if is_distributed:
        join()


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
            warnings.simplefilter("always", ProblemWarning)
            shown = warnings.showwarning
            warnings.showwarning = lambda message, category, *place: (
                logger.warning("%s", message) if issubclass(category, ProblemWarning) else shown(message, category, *place)
            )
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
