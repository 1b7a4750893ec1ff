"""`fredholm list`: everything that has a name on the command line, from the library's own docstrings and comments."""

import inspect
import shutil
import textwrap
from argparse import Namespace
from collections.abc import Mapping

from fredholm.cli.kinds import KINDS, Kind
from fredholm.cli.names import PROBLEMS, RANDOMIZATIONS, SCHEDULES, comments, default, fields, first_line, kebab, required
from fredholm.functions.mlp import ACTIVATIONS
from fredholm.paper.reproduction.catalogue import FIGURES
from fredholm.storage.serialisation import to_text

INDENT = 24


def show(options: Namespace) -> int:
    """`fredholm list`."""
    _heading("problems", "fredholm solve NAME, with options as --set name=value", gap="")
    for name, spec in PROBLEMS.items():
        _entry(name, first_line(spec))
        shown = ", ".join(_signature(parameter) for parameter in inspect.signature(spec).parameters.values())
        _lines(f"options: {shown}" if shown else "no options")
    for kind in KINDS:
        _heading(f"{kind.flag}s", f"--{kind.flag} NAME, with its options; or as in Python: --{kind.flag} '{kind.example}'")
        for name, spec in kind.classes.items():
            _entry(name, first_line(spec))
            for field in fields(spec):
                _lines(f"{_option(kind, field)}: {comments(spec).get(field, '')}{_default(spec, field)}", hanging=4)
    _heading("randomizations", "--randomize NAME: moves the nodes of a rule at random, which makes it unbiased")
    _table(RANDOMIZATIONS)
    _heading("activations", "--activation NAME")
    print(f"  {', '.join(ACTIVATIONS)}")
    _heading("schedules", "--schedule NAME: how the learning rate changes over the run")
    _table(SCHEDULES)
    _heading("figures", "fredholm reproduce NAME --scale smoke|laptop|headline|paper")
    for name, make in FIGURES.items():
        _entry(name, str(make.__doc__).rstrip("."))
    return 0


def _heading(name: str, usage: str, gap: str = "\n") -> None:
    print(f"{gap}{name:<{INDENT}}{usage}")


def _option(kind: Kind, field: str) -> str:
    """The option of a field, or the field itself where it can only be given as in Python."""
    return f"--{kebab(field)}" if field in kind.options else field


def _default(spec: type, field: str) -> str:
    return "" if field in required(spec) else f" (default: {_text(default(spec, field))})"


def _table(specs: Mapping[str, type]) -> None:
    for name, spec in specs.items():
        _entry(name, first_line(spec))


def _entry(name: str, text: str) -> None:
    wrapped = _wrapped(text)
    print(f"  {name:<{INDENT - 3}} {next(iter(wrapped), '')}".rstrip())
    for line in wrapped[1:]:
        print(" " * INDENT + line)


def _lines(text: str, hanging: int = 0) -> None:
    for index, line in enumerate(_wrapped(text, hanging)):
        print(" " * (INDENT + (hanging if index else 0)) + line)


def _wrapped(text: str, hanging: int = 0) -> list[str]:
    width = max(40, min(shutil.get_terminal_size((120, 24)).columns, 120) - INDENT - hanging)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _signature(parameter: inspect.Parameter) -> str:
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={_text(parameter.default)}"


def _text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if inspect.isfunction(value):
        return value.__name__
    text = value if isinstance(value, str) else to_text(value)
    return text if len(text) <= 60 else "..."
