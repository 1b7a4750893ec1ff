"""`compare`: several methods on one equation, with the same seeds; in a folder it is a study."""

import inspect
import os
from collections.abc import Mapping
from typing import Any

from fredholm.api import solve
from fredholm.common.checks import shortened
from fredholm.common.keywords import refuse_unknown
from fredholm.common.tracebacks import with_short_tracebacks
from fredholm.equation.equation import Equation
from fredholm.methods.auto import Auto
from fredholm.methods.protocol import AbstractMethod
from fredholm.results.solution import Solution
from fredholm.study.folder import StudyFolder
from fredholm.study.own import object_record
from fredholm.study.run import own_run
from fredholm.study.work import perform

Methods = Mapping[str, AbstractMethod | Auto | Mapping[str, Any]]
PER_CALL = ("minutes", "checkpoint_every", "progress", "throw", "origin")  # keywords that are not settings of a run


@with_short_tracebacks
def compare(
    problem: Equation,
    methods: Methods,
    *,
    out: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> dict[str, Solution]:
    """Solves one equation with several methods and the same seeds, and returns the solutions by name.

    Each entry of `methods` is a method, or a mapping of `method` and other keywords of `solve` for it alone, for instance
    `{"method": fr.Standard(), "rule": fr.MonteCarlo(100), "batch": 8}` for an equal budget of evaluations. With `out` the comparison is a
    study in that folder: after Ctrl-C or a crash the same call continues, and finished runs are not trained again.

    Args:
        problem (Equation): the equation.
        methods (dict): methods by name, or mappings of keywords of `solve`.
        out (path): a folder, which makes it a study that can be continued; default: None.
        **keywords (any): keywords of `solve` for all of them.

    Returns:
        The solutions by the names of the methods.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> methods = {"gauss": fr.Standard()}
        >>> found = fr.compare(fr.problems.Volterra(), methods, network=fr.Chebyshev(8), rule=fr.Gauss(16), seeds=1, progress=False)
        >>> list(found)
        ['gauss']

    See also:
        `solve`, `Solution`.
    """
    if not isinstance(methods, Mapping) or not methods:
        raise ValueError(
            f"compare methods: got {shortened(methods)}; expected methods by name, for instance {{'standard': fr.Standard()}}."
        )
    own = {name: dict(chosen) if isinstance(chosen, Mapping) else {"method": chosen} for name, chosen in methods.items()}
    known = inspect.signature(solve).parameters
    for given in (keywords, *own.values()):
        refuse_unknown("compare", solve, {name: value for name, value in given.items() if name not in known})
    if out is None:
        return {name: solve(problem, **{**keywords, "label": name, "throw": False, **chosen}) for name, chosen in own.items()}
    settings = {name: value for name, value in keywords.items() if name not in PER_CALL}
    runs = [own_run(name, problem, **{**settings, **chosen}) for name, chosen in own.items()]
    about = {"origin": dict(keywords.get("origin") or {})}
    folder = StudyFolder.create(out, f"{type(problem).__name__}: {len(runs)} methods", runs, pool=".", about=about)
    return _trained(
        folder, {name: value for name, value in keywords.items() if name in ("minutes", "checkpoint_every", "progress", "origin")}
    )


def continued(folder: StudyFolder, problem: Equation | None, steps: Mapping[str, int], keywords: Mapping[str, Any]) -> dict[str, Solution]:
    """Continues a comparison in its folder, each run to its number of steps. `problem` is needed where the equation is the user's own."""
    runs = []
    for run in folder.runs:
        own: dict[str, Any] = {}
        if run.is_own:
            if problem is None or object_record(problem) != run.settings.values["problem"]:
                raise ValueError(f"{folder.path}: its equation was made in Python; got {'none' if problem is None else 'another one'}.")
            own = {part: getattr(problem.defaults, part) for part in ("network", "optimizer") if run.settings.is_own(part)}
            own["problem"] = problem
        settings = run.settings.replaced(steps=steps.get(run.name, run.settings.steps))
        runs.append(run._replace(settings=settings, own=own, source=""))  # no file is imported because a folder names it
    again = StudyFolder.create(folder.path, folder.title, runs, pool=".", about=folder.about)
    return _trained(again, keywords)


def _trained(folder: StudyFolder, keywords: Mapping[str, Any]) -> dict[str, Solution]:
    folder.begin()
    with folder.locked():
        return {run.name: perform(run, folder.place(run), keep_all=True, **keywords) for run in folder.runs}
