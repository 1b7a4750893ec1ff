"""From options to the library's objects. What is not given falls back to the problem's own defaults."""

import inspect
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from fredholm.cli import values
from fredholm.cli.kinds import METHOD, NETWORK, OPTIMIZER, RULE, Kind, chosen
from fredholm.cli.names import METHODS, PROBLEMS, fields, kebab, known
from fredholm.common.checks import nearest, positive_integer
from fredholm.equation.equation import Equation
from fredholm.equation.files import equation_from_file, is_file
from fredholm.methods.auto import Auto
from fredholm.methods.protocol import AbstractMethod
from fredholm.optimizers.muon import Muon
from fredholm.training.stopping import Tolerance

PRECISIONS = ("float32", "float64")


def problem_of(text: str, settings: Sequence[str] = (), published: bool = False) -> Equation:
    """The equation that PROBLEM and --set mean, one of the library's or one from a file; `published` with the defaults of its published
    run."""
    problem = _problem_of(text, settings)
    return problem.as_published() if published else problem


def _problem_of(text: str, settings: Sequence[str]) -> Equation:
    options = values.pairs(settings, "--set")
    if is_file(text):
        return equation_from_file(text, options)
    name, bracket, inside = text.partition("(")
    spec = known("problem", name, PROBLEMS)
    if bracket:
        raise ValueError(f"problem: got {text!r}; options of a problem are given as --set: {name} --set {inside.rstrip(')')}")
    parameters = inspect.signature(spec).parameters
    for name in options:
        if not parameters:
            raise ValueError(f"--set {name}: {text} has no options.")
        if name not in parameters:
            raise nearest(f"option of {kebab(spec.__name__)}", name, parameters)
    try:
        return spec(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"--set {' '.join(settings)}: {error}") from error


def method_of(problem: Equation, name: str | None, options: Namespace, *, among: Sequence[str] = ()) -> AbstractMethod | Auto | None:
    """The method of this name with the options that belong to it; the rest is the problem's, where its method is of the same class.

    With `among`, the names of all methods of a comparison, an option may belong to another of them. None where nothing is said of it,
    neither here nor by the problem: `solve` then chooses.
    """
    given, usual = _given(METHOD, options), problem.defaults.method
    if usual is None:
        # Options of Auto are meant for it where it is what would choose.
        usual = Auto() if name is None and set(given) <= set(fields(Auto)) else METHOD.general
    elsewhere = {field for other in among for field in fields(METHODS.get(kebab(other.partition("(")[0]), object))}
    return chosen(METHOD, name, usual, given, elsewhere) or problem.defaults.method


def _given(kind: Kind, options: Namespace) -> dict[str, object]:
    """The options of a kind that were given, as values."""
    return {name: getattr(options, name) for name in kind.options if hasattr(options, name)}


def _part(kind: Kind, problem: Equation, options: Namespace) -> Any:
    """The rule, the network or the optimiser; None for the problem's own."""
    usual = getattr(problem.defaults, kind.flag)
    if usual is None:
        usual = Muon() if kind is OPTIMIZER and _by_auto(problem, options) else kind.general
    return chosen(kind, getattr(options, kind.flag), usual, _given(kind, options))


def _by_auto(problem: Equation, options: Namespace) -> bool:
    """True where Auto chooses: it is named, or nobody names a method and the problem has none."""
    named = getattr(options, "method", None)
    if named is None:
        return problem.defaults.method is None and getattr(options, "methods", None) is None
    return kebab(named.partition("(")[0]) == "auto"


def keywords_of(problem: Equation, options: Namespace) -> dict[str, Any]:
    """Every keyword of `solve` that does not depend on the method."""
    if options.precision not in (None, *PRECISIONS):
        raise nearest("precision", options.precision, PRECISIONS)
    return {
        **{kind.flag: _part(kind, problem, options) for kind in (RULE, NETWORK, OPTIMIZER)},
        "steps": None if options.steps is None else positive_integer("--steps", options.steps),
        "batch": options.batch,
        "average": options.average,
        "seeds": values.seeds(options.seeds),
        "minutes": options.minutes,
        "stop": None if options.stop_at is None else Tolerance(options.stop_at),
        "record_every": options.record_every,
        "checkpoint_every": options.checkpoint_every,
        "precision": options.precision,
        "tolerance": options.tolerance,
    }
