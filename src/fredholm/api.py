"""The main calls: `solve` and `resume`. `compare`, a study of several calls, is in study/comparison.py."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any, Literal

import jax
import optax

from fredholm.common.checks import instance, positive_integer
from fredholm.common.keywords import Unknown, refuse_unknown
from fredholm.common.tracebacks import with_short_tracebacks
from fredholm.diagnostics.before import check_settings, warn_if_exact_is_wrong, warn_if_ill_posed
from fredholm.diagnostics.reached import Reached
from fredholm.diagnostics.warnings import Warnings
from fredholm.equation.equation import Defaults, Equation
from fredholm.functions.protocol import AbstractNetwork
from fredholm.methods.adapting import AbstractAdaptation, adaptations
from fredholm.methods.auto import Auto
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.results.errors import Interrupted, SolveError
from fredholm.results.solution import Solution
from fredholm.rules.base import AbstractRule
from fredholm.rules.resolved import Resolved
from fredholm.solving.choice import SECOND_ORDER, of_second_order, solved_by_series
from fredholm.solving.sampled import SumsSolve
from fredholm.solving.series import SeriesSolve
from fredholm.storage.run_folder import RunFolder
from fredholm.training.budget import within
from fredholm.training.callbacks import AbstractCallback, AllFailed, Checkpoints, EarlyStop, Interruption, Progress, TimeBudget
from fredholm.training.choice import choose
from fredholm.training.engine import AbstractEngine
from fredholm.training.fitting import fitted
from fredholm.training.processes import is_first
from fredholm.training.progress import Shown, announce
from fredholm.training.record import RunRecord, SavedRun
from fredholm.training.settings import RunSettings, is_plain, open_to_auto, resolve, time_budget
from fredholm.training.status import Status, describe_failures
from fredholm.training.stopping import AbstractStop
from fredholm.training.training import Training

logger = logging.getLogger("fredholm")
Network = AbstractNetwork | Callable[..., Any]
Optimizer = AbstractOptimizer | optax.GradientTransformation
SERIES_SHARE = 0.3  # of a time budget, at most, goes to the series that is tried first


@with_short_tracebacks
def solve(
    problem: Equation,
    method: AbstractMethod | Auto | None = None,
    *,
    rule: AbstractRule | None = None,
    network: Network | None = None,
    optimizer: Optimizer | None = None,
    steps: int | float | None = None,
    batch: int | None = None,
    average: float | None = None,
    seeds: int | Sequence[int] = 4,
    start: Solution | None = None,
    adapt: AbstractAdaptation[Any] | Sequence[AbstractAdaptation[Any]] = (),
    callbacks: Sequence[AbstractCallback] = (),
    out: str | os.PathLike[str] | None = None,
    throw: bool = True,
    minutes: float | None = None,
    stop: AbstractStop | None = None,
    record_every: int | None = None,
    checkpoint_every: int | None = None,
    precision: Literal["float32", "float64"] | None = None,
    tolerance: float | None = None,
    progress: Shown = None,
    label: str | None = None,
    origin: Mapping[str, Any] | None = None,
    **unknown: Unknown,
) -> Solution:
    """Solves an equation: trains one network for each seed, all at once, and returns them as a `Solution`.

    Every keyword has a default: that of the problem, else a general one.

        solution = fr.solve(fr.problems.Volterra(), fr.DelayedTarget(), steps=2000, seeds=4)

    Args:
        problem: the equation.
        method: how the estimated integral becomes a loss; default: the problem's own, else `Auto()`. `Auto()` first tries a series, where
            neither rule, network nor any setting of a training is given. Where the solution is not smooth enough for that, a short pilot
            chooses the method, and those of rule, optimizer, batch and average that are not given. Its reasons are in
            `solution.record.auto`.
        rule: how integrals are estimated, `MonteCarlo(8)`, `Even(16)`, ...
        network: `MLP(64, 3)`, `Chebyshev()`, an Equinox module, or a function key -> module.
        optimizer: `Adam(1e-3)`, or any optax transformation.
        steps: the number of optimiser steps.
        batch: points x in each step.
        average: the share of an exponential average of the parameters that stays at each step; the average is the answer. 0.999 is a
            mean over about the last 1000 steps, or over the last fiftieth of all steps if that is less. 0: the answer is the network
            itself. Averaging does not change the training. `solution.main` is the network itself; the history has `error` of the answer
            and `error_main` of the network.
        seeds: how many seeds, or a list of them. The same seed gives every method the same initial network and the same points.
        start: the solution of another run, of this equation or another, to begin with in place of fresh networks: each seed with the
            network of a seed that succeeded there. `network` is then that of the solution; one that is given is first fitted to its values.
        adapt: what is measured between chunks of steps and changes the steps: `Balanced()` weighs the conditions, `ResidualPoints()` draws
            x where the residual is large, `Causal("t")` lets late times wait (docs/practice.md); one, or a list.
        callbacks: objects that look at the training between chunks of steps, and may end it (docs/callbacks.md).
        out: a new folder for the run: settings, history and checkpoints. `resume(out)` continues it.
        throw: raise `SolveError` if a seed failed; with False, only `solution.status` says so.
        minutes: a time budget; then the training ends, and the solution so far is returned. Where steps is not given, there are as many
            as fit into it, pilot and compilation included, so that the learning rate falls to its end; at most the default. With steps
            given, they stay as they are, and `resume(out)` does what is left.
        stop: a rule to stop early, `Plateau()`.
        record_every: steps between two records of the history; default: a hundredth of the run.
        checkpoint_every: steps between two checkpoints; default: about every 20 seconds.
        precision: float32 or float64; default: float64 where a series is solved for, and where the tolerance or `GaussNewton` needs it.
        tolerance: the relative residual to reach, 1e-8 for instance: ‖r‖/(‖f‖ + ‖∫‖ + ‖y‖) at points and nodes that the solve has not used.
            The status says whether it was reached.
        progress: True, False, None (a bar on a terminal or in a notebook), or a callback between chunks of steps.
        label: the name of the run in tables and figures.
        origin: where the command line found the problem, for the record.

    Raises:
        ValueError: for wrong or conflicting arguments, before anything is compiled.
        SolveError: where a seed failed and `throw` is True; it holds the solution.
        Interrupted: after Ctrl-C; it holds the solution so far.

    Returns:
        The `Solution`: one result for each seed.

    Examples:
        >>> import fredholm as fr
        >>> solution = fr.solve(fr.problems.Volterra(), network=fr.Chebyshev(8), seeds=1, progress=False)
        >>> solution([[1.0]]).shape
        (1,)

    See also:
        `Equation`, `Solution`, `resume`, `compare`, `check`.
    """
    refuse_unknown("solve", solve, unknown)
    budget = TimeBudget(time_budget(minutes))  # it starts here: the pilot counts too
    folder = None if out is None or not is_first() else RunFolder.free(out)
    progress = progress if is_first() else False
    given = Defaults(method, rule, network if start is None else network_from(start, problem, network), optimizer, steps, batch, average)
    _check_callbacks(callbacks)
    _check_kinds(label=label, origin=origin, throw=throw, progress=progress, checkpoint_every=checkpoint_every)
    policies: dict[str, Any] = {"record_every": record_every, "precision": precision, "stop": stop, "tolerance": tolerance}
    policies["adapt"] = adapt
    settings = resolve(problem, given, seeds=seeds, **policies)
    check_settings(settings)
    if precision is None and settings.optimizer.is_second_order:
        announce(["precision: float64, since steps of second order end at an error of about 1e-4 in float32"], progress)
    # Of the paper's own problems the best recipe is known.
    by_series = is_plain(given) and not settings.adapt and problem.published is None
    engine, auto = _series(settings, progress, budget) if by_series else (None, None)
    if engine is None:
        if auto is not None and (small := of_second_order(problem)) is not None:
            settings = resolve(problem, small, seeds=seeds, **policies)
            auto["reasons"].append(SECOND_ORDER)
        settings = fitted(settings, rule is not None)
        settings, auto = _chosen(settings, open_to_auto(problem, given), progress, auto)
        if not settings.network.is_series:  # a series is regularised, and says so
            warn_if_ill_posed(settings)
    else:
        settings = engine.settings
    with jax.enable_x64(settings.precision == "float64"):
        engine = engine or _begun(engine_for(settings), start)
        if steps is None and isinstance(engine, Training):
            engine = _within(engine, budget, start, progress)
        record = RunRecord.of(engine.settings, label, auto, origin)
        if folder is not None:
            folder.make()
        return _finish(engine, record, folder, budget, checkpoint_every, progress, throw, callbacks)


def _series(settings: RunSettings, progress: Shown, budget: TimeBudget) -> tuple[AbstractEngine | None, dict[str, Any] | None]:
    """A finished solve by a series, if it is good enough, and why not if it is not."""
    limits = [budget, TimeBudget(SERIES_SHARE * budget.left())]
    engine, reasons = solved_by_series(settings, [Progress("series", progress), Interruption(), *limits])
    if engine is not None:
        warn_if_exact_is_wrong(engine.settings)
    return engine, {"reasons": reasons, "evaluations": 0, "seconds": 0.0} if reasons else None


def _within(engine: Training, budget: TimeBudget, start: Solution | None, progress: Shown) -> Training:
    """The training with as many steps as fit into the time budget."""
    fitting = within(engine, budget.left)
    if fitting is not engine:
        announce([f"{fitting.settings.steps} of {engine.settings.steps} steps fit into the time budget"], progress)
        _begun(fitting, start)
    return fitting


def _begun(engine: AbstractEngine, start: Solution | None) -> AbstractEngine:
    """The engine before its first step, with the networks of `start` where one is given."""
    if start is not None:
        engine.start_from(start.start(len(engine.settings.seeds)))
    return engine


def network_from(start: Solution, problem: Equation, network: Network | None) -> Network:
    """The network of a run that begins with another solution: that of the solution, unless one is given."""
    instance("start", start, Solution, "fr.load('runs/before')")
    if (start.inputs, start.outputs) != (problem.inputs, problem.outputs):
        raise ValueError(
            f"start: got a solution with {start.inputs} inputs and {start.outputs} outputs; expected {problem.inputs} and "
            f"{problem.outputs}, as the equation has. Leave start out."
        )
    if network is not None:
        return network
    own = start.record.settings.part("network")
    if own is None:
        raise ValueError("start: its network was made in Python, and the solution does not hold the recipe; give network= again.")
    return own.without_units()


@with_short_tracebacks
def resume(
    path: str | os.PathLike[str],
    steps: int | float | None = None,
    *,
    problem: Equation | None = None,
    method: AbstractMethod | None = None,
    rule: AbstractRule | None = None,
    network: Network | None = None,
    optimizer: Optimizer | None = None,
    stop: AbstractStop | None = None,
    minutes: float | None = None,
    checkpoint_every: int | None = None,
    throw: bool = True,
    progress: Shown = None,
    adapt: AbstractAdaptation[Any] | Sequence[AbstractAdaptation[Any]] | None = None,
    callbacks: Sequence[AbstractCallback] = (),
    **unknown: Unknown,
) -> Solution:
    """Continues a run from its newest checkpoint, to its planned number of steps or to `steps` in all.

    Your own objects (an equation, a network, an optax transformation) are not in the folder and must be given again. A resumed run equals
    an uninterrupted one, bit for bit on the same devices.

        fr.resume("runs/volterra", steps=20_000)

    Args:
        path (path): the folder of the run.
        steps (int): the total number of steps; None: as planned.
        problem (Equation): the equation, if it is your own; default: None.
        method (method): the method, if it is your own; default: None.
        rule (rule): the rule, if it is your own; default: None.
        network (network): the network, if it is your own; default: None.
        optimizer (optimiser): the optimiser, if it is your own; default: None.
        stop (stopping rule): a rule to stop early; default: None.
        minutes (float): a time budget; default: None.
        checkpoint_every (int): steps between two checkpoints; default: None.
        throw (bool): raise `SolveError` if a seed failed; default: True.
        progress (bool or callback): True, False, None or a callback, as in `solve`; default: None.
        callbacks (list): objects that look at the training between chunks of steps; default: ().
        adapt (adaptation or list): an own adaptation of the run, given again; default: None.

    Returns:
        The `Solution`.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> solution = fr.solve(fr.problems.Volterra(), network=fr.Chebyshev(8), seeds=1, progress=False)
        >>> fr.resume(solution.save("runs/resumed"), progress=False).steps == solution.steps
        True

    See also:
        `solve`, `load`.
    """
    refuse_unknown("resume", resume, unknown)
    _check_kinds(throw=throw, progress=progress, checkpoint_every=checkpoint_every)
    _check_callbacks(callbacks)
    budget = TimeBudget(time_budget(minutes))
    folder = RunFolder.open(path)
    saved = None if folder.is_before_first_checkpoint() else SavedRun.read(folder)
    record = RunRecord.read(folder) if saved is None else saved.record
    if record.kept == "networks":
        raise ValueError(f"{folder.path}: a study has kept only the networks of this run; to train longer, run it again with more steps.")
    done = record.done
    total = record.settings.steps if steps is None else positive_integer("steps", steps)
    if total < done:
        raise ValueError(
            f"steps: the run has done {done} already; expected a total of at least that. Give resume(path, steps={done + 1000})."
        )
    if record.settings.values["stop"] is not None and stop is None:
        logger.warning(
            "%s was started with stop=%s, which has no effect now; to keep it, give stop= again.", path, record.settings.text("stop")
        )
    given = {"problem": problem, "method": method, "rule": rule, "network": network, "optimizer": optimizer, "stop": stop}
    given["adapt"] = None if adapt is None else adaptations(adapt)
    settings = record.settings.rebuilt("resume(path, ...)", **given, steps=total)
    check_settings(settings)
    with jax.enable_x64(settings.precision == "float64"):
        engine = engine_for(settings)
        if saved is not None:
            engine.restore(saved.arrays, done, saved.history, record.seconds)
        return _finish(engine, record.with_steps(total), folder, budget, checkpoint_every, progress, throw, callbacks)


def engine_for(settings: RunSettings) -> AbstractEngine:
    """What solves or trains with these settings: classes of functions that are linear in their parameters need no training, unless there
    are random nodes and learned scalars, of which the rows of some methods have no slopes."""
    if settings.network.is_linear and settings.adapt:
        raise ValueError(f"adapt: {type(settings.network).__name__} is solved for, and not trained in steps; leave adapt out.")
    if settings.network.is_series and not any(rule.is_random for rule in settings.rules):
        return SeriesSolve(settings)
    return SumsSolve(settings) if settings.network.is_linear and not settings.problem.unknowns else Training(settings)


def _check_callbacks(callbacks: Sequence[AbstractCallback]) -> None:
    for callback in instance("callbacks", callbacks, (list, tuple), "[fr.TensorBoard('runs/tensorboard')]"):
        instance("callbacks", callback, AbstractCallback, "fr.TensorBoard('runs/tensorboard')")


def _check_kinds(
    *, label: object = None, origin: object = None, throw: object = True, progress: object = None, checkpoint_every: object = None
) -> None:
    """Checks the arguments that say nothing of the equation."""
    instance("label", label, (str, NoneType), "'my run'")
    instance("origin", origin, (Mapping, NoneType), "{'file': None}")
    instance("throw", throw, bool, "True")
    if not callable(progress):
        instance("progress", progress, (bool, NoneType), "True")
    if checkpoint_every is not None:
        positive_integer("checkpoint_every", checkpoint_every)


def _chosen(
    settings: RunSettings, wanted: Sequence[str], progress: Shown, before: dict[str, Any] | None
) -> tuple[RunSettings, dict[str, Any] | None]:
    """The settings as `Auto` chooses them, with its reasons after those from `before`; unchanged where a method is given."""
    if not isinstance(settings.method, Auto):
        return settings, before
    if settings.network.is_linear and isinstance(settings.rule, Resolved):
        return replace(settings, method=Standard()), None
    announce([f"pilot: {settings.method.pilot} steps to choose the settings that were not given"], progress)
    choice = choose(settings.method, settings, wanted, is_rough=before is not None)
    announce([f"chosen: {reason}" for reason in choice.reasons], progress)
    for reason in choice.reasons:
        logger.info("%s", reason)
    recorded = choice.recorded()
    return choice.settings, {**recorded, "reasons": [*(before or {}).get("reasons", ()), *recorded["reasons"]]}


def _finish(
    engine: AbstractEngine,
    record: RunRecord,
    folder: RunFolder | None,
    budget: TimeBudget,
    checkpoint_every: int | None,
    progress: Shown,
    throw: bool,
    own: Sequence[AbstractCallback] = (),
) -> Solution:
    """Trains to the end with all callbacks, and returns the solution."""

    def save(ended: Status, is_last: bool) -> None:
        assert folder is not None
        now = record.with_reasons(engine.reasons).at(engine.step, engine.seconds, engine.status(ended), engine.settings)
        folder.write(engine.history(), engine.snapshot(), engine.step, now.to_json(), now.settings.arrays, is_last)

    callbacks = [*own, Progress(record.label, progress), Interruption(), budget]
    if isinstance(engine, Training):
        callbacks += [AllFailed(), Warnings(engine)]
        if engine.settings.tolerance is not None:
            callbacks.append(Reached(engine, engine.settings.tolerance))
    if engine.settings.stop is not None:
        callbacks.append(EarlyStop(engine.settings.stop))
    if folder is None:
        ended = engine.run(callbacks)
    else:
        every = None if checkpoint_every is None else positive_integer("checkpoint_every", checkpoint_every)
        with folder.locked():
            ended = engine.run([Checkpoints(save, every), *callbacks])
    record = record.with_reasons(engine.reasons)
    solution = Solution.of(engine, record, ended)
    failures = describe_failures(solution.status, solution.seeds)
    for line in failures:
        logger.warning("%s", line)
    if ended is Status.INTERRUPTED:
        where = f"; continue with: fredholm resume {folder.path}" if folder else "; its state is in .solution of this exception"
        raise Interrupted(f"interrupted at step {engine.step}{where}", solution)
    if failures and throw:
        raise SolveError(f"{len(failures)} of {len(solution.status)} seeds failed. " + "; ".join(failures), solution)
    return solution
