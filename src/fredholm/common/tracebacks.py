"""Short tracebacks: of an error in what the user gave, only the user's own lines."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

import equinox
import jax

Given = ParamSpec("Given")
Found = TypeVar("Found")
# Lines in these folders are the library's, JAX's and Equinox's: a user can do nothing about them.
INSIDE = tuple(f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], *(Path(str(one.__file__)).parent for one in (jax, equinox))))


def with_short_tracebacks(call: Callable[Given, Found]) -> Callable[Given, Found]:
    """A public function whose `ValueError`s show the user's own lines only, and one cause.

    `jax.config.update("jax_traceback_filtering", "off")` shows all lines.
    """

    @functools.wraps(call)
    def short(*arguments: Given.args, **keywords: Given.kwargs) -> Found:
        try:
            return call(*arguments, **keywords)
        except ValueError as error:
            if getattr(jax.config, "jax_traceback_filtering", None) == "off":
                raise
            cause = _root(error)
            if cause is not None:
                cause = cause.with_traceback(_own_lines(cause.__traceback__))
                cause.__cause__, cause.__suppress_context__ = None, True
                cause.__notes__ = [note for note in getattr(cause, "__notes__", ()) if "JAX_TRACEBACK_FILTERING" not in note]
            raise error.with_traceback(_own_lines(error.__traceback__)) from cause

    return short


def _root(error: BaseException) -> BaseException | None:
    """The first of the errors that led to this one, in the user's own code; None where there is none."""
    found = None
    while (error := error.__cause__) is not None:  # type: ignore[assignment]
        if _own_lines(error.__traceback__) is not None:
            found = error
    return found


def _own_lines(lines: TracebackType | None) -> TracebackType | None:
    """The lines of a traceback that are not inside of a library."""
    if lines is None:
        return None
    rest = _own_lines(lines.tb_next)
    if lines.tb_frame.f_code.co_filename.startswith(INSIDE):
        return rest
    return TracebackType(rest, lines.tb_frame, lines.tb_lasti, lines.tb_lineno)
