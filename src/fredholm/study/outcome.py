"""The results of runs: curves over seeds and records, the best and the last error of each seed, matched comparisons."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fredholm.common.statistics import bootstrap_interval
from fredholm.study.profile import Profile
from fredholm.study.run import Run
from fredholm.training.status import SeedStatus

if TYPE_CHECKING:
    import xarray

Interval = tuple[float, float, float]  # a mean and its 95 % interval


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

    def best_record(self, quantity: str = "error") -> int:
        """The record where the mean over the seeds is least, as the published "best epoch" is chosen."""
        values = self.curve(quantity)[self.kept()]
        finite = np.isfinite(values).all(axis=0)
        return int(np.argmin(np.where(finite, np.where(np.isfinite(values), values, 0).mean(axis=0), np.inf))) if finite.any() else 0

    def best(self, quantity: str = "error") -> np.ndarray:
        """The value of every seed at the best record."""
        values = self.curve(quantity)
        return values[:, self.best_record(quantity)] if values.shape[1] else np.full(len(values), np.nan)

    def last(self, quantity: str = "error") -> np.ndarray:
        """The mean over the last twentieth of its training, of every seed: one record is noisy. For a seed that failed, before it did."""
        alive = [values[np.isfinite(values)] for values in self.curve(quantity)]
        return np.array([values[-max(1, len(values) // 20) :].mean() if len(values) else np.nan for values in alive])


class Paired(NamedTuple):
    """Two runs compared seed by seed."""

    difference: Interval  # of the first's error minus the second's
    ratio: Interval  # exp of the mean difference of the logarithms: the first's error as a multiple of the second's
    seeds: int  # how many seeds both have, and succeeded in both


def paired(first: Outcome, second: Outcome, at: str = "best") -> Paired:
    """The paired comparison of two runs on the seeds that both have: what the seeds share cancels."""
    shared = [seed for seed in first.run.seeds if seed in second.run.seeds]
    places = [[one.run.seeds.index(seed) for seed in shared] for one in (first, second)]
    values = [getattr(one, at)()[place] for one, place in zip((first, second), places, strict=True)]
    good = np.all([one.good[place] & np.isfinite(value) for one, place, value in zip((first, second), places, values, strict=True)], axis=0)
    a, b = (value[good] for value in values)
    positive = (a > 0) & (b > 0)
    logs = bootstrap_interval(np.log(a[positive] / b[positive]))
    low, mean, high = (float(np.exp(value)) for value in (logs[1], logs[0], logs[2]))
    return Paired(bootstrap_interval(a - b), (mean, low, high), int(good.sum()))
