"""An interval that says 95 % should hold the truth about that often, also with four seeds."""

import numpy as np
import pytest

from fredholm.common.statistics import bootstrap_interval


@pytest.mark.parametrize("n", [4, 8, 16])
def test_the_interval_covers_the_mean(n, monkeypatch):
    monkeypatch.setattr("fredholm.common.statistics.RESAMPLES", 300)
    stream = np.random.default_rng(n)
    intervals = [bootstrap_interval(stream.normal(1.0, 0.3, n)) for _ in range(1500)]
    coverage = np.mean([low <= 1.0 <= high for _, low, high in intervals])
    assert 0.92 < coverage < 0.98


def test_few_values():
    assert bootstrap_interval(np.array([2.0]))[0] == 2.0
    assert np.isnan(bootstrap_interval(np.array([2.0]))[1:]).all()
    assert np.isnan(bootstrap_interval(np.array([]))[0])
    assert bootstrap_interval(np.array([1.0, np.nan, 3.0]))[0] == 2.0


def test_an_interval_of_errors_does_not_go_below_zero():
    values = np.array([0.01, 0.05])
    assert bootstrap_interval(values)[1] < 0
    assert bootstrap_interval(values, least=0.0)[1] == 0
