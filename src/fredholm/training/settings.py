"""Everything that defines a run, in one place: what the caller gave, over the problem's own defaults, over the general recipe."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import equinox as eqx
import numpy as np

from fredholm.common.checks import positive_integer, real
from fredholm.equation.equation import Defaults, Equation
from fredholm.functions.mlp import MLP
from fredholm.functions.protocol import AbstractNetwork, as_network
from fredholm.methods import AbstractMethod, Auto
from fredholm.optimizers import AbstractOptimizer, Adam, Cosine
from fredholm.optimizers.protocol import as_optimizer
from fredholm.rules import AbstractRule, MonteCarlo
from fredholm.storage.serialisation import NotRebuildableError, decode, to_text
from fredholm.training.stopping import AbstractStop

Kind = TypeVar("Kind")

# The recipe for a user's own equation, measured on the zoo: docs/method.md.
GENERAL = Defaults(
    method=Auto(),
    rule=MonteCarlo(8),
    network=MLP(64, 3, "tanh"),
    optimizer=Adam(1e-3, Cosine()),
    steps=10_000,
    batch=200,
    average=0.999,  # over the last 1000 steps, or the last fiftieth of fewer than 50 000
)
LEFT_TO_AUTO = ("rule", "optimizer", "batch", "average")  # what a pilot chooses where nobody says it
RECORDS = 100  # records in a run, unless the caller says how often


class RunSettings(eqx.Module):
    """A run, complete: its fields are the keys of `run.json` and the keywords of `solve`."""

    problem: Equation
    method: AbstractMethod | Auto
    rule: AbstractRule
    network: AbstractNetwork
    optimizer: AbstractOptimizer
    steps: int
    batch: int
    average: float  # how much of the averaged parameters stays at each step; 0: the answer is the network itself
    seeds: tuple[int, ...]
    record_every: int
    precision: str
    stop: AbstractStop | None

    @property
    def rules(self) -> tuple[AbstractRule, ...]:
        """The rule of each integral, of the equation and of its conditions."""
        return self.problem.rules(self.rule)

    @property
    def known_method(self) -> AbstractMethod:
        """The method, once it is chosen."""
        assert isinstance(self.method, AbstractMethod), "the pilot has not chosen yet"
        return self.method

    def recorded(self) -> "RecordedSettings":
        """The settings as plain values and text: what a file holds."""
        arrays: dict[str, np.ndarray] = {}
        parts = {name: to_text(getattr(self, name), arrays) for name in PARTS}
        plain = {name: getattr(self, name) for name in PLAIN}
        stop = None if self.stop is None else repr(self.stop)  # for the record: a run that is resumed is given its stopping rule again
        return RecordedSettings({**parts, **plain, "seeds": list(self.seeds), "stop": stop}, arrays)


PARTS = ("problem", "method", "rule", "network", "optimizer")  # objects, which a file holds as text
FIELDS = tuple(field.name for field in dataclasses.fields(RunSettings))
PLAIN = tuple(name for name in FIELDS if name not in PARTS)  # numbers and words


class RecordedSettings(eqx.Module):
    """`RunSettings` as a file holds them: plain values, and text as in Python for what is an object. What was the user's own is named
    there and cannot be rebuilt."""

    values: dict[str, Any]
    arrays: Mapping[str, np.ndarray] = eqx.field(
        default_factory=dict
    )  # those that are too large for a text, by the names that it has for them

    def replaced(self, **changes: Any) -> "RecordedSettings":
        """The settings with other values."""
        return RecordedSettings({**self.values, **changes}, self.arrays)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(self.values["seeds"])

    @property
    def steps(self) -> int:
        """The planned number of steps."""
        return int(self.values["steps"])

    @property
    def batch(self) -> int:
        """Points x in each step."""
        return int(self.values["batch"])

    @property
    def average(self) -> float:
        """How much of the averaged parameters stays at each step; a run of before there was averaging has none."""
        return float(self.values.get("average", 0.0))

    @property
    def precision(self) -> str:
        """float32 or float64."""
        return str(self.values["precision"])

    @property
    def key(self) -> str:
        """The hash of the settings, whatever the order in which they were given."""
        text = json.dumps(self.values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def is_own(self, name: str) -> bool:
        """True where a part was the user's own, and is not in the file."""
        try:
            decode(self.values[name], self.arrays)
        except NotRebuildableError:
            return True
        return False

    def part(self, name: str) -> Any:
        """A recorded object, or None where it was the user's own and is not in the file."""
        try:
            return decode(self.values[name], self.arrays)
        except NotRebuildableError:
            return None

    def text(self, name: str) -> str:
        """A setting as it is shown."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            return str(value)
        if "file" in value:  # the user's own equation in a study
            options = ", ".join(f"{option}={text}" for option, text in value.get("options", {}).items())
            return f"{value['file']}({options})"
        return str(value["opaque"]) if "opaque" in value else to_text(decode(value), {})  # as files of format 1 have it

    def rebuilt_part(self, name: str, call: str) -> Any:
        """A recorded object. Where it was the user's own, an error that says what to write, "resume(path, ...)"."""
        try:
            return decode(self.values[name], self.arrays)
        except NotRebuildableError as error:
            raise ValueError(f"{name}: {error} Give {call.replace('...', f'{name}=...')}, the same as at the start.") from None

    def rebuilt(self, call: str, **given: object) -> RunSettings:
        """The settings with every object made again; those that a file cannot hold must be among the given. `call` is what the user has
        to write, "resume(path, ...)"."""
        found: dict[str, Any] = {name: self.values[name] for name in PLAIN if name in self.values}
        found |= {"average": self.average, "seeds": self.seeds, "stop": None}
        for name in PARTS:
            value = given.get(name)
            value = self.rebuilt_part(name, call) if value is None else value
            found[name] = _WRAPPED.get(name, lambda one: one)(value)
        return RunSettings(**{**found, **{name: value for name, value in given.items() if name in PLAIN and value is not None}})


_WRAPPED: Mapping[str, Any] = {"network": as_network, "optimizer": as_optimizer}


def resolve(
    problem: Equation,
    given: Defaults,
    *,
    seeds: int | Sequence[int] = 4,
    record_every: int | None = None,
    precision: Literal["float32", "float64"] = "float32",
    stop: AbstractStop | None = None,
) -> RunSettings:
    """The settings of a run: what is given, else what the problem says, else the general recipe. Each is checked by itself; nothing is
    compiled."""
    if not isinstance(problem, Equation):
        raise ValueError(f"solve: got {problem!r} as the problem; expected an Equation, for instance fr.problems.Volterra().")
    found = {name: _first(name, given, problem.defaults, GENERAL) for name in DEFAULTED}
    if precision not in ("float32", "float64"):
        raise ValueError(f"precision: got {precision!r}; expected 'float32' or 'float64'.")
    if isinstance(found["method"], Auto) and "rule" in open_to_auto(problem, given):
        found["rule"] = MonteCarlo(1)  # fits every measure, until the pilot has chosen
    steps = positive_integer("steps", found["steps"])
    return RunSettings(
        problem,
        _kind("method", found["method"], (AbstractMethod, Auto), "fr.DelayedTarget()"),
        _kind("rule", found["rule"], AbstractRule, "fr.MonteCarlo(8)"),
        as_network(found["network"]),
        as_optimizer(found["optimizer"]),
        steps,
        positive_integer("batch", found["batch"]),
        _average(found["average"]),
        seed_numbers(seeds),
        max(1, steps // RECORDS) if record_every is None else positive_integer("record_every", record_every),
        precision,
        None if stop is None else _kind("stop", stop, AbstractStop, "fr.Tolerance(1e-3)"),
    )


DEFAULTED = tuple(field.name for field in dataclasses.fields(Defaults))


def settings_of(problem: Equation, method: AbstractMethod | Auto | None = None, **keywords: Any) -> RunSettings:
    """`resolve` with the keywords of `solve`."""
    given = {"method": method, **{name: value for name, value in keywords.items() if name in DEFAULTED}}
    return resolve(problem, Defaults(**given), **{name: value for name, value in keywords.items() if name not in DEFAULTED})


def open_to_auto(problem: Equation, given: Defaults) -> tuple[str, ...]:
    """The settings that the pilot of `Auto` is to choose: those that the caller does not give. What comes with an equation whose method is
    open was chosen for it by its author; that of a problem with a method of its own suits that method, and not what a pilot takes."""
    known = (given,) if problem.defaults.method is not None else (given, problem.defaults)
    return tuple(name for name in LEFT_TO_AUTO if all(getattr(one, name) is None for one in known))


def seed_numbers(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """A number of seeds, or a list of them, as the list."""
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        return tuple(range(positive_integer("seeds", seeds)))
    if not isinstance(seeds, Sequence):
        raise ValueError(f"seeds: got {seeds!r}; expected a number of seeds, or a list of different whole numbers.")
    chosen = tuple(positive_integer("seeds", seed, least=0) for seed in seeds)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ValueError(f"seeds: got {seeds!r}; expected a number of seeds, or different whole numbers.")
    return chosen


def time_budget(minutes: float | None) -> float:
    """The budget in seconds."""
    return float("inf") if minutes is None else 60.0 * real("minutes", minutes, low=0.0)


def _first(name: str, *given: Defaults) -> Any:
    return next(value for one in given if (value := getattr(one, name)) is not None)


def _average(average: float) -> float:
    try:
        return real("average", average, low=0.0, below=1.0)
    except ValueError as error:
        raise ValueError(f"{error} For instance 0.999, a mean over about the last 1000 steps, or 0 for the network itself.") from None


def _kind(name: str, value: Kind, kind: type | tuple[type, ...], example: str) -> Kind:
    if not isinstance(value, kind):
        raise ValueError(f"{name}: got {value!r}; expected for instance {example}.")
    return value
