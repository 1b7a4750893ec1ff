"""`fredholm check`: an equation is tried before it is trained."""

from argparse import Namespace

import fredholm as fr
from fredholm.cli.choices import problem_of


def check(options: Namespace) -> int:
    """`fredholm check`: 0 where nothing is suspicious, 1 where something is."""
    found = fr.check(problem_of(options.problem, options.set))
    print(found)
    return 0 if found.ok else 1
