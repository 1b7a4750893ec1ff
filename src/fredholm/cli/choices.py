"""From options to the library's nouns. What is not given falls back to the problem's own defaults."""

import dataclasses
import inspect
from argparse import Namespace
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from fredholm.cli import values
from fredholm.cli.names import METHODS, OPTIMIZERS, PROBLEMS, RANDOMIZATIONS, RULES, SCHEDULES, fields, kebab, known
from fredholm.common.checks import nearest, positive_integer
from fredholm.equation.equation import Equation
from fredholm.equation.files import equation_from_file, is_file
from fredholm.functions.mlp import MLP
from fredholm.methods import AbstractMethod, Auto, DelayedTarget
from fredholm.optimizers import Adam, Muon
from fredholm.rules import AbstractRule
from fredholm.training.settings import GENERAL
from fredholm.training.stopping import Tolerance

PRECISIONS = ("float32", "float64")
MADE_OF_OTHERS = {"Smolyak": "Gauss(1), 3", "Shared": "MonteCarlo(16)", "Importance": "MonteCarlo(16), Normal((0.0,))"}  # with an example
METHOD_OPTIONS: Sequence[str] = list(dict.fromkeys(name for noun in METHODS.values() for name in fields(noun)))


def problem_of(text: str, settings: Sequence[str] = ()) -> Equation:
    """The equation that PROBLEM and --set mean: one of the library's, or one from a file."""
    options = values.pairs(settings, "--set")
    if is_file(text):
        return equation_from_file(text, options)
    name, bracket, inside = text.partition("(")
    noun = known("problem", name, PROBLEMS)
    if bracket:
        raise ValueError(f"problem: got {text!r}; options of a problem are given as --set: {name} --set {inside.rstrip(')')}")
    parameters = inspect.signature(noun).parameters
    for name in options:
        if not parameters:
            raise ValueError(f"--set {name}: {text} has no options.")
        if name not in parameters:
            raise nearest(f"option of {kebab(noun.__name__)}", name, parameters)
    try:
        return noun(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"--set {' '.join(settings)}: {error}") from error


def method_of(problem: Equation, name: str | None, options: Namespace, *, among: Sequence[str] = ()) -> Any:
    """The method of this name with the options that belong to it; the rest is the problem's, where its method is of the same class.

    With `among`, the names of all methods of a comparison, an option may belong to another of them. None where nothing is said of it,
    neither here nor by the problem: `solve` then chooses.
    """
    usual = problem.defaults.method or DelayedTarget()
    given = {option: getattr(options, option) for option in METHOD_OPTIONS if hasattr(options, option)}
    if name is None:
        if not given:
            return problem.defaults.method
        # Options of Auto are meant for it where it is what would choose.
        start = Auto() if problem.defaults.method is None and set(given) <= set(fields(Auto)) else usual
    elif "(" in name:
        start = values.noun(name)
        if not isinstance(start, (AbstractMethod, Auto)):
            raise ValueError(f"--method: got {name}; expected a method, for instance 'DelayedTarget(tau=0.9)'.")
    else:
        noun = known("method", name, METHODS)
        start = usual if type(usual) is noun else noun()
    own = fields(type(start))
    others = [field for other in among for field in fields(METHODS.get(kebab(other.partition("(")[0]), object))]
    for option in given:
        if option not in own and option not in others:
            owners = ", ".join(kebab(noun.__name__) for noun in METHODS.values() if option in fields(noun))
            raise ValueError(f"--{kebab(option)}: {kebab(type(start).__name__)} has no such option; it belongs to {owners}.")
    return dataclasses.replace(start, **{option: _fitting(start, option, text) for option, text in given.items() if option in own})


def _fitting(method: Any, field: str, text: str) -> Any:
    """The text as a value of the field's type; what is wrong in other ways than its type, the method says itself."""
    kind = get_type_hints(type(method))[field]
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    found = values.value(text)
    for choice in kinds:
        if get_origin(choice) is Literal and found not in get_args(choice):
            raise nearest(f"--{kebab(field)}", text, get_args(choice))
    if float in kinds and isinstance(found, int):
        return float(found)
    if (isinstance(found, (str, bool, list, dict)) and get_origin(kind) is not Literal) or (found is None and NoneType not in kinds):
        raise ValueError(f"--{kebab(field)}: got {text!r}; expected a number.")
    return found


def rule_of(problem: Equation, options: Namespace) -> AbstractRule | None:
    """The rule, or None for the problem's own."""
    if options.rule is None and options.n is None and options.randomize is None:
        return None
    usual = problem.defaults.rule or GENERAL.rule
    given: dict[str, Any] = {} if options.n is None else {"n": options.n}
    if options.randomize is not None:
        given["randomize"] = None if options.randomize == "none" else _randomization(options.randomize)
    if options.rule is not None and "(" in options.rule:
        start = values.noun(options.rule)
        if not isinstance(start, AbstractRule):
            raise ValueError(f"--rule: got {options.rule}; expected a rule, for instance 'Smolyak(Gauss(1), 3)'.")
        return _replaced(start, given)
    noun = type(usual) if options.rule is None else known("rule", options.rule, RULES)
    if noun is type(usual):
        return _replaced(usual, given)
    _check_fields(noun, given)
    required = [name for name, entry in inspect.signature(noun).parameters.items() if entry.default is entry.empty and name not in given]
    if required == ["n"]:
        raise ValueError(f"--rule {options.rule}: it needs --n, how many nodes.")
    if required:
        raise ValueError(f"--rule {options.rule}: it needs {' and '.join(required)}; {_as_in_python(noun)}.")
    return noun(**given)


def _randomization(name: str) -> Any:
    return known("randomization", name, {**RANDOMIZATIONS, "none": object})()


def _check_fields(noun: type, given: Mapping[str, Any]) -> None:
    for name, chosen in given.items():
        if name not in fields(noun) and chosen is not None:
            more = f"; {_as_in_python(noun)}" if noun.__name__ in MADE_OF_OTHERS else ""
            raise ValueError(f"--{name}: the rule {kebab(noun.__name__)} has no such option; it has {', '.join(fields(noun))}{more}.")


def _as_in_python(noun: type) -> str:
    return f"write it as in Python, --rule '{noun.__name__}({MADE_OF_OTHERS[noun.__name__]})'"


def _replaced(rule: AbstractRule, given: Mapping[str, Any]) -> AbstractRule:
    _check_fields(type(rule), given)
    return dataclasses.replace(rule, **{name: chosen for name, chosen in given.items() if name in fields(type(rule))})


def network_of(problem: Equation, options: Namespace) -> Any:
    """A perceptron with what was given, or None for the problem's own network."""
    given = {name: getattr(options, name) for name in ("width", "depth", "activation") if getattr(options, name) is not None}
    usual = problem.defaults.network or GENERAL.network
    return dataclasses.replace(usual if isinstance(usual, MLP) else GENERAL.network, **given) if given else None


def _by_auto(problem: Equation, options: Namespace) -> bool:
    """True where Auto chooses: it is named, or nobody names a method and the problem has none."""
    named = getattr(options, "method", None)
    if named is None:
        return problem.defaults.method is None and getattr(options, "methods", None) is None
    return kebab(named.partition("(")[0]) == "auto"


def optimizer_of(problem: Equation, options: Namespace) -> Any:
    """The optimiser with what was given, or None for the problem's own."""
    given: dict[str, Any] = {} if options.learning_rate is None else {"learning_rate": options.learning_rate}
    if options.schedule is not None:
        given["schedule"] = known("schedule", options.schedule, SCHEDULES)()
    usual = problem.defaults.optimizer or (Muon() if _by_auto(problem, options) else GENERAL.optimizer)
    ours = usual if isinstance(usual, tuple(OPTIMIZERS.values())) else GENERAL.optimizer
    if options.optimizer is not None:
        chosen = known("optimizer", options.optimizer, OPTIMIZERS)
        ours = ours if isinstance(ours, chosen) else chosen()
    assert isinstance(ours, Adam | Muon)
    return dataclasses.replace(ours, **given) if given or options.optimizer is not None else None


def keywords_of(problem: Equation, options: Namespace) -> dict[str, Any]:
    """Every keyword of `solve` that does not depend on the method."""
    if options.precision not in PRECISIONS:
        raise nearest("precision", options.precision, PRECISIONS)
    return {
        "rule": rule_of(problem, options),
        "network": network_of(problem, options),
        "optimizer": optimizer_of(problem, options),
        "steps": None if options.steps is None else positive_integer("--steps", options.steps),
        "batch": options.batch,
        "average": options.average,
        "seeds": values.seeds(options.seeds),
        "minutes": options.minutes,
        "stop": None if options.stop_at is None else Tolerance(options.stop_at),
        "record_every": options.record_every,
        "checkpoint_every": options.checkpoint_every,
        "precision": options.precision,
    }
