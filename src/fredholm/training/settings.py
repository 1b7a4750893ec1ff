"""Everything that defines a run: the caller's arguments, then the problem's defaults, then the general defaults."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax

from fredholm.common.checks import instance, positive_integer, real, shortened
from fredholm.domains.combined import Point
from fredholm.equation.building import with_conditions
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.slabs import with_slabs
from fredholm.functions.mlp import MLP
from fredholm.functions.protocol import AbstractNetwork, as_network
from fredholm.methods.adapting import AbstractAdaptation, adaptations
from fredholm.methods.auto import Auto
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.protocol import AbstractOptimizer, as_optimizer
from fredholm.optimizers.schedules import Cosine
from fredholm.rules.base import AbstractRule
from fredholm.rules.gauss import Gauss
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.training.stopping import AbstractStop

# The defaults for a user's own equation, measured on the zoo: docs/method.md.
GENERAL = Defaults(
    method=Auto(),
    rule=MonteCarlo(8),
    network=MLP(64, 3, "tanh"),
    optimizer=Adam(1e-3, Cosine()),
    steps=10_000,
    batch=200,
    average=0.999,  # over the last 1000 steps, or the last fiftieth of fewer than 50 000
)
MOST_SEEDS, LARGEST_SEED = 100_000, 2**63 - 1  # seeds at once, and the largest number that files can hold
LEFT_TO_AUTO = ("rule", "optimizer", "batch", "average")  # chosen by a pilot where they are not given
SECOND_ORDER_STEPS, NOISY_STEPS = 200, 2000  # with nodes without noise, and where nodes are random or not chosen yet
SECOND_ORDER_ROWS, LARGEST_BATCH = 512, 256  # points of all residuals together, and of the equation
NODES = {0: 1, 1: 32, 2: 12}  # Gauss nodes on an axis, by the number of axes, where none are given
FINE = 1e-5  # a tolerance below this needs double precision
RECORDS = 100  # records in a run; default of `record_every`
SYSTEMS = 10  # and where every record solves a system


class RunSettings(eqx.Module):
    """The complete settings of a run. The fields are the keys of `run.json` and keywords of `solve`."""

    problem: Equation
    method: AbstractMethod | Auto
    rule: AbstractRule
    network: AbstractNetwork
    optimizer: AbstractOptimizer
    steps: int
    batch: int
    average: float  # share of the averaged parameters that stays at each step; 0: the answer is the network itself
    seeds: tuple[int, ...]
    record_every: int
    precision: str
    stop: AbstractStop | None
    tolerance: float | None = None  # the relative residual at which a solve is done; None: as good as it gets
    adapt: tuple[AbstractAdaptation[Any], ...] = ()  # what is measured between chunks of steps and changes the steps

    @property
    def rules(self) -> tuple[AbstractRule, ...]:
        """The rule of each integral, of the equation and of its conditions."""
        return self.problem.rules(self.rule)

    @property
    def steps_of_a_slab(self) -> int:
        """The steps of each part of the time; all steps where the time is in one."""
        return max(1, self.steps // self.network.slabs)

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
    precision: Literal["float32", "float64"] | None = None,
    stop: AbstractStop | None = None,
    tolerance: float | None = None,
    adapt: AbstractAdaptation[Any] | Sequence[AbstractAdaptation[Any]] = (),
) -> RunSettings:
    """The settings of a run: `given`, else the problem's defaults, else the general ones. Each is checked; nothing is compiled."""
    if not isinstance(problem, Equation):
        raise ValueError(f"solve: got {problem!r} as the problem; expected an Equation, for instance fr.problems.Volterra().")
    if precision not in (None, "float32", "float64"):
        raise ValueError(f"precision: got {precision!r}; expected 'float32' or 'float64'.")
    optimizer = as_optimizer(_first("optimizer", given, problem.defaults, GENERAL))
    suited = for_second_order(problem, given) if optimizer.is_second_order else Defaults()
    found = {name: _first(name, given, suited, problem.defaults, GENERAL) for name in DEFAULTED}
    if isinstance(found["method"], Auto) and "rule" in open_to_auto(problem, given):
        found["rule"] = MonteCarlo(1)  # a placeholder that fits every measure, until the pilot has chosen
    network = with_slabs(with_conditions(as_network(found["network"]), problem), problem)
    steps = positive_integer("steps", found["steps"])
    return RunSettings(
        problem,
        instance("method", found["method"], (AbstractMethod, Auto), "fr.DelayedTarget()"),
        instance("rule", found["rule"], AbstractRule, "fr.MonteCarlo(8)"),
        network,
        optimizer,
        steps,
        positive_integer("batch", found["batch"]),
        _average(found["average"]),
        seed_numbers(seeds),
        max(1, steps // (SYSTEMS if network.is_linear else RECORDS))
        if record_every is None
        else positive_integer("record_every", record_every),
        precision or ("float64" if network.is_linear or optimizer.is_second_order or (tolerance or 1.0) < FINE else "float32"),
        None if stop is None else instance("stop", stop, AbstractStop, "fr.Plateau()"),
        None if tolerance is None else _tolerance(tolerance),
        adaptations(adapt),
    )


def for_second_order(problem: Equation, given: Defaults) -> Defaults:
    """The defaults of an optimiser of second order: where neither method nor rule is given, nodes without noise, if there are any that fit;
    then a few hundred steps of few points are enough, and the last parameters are better than their mean."""
    method, rule = given.method, given.rule
    if method is None and rule is None:
        rule = _without_noise(problem)
        method = None if rule is None else Standard()
    at_last = rule or problem.defaults.rule or GENERAL.rule
    assert at_last is not None
    if isinstance(method, Auto) or any(one.is_random for one in problem.rules(at_last)):
        return Defaults(steps=NOISY_STEPS)
    areas = 1 + sum(not isinstance(condition.law, Point) for condition in problem.conditions)
    return Defaults(method, rule, steps=SECOND_ORDER_STEPS, batch=min(SECOND_ORDER_ROWS // areas, LARGEST_BATCH), average=0.0)


def _without_noise(problem: Equation) -> AbstractRule | None:
    """The problem's own rule where it has no noise, else Gauss nodes; None where they do not fit, or would be too many."""
    own = problem.defaults.rule
    if own is not None and not any(one.is_random for one in problem.rules(own)):
        return own
    measures = []
    for residual in (problem, *problem.conditions):
        x = residual.law.sample(jax.random.key(0))
        measures += [integral.measure(x) for integral in residual.integrals if integral.rule is None]
    axes = max((len(measure.bases) for measure in measures), default=0)
    if axes not in NODES:
        return None
    rule = Gauss(NODES[axes])
    given = any(measure.samples is not None for measure in measures)
    fits = not given and all(map(rule.fits, measures)) and not any(one.is_random for one in problem.rules(rule))
    return rule if fits else None


DEFAULTED = tuple(field.name for field in dataclasses.fields(Defaults))


def settings_of(problem: Equation, method: AbstractMethod | Auto | None = None, **keywords: Any) -> RunSettings:
    """`resolve` with the keywords of `solve`."""
    given = {"method": method, **{name: value for name, value in keywords.items() if name in DEFAULTED}}
    return resolve(problem, Defaults(**given), **{name: value for name, value in keywords.items() if name not in DEFAULTED})


def open_to_auto(problem: Equation, given: Defaults) -> tuple[str, ...]:
    """The settings that the pilot of `Auto` chooses: those that the caller does not give.

    Defaults of an equation without a method were chosen by its author, and stay. Defaults of a problem with a method suit that method, and
    not the one that a pilot chooses: they are open too.
    """
    known = (given,) if problem.defaults.method is not None else (given, problem.defaults)
    return tuple(name for name in LEFT_TO_AUTO if all(getattr(one, name) is None for one in known))


def is_plain(given: Defaults) -> bool:
    """True where the caller leaves everything to the library: no setting of a training is given."""
    is_open = given.method is None or given.method == Auto()
    return is_open and all(getattr(given, name) is None for name in DEFAULTED if name != "method")


def seed_numbers(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds as a tuple, from their number or from a list."""
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        return tuple(range(positive_integer("seeds", seeds, most=MOST_SEEDS)))
    if not isinstance(seeds, Sequence):
        raise ValueError(f"seeds: got {seeds!r}; expected a number of seeds, or a list of different whole numbers.")
    chosen = tuple(positive_integer("seeds", seed, least=0, most=LARGEST_SEED) for seed in seeds[: MOST_SEEDS + 1])
    if not chosen or len(set(chosen)) != len(chosen):
        raise ValueError(f"seeds: got {shortened(seeds)}; expected a number of seeds, or different whole numbers.")
    positive_integer("seeds", len(chosen), most=MOST_SEEDS)
    return chosen


def time_budget(minutes: float | None) -> float:
    """The time budget in seconds; infinite for None."""
    return float("inf") if minutes is None else 60.0 * real("minutes", minutes, low=0.0)


def _first(name: str, *given: Defaults) -> Any:
    return next(value for one in given if (value := getattr(one, name)) is not None)


def _tolerance(tolerance: float) -> float:
    try:
        return real("tolerance", tolerance, low=0.0)
    except ValueError as error:
        raise ValueError(f"{error} Give the relative residual to reach, for instance 1e-8, or leave it out.") from None


def _average(average: float) -> float:
    try:
        return real("average", average, low=0.0, below=1.0)
    except ValueError as error:
        raise ValueError(f"{error} For instance 0.999, a mean over about the last 1000 steps, or 0 for the network itself.") from None
