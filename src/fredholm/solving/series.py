"""The solve of an equation by a series, as an engine: it advances from one series to the next, and keeps the best."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fredholm.equation.equation import Equation
from fredholm.equation.evaluation import METRICS
from fredholm.equation.residual import call
from fredholm.functions.chebyshev import Chebyshev, Series
from fredholm.functions.field import Field
from fredholm.solving.direct import Attempt, attempts
from fredholm.storage.run_folder import Arrays, flatten, unflatten
from fredholm.training.engine import AbstractEngine
from fredholm.training.settings import RunSettings
from fredholm.training.status import SeedStatus, Status
from fredholm.training.step import TrainState

if TYPE_CHECKING:
    import xarray

RESOLVED = 1e-11  # a relative residual near rounding error in double precision
ENOUGH = 1e-7  # where one kind of series ends there, others are tried only for a tolerance


class SeriesSolve(AbstractEngine):
    """A solve by a series. Where all seeds have one equation they have one solution; where each has its own, each is solved.

    The first seed's equation decides on the axes and the degree.
    """

    def __init__(self, settings: RunSettings):
        recipe = settings.network
        assert isinstance(recipe, Chebyshev)
        self.settings = settings
        self.target = RESOLVED if settings.tolerance is None else settings.tolerance
        self._enough = ENOUGH if settings.tolerance is None else settings.tolerance
        problem = settings.problem
        self._equations = [problem.for_seed(seed) for seed in settings.seeds] if problem.is_drawn else [problem]
        self._attempts = self._all_attempts(recipe)
        self.best: list[Attempt | None] = [None] * len(self._equations)
        self.step, self.seconds = 0, 0.0
        self.records: list[dict[str, np.ndarray]] = []
        self.recorded_steps: list[int] = []
        self._restored: TrainState | None = None

    def _all_attempts(self, recipe: Chebyshev) -> Iterator[tuple[int, Attempt]]:
        for attempt in attempts(self._equations[0], recipe, self.settings.rule, self.target, self._enough):
            yield 0, attempt
        first = self.best[0]
        assert first is not None
        for index, equation in enumerate(self._equations[1:], start=1):
            for attempt in attempts(equation, first.recipe, self.settings.rule, self.target, self._enough):
                yield index, attempt

    @property
    def residual(self) -> float:
        """The largest relative residual of the best series of each equation; infinite before the first."""
        return max(np.inf if one is None else one.residual for one in self.best)

    @property
    def explained(self) -> float:
        """The relative residual that errors of y with the given deviation explain; 0 where none is given."""
        best, sigma = self.best[0], self._equations[0].sigma
        if best is None or sigma is None:
            return 0.0
        y = np.asarray(
            jax.vmap(lambda x: call(best.equation.y, x))(jax.vmap(best.equation.law.sample)(jax.random.split(jax.random.key(0), 64)))
        )
        return 3 * sigma / (float(np.sqrt(np.mean(y**2))) or 1.0)

    def advance(self, stop: int) -> None:
        """Solves for one more series."""
        begin = time.perf_counter()
        found = next(self._attempts, None)
        if found is not None:
            index, attempt = found
            best = self.best[index]
            if best is None or attempt.is_better_than(best):
                self.best[index] = attempt
            self.step += 1
            self.seconds += time.perf_counter() - begin
            self._record(attempt)
        is_done = found is None or (self.residual <= self.target and all(one is not None and one.is_determined for one in self.best))
        if is_done or self.step >= self.settings.steps:
            self.end_here()
        elif (first := self.best[0]) is not None:
            self.settings = replace(self.settings, network=first.recipe)

    def end_here(self) -> None:
        """Makes the best series so far the result."""
        first = self.best[0]
        assert first is not None
        self.settings = replace(self.settings, steps=max(self.step, 1), network=first.recipe)

    @property
    def reasons(self) -> list[str]:
        """The series that was found, and what limits it."""
        best = self.best[0]
        if best is None:
            return []
        degree = " x ".join(map(str, best.recipe.degrees(self.settings.problem.inputs)))
        kind = type(best.recipe).__name__
        found = [f"{kind} of degree {degree}, solved and not trained: the relative residual is {self.residual:.1e}"]
        if self.residual > self.target:
            found.append(f"what limits it: {limit_of(best)}")
        if best.regularized is not None:
            found.append(
                f"the equation is of the first kind and ill-posed: it is regularised. y determines {best.regularized:.1f} of "
                f"{best.u.network.coefficients.size} coefficients; the others follow from the decay of these, and the error is about "
                f"{best.error:.0e} of u"
            )
        elif best.solved.dropped:
            found.append(
                f"{best.solved.dropped} directions of the series are not determined by the equation beyond rounding error: of all "
                "functions that satisfy it, this is the one with the smallest coefficients"
            )
        return found

    def _record(self, attempt: Attempt) -> None:
        """A record of the best series so far."""
        best, count = self.best[0] or attempt, len(self.settings.seeds)
        values = {"loss": best.solved.residual**2, "relative_residual": best.residual, "estimated_error": best.error}
        values |= {f"unknown_{name}": float(value) for name, value in best.u.unknowns.items()}
        for name, (low, high) in best.intervals.items():
            values |= {f"low_{name}": low, f"high_{name}": high}
        values |= _scored(self._equations[0], best)
        self.records.append({name: np.full(count, value) for name, value in values.items()})
        self.recorded_steps.append(self.step)

    @property
    def states(self) -> TrainState:
        """The states of all seeds, stacked."""
        if self._restored is not None and self.best[0] is None:
            return self._restored
        fields = [one.u for one in self.best if one is not None]
        count = len(self.settings.seeds)
        return self._stacked(fields * count if len(self._equations) == 1 else fields + fields[:1] * (count - len(fields)))

    def _stacked(self, fields: list[Field]) -> TrainState:
        alive, never, zero, method = jnp.asarray(True), jnp.asarray(-1, int), jnp.zeros(()), self.settings.known_method
        states = [TrainState(u, (), method.init(u), None, alive, never, zero, zero) for u in fields]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *states)

    def snapshot(self) -> Arrays:
        """The coefficients of all seeds, by path; nothing before the first solve."""
        return {} if self.best[0] is None and self._restored is None else flatten(eqx.filter(self.states, eqx.is_array))

    def restore(self, arrays: Arrays, step: int, history: "xarray.Dataset", seconds: float) -> None:
        """Takes over a finished solve; one that was interrupted starts again, since it takes seconds."""
        if not arrays:
            return
        problem, count = self.settings.problem, len(self.settings.seeds)
        unknowns = {name: jnp.asarray(value, float) for name, value in problem.unknowns.items()}
        network = self.settings.network.build(problem.inputs, problem.outputs, jax.random.key(0))
        parts, static = eqx.partition(self._stacked([Field(network, unknowns, problem.inputs, problem.outputs)] * count), eqx.is_array)
        self._restored = eqx.combine(jax.tree.map(jnp.asarray, unflatten(parts, arrays)), static)
        self.step, self.seconds = step, seconds
        self.recorded_steps = [int(value) for value in history.step]
        self.records = [{str(name): np.asarray(history[name].sel(step=at)) for name in history} for at in self.recorded_steps]

    def status(self, ended: Status) -> list[SeedStatus]:
        """The status of each seed: one for which no series was finite has failed."""
        if self._restored is not None and self.best[0] is None:
            return [SeedStatus(ended, self.step)] * len(self.settings.seeds)
        failed = SeedStatus(Status.NONFINITE, self.step)
        if ended is Status.FINISHED and self.settings.tolerance is not None and self.residual > self.settings.tolerance:
            ended = Status.UNREACHED
        own = [failed if one is None or not np.isfinite(one.residual) else SeedStatus(ended, self.step) for one in self.best]
        return own * len(self.settings.seeds) if len(self._equations) == 1 else own


def limit_of(attempt: Attempt) -> str:
    """What keeps the residual of a series from falling further."""
    network = attempt.u.network
    assert isinstance(network, Series)
    tail = max(network.tails())
    if attempt.nodes_error > 0.1 * attempt.residual:
        return f"the nodes of the integrals, whose error is {attempt.nodes_error:.1e}"
    if tail > 0.1 * attempt.residual:
        return f"the series, whose last coefficients are {tail:.1e} of the largest: the solution is not smooth, or needs a higher degree"
    if attempt.solved.condition * np.finfo(float).eps > 0.01 * attempt.residual:
        return f"the conditioning of the system, {attempt.solved.condition:.1e}, in double precision"
    return "rounding errors of the equation's own terms"


def _scored(equation: Equation, attempt: Attempt) -> dict[str, float]:
    """The error against the exact solution, by the problem's own metric."""
    if equation.exact is None or equation.evaluation is None:
        return {}
    points = equation.evaluation.points()
    truth = equation.truth(points)
    values = jax.vmap(attempt.u)(points).reshape(truth.shape)
    return {"error": float(METRICS[equation.evaluation.score](values, truth, points)), "size": float(jnp.sqrt(jnp.mean(values**2)))}
