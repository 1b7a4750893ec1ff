"""From what the caller gave to what the loop needs: defaults, checks, settings for the record."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from fredholm.checks import positive_integer, real
from fredholm.equation import Equation
from fredholm.methods import AbstractMethod, DelayedTarget
from fredholm.networks import MLP, AbstractNetwork, as_recipe
from fredholm.optimizers import AbstractOptimizer, Adam, Cosine, Transformation
from fredholm.recipes import encode
from fredholm.rules import AbstractRule, MonteCarlo
from fredholm.training.stopping import AbstractStop
from fredholm.validation import check_equation

# The recipe for a user's own equation, measured on the zoo: docs/method.md.
GENERAL_METHOD = DelayedTarget()
GENERAL_RULE = MonteCarlo(8)
GENERAL_NETWORK = MLP(64, 3, "tanh")
GENERAL_OPTIMIZER = Adam(1e-3, Cosine())
GENERAL_STEPS, GENERAL_BATCH = 10_000, 200
GENERAL_AVERAGE = 0.999  # over the last 1000 steps, or the last fiftieth of fewer than 50 000
RECORDS = 100  # records in a run, unless the caller says how often


class Setup(eqx.Module):
    """Everything that defines a run."""

    problem: Equation
    method: AbstractMethod
    rule: AbstractRule
    network: AbstractNetwork
    optimizer: AbstractOptimizer
    steps: int
    batch: int
    seeds: tuple[int, ...]
    record_every: int
    precision: str
    stop: AbstractStop | None
    average: float

    @property
    def points_per_step(self) -> int:
        """Points at which integrands are evaluated in one step of one seed."""
        return points_per_step(self.problem, self.method, self.rule, self.batch)

    @property
    def rules(self) -> tuple[AbstractRule, ...]:
        """The rule of each integral, of the equation and of its conditions."""
        return self.problem.rules(self.rule)

    def describe(self) -> dict[str, Any]:
        """The settings as JSON."""
        names = ("problem", "method", "rule", "network", "optimizer", "steps", "batch", "seeds", "record_every", "precision", "average")
        described = {name: encode(getattr(self, name)) for name in names}
        described["inputs"], described["outputs"] = self.problem.inputs, self.problem.outputs
        described["unknowns"] = sorted(self.problem.unknowns)
        described["stop"] = None if self.stop is None else repr(self.stop)
        return described


def with_defaults(
    problem: Equation,
    method: AbstractMethod | None = None,
    rule: AbstractRule | None = None,
    network: AbstractNetwork | Callable[..., Any] | None = None,
    optimizer: AbstractOptimizer | optax.GradientTransformation | None = None,
    steps: int | None = None,
    batch: int | None = None,
    seeds: int | Sequence[int] = 4,
    record_every: int | None = None,
    precision: Literal["float32", "float64"] = "float32",
    stop: AbstractStop | None = None,
    average: float | None = None,
) -> Setup:
    """Fills in the defaults of the problem or of the general recipe; each argument is checked by itself, and nothing is compiled."""
    if not isinstance(problem, Equation):
        raise ValueError(f"solve: got {problem!r} as the problem; expected an Equation, for instance fr.problems.Volterra().")
    defaults = problem.defaults
    chosen_method: AbstractMethod = _kind("method", method or defaults.method or GENERAL_METHOD, AbstractMethod, "fr.DelayedTarget()")
    chosen_rule: AbstractRule = _kind("rule", rule or defaults.rule or GENERAL_RULE, AbstractRule, "fr.MonteCarlo(8)")
    steps = steps_of(problem, steps)
    batch = positive_integer("batch", defaults.batch or GENERAL_BATCH) if batch is None else positive_integer("batch", batch)
    if precision not in ("float32", "float64"):
        raise ValueError(f"precision: got {precision!r}; expected 'float32' or 'float64'.")
    if stop is not None:
        _kind("stop", stop, AbstractStop, "fr.Tolerance(1e-3)")
    return Setup(
        problem,
        chosen_method,
        chosen_rule,
        as_recipe(network if network is not None else defaults.network or GENERAL_NETWORK),
        _optimizer(optimizer if optimizer is not None else defaults.optimizer or GENERAL_OPTIMIZER),
        steps,
        batch,
        _seeds(seeds),
        positive_integer("record_every", record_every) if record_every is not None else max(1, steps // RECORDS),
        precision,
        stop,
        _average(average if average is not None else defaults.average),
    )


def prepare(*arguments: Any, **keywords: Any) -> Setup:
    """As `with_defaults`, and refuses what makes no sense together, before a step is compiled."""
    setup = with_defaults(*arguments, **keywords)
    with jax.enable_x64(setup.precision == "float64"):
        check_equation(setup.problem, setup.rules, setup.network)
        setup.method.check(setup.problem, setup.rules)
    return setup


def points_per_step(problem: Equation, method: AbstractMethod, rule: AbstractRule, batch: int) -> int:
    """The batch times the nodes of all integrals, those of the main part of delayed targets among them."""
    rules = [integral.rule or rule for integral in problem.integrals]
    x = problem.domain.sample(jax.random.key(0))
    measures = [integral.measure(x) for integral in problem.integrals]
    nodes = sum(rule.size(measure) for rule, measure in zip(rules, measures, strict=True))
    if isinstance(method, DelayedTarget) and (method.has_main(problem) or problem.unknowns):
        second = method.main_rules(rules) if method.has_main(problem) else rules
        nodes += sum(rule.size(measure) for rule, measure in zip(second, measures, strict=True))
    return batch * nodes


def _check_transformation(optimizer: optax.GradientTransformation) -> None:
    """Raises where the transformation wants more than a gradient."""
    weights = {"weights": jnp.zeros((2, 2))}
    try:
        jax.eval_shape(lambda w: optimizer.update(w, optimizer.init(w), w), weights)
    except TypeError as error:
        raise ValueError(
            f"optimizer: it cannot make a step of a gradient alone ({error}). A line search, as that of optax.lbfgs, compares losses, and "
            "here every step has points and nodes of its own; give fr.Muon(), fr.Adam(1e-3) or another transformation of gradients."
        ) from error


def _optimizer(optimizer: Any) -> AbstractOptimizer:
    if isinstance(optimizer, AbstractOptimizer):
        return optimizer
    if isinstance(optimizer, optax.GradientTransformation):
        _check_transformation(optimizer)
        return Transformation(optimizer)
    raise ValueError(f"optimizer: got {optimizer!r}; expected fr.Adam(1e-3) or an optax transformation.")


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        return tuple(range(positive_integer("seeds", seeds)))
    if not isinstance(seeds, Sequence):
        raise ValueError(f"seeds: got {seeds!r}; expected a number of seeds, or a list of different whole numbers.")
    chosen = tuple(positive_integer("seeds", seed, least=0) for seed in seeds)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ValueError(f"seeds: got {seeds!r}; expected a number of seeds, or different whole numbers.")
    return chosen


def steps_of(problem: Equation, steps: int | None) -> int:
    """The number of steps that was given, or that of the problem or of the general recipe."""
    return positive_integer("steps", problem.defaults.steps or GENERAL_STEPS if steps is None else steps)


def first_seed(seeds: int | Sequence[int]) -> int:
    """The seed of a pilot."""
    return _seeds(seeds)[0]


def _average(average: float | None) -> float:
    if average is None:
        return GENERAL_AVERAGE
    try:
        return real("average", average, low=0.0, below=1.0)
    except ValueError as error:
        raise ValueError(f"{error} For instance 0.999, a mean over about the last 1000 steps, or 0 for the network itself.") from None


def _kind(name: str, value: Any, kind: type, example: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name}: got {value!r}; expected for instance {example}.")
    return value


def time_budget(minutes: float | None) -> float:
    """The budget in seconds."""
    return float("inf") if minutes is None else 60.0 * real("minutes", minutes, low=0.0)
