"""The least of several noisy columns, without the luck of having been chosen on the same data.

Rows are seeds (independent), columns are places: moments of a training, or settings of a method. The question is the least column mean.
"""

import numpy as np

from fredholm.common.statistics import student_interval

Interval = tuple[float, float, float]  # a mean and its 95 % interval


def chosen(values: np.ndarray) -> np.ndarray:
    """Each row at the column whose mean over all rows is least. Its mean is too low on average: the noise took part in the choice."""
    known = _known(values)
    return known[:, known.sum(axis=0).argmin()] if known.size else np.full(len(values), np.nan)


def crossed(values: np.ndarray) -> np.ndarray:
    """Each row at the column whose mean over the other half of the rows is least: not too low on average, and in the mean never below
    `chosen`. Leaving out one row only would choose the same column for nearly all of many rows, and the noise would take part again.

    In the mean never below: let S be sums over all rows, A and B over the halves, and v, a, b the columns that each of them chooses. As
    S(v) ≤ S(a) and S(v) ≤ S(b), 2 S(v) ≤ A(b) + B(a) + A(a) + B(b); and A(a) + B(b) ≤ A(v) + B(v) = S(v).
    """
    known = _known(values)
    if not known.size or len(known) == 1:
        return chosen(values)
    halves = np.arange(len(known)) % 2 == 0
    picks = [int(known[half].sum(axis=0).argmin()) for half in (~halves, halves)]
    return np.where(halves, known[:, picks[0]], known[:, picks[1]])


def least_difference(first: np.ndarray, second: np.ndarray) -> Interval:
    """The least column mean of `first` minus that of `second`, rows matched, with an interval that allows for both choices: its upper end
    has `first` crossed and `second` chosen, its lower end the other way round."""
    (a, a_low), (b, b_low) = ((crossed(values), chosen(values)) for values in (first, second))
    mean = float(np.mean(a - b)) if len(a) else float("nan")
    return mean, interval_of(a_low - b)[1], interval_of(a - b_low)[2]


def widest(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The range of column means, largest minus least, from a cautiously low and a cautiously high value of each: row by row an estimate
    that is not too large on average, and one that is not too small."""
    return -crossed(-low) - crossed(high), -chosen(-high) - chosen(low)


def interval_of(values: np.ndarray) -> Interval:
    """Student's interval of the mean of the rows; without ends for fewer than two, or where one is not finite."""
    if len(values) < 2 or not np.isfinite(values).all():
        return (float(values.mean()) if len(values) else float("nan")), float("nan"), float("nan")
    return student_interval(values)


def _known(values: np.ndarray) -> np.ndarray:
    """The columns in which every row has a value."""
    return values[:, np.isfinite(values).all(axis=0)]
