"""The commands that start a training: solve and compare."""

from argparse import Namespace
from typing import Any

from fredholm.api import solve as solve_equation
from fredholm.cli.choices import keywords_of, method_of, problem_of
from fredholm.cli.folders import folder_for, training_in
from fredholm.cli.output import finish
from fredholm.equation.equation import Equation
from fredholm.equation.files import is_file
from fredholm.methods.protocol import AbstractMethod
from fredholm.storage.files import file_name
from fredholm.storage.run_folder import RunFolder
from fredholm.study.comparison import compare as compare_methods
from fredholm.training.processes import is_first
from fredholm.training.settings import GENERAL


def solve(options: Namespace) -> int:
    """`fredholm solve`."""
    problem = problem_of(options.problem, options.set, options.published)
    method, keywords = method_of(problem, options.method, options), keywords_of(problem, options)
    if not is_first():  # it computes, and the first process writes and prints
        solve_equation(problem, method, **keywords, throw=False)
        return 0
    folder = folder_for(options.problem, options.out)
    with training_in(folder, options.problem):
        solution = solve_equation(
            problem, method, **keywords, out=folder, throw=False, progress=True, label=options.label, origin=origin_of(options)
        )
    return finish({solution.label: solution}, folder)


def compare(options: Namespace) -> int:
    """`fredholm compare`."""
    names = list(options.methods)
    if len({file_name(name) for name in names}) != len(names):
        raise ValueError(f"--methods: got {' '.join(names)}; expected different methods.")
    problem = problem_of(options.problem, options.set, options.published)
    methods, keywords = compared(problem, options)
    folder = folder_for(options.problem, options.out)
    RunFolder.free(folder)  # what is there already is continued by fredholm resume
    with training_in(folder, options.problem):
        solutions = compare_methods(problem, methods, **keywords, out=folder, progress=True, origin=origin_of(options))
    return finish(solutions, folder)


def compared(problem: Equation, options: Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The methods by name and the keywords of all; each is tried on the rules, so that nothing starts if one of them cannot."""
    keywords = keywords_of(problem, options)
    methods = {name: method_of(problem, name, options, among=options.methods) for name in options.methods}
    rule = keywords["rule"] or problem.defaults.rule or GENERAL.rule
    assert rule is not None
    for method in methods.values():
        if isinstance(method, AbstractMethod):
            method.check(problem, problem.rules(rule))
    return methods, keywords


def origin_of(options: Namespace) -> dict[str, Any]:
    """What a run records of its command. The file of a user's own equation is among it, so that resume can ask for it again."""
    file = options.problem if is_file(options.problem) else None
    return {"command": ["fredholm", *options.command], "file": file, "set": list(options.set)}
