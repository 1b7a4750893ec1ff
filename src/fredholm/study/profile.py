"""u of a finished run along a line, beside the exact solution, for the page of its study."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class Profile(NamedTuple):
    """u along a line through the middle of the evaluation points, in the direction of the first input."""

    x: np.ndarray  # the first input
    mean: np.ndarray  # of u, over the seeds that succeeded
    low: np.ndarray  # the smallest of them
    high: np.ndarray
    exact: np.ndarray | None  # None where it is not known
    place: str  # the line in words; empty with one input

    @classmethod
    def read(cls, content: Mapping[str, Any] | None) -> "Profile | None":
        """The profile of a result file; None where there is none."""
        if not content:
            return None
        parts = {name: _array(content[name]) for name in ("x", "mean", "low", "high")}
        return cls(**parts, exact=None if content["exact"] is None else _array(content["exact"]), place=str(content["place"]))

    def plain(self) -> dict[str, Any]:
        """The profile as JSON."""
        return {name: value if isinstance(value, str) else _plain(value) for name, value in self._asdict().items()}


def _plain(values: np.ndarray | None) -> list[float | None] | None:
    return None if values is None else [float(value) if np.isfinite(value) else None for value in values]


def _array(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)
