"""Everything that defines a run, in one place: what the caller gave, over the problem's own defaults, over the general recipe."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import equinox as eqx

from fredholm.common.checks import positive_integer, real
from fredholm.equation.equation import Defaults, Equation
from fredholm.functions.mlp import MLP
from fredholm.functions.protocol import AbstractNetwork, as_network
from fredholm.methods.auto import Auto
from fredholm.methods.protocol import AbstractMethod
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.protocol import AbstractOptimizer, as_optimizer
from fredholm.optimizers.schedules import Cosine
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo
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


FIELDS = tuple(field.name for field in dataclasses.fields(RunSettings))


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
