"""The main calls: `solve`, `resume` and `compare`."""

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import jax
import optax

from fredholm.auto import Choice, choose
from fredholm.checks import positive_integer
from fredholm.equation import Equation
from fredholm.inspection import Symptom, describe_heavy_tail, describe_undetermined, heavy_tails, is_meant, seen_in, undetermined
from fredholm.methods import AbstractMethod, Auto
from fredholm.networks import AbstractNetwork, Constrained, as_recipe
from fredholm.optimizers import AbstractOptimizer
from fredholm.progress import Watched, announce, show_progress
from fredholm.recipes import NotRebuildableError, decode
from fredholm.rules import AbstractRule
from fredholm.solution import Solution
from fredholm.status import Interrupted, ProblemWarning, SolveError, Status
from fredholm.storage import FORMAT, RunFolder, environment
from fredholm.training.devices import gather
from fredholm.training.loop import Training, describe_failures, run
from fredholm.training.setup import GENERAL_NETWORK, Setup, first_seed, prepare, steps_of, time_budget
from fredholm.training.stopping import AbstractStop

logger = logging.getLogger("fredholm")
DEFAULT_METHOD = Auto()  # of an equation that has no method of its own
LOOKS = 20  # parts of a training, in its second half, after each of which its history is looked at
LONG = 150.0  # seconds that half of a training has taken for a look at its network, which takes seconds itself


def solve(
    problem: Equation,
    method: AbstractMethod | Auto | None = None,
    *,
    rule: AbstractRule | None = None,
    network: AbstractNetwork | Callable[..., Any] | None = None,
    optimizer: AbstractOptimizer | optax.GradientTransformation | None = None,
    steps: int | None = None,
    batch: int | None = None,
    average: float | None = None,
    seeds: int | Sequence[int] = 4,
    out: str | os.PathLike[str] | None = None,
    throw: bool = True,
    minutes: float | None = None,
    stop: AbstractStop | None = None,
    record_every: int | None = None,
    checkpoint_every: int | None = None,
    precision: Literal["float32", "float64"] = "float32",
    progress: bool | Callable[[Watched], object] | None = None,
    label: str | None = None,
    origin: Mapping[str, Any] | None = None,
) -> Solution:
    """Solves an equation: trains one network for each seed, all at once, and returns them as a `Solution`.

    Every keyword has a default, from the problem or from the general recipe.

    Args:
        problem: the equation.
        method: how the estimated integral becomes a loss. `Auto()`, the default unless the problem has its own, lets a short pilot choose
            it, and with it whatever of rule, optimizer, batch and average is not given; the reasons are in `settings["auto"]`.
        rule: how integrals are estimated, `MonteCarlo(8)`, `Even(16)`, ...
        network: a recipe (`MLP(64, 3)`), an Equinox module, or a function key -> module.
        optimizer: a recipe (`Adam(1e-3)`) or any optax transformation.
        steps: the number of optimiser steps.
        batch: points x in each step.
        average: the answer is an exponential average of the parameters, of which this share stays at each step: 0.999 is a mean over
            about the last 1000 steps, or the last fiftieth of all so far if that is less. 0: the answer is the network itself.
            Averaging does not change the training; `solution.main` is the network itself, and the history has `error` of the answer
            and `error_main` of the network.
        seeds: how many, or which; the same seed gives every method the same network, volumes and points.
        out: a new folder for the run: settings, history and checkpoints. `resume(out)` continues it.
        throw: raise `SolveError` if a seed failed; otherwise the status says so.
        minutes: a time budget; what was reached by then is returned.
        stop: a rule to stop early, `Tolerance(1e-3)` or `Plateau()`.
        record_every: steps between two records of the history; a hundredth of the run unless given.
        checkpoint_every: steps between two checkpoints; about every 20 seconds unless given.
        precision: float32 or float64.
        progress: True, False, None for a bar where there is a terminal or a notebook, or a function that is told as the training goes.
        label: what the run is called in tables and pictures.
        origin: where the command line found the problem, for the record.
    """
    if checkpoint_every is not None:
        positive_integer("checkpoint_every", checkpoint_every)
    budget = time_budget(minutes)
    if out is not None:
        RunFolder(out).check_free()  # before a pilot is spent on it
    chosen = {"method": method, "rule": rule, "optimizer": optimizer, "batch": batch, "average": average}
    choice = _choice(problem, network, chosen, steps, seeds, precision, progress)
    if choice is not None:
        chosen |= choice.keywords()
        budget = max(0.0, budget - choice.seconds)
    setup = prepare(problem, network=network, steps=steps, seeds=seeds, record_every=record_every, precision=precision, stop=stop, **chosen)
    warn_if_ill_posed(setup)
    settings = {
        "format": FORMAT,
        "label": label or f"{type(problem).__name__}, {type(setup.method).__name__}, {setup.rule!r}",
        **setup.describe(),
        "auto": None if choice is None else choice.describe(),
        "origin": dict(origin) if origin else None,
        "environment": environment(),
        "done": 0,
        "seconds": 0.0,
        "status": [],
    }
    folder = None if out is None else RunFolder.create(out)
    with jax.enable_x64(precision == "float64"):
        training = Training(setup)
        return _train(training, settings, folder, budget, checkpoint_every, progress, throw)


def resume(
    path: str | os.PathLike[str],
    steps: int | None = None,
    *,
    problem: Equation | None = None,
    method: AbstractMethod | None = None,
    rule: AbstractRule | None = None,
    network: Any = None,
    optimizer: Any = None,
    stop: AbstractStop | None = None,
    minutes: float | None = None,
    checkpoint_every: int | None = None,
    throw: bool = True,
    progress: bool | Callable[[Watched], object] | None = None,
) -> Solution:
    """Continues a run from its newest checkpoint, to its planned number of steps or to `steps` in all.

    What was made in Python and is not in the folder (an equation, a network, an optax transformation of your own) must be given again.
    A resumed run equals an uninterrupted one, bit for bit on the same devices.
    """
    folder = RunFolder.open(path)
    settings = folder.read_settings()
    if settings.get("kept") == "networks":
        raise ValueError(f"{folder.path}: a study has kept only the networks of this run; to train longer, run it again with more steps.")
    arrays, done = folder.read_checkpoint()
    total = settings["steps"] if steps is None else positive_integer("steps", steps)
    if total < done:
        raise ValueError(
            f"steps: the run has done {done} already; expected a total of at least that. Give resume(path, steps={done + 1000})."
        )
    given = {"problem": problem, "method": method, "rule": rule, "network": network, "optimizer": optimizer}
    parts = {name: _part(name, settings[name], value) for name, value in given.items()}
    if settings["stop"] is not None and stop is None:
        logger.warning("%s was started with stop=%s, which is not in effect now: give stop= again if you want it.", path, settings["stop"])
    kept = {name: settings[name] for name in ("batch", "seeds", "record_every", "precision")}
    kept["average"] = settings.get("average", 0.0)  # a run of before there was averaging has none
    setup = prepare(**parts, **kept, steps=total, stop=stop)
    settings = {**settings, "steps": total}
    with jax.enable_x64(setup.precision == "float64"):
        training = Training(setup)
        training.restore(arrays, done, folder.read_history(), settings["seconds"])
        return _train(training, settings, folder, time_budget(minutes), checkpoint_every, progress, throw)


def compare(
    problem: Equation,
    methods: Mapping[str, AbstractMethod | Mapping[str, Any]],
    *,
    out: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> dict[str, Solution]:
    """Solves one equation with several methods and the same seeds, and returns the solutions by name.

    A method is a method, or a mapping with `method` and whatever else of `solve` it wants of its own, for instance
    `{"method": fr.Standard(), "rule": fr.MonteCarlo(100), "batch": 8}` for an equal budget of points.
    """
    solutions = {}
    for name, chosen in methods.items():
        own = dict(chosen) if isinstance(chosen, Mapping) else {"method": chosen}
        place = None if out is None else os.path.join(out, _file_name(name))
        solutions[name] = solve(problem, **{**keywords, "label": name, "out": place, "throw": False, **own})
    return solutions


def _choice(
    problem: Any, network: Any, given: Mapping[str, Any], steps: int | None, seeds: Any, precision: Any, progress: Any
) -> Choice | None:
    """What the pilot chooses where the method is `Auto`, or where nobody names one; told before a training that shows progress."""
    method = given["method"]
    if method is None and isinstance(problem, Equation):
        method = problem.defaults.method or DEFAULT_METHOD
        # What comes with an equation whose method is open was chosen for it by its author; that of a method of its own suits that method.
        own = {} if problem.defaults.method else {name: getattr(problem.defaults, name) for name in given}
        given = {name: own.get(name) if value is None else value for name, value in given.items()}
    if not isinstance(method, Auto) or not isinstance(problem, Equation):
        return None
    recipe = as_recipe(network if network is not None else problem.defaults.network or GENERAL_NETWORK)
    announce([f"pilot: {method.pilot} steps choose what was not given"], progress)
    planned = steps_of(problem, steps)
    choice = choose(method, problem, recipe, given, steps=planned, seed=first_seed(seeds), precision=precision)
    announce([f"chosen: {reason}" for reason in choice.reasons], progress)
    for reason in choice.reasons:
        logger.info("%s", reason)
    return choice


def warn_if_ill_posed(setup: Setup) -> None:
    """Warns where a condition is missing, or random nodes have no variance. The library's own problems are not asked: its tests do."""
    problem, network = setup.problem, setup.network
    if problem.recipe() is not None:
        return
    form = network.form if isinstance(network, Constrained) else None
    found = None if is_meant(problem) else undetermined(problem, form)
    if found is not None:
        warnings.warn(describe_undetermined(found), ProblemWarning, stacklevel=3)
    if any(rule.is_random for rule in setup.rules):
        for tail in heavy_tails(problem, form):
            warnings.warn(describe_heavy_tail(tail), ProblemWarning, stacklevel=3)


def _train(
    training: Training,
    settings: dict[str, Any],
    folder: RunFolder | None,
    budget: float,
    checkpoint_every: int | None,
    progress: bool | Callable[[Watched], object] | None,
    throw: bool,
) -> Solution:
    """Runs a training and packs it into a `Solution`; with a folder, saves as it goes."""

    def save(ended: Status) -> None:
        if folder is not None:
            folder.write_history(training.history())
            folder.write_checkpoint(training.snapshot(), training.step)
            folder.write_settings(_stamped(settings, training, ended))

    with contextlib.ExitStack() as stack:
        if folder is not None:
            stack.enter_context(folder.locked())
            save(Status.INTERRUPTED)
        bar = stack.enter_context(show_progress(settings["label"], training.step, training.setup.steps, shown=progress))
        host: Any = {"checkpoint": save if folder else None, "checkpoint_every": checkpoint_every, "progress": bar.update}
        ended = run(training, seconds=budget, **host, watch=_warnings(training, settings))
        save(ended)
    solution = _packed(training, settings, ended)
    failures = describe_failures(list(solution.status), training.setup.seeds)
    for line in failures:
        logger.warning("%s", line)
    if ended is Status.INTERRUPTED:
        where = f"; continue with: fredholm resume {folder.path}" if folder else "; its state is in .solution of this exception"
        raise Interrupted(f"interrupted at step {training.step}{where}", solution)
    if failures and throw:
        raise SolveError(f"{len(failures)} of {len(solution.status)} seeds failed. " + "; ".join(failures), solution)
    return solution


def _packed(training: Training, settings: dict[str, Any], ended: Status) -> Solution:
    """The training as it stands."""
    states = gather(training.states)
    target = training.setup.method.target(states.u, states.method)
    answer = states.u if states.average is None else states.average
    status, stamped = training.status(ended), _stamped(settings, training, ended)
    return Solution(training.setup.problem, stamped, status, training.history(), answer, target, training.snapshot(), states.u)


def _warnings(training: Training, settings: dict[str, Any]) -> Callable[[], None]:
    """One line for each symptom, when it is first seen: from half of a training on, with every twentieth of it, those that the history
    shows, and once, at half of a long one, those that need samples of their own."""
    setup, looked, next_look = training.setup, False, training.setup.steps / 2
    said = {"uniqueness", "variance"}  # the equation itself was asked before the first step

    def watch() -> None:
        nonlocal looked, next_look
        if training.step < min(next_look, setup.steps):
            return
        next_look = training.step + setup.steps / LOOKS
        found = seen_in(training.history(), setup.method, setup.steps)
        if not looked:
            looked = True
            if training.seconds >= LONG:
                found = _looked_at(training, settings) or found
        for symptom in found:
            if symptom.name not in said:
                said.add(symptom.name)
                logger.warning("step %d, %s: %s", training.step, symptom.name, symptom.text)

    return watch


def _looked_at(training: Training, settings: dict[str, Any]) -> list[Symptom]:
    """What a diagnosis finds now; what goes wrong in it must not end the training."""
    try:
        now = _packed(training, settings, Status.INTERRUPTED)
        return list(now.diagnose(method=training.setup.method, rule=training.setup.rule).symptoms)
    except Exception as error:
        logger.warning("step %d: the training could not be diagnosed and goes on: %s", training.step, error)
        return []


def _stamped(settings: dict[str, Any], training: Training, ended: Status) -> dict[str, Any]:
    status = [[entry.status.name, entry.step] for entry in training.status(ended)]
    return {**settings, "done": training.step, "seconds": training.seconds, "status": status}


def _part(name: str, recorded: Any, given: Any) -> Any:
    if given is not None:
        return given
    try:
        return decode(recorded)
    except NotRebuildableError as error:
        raise ValueError(f"{name}: {error} Give resume(path, {name}=...), the same as at the start.") from None


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_.=" else "-" for letter in name).strip("-.") or "run"
