"""The paper's statements as checks on measured data: verdicts from intervals over seeds, matched where two runs are compared."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fredholm.common.statistics import bootstrap_interval
from fredholm.paper.reproduction.verdicts import Assessment, Unresolved, Verdict
from fredholm.report.plots.names import number, with_interval
from fredholm.study.outcome import Outcome, paired
from fredholm.study.run import Run

SHORTEST = 2000  # steps: a training shorter than this says nothing of where methods end


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


def better(first: Run, second: Run, factor: float = 1.0) -> Check:
    """The first run's best error is below `factor` times the second's, on matched seeds."""

    def check(results: Results) -> Assessment:
        a, b = results(first), results(second)
        if not a.good.any() or not b.good.any():
            failed = [one.run.name for one in (a, b) if not one.good.any()]
            verdict = Verdict.FAILS if not a.good.any() else Verdict.HOLDS
            return Assessment(verdict, f"every seed of {' and of '.join(failed)} failed.")
        ratio = paired(a, b).ratio
        verdict = _below(ratio, factor)
        if verdict is Verdict.HOLDS and not a.good.all():
            verdict = Verdict.OPEN  # the remaining seeds speak for the winner; those that failed do not
        return Assessment(verdict, f"{_short(first)} / {_short(second)} = {with_interval(ratio)}.{_failures(a, b)}")

    return check


def similar(first: Run, second: Run, factor: float) -> Check:
    """The two best errors are within a factor of each other, on matched seeds."""

    def check(results: Results) -> Assessment:
        a, b = results(first), results(second)
        ratio = paired(a, b).ratio
        _, low, high = ratio
        evidence = f"{_short(first)} / {_short(second)} = {with_interval(ratio)}; wanted within a factor {factor:g}.{_failures(a, b)}"
        if low > 1 / factor and high < factor:
            return Assessment(Verdict.HOLDS if a.good.all() and b.good.all() else Verdict.OPEN, evidence)
        return Assessment(Verdict.FAILS if high < 1 / factor or low > factor else Verdict.OPEN, evidence)

    return check


def turns_up(run: Run, factor: float = 1.2) -> Check:
    """The error at the end is above its best by a factor."""

    def check(results: Results) -> Assessment:
        one = results(run)
        if not one.good.all():
            return Assessment(Verdict.HOLDS, f"{int((~one.good).sum())} of {len(one.good)} seeds of {_short(run)} failed.")
        ratio = _exp(bootstrap_interval(np.log(one.last() / one.best())))
        at = int(one.steps[one.best_record()])
        evidence = f"{_short(run)}: best at step {at:,}; end / best = {with_interval(ratio)}, wanted above {factor:g}."
        return Assessment(_below(_inverse(ratio), 1 / factor), evidence)

    return check


def stable(run: Run, factor: float = 1.2) -> Check:
    """No seed failed, and the error at the end is within a factor of its best."""
    return negated(turns_up(run, factor))


def larger(first: Run, second: Run, quantity: str, factor: float = 1.0) -> Check:
    """A recorded quantity is larger by a factor at the end of the first run than of the second."""

    def check(results: Results) -> Assessment:
        a, b = results(first), results(second)
        shared = min(len(a.run.seeds), len(b.run.seeds))
        ratio = _exp(bootstrap_interval(np.log(a.last(quantity)[:shared] / b.last(quantity)[:shared])))
        evidence = (
            f"{quantity.replace('_', ' ')} of {_short(first)} / of {_short(second)} = {with_interval(ratio)}, wanted above {factor:g}."
        )
        return Assessment(_below(_inverse(ratio), 1 / factor), evidence)

    return check


def floors(run: Run, variance: str, factor: float = 1.5) -> Check:
    """The loss ends within a factor of a variance; both variances are named."""

    def check(results: Results) -> Assessment:
        one = results(run)
        loss, integration, excess = (one.last(name) for name in ("loss", "integration_variance", "excess_variance"))
        ratio = _exp(bootstrap_interval(np.log(loss / one.last(variance))))
        evidence = f"{_short(run)}: loss {number(loss.mean())}, integration variance {number(integration.mean())}, "
        evidence += f"excess variance {number(excess.mean())}; loss / {variance.replace('_', ' ')} = {with_interval(ratio)}."
        inside = ratio[1] > 1 / factor and ratio[2] < factor
        outside = ratio[2] < 1 / factor or ratio[1] > factor
        return Assessment(Verdict.HOLDS if inside else Verdict.FAILS if outside else Verdict.OPEN, evidence)

    return check


def interior(runs: Sequence[Run]) -> Check:
    """Of runs in order, the best of those between the first and the last is better than both."""

    def check(results: Results) -> Assessment:
        means = [_mean_best(results(run)) for run in runs]
        if not np.isfinite(means[1:-1]).any():
            raise Unresolved(f"none of the runs between {_short(runs[0])} and {_short(runs[-1])} has an error that is a number")
        best = runs[1 + int(np.nanargmin(means[1:-1]))]
        found = every(better(best, runs[0]), better(best, runs[-1]))(results)
        return Assessment(found.verdict, f"In order {', '.join(map(number, means))}: {found.evidence}")

    return check


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


def spread(runs: Sequence[Run]) -> Callable[[Results], float]:
    """The largest of the best errors over the smallest: how sensitive a method is."""

    def value(results: Results) -> float:
        means = [_mean_best(results(run)) for run in runs]
        return float(np.nanmax(means) / np.nanmin(means))

    return value


def more_robust(first: Sequence[Run], second: Sequence[Run]) -> Check:
    """The first method's best errors vary less from setting to setting than the second's: seed by seed, the range of their logarithms."""

    def check(results: Results) -> Assessment:
        ranges = [_log_range(results, runs) for runs in (first, second)]
        difference = bootstrap_interval(ranges[0] - ranges[1])
        evidence = (
            f"largest / smallest error over the settings: {number(spread(first)(results))} against {number(spread(second)(results))}; "
        )
        evidence += f"difference of the logarithms, seed by seed: {with_interval(difference)}."
        return Assessment(_below(difference, 0.0), evidence)

    return check


def sensitive(runs: Sequence[Run], factor: float = 2.0) -> Check:
    """A method's best error changes by more than a factor from setting to setting: seed by seed, largest over smallest."""

    def check(results: Results) -> Assessment:
        ratio = _exp(bootstrap_interval(_log_range(results, runs)))
        evidence = f"largest / smallest error over the settings, seed by seed: {with_interval(ratio)}, wanted above {factor:g}."
        return Assessment(_below(_inverse(ratio), 1 / factor), evidence)

    return check


def _log_range(results: Results, runs: Sequence[Run]) -> np.ndarray:
    """For each seed the range of the logarithms of its best errors; a seed that failed somewhere has none."""
    found = [results(run) for run in runs]
    failed = [_short(one.run) for one in found if not one.good.all()]
    if failed:
        raise Unresolved(f"seeds of {', '.join(failed)} failed")
    logs = np.log(np.stack([one.best() for one in found]))
    return logs.max(axis=0) - logs.min(axis=0)


def _failures(*found: Outcome) -> str:
    """What a comparison leaves out."""
    lost = [f"{int((~one.good).sum())} of {len(one.good)} seeds of {_short(one.run)}" for one in found if not one.good.all()]
    return f" Without {' and '.join(lost)}, which failed." if lost else ""


def _below(interval: tuple[float, float, float], level: float) -> Verdict:
    """Whether a whole interval is below a level; undecided where it straddles it, or there is none."""
    _, low, high = interval
    return Verdict.HOLDS if high < level else Verdict.FAILS if low > level else Verdict.OPEN


def _exp(interval: tuple[float, float, float]) -> tuple[float, float, float]:
    mean, low, high = (float(np.exp(value)) for value in interval)
    return mean, low, high


def _inverse(interval: tuple[float, float, float]) -> tuple[float, float, float]:
    mean, low, high = interval
    return 1 / mean, 1 / high, 1 / low


def _mean_best(one: Outcome) -> float:
    values = one.best()[one.kept()]
    return float(np.mean(values)) if np.isfinite(values).any() else float("nan")


def _short(run: Run) -> str:
    return run.name.partition(": ")[2]
