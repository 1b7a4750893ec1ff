"""`fredholm check`: an equation is tried before it is trained; `fredholm diagnose`: a run, afterwards."""

from argparse import Namespace
from pathlib import Path

from fredholm.cli.choices import problem_of
from fredholm.cli.runs import asking_for_problem, loaded
from fredholm.diagnostics.check import check as check_equation


def check(options: Namespace) -> int:
    """`fredholm check`: 0 where nothing is suspicious, 1 where something is."""
    found = check_equation(problem_of(options.problem, options.set))
    print(found)
    return 0 if found.ok else 1


def diagnose(options: Namespace) -> int:
    """`fredholm diagnose`: 0 where nothing is wrong, 1 where something is."""
    solution = loaded(Path(options.run), options.problem)
    if solution.problem is None:
        raise asking_for_problem(Path(options.run), solution.record.origin, options.command)
    found = solution.diagnose()
    print(found)
    return 0 if found.ok else 1
