"""What pages and pictures need of a solution. They stand below it, so that a solution can draw and report itself."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from fredholm.equation.equation import Equation
from fredholm.training.status import SeedStatus

if TYPE_CHECKING:
    import xarray


class Shown(NamedTuple):
    """What a page says of a run besides its results."""

    settings: dict[str, str]  # in words, without those that were not given
    versions: dict[str, str]  # the packages, then the machine
    own: list[str]  # the parts that were made in Python, which must be given again to load it
    is_resumable: bool  # False where only the networks were kept
    evaluations: int | None  # of integrands in one step of one seed; None where the run's problem, method or rule is not known


@runtime_checkable
class Solved(Protocol):
    """A solution, as it is shown; `fredholm.Solution` is one."""

    problem: Equation | None
    history: "xarray.Dataset"

    def shown(self) -> Shown:
        """What a page says of the run."""
        ...

    @property
    def precision(self) -> str:
        """float32 or float64."""
        ...

    @property
    def inputs(self) -> int:
        """d, the size of the network's input."""
        ...

    @property
    def outputs(self) -> int:
        """m, the number of unknown functions."""
        ...

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

    @property
    def spectrum(self) -> np.ndarray | None:
        """The largest coefficient of each degree of a series; None for networks."""
        ...

    def __call__(
        self, points: ArrayLike | float, *, of: Callable[..., Any] | None = None, **parameters: ArrayLike | float
    ) -> np.ndarray | Array:
        """The mean prediction."""
        ...

    def members(
        self, points: ArrayLike | float, *, of: Callable[..., Any] | None = None, **parameters: ArrayLike | float
    ) -> np.ndarray | Array:
        """The prediction of every seed."""
        ...

    def summary(self, *, problem: Equation | None = None) -> dict[str, tuple[float, float, float]]:
        """Every metric: the mean over seeds and its interval."""
        ...

    def score(self) -> tuple[str, tuple[float, float, float]] | None:
        """The problem's own metric."""
        ...

    def lines(self) -> list[tuple[str, str]]:
        """What printing it says: pairs of a heading and a text."""
        ...
