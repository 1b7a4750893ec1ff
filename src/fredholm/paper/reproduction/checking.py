"""What every check of a statement is made of: the results of runs, verdicts from intervals, and whether a run has come to its end.

Every check gives "holds" and "does not hold" each with an error of at most 2.5 %, from intervals over seeds that allow for what was chosen
on the same data (`common/selection.py`); `python studies/verdicts.py` measures how often each is right and wrong.
"""

from collections.abc import Callable, Mapping

import numpy as np

from fredholm.common.selection import Interval
from fredholm.paper.reproduction.verdicts import Assessment, Unresolved, Verdict
from fredholm.study.outcome import Outcome
from fredholm.study.run import Run

SHORTEST = 2000  # steps: a training shorter than this says nothing of where methods end
PUBLISHED = 200_000  # steps of the paper's runs: its statements are about trainings of this length
LAST = 0.1  # of the training: a best error there may not be the best of a longer one
COMPARABLE = 2.0  # "comparable" errors: not worse by more than this factor
FALL = 0.05  # how much the error has fallen since half of the training, in its logarithm, before it counts as still falling


class Results:
    """The finished runs, by key: figures that share a run share its result."""

    def __init__(self, found: Mapping[str, Outcome]):
        self._found = {one.run.key: one for one in found.values()}

    def __call__(self, run: Run) -> Outcome:
        """The outcome of a run; `Unresolved` where there is none, or where it was trained too short to say anything."""
        one = self._found.get(run.key)
        if one is None:
            raise Unresolved(f"{run.name} has no result")
        if run.settings.steps < SHORTEST:
            raise Unresolved(f"{run.settings.steps} steps are too few to say")
        return one


Check = Callable[[Results], Assessment]


def every(*checks: Check) -> Check:
    """All of them."""

    def check(results: Results) -> Assessment:
        found = [one(results) for one in checks]
        verdicts = {finding.verdict for finding in found}
        together = Verdict.FAILS if Verdict.FAILS in verdicts else Verdict.OPEN if Verdict.OPEN in verdicts else Verdict.HOLDS
        return Assessment(together, " ".join(finding.evidence for finding in found))

    return check


def negated(check: Check) -> Check:
    """The opposite."""
    opposite = {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS, Verdict.OPEN: Verdict.OPEN}

    def turned(results: Results) -> Assessment:
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


def still_falling(*found: Outcome) -> str:
    """Which of the runs may yet come lower, in words; empty where none.

    Their best error is among the last tenth of the training, below what it was at half. A run of the published length is at its end:
    that is the length that the paper speaks of. So is one whose seeds have all failed.
    """
    falling = [one for one in found if one.good.any() and one.run.settings.steps < PUBLISHED and _falls(one)]
    return f"Still falling at the end: {', '.join(short(one.run) for one in falling)}." if falling else ""


def _falls(one: Outcome) -> bool:
    means = one.logs()[one.kept()].mean(axis=0)
    best = int(np.where(np.isfinite(means), means, np.inf).argmin())
    return best >= len(means) - max(1, round(LAST * len(means))) and bool(means[len(means) // 2] - means[best] > FALL)


def failed_in(*found: Outcome) -> str:
    """A reason against a verdict: seeds that failed, of runs whose error decides it."""
    lost = [f"{int((~one.good).sum())} of {len(one.good)} seeds of {short(one.run)}" for one in found if not one.good.all()]
    return f"Without {' and '.join(lost)}, which failed." if lost else ""


def short(run: Run) -> str:
    """A run's name without its problem."""
    return run.name.partition(": ")[2]
