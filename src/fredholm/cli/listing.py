"""`fredholm list`: everything that has a name on the command line, from the library's own docstrings and comments."""

import inspect
import shutil
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Mapping

from fredholm.cli.names import METHODS, OPTIMIZERS, PROBLEMS, RANDOMIZATIONS, RULES, SCHEDULES, comments, default, fields, first_line, kebab
from fredholm.functions.mlp import ACTIVATIONS
from fredholm.paper.reproduction.catalogue import FIGURES

INDENT = 20


def show(options: Namespace) -> int:
    """`fredholm list`."""
    print("problems            fredholm solve NAME, with options as --set name=value")
    for name, noun in PROBLEMS.items():
        _entry(name, first_line(noun))
        shown = ", ".join(_signature(parameter) for parameter in inspect.signature(noun).parameters.values())
        _lines(f"options: {shown}" if shown else "no options")
    print("\nmethods             --method NAME, with their options")
    for name, noun in METHODS.items():
        _entry(name, first_line(noun))
        help_of = comments(noun)
        for field in fields(noun):
            _lines(f"--{kebab(field)}: {help_of.get(field, '')} (default {_text(default(noun, field))})", hanging=4)
    print("\nrules               --rule NAME --n N; with other options as in Python: --rule 'Smolyak(Gauss(1), 3)'")
    for name, noun in RULES.items():
        _entry(name, first_line(noun))
        _lines("options: " + ", ".join(_signature(parameter) for parameter in inspect.signature(noun).parameters.values()))
    print("\nrandomizations      --randomize NAME: a random move of a rule's nodes, which makes it unbiased")
    _table(RANDOMIZATIONS)
    print(f"\nactivations         --activation NAME\n  {', '.join(ACTIVATIONS)}")
    print("\noptimisers          --learning-rate, --schedule")
    _table(OPTIMIZERS)
    print("\nschedules           --schedule NAME: how the learning rate changes over the run")
    _table(SCHEDULES)
    print("\nstudies             fredholm reproduce NAME --scale smoke|laptop|paper")
    for name, make in FIGURES.items():
        _entry(name, str(make.__doc__).rstrip("."))
    return 0


def _table(nouns: Mapping[str, type]) -> None:
    for name, noun in nouns.items():
        _entry(name, first_line(noun))


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
    if inspect.isfunction(value):
        return value.__name__
    if isinstance(value, Iterable) and len(repr(value)) > 60:
        return "..."
    return "none" if value is None else str(value)
