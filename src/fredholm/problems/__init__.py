"""Problems of the paper and of the literature, each an `Equation` like the user's own."""

from fredholm.problems.poisson import Poisson
from fredholm.problems.volterra import Volterra

__all__ = ["Poisson", "Volterra"]
