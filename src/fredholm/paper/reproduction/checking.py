"""Verdicts from intervals, and how they are put together.

Every check gives "holds" and "does not hold" each with an error of about 2.5 %, from intervals over seeds that allow for what was chosen
on the same data (`common/selection.py`); `python studies/verdicts.py` measures how often each is right and wrong.
"""

from collections.abc import Callable

from fredholm.common.selection import Interval
from fredholm.paper.reproduction.verdicts import Assessment, Verdict

COMPARABLE = 2.0  # "comparable" errors: not worse by more than this factor

Check = Callable[..., Assessment]  # of the results of a study


def every(*checks: Check) -> Check:
    """All of them."""

    def check(results: object) -> Assessment:
        found = [one(results) for one in checks]
        verdicts = {finding.verdict for finding in found}
        together = Verdict.FAILS if Verdict.FAILS in verdicts else Verdict.OPEN if Verdict.OPEN in verdicts else Verdict.HOLDS
        return Assessment(together, " ".join(finding.evidence for finding in found))

    return check


def negated(check: Check) -> Check:
    """The opposite."""
    opposite = {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS, Verdict.OPEN: Verdict.OPEN}

    def turned(results: object) -> Assessment:
        found = check(results)
        return Assessment(opposite[found.verdict], found.evidence)

    return turned


def below(interval: Interval, level: float) -> Verdict:
    """Whether a whole interval is below a level; undecided where it straddles it, or there is none."""
    _, low, high = interval
    return Verdict.HOLDS if high < level else Verdict.FAILS if low > level else Verdict.OPEN


def above(interval: Interval, level: float) -> Verdict:
    """Whether a whole interval is above a level."""
    _, low, high = interval
    return Verdict.HOLDS if low > level else Verdict.FAILS if high < level else Verdict.OPEN


def within(interval: Interval, factor: float) -> Verdict:
    """Whether a ratio is within a factor of 1, either way."""
    _, low, high = interval
    if low > 1 / factor and high < factor:
        return Verdict.HOLDS
    return Verdict.FAILS if high < 1 / factor or low > factor else Verdict.OPEN


def unless(verdict: Verdict, evidence: str, *reasons: str) -> Assessment:
    """The verdict with its evidence; open where there is a reason against giving one."""
    given = [reason for reason in reasons if reason]
    if verdict is Verdict.OPEN or not given:
        return Assessment(verdict, evidence)
    return Assessment(Verdict.OPEN, " ".join([evidence, *given]))
