"""A statement of the paper, and the verdict on it."""

import enum
from collections.abc import Callable
from typing import NamedTuple

from fredholm.common.findings import Unresolved
from fredholm.paper.reproduction.statements import Statement


class Verdict(enum.Enum):
    """The value is the word."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "open"


class Assessment(NamedTuple):
    """A verdict, and the numbers that it rests on."""

    verdict: Verdict
    evidence: str


class Claim(NamedTuple):
    """A statement of the paper, or about it."""

    text: str
    check: Callable[..., Assessment]  # of the results of a study
    statement: Statement | None = None  # the paper's own; None: ours

    def assess(self, results: object) -> Assessment:
        """The verdict."""
        try:
            return self.check(results)
        except Unresolved as reason:
            return Assessment(Verdict.OPEN, f"{reason}.")
