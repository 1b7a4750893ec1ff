"""The numbers of the paper's figures, from `published.csv.gz`, which comes with the package."""

import csv
import functools
import gzip
import io
from importlib.resources import files
from typing import NamedTuple

import numpy as np


class Series(NamedTuple):
    """A curve, or the points of a sweep."""

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def least(self) -> float:
        """The smallest value."""
        return float(self.y.min())


@functools.cache
def _rows() -> list[dict[str, str]]:
    packed = files("fredholm.paper.reproduction").joinpath("published.csv.gz").read_bytes()
    return list(csv.DictReader(io.StringIO(gzip.decompress(packed).decode())))


def published(figure: int, problem: str, quantity: str, panel: str = "") -> dict[str, Series]:
    """What a panel of a figure shows, by the name of the curve or bar; empty where the paper has only a picture."""
    found: dict[str, list[list[float]]] = {}
    for row in _rows():
        if (int(row["paper_figure"]), row["problem"], row["quantity"], row["panel"]) == (figure, problem, quantity, panel):
            found.setdefault(row["series"], []).append([float(row[name] or "nan") for name in ("x", "y", "y_lo", "y_hi")])
    return {name: Series(*np.array(sorted(points)).T) for name, points in found.items()}


def panels(figure: int) -> list[tuple[str, str, str]]:
    """Problem, quantity and panel of everything that is published of a figure."""
    rows = [(row["problem"], row["quantity"], row["panel"]) for row in _rows() if int(row["paper_figure"]) == figure]
    return list(dict.fromkeys(rows))


def bars(figure: int, problem: str, quantity: str) -> dict[str, float]:
    """Published bars: each is a series of one point."""
    return {name: float(series.y[0]) for name, series in published(figure, problem, quantity).items()}
