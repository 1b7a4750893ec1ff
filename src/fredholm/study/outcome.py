"""The results of runs: curves over seeds and records, the best and the last error of each seed, matched comparisons."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fredholm.common.findings import Unresolved
from fredholm.common.selection import Interval, least_difference
from fredholm.study.profile import Profile
from fredholm.study.run import Run
from fredholm.training.status import SeedStatus

if TYPE_CHECKING:
    import xarray

WINDOWS = 20  # parts of a training: a record is a moment, and the least of many noisy moments lies below every mean
SHORTEST = 2000  # steps: a training shorter than this says nothing of where methods end
PUBLISHED = 200_000  # steps of the paper's runs: its statements are about trainings of this length
LAST = 0.1  # of the training: a best error there may not be the best of a longer one
FALL = 0.05  # how much the error has fallen since half of the training, in its logarithm, before it counts as still falling


class Outcome(NamedTuple):
    """A finished run."""

    run: Run
    history: "xarray.Dataset"  # over (seed, step)
    status: tuple[SeedStatus, ...]
    metric: str  # what the error is: the problem's own metric; the loss where there is no exact solution
    scores: dict[str, np.ndarray]  # every metric of each seed at the end
    seconds: float
    evaluations: int | None = None  # of f and of integrands, by each seed; None where it was not counted
    profile: Profile | None = None  # u along a line, beside the exact solution
    diagnosis: str = ""  # in words

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return self.run.seeds

    @property
    def good(self) -> np.ndarray:
        """Which seeds succeeded."""
        return np.array([not entry.status.is_failure for entry in self.status])

    @property
    def steps(self) -> np.ndarray:
        """The steps of the records."""
        return np.asarray(self.history.step)

    def curve(self, quantity: str = "error") -> np.ndarray:
        """A recorded quantity, (seeds, records); NaN once a seed has failed."""
        if quantity not in self.history:
            return np.full((len(self.run.seeds), len(self.steps)), np.nan)
        return np.asarray(self.history[quantity].transpose("seed", "step"), float)

    def kept(self) -> np.ndarray:
        """The seeds that means are taken over: those that succeeded, or all where none did."""
        return self.good if self.good.any() else np.ones(len(self.run.seeds), bool)

    def windows(self, quantity: str = "error") -> np.ndarray:
        """Means over the twentieths of the training, (seeds, windows); NaN from the window in which a seed failed."""
        values = self.curve(quantity)
        starts = window_starts(values.shape[1])
        return np.add.reduceat(values, starts, axis=1) / np.diff([*starts, values.shape[1]])

    def logs(self, quantity: str = "error") -> np.ndarray:
        """Logarithms of the windows, NaN where there is none. The logarithm of a mean of k noisy records is too low by about half of
        the mean's relative variance: that is added."""
        values = self.curve(quantity)
        starts = window_starts(values.shape[1])
        counts = np.diff([*starts, values.shape[1]])
        mean, square = (np.add.reduceat(powers, starts, axis=1) / counts for powers in (values, values**2))
        positive = mean > 0
        mean = np.where(positive, mean, 1.0)
        return np.where(positive, np.log(mean) + (square / mean**2 - 1) / (2 * np.maximum(counts - 1, 1)), np.nan)

    def best_window(self, quantity: str = "error") -> int:
        """The window where the mean over the seeds is least, as the published "best epoch" is chosen."""
        means = self.windows(quantity)[self.kept()].mean(axis=0)
        return int(np.where(np.isfinite(means), means, np.inf).argmin()) if len(means) else 0

    def best_step(self, quantity: str = "error") -> int:
        """The last step of the best window."""
        if not len(self.steps):
            return 0
        ends = [*window_starts(len(self.steps))[1:], len(self.steps)]
        return int(self.steps[ends[self.best_window(quantity)] - 1])

    def best(self, quantity: str = "error") -> np.ndarray:
        """The value of every seed in the best window."""
        values = self.windows(quantity)
        return values[:, self.best_window(quantity)] if values.shape[1] else np.full(len(values), np.nan)

    def last(self, quantity: str = "error") -> np.ndarray:
        """The mean over the last twentieth of its training, of every seed: one record is noisy. For a seed that failed, before it did."""
        alive = [values[np.isfinite(values)] for values in self.curve(quantity)]
        return np.array([values[-max(1, len(values) // 20) :].mean() if len(values) else np.nan for values in alive])


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


class Paired(NamedTuple):
    """Two runs compared seed by seed: their best errors, with intervals that allow for the choice of the best window."""

    difference: Interval  # of the first's error minus the second's
    ratio: Interval  # exp of the mean difference of the logarithms: the first's error as a multiple of the second's
    seeds: int  # how many seeds both have, and succeeded in both


def paired(first: Outcome, second: Outcome) -> Paired:
    """The paired comparison of two runs on the seeds that both have: what the seeds share cancels. Of a run whose seeds all failed it takes
    the windows before."""
    one, other = matched(first, second)
    difference = least_difference(first.windows()[one], second.windows()[other])
    return Paired(difference, multiple(least_difference(first.logs()[one], second.logs()[other])), len(one))


def window_starts(records: int) -> np.ndarray:
    """The first record of each window."""
    count = min(WINDOWS, records)
    return np.arange(count) * records // count if count else np.zeros(0, int)


def matched(*found: Outcome) -> list[list[int]]:
    """The places of the seeds that all of the runs have and keep, for each run in the same order."""
    kept = [{seed for seed, good in zip(one.seeds, one.kept(), strict=True) if good} for one in found]
    shared = [seed for seed in found[0].seeds if all(seed in seeds for seeds in kept)]
    return [[one.seeds.index(seed) for seed in shared] for one in found]


def multiple(interval: Interval) -> Interval:
    """A mean difference of logarithms and its interval, as a ratio."""
    mean, low, high = (float(np.exp(value)) for value in interval)
    return mean, low, high


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
