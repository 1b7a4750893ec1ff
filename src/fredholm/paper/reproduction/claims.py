"""The paper's statements on best errors as checks: which run is better, how much settings matter."""

from collections.abc import Sequence

import numpy as np

from fredholm.common.findings import Unresolved
from fredholm.common.selection import Interval, chosen, crossed, interval_of, least_difference, widest
from fredholm.paper.reproduction.checking import COMPARABLE, Check, above, below, unless, within
from fredholm.paper.reproduction.verdicts import Assessment, Verdict
from fredholm.report.plots.names import number, with_interval
from fredholm.study.outcome import Outcome, Results, failed_in, matched, multiple, paired, short, still_falling
from fredholm.study.run import Run


def better(first: Run, second: Run, factor: float = 1.0) -> Check:
    """The first run's best error is below `factor` times the second's, on matched seeds. Whichever wins, no seed of it may have failed, and
    the other must have come to its end."""

    def check(results: Results) -> Assessment:
        a, b = results(first), results(second)
        ratio, evidence = _ratio(a, b)
        verdict = below(ratio, factor)
        winner, loser = (a, b) if verdict is Verdict.HOLDS else (b, a)
        return unless(verdict, evidence, failed_in(winner), still_falling(loser))

    return check


def comparable(first: Run, second: Run) -> Check:
    """The first run is comparable to the second in the paper's sense: not worse by more than a factor 2."""
    return better(first, second, COMPARABLE)


def unimproved(run: Run, constant: float, share: float = 0.5) -> Check:
    """The best error stays above a share of what a constant predictor scores."""

    def check(results: Results) -> Assessment:
        one = results(run)
        logs = one.logs()[one.kept()] - np.log(constant)
        ratio = multiple((float(crossed(logs).mean()), interval_of(chosen(logs))[1], interval_of(crossed(logs))[2]))
        evidence = f"{short(run)} / a constant = {with_interval(ratio)}, wanted above {share:g}."
        verdict = above(ratio, share)
        return unless(verdict, evidence, still_falling(one)) if verdict is Verdict.HOLDS else unless(verdict, evidence, failed_in(one))

    return check


def similar(first: Run, second: Run, factor: float) -> Check:
    """The two best errors are within a factor of each other, on matched seeds."""

    def check(results: Results) -> Assessment:
        a, b = results(first), results(second)
        ratio, evidence = _ratio(a, b)
        verdict = within(ratio, factor)
        evidence += f" Wanted within a factor {factor:g}."
        if verdict is Verdict.HOLDS:
            return unless(verdict, evidence, failed_in(a, b), still_falling(a, b))
        winner, loser = (a, b) if ratio[0] < 1 else (b, a)
        return unless(verdict, evidence, failed_in(winner), still_falling(loser))

    return check


def _ratio(a: Outcome, b: Outcome) -> tuple[Interval, str]:
    """The first's best error as a multiple of the second's, and that in words."""
    ratio = paired(a, b).ratio
    if not np.isfinite(ratio[0]):
        raise Unresolved(f"{short(a.run)} and {short(b.run)} have no window in which all seeds have an error")
    gone = [short(one.run) for one in (a, b) if not one.good.any()]
    lost = f" Every seed of {' and of '.join(gone)} failed; its best is from before." if gone else ""
    some = failed_in(*(one for one in (a, b) if one.good.any()))
    return ratio, " ".join(filter(None, [f"{short(a.run)} / {short(b.run)} = {with_interval(ratio)}.{lost}", some]))


def interior(runs: Sequence[Run]) -> Check:
    """Of runs in order, the best of those between the first and the last is better than both. Which one that is, other seeds choose."""

    def check(results: Results) -> Assessment:
        found = [results(run) for run in runs]
        logs = [one.logs()[rows] for one, rows in zip(found, matched(*found), strict=True)]
        inner = np.concatenate(logs[1:-1], axis=1)
        if not np.isfinite(inner).all(axis=0).any():
            raise Unresolved(f"none of the runs between {short(runs[0])} and {short(runs[-1])} has an error that is a number")
        ratios = [multiple(least_difference(inner, logs[place])) for place in (0, -1)]
        against = [
            f"the best between / {short(runs[place])} = {with_interval(ratio)}" for place, ratio in zip((0, -1), ratios, strict=True)
        ]
        evidence = f"In order {', '.join(number(_mean_best(one)) for one in found)}: {', '.join(against)}."
        verdicts = [below(ratio, 1.0) for ratio in ratios]
        some = failed_in(*(one for one in found if one.good.any()))
        if set(verdicts) == {Verdict.HOLDS}:
            return unless(Verdict.HOLDS, evidence, some, still_falling(found[0], found[-1]))
        verdict = Verdict.FAILS if Verdict.FAILS in verdicts else Verdict.OPEN
        return unless(verdict, evidence, some, still_falling(*found[1:-1]))

    return check


def more_robust(first: Sequence[Run], second: Sequence[Run]) -> Check:
    """The first method's best errors vary less from setting to setting than the second's: largest over smallest."""

    def check(results: Results) -> Assessment:
        (a_under, a_over), (b_under, b_over) = (_ranges(results, runs)[:2] for runs in (first, second))
        difference = float(np.mean(a_under - b_under)), interval_of(a_under - b_over)[1], interval_of(a_over - b_under)[2]
        sizes = " against ".join(number(float(np.exp(under.mean()))) for under in (a_under, b_under))
        evidence = f"Largest / smallest error over the settings: {sizes}; the ratio of the two is {with_interval(multiple(difference))}."
        return unless(below(difference, 0.0), evidence, still_falling(*map(results, {run.key: run for run in (*first, *second)}.values())))

    return check


def sensitive(runs: Sequence[Run], factor: float = 2.0) -> Check:
    """A method's best error changes by more than a factor from setting to setting. Other seeds choose the two settings."""

    def check(results: Results) -> Assessment:
        under, _, low, high = _ranges(results, runs)
        # That it is not sensitive takes every pair: the largest upper end of all.
        upper = max(interval_of(high[:, s] - low[:, t])[2] for s in range(len(runs)) for t in range(len(runs)) if s != t)
        ratio = multiple((float(under.mean()), interval_of(under)[1], upper))
        evidence = f"Largest / smallest error over the settings = {with_interval(ratio)}, wanted above {factor:g}."
        return unless(above(ratio, factor), evidence, still_falling(*map(results, runs)))

    return check


def _ranges(results: Results, runs: Sequence[Run]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The range over the settings, from below and from above, seed by seed; and each setting's logarithm, cautiously low and high."""
    found = [results(run) for run in runs]
    if reason := failed_in(*found):
        raise Unresolved(reason.rstrip("."))
    logs = [one.logs()[rows] for one, rows in zip(found, matched(*found), strict=True)]
    low, high = (np.stack([pick(values) for values in logs], axis=1) for pick in (chosen, crossed))
    return *widest(low, high), low, high


def _mean_best(one: Outcome) -> float:
    return float(np.mean(one.best()[one.kept()]))
