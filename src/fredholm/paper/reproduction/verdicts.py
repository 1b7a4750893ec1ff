"""A statement of the paper, and the verdict on it."""

import enum
from collections.abc import Callable
from typing import NamedTuple


class Verdict(enum.Enum):
    """The value is the word."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not resolved at this scale"


class Assessment(NamedTuple):
    """A verdict, and the numbers that it rests on."""

    verdict: Verdict
    evidence: str


class Unresolved(Exception):  # noqa: N818 - it is an answer, not an error
    """A check has nothing to go by."""


class Claim(NamedTuple):
    """A statement of the paper, or about it."""

    text: str
    check: Callable[..., Assessment]  # of the results of a study

    def assess(self, results: object) -> Assessment:
        """The verdict."""
        try:
            return self.check(results)
        except Unresolved as reason:
            return Assessment(Verdict.OPEN, f"{reason}.")
