"""The four kinds of objects that a run is made of, with their options on the command line, all from the library's own classes.

A new method, rule, network or optimiser has its name here because it is in the registry, and each of its fields is an option because it is
a field: its type says how the text is read, and its comment is the help.
"""

import dataclasses
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from fredholm.cli.names import METHODS, NETWORKS, OPTIMIZERS, RULES, comments, fields, hints, is_writable, kebab, known, required
from fredholm.cli.values import words
from fredholm.functions.protocol import AbstractNetwork, OwnNetwork
from fredholm.methods.auto import Auto
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.protocol import AbstractMethod
from fredholm.optimizers.protocol import AbstractOptimizer, Transformation
from fredholm.rules.base import AbstractRule
from fredholm.storage.serialisation import from_text
from fredholm.training.settings import GENERAL

# How a class is written whose fields are objects of its own kind, which have no option.
MADE_OF_OTHERS = {
    "Smolyak": "Smolyak(Gauss(1), 3)",
    "Shared": "Shared(MonteCarlo(16))",
    "Scaled": "Scaled(MLP(32, 2))",
    "BuiltIn": "BuiltIn(MLP(32, 2))",
    "Slabs": 'Slabs("t", 4, MLP(32, 2))',
    "Importance": "Importance(MonteCarlo(16), Normal((0.0,)))",
}


class Option(NamedTuple):
    """One option, for all classes of a kind that have this field."""

    hint: object  # the type of the field, or the union of its types
    help: str  # the comments on it, and the values that have a name


@dataclasses.dataclass(frozen=True, eq=False)
class Kind:
    """What one of --method, --rule, --network and --optimizer takes."""

    flag: str  # the option without its dashes
    title: str  # of its group in the help
    about: str  # what it is
    example: str  # as in Python
    classes: Mapping[str, type]  # those with a name on the command line
    bases: tuple[type, ...]  # what a text may give
    general: object  # used where the problem has no such object

    @cached_property
    def options(self) -> dict[str, Option]:
        """The fields of the classes as options. An object of the same kind inside has none: it is written as in Python."""
        found: dict[str, Any] = {}
        owners: dict[str, dict[str, list[str]]] = {}
        for name, spec in self.classes.items():
            for field, hint in hints(spec).items():
                if field != self.flag and is_writable(hint):
                    found[field] = hint if found.get(field, hint) == hint else found[field] | hint
                    owners.setdefault(field, {}).setdefault(comments(spec).get(field, ""), []).append(name)
        return {field: Option(hint, _help(hint, owners[field])) for field, hint in found.items()}


def _help(hint: object, owners: Mapping[str, list[str]]) -> str:
    text = "; ".join(f"{', '.join(names)}: {comment}" for comment, names in owners.items())
    named = words(hint)
    return f"{text}; by name: {', '.join(named)}" if set(named) - {"none"} else text


METHOD = Kind(
    "method",
    "the method",
    "how the estimated integral becomes a loss",
    "DelayedTarget(tau=0.9)",
    METHODS,
    (AbstractMethod, Auto),
    DelayedTarget(),
)
RULE = Kind("rule", "the integrals", "where the integrand is evaluated", MADE_OF_OTHERS["Smolyak"], RULES, (AbstractRule,), GENERAL.rule)
NETWORK = Kind("network", "the network", "the unknown function", 'MLP(32, 2, "tanh")', NETWORKS, (AbstractNetwork,), GENERAL.network)
OPTIMIZER = Kind(
    "optimizer", "the optimiser", "how the parameters move", "Adam(1e-3, Cosine())", OPTIMIZERS, (AbstractOptimizer,), GENERAL.optimizer
)
KINDS = (METHOD, RULE, NETWORK, OPTIMIZER)


def chosen(kind: Kind, text: str | None, usual: object, given: Mapping[str, object], elsewhere: Collection[str] = ()) -> Any:
    """The object that a name or a Python text means, with the options that were given; the rest is the usual object's, where it is meant.

    `usual` is what the problem has. None where nothing was said. An option that the object does not have is refused, unless it is one of
    `elsewhere`, the options of other objects of a comparison.
    """
    if text is None:
        return _changed(kind, usual, given, elsewhere) if given else None
    if "(" in text:
        found = from_text(text)
        if not isinstance(found, kind.bases):
            raise ValueError(f"--{kind.flag}: got {text}; expected {_a(kind.flag)}, for instance '{kind.example}'.")
        return _changed(kind, found, given, elsewhere)
    spec = known(kind.flag, text, kind.classes)
    if type(usual) is spec:
        return _changed(kind, usual, given, elsewhere)
    _refuse_others(kind, spec, given, elsewhere)
    missing = [name for name in required(spec) if name not in given]
    if missing and set(missing) <= set(kind.options):
        needed = " and ".join(f"--{kebab(name)} ({comments(spec)[name]})" for name in missing)
        raise ValueError(f"--{kind.flag} {text}: it needs {needed}.")
    if missing:
        raise ValueError(f"--{kind.flag} {text}: it needs {' and '.join(missing)}; {_as_in_python(kind, spec)}.")
    return spec(**{name: value for name, value in given.items() if name in fields(spec)})


def _changed(kind: Kind, start: object, given: Mapping[str, object], elsewhere: Collection[str]) -> Any:
    """The object with other values in some fields. Where it holds another of its kind, that one takes the options it does not have."""
    if not isinstance(start, kind.bases) or isinstance(start, (OwnNetwork, Transformation)):
        start = kind.general  # what the problem has is somebody else's, and knows nothing of these options
    own = {name: value for name, value in given.items() if name in fields(type(start))}
    others = {name: value for name, value in given.items() if name not in own}
    if others and hasattr(start, kind.flag):
        own[kind.flag] = _changed(kind, getattr(start, kind.flag), others, elsewhere)
    else:
        _refuse_others(kind, type(start), given, elsewhere)
    return dataclasses.replace(start, **own)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _refuse_others(kind: Kind, spec: type, given: Mapping[str, object], elsewhere: Collection[str]) -> None:
    """An option that the class does not have is an error; none, where there is nothing, is not."""
    for name, value in given.items():
        if name in fields(spec) or name in elsewhere or value is None:
            continue
        if kind.flag in required(spec):
            hint = f"it has {', '.join(fields(spec))}; {_as_in_python(kind, spec)}"
        else:
            hint = f"it belongs to {', '.join(owner for owner, other in kind.classes.items() if name in fields(other))}"
        raise ValueError(f"--{kebab(name)}: {kebab(spec.__name__)} has no such option; {hint}.")


def _as_in_python(kind: Kind, spec: type) -> str:
    written = MADE_OF_OTHERS.get(spec.__name__) or f"{spec.__name__}({', '.join(f'{name}=...' for name in required(spec))})"
    return f"write it as in Python, --{kind.flag} '{written}'"


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
