"""The user's own equation: `path/to/file.py:name`, imported on first use."""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from fredholm.common.checks import nearest
from fredholm.equation.equation import Equation


def is_file(text: str) -> bool:
    """True where a problem is given as a file, not by a name."""
    return text.endswith(".py") or ".py:" in text


def split(text: str) -> tuple[Path, str]:
    """`path/to/file.py:name` as its two parts."""
    place, colon, name = text.rpartition(":")
    if not colon or not place.endswith(".py") or not name.isidentifier():
        raise ValueError(f"{text}: expected path/to/file.py:name, where name is an Equation in the file or a function that returns one.")
    return Path(place), name


def equation_from_file(text: str, options: Mapping[str, Any]) -> Equation:
    """Imports the file and takes the equation of that name, or calls the function of that name with the options."""
    path, name = split(text)
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file. Expected path/to/file.py:name.")
    module = _imported(path)
    if not hasattr(module, name):
        own = {key: item for key, item in vars(module).items() if not key.startswith("_") and _is_candidate(item, module)}
        raise nearest(f"name in {path}", name, own) if own else ValueError(f"{path}: it holds no {name!r} and no other Equation.")
    found = getattr(module, name)
    if callable(found) and not isinstance(found, Equation):
        _check_options(text, found, options)
        with user_code(path):
            found = found(**options)
    elif options:
        raise ValueError(f"--set: {text} is an equation already made; make it a function with {', '.join(options)} as arguments.")
    if not isinstance(found, Equation):
        raise ValueError(f"{text}: got {type(found).__name__}; expected an Equation, or a function that returns one.")
    return found


class user_code:  # noqa: N801 - it reads as a statement: with user_code(path)
    """Turns whatever the user's file raises into one line with the file and its line number."""

    def __init__(self, path: Path | None):
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if self.path is None or error is None or not isinstance(error, (Exception, SystemExit)) or isinstance(error, OSError):
            return False
        line = line_in(self.path, error)
        if line is not None:
            text = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ValueError(f"{self.path}, line {line}: {type(error).__name__}: {text}") from error
        cause = error  # what the library says of an error in the user's function has that as its cause
        while line is None and (cause := cause.__cause__) is not None:
            line = line_in(self.path, cause)
        if line is None:
            return False
        raise ValueError(f"{self.path}, line {line}: {error}") from error


def line_in(path: Path, error: BaseException) -> int | None:
    """The deepest line of this file that an exception went through."""
    own = str(path.resolve())
    if isinstance(error, SyntaxError) and error.filename == own:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    return lines[-1] if lines else None


def _imported(path: Path) -> ModuleType:
    """Runs the file as a separate module, with its folder first in the search path, as `python file.py` does."""
    full = path.resolve()
    spec = importlib.util.spec_from_file_location(f"fredholm_problem_{full.stem}", full)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if str(full.parent) not in sys.path:
        sys.path.insert(0, str(full.parent))
    try:
        with user_code(path):
            spec.loader.exec_module(module)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror or error}.") from error
    return module


def _is_candidate(item: object, module: ModuleType) -> bool:
    return isinstance(item, Equation) or (inspect.isfunction(item) and item.__module__ == module.__name__)


def _check_options(text: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Checks the options of --set against the function's arguments. Arguments without a default are required."""
    parameters = inspect.signature(function).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    named = {name: entry for name, entry in parameters.items() if entry.kind not in (entry.VAR_KEYWORD, entry.VAR_POSITIONAL)}
    for name in options:
        if not parameters:
            raise ValueError(f"--set {name}: {text} takes no options.")
        if name not in named and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise nearest(f"option of {text}", name, named)
    missing = [name for name, entry in named.items() if entry.default is entry.empty and name not in options]
    if missing:
        raise ValueError(f"{text}: it needs {', '.join(missing)}; give them with --set {missing[0]}=...")
