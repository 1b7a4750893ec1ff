"""What pages and pictures need of a solution. They stand below it, so that a solution can draw and report itself."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from fredholm.equation.equation import Equation
from fredholm.training.record import RunRecord
from fredholm.training.status import SeedStatus

if TYPE_CHECKING:
    import xarray


@runtime_checkable
class Solved(Protocol):
    """A solution, as it is shown; `fredholm.Solution` is one."""

    problem: Equation | None
    record: RunRecord
    history: "xarray.Dataset"

    @property
    def label(self) -> str:
        """What the run is called."""
        ...

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        ...

    @property
    def status(self) -> tuple[SeedStatus, ...]:
        """How the training of each seed ended."""
        ...

    @property
    def good(self) -> np.ndarray:
        """Which seeds succeeded."""
        ...

    @property
    def steps(self) -> int:
        """The steps that were done."""
        ...

    @property
    def seconds(self) -> float:
        """The time spent in training."""
        ...

    @property
    def unknowns(self) -> dict[str, np.ndarray]:
        """The learned scalars of each seed."""
        ...

    def __call__(self, points: ArrayLike, *, of: Callable[..., Any] | None = None) -> np.ndarray:
        """The mean prediction."""
        ...

    def members(self, points: ArrayLike, *, of: Callable[..., Any] | None = None) -> np.ndarray:
        """The prediction of every seed."""
        ...

    def summary(self, *, problem: Equation | None = None) -> dict[str, tuple[float, float, float]]:
        """Every metric: the mean over seeds and its interval."""
        ...

    def score(self) -> tuple[str, tuple[float, float, float]] | None:
        """The problem's own metric."""
        ...
