"""The paper's statements on how trainings go and end as checks: whether they turn up or diverge, and where the loss comes to rest."""

import numpy as np
import scipy

from fredholm.common.selection import chosen, crossed, interval_of
from fredholm.common.statistics import student_interval
from fredholm.paper.reproduction.checking import Check, above, negated, unless, within
from fredholm.paper.reproduction.verdicts import Assessment, Verdict
from fredholm.report.plots.names import number, with_interval
from fredholm.study.outcome import PUBLISHED, Outcome, Results, failed_in, matched, multiple, short, still_falling
from fredholm.study.run import Run

RARE = 0.05  # of the seeds: a method of which more than this fail is unstable
TREND = 0.05  # how much a ratio may change since half of the training, in its logarithm, before its end is called its limit


def turns_up(run: Run, factor: float = 1.2) -> Check:
    """The error at the end is above its best by a factor, or more than a few seeds failed."""

    def check(results: Results) -> Assessment:
        one = results(run)
        found = _turned(one, factor)
        return found if found.verdict is Verdict.HOLDS else unless(found.verdict, found.evidence, still_falling(one))

    return check


def stable(run: Run, factor: float = 1.2) -> Check:
    """No seed failed, and the error at the end is within a factor of its best."""
    return negated(turns_up(run, factor))


def cures(first: Run, second: Run, factor: float = 1.5) -> Check:
    """The second run turns up or diverges, and the first, trained as long, does not. Both may be on their way still."""

    def check(results: Results) -> Assessment:
        cured, ill = _turned(results(first), factor), _turned(results(second), factor)
        evidence = f"{cured.evidence} {ill.evidence}"
        if ill.verdict is Verdict.HOLDS and cured.verdict is Verdict.FAILS:
            return Assessment(Verdict.HOLDS, evidence)
        return Assessment(Verdict.FAILS if cured.verdict is Verdict.HOLDS else Verdict.OPEN, evidence)

    return check


def _turned(one: Outcome, factor: float) -> Assessment:
    """Whether the error has turned up in the steps of the run, whatever comes later."""
    failed = int((~one.good).sum())
    if failed:
        # The chance of so many failures, were they as rare as we call stable.
        chance = float(scipy.special.bdtrc(failed - 1, len(one.good), RARE))
        verdict = Verdict.HOLDS if chance < 0.025 else Verdict.OPEN
        return Assessment(verdict, f"{failed} of {len(one.good)} seeds of {short(one.run)} failed.")
    logs = one.logs()
    end, least, lower = logs[:, -1], crossed(logs), chosen(logs)
    ratio = multiple((float(np.mean(end - least)), interval_of(end - least)[1], interval_of(end - lower)[2]))
    evidence = f"{short(one.run)}: best at step {one.best_step():,}; end / best = {with_interval(ratio)}, wanted above {factor:g}."
    return Assessment(above(ratio, factor), evidence)


def larger(first: Run, second: Run, quantity: str, factor: float = 1.0) -> Check:
    """A recorded quantity is larger by a factor at the end of the first run than of the second, on matched seeds."""

    def check(results: Results) -> Assessment:
        a, b = results(first), results(second)
        rows = matched(a, b)
        ends = [_end(one, quantity)[place] for one, place in zip((a, b), rows, strict=True)]
        ratio = multiple(interval_of(ends[0] - ends[1]))
        words = quantity.replace("_", " ")
        evidence = f"{words} of {short(first)} / of {short(second)} = {with_interval(ratio)}, wanted above {factor:g}."
        verdict = above(ratio, factor)
        at_half = [one.logs(quantity)[place] for one, place in zip((a, b), rows, strict=True)]
        return unless(verdict, evidence, _moving(at_half[0] - at_half[1], a, b, 1 if verdict is Verdict.FAILS else -1))

    return check


def floors(run: Run, variance: str, factor: float = 1.25) -> Check:
    """The loss comes to rest within a factor of a variance; both variances are named."""

    def check(results: Results) -> Assessment:
        one = results(run)
        logs = _over(one, variance)
        ratio = multiple(interval_of(logs[:, -1]))
        evidence = f"{_losses(one)}; loss / {variance.replace('_', ' ')} = {with_interval(ratio)}, wanted within a factor {factor:g}."
        return unless(within(ratio, factor), evidence, failed_in(one), _moving(logs, one, one, 0))

    return check


def never_below(run: Run, variance: str, slack: float = 0.9) -> Check:
    """The loss is bounded from below by a variance all through the training, but for a tenth that is left to noise."""

    def check(results: Results) -> Assessment:
        one = results(run)
        logs = _over(one, variance)
        least = multiple(interval_of(logs[:, int(logs.mean(axis=0).argmin())]))
        evidence = f"{_losses(one)}; the least of loss / {variance.replace('_', ' ')} = {with_interval(least)}, wanted above {slack:g}."
        each = [interval_of(column) for column in logs.T]
        if min(low for _, low, _ in each) > np.log(slack):
            return unless(Verdict.HOLDS, evidence, failed_in(one))
        strict = [student_interval(column, 1 - 0.05 / len(each))[2] for column in logs.T] if len(logs) > 1 else [np.nan]
        return unless(Verdict.FAILS if min(strict) < np.log(slack) else Verdict.OPEN, evidence, failed_in(one))

    return check


def _end(one: Outcome, quantity: str) -> np.ndarray:
    """The logarithm of a quantity in the last window; where every seed failed, before that."""
    return one.logs(quantity)[:, -1] if one.good.any() else np.log(one.last(quantity))


def _over(one: Outcome, variance: str) -> np.ndarray:
    """log(loss / variance) of the seeds that are kept, window by window."""
    return (one.logs("loss") - one.logs(variance))[one.kept()]


def _losses(one: Outcome) -> str:
    loss, integration, excess = (one.last(name)[one.kept()].mean() for name in ("loss", "integration_variance", "excess_variance"))
    return f"{short(one.run)}: loss {number(loss)}, integration variance {number(integration)}, excess variance {number(excess)}"


def _moving(logs: np.ndarray, first: Outcome, second: Outcome, against: int) -> str:
    """A reason against a verdict on a limit: the ratio, log by window, has moved since half of the training; up (1), down (-1) or either
    (0). A run of the published length, and one that failed, is at its end."""
    if any(one.run.settings.steps >= PUBLISHED or not one.good.any() for one in (first, second)) or not logs.size:
        return ""
    moved = float(np.mean(logs[:, -1] - logs[:, logs.shape[1] // 2]))
    if (abs(moved) if against == 0 else against * moved) > TREND:
        return f"Not at rest: it has changed by a factor {number(float(np.exp(moved)))} since half of the training."
    return ""
