"""Where results go: the run folder's name, its pages, and leaving nothing behind when the input was wrong."""

import contextlib
import datetime
import hashlib
import logging
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import jax

from fredholm.cli.names import kebab
from fredholm.equation.files import is_file, split, user_code
from fredholm.results.errors import Interrupted
from fredholm.storage.run_folder import RunFolder
from fredholm.study.result import steps_done
from fredholm.training.processes import LostProcessError

logger = logging.getLogger("fredholm")


class CommandError(RuntimeError):
    """Something other than the input went wrong: exit code 1."""


class Paused(KeyboardInterrupt):
    """Ctrl-C; the message says what was saved and how to go on."""


def folder_for(problem: str, out: str | None) -> Path:
    """--out, or runs/<name>-<date>-<hash>."""
    if out is not None:
        return Path(out)
    name = split(problem)[0].stem if is_file(problem) else problem
    now = datetime.datetime.now()
    digest = hashlib.sha256(f"{problem} {now.isoformat()}".encode()).hexdigest()[:6]
    return Path("runs") / f"{kebab(name)}-{now:%Y-%m-%d}-{digest}"


@contextlib.contextmanager
def left_clean(path: Path) -> Iterator[None]:
    """Removes a new folder again if nothing was trained in it when an error comes."""
    created = [place for place in (path, *path.parents) if not place.exists()]
    was_empty = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    try:
        yield
    except BaseException as error:
        if was_empty and path.is_dir() and not isinstance(error, Interrupted):
            _remove_untrained(path)
            for place in created:
                with contextlib.suppress(OSError):
                    place.rmdir()  # only an empty one
        raise


def _remove_untrained(path: Path) -> None:
    """Removes a run at step 0, or a folder of such runs, unless another process holds it."""
    inner = [place for place in path.iterdir() if place.is_dir()]
    for place in inner:
        _remove_untrained(place)
    if any(place.exists() for place in inner) or steps_done(path) > 0:
        return
    with contextlib.suppress(ValueError, OSError):
        # Only who can lock a folder may remove it: two processes may have been started on the same new name.
        with RunFolder(path).locked():
            pass
        shutil.rmtree(path)


@contextlib.contextmanager
def training_in(path: Path, problem: str | None) -> Iterator[None]:
    """A training that saves to a folder: wrong input leaves nothing behind, and every other end says what was kept."""
    is_own = problem is not None and is_file(problem)
    again = shlex.join(["fredholm", "resume", str(path), *(["--problem", problem] if problem and is_own else [])])
    try:
        with left_clean(path), user_code(split(problem)[0] if problem and is_own else None):
            yield
    except Interrupted as error:
        raise Paused(f"interrupted at step {error.solution.steps}; its state is saved. Continue with: {again}") from error
    except LostProcessError as error:
        raise CommandError(f"{error}; all processes end. {kept(path, again)}") from error
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        raise CommandError(f"cannot save{place}: {error.strerror or error}. Make room on the disk. {kept(path, again)}") from error
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        reason = str(error) or "out of memory"
        raise CommandError(f"the training failed: {reason}. Try a smaller --batch, --n or --width. {kept(path, again)}") from error


def kept(path: Path, again: str) -> str:
    """What is left in a folder after an error while saving, as a sentence."""
    try:
        step = RunFolder(path).read_checkpoint()[1]
    except (OSError, ValueError):
        return "Nothing was kept."
    return f"Kept: the state of step {step}. Continue with: {again}"


def ended(failed: list[str]) -> int:
    """0, or an error with the runs that failed."""
    if failed:
        raise CommandError(f"{len(failed)} runs failed: {', '.join(failed[:5])}. The tables say why; the same command tries them again.")
    return 0
