"""Low-discrepancy nodes with equal weights."""

import equinox as eqx
import numpy as np

from fredholm.common.checks import positive_integer
from fredholm.domains.base import Base
from fredholm.rules.base import MAXIMUM_NODES, AbstractNodeRule, AbstractRandomization
from fredholm.rules.sequences import AbstractSequence, AdditiveRecursion


class QuasiMonteCarlo(AbstractNodeRule):
    r"""N points of a low-discrepancy sequence with equal weights: $\int g\,d\mu \approx \frac1N \sum_i \omega(z_i)\,g(t(z_i))$.

    The error is bounded by the variation of the integrand times the points' star discrepancy, about $(\log N)^k/N$.

    Args:
        n (int): N, exactly this many points.
        sequence (sequence): where the points are: AdditiveRecursion(), Sobol(), Halton() or Lattice(); default: AdditiveRecursion().
        randomize (randomisation): Shift(), Rotation(), Scramble() for Sobol(), or None; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.QuasiMonteCarlo(64, fr.Sobol(), fr.Scramble()).size(fr.Box((0.0,) * 5, (1.0,) * 5))
        64

    See also:
        `MonteCarlo`, `Sobol`, `Halton`, `Lattice`, `AdditiveRecursion`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("QuasiMonteCarlo n", n))  # N, exactly this many points
    sequence: AbstractSequence = eqx.field(
        default=AdditiveRecursion(), converter=lambda given: _sequence(given)
    )  # where the points are: AdditiveRecursion(), Sobol(), Halton() or Lattice()
    randomize: AbstractRandomization | None = None  # Shift(), Rotation(), Scramble() for Sobol(), or None

    def __check_init__(self) -> None:
        if self.n > MAXIMUM_NODES:
            raise ValueError(f"QuasiMonteCarlo n: got {self.n:,}; expected at most {MAXIMUM_NODES:,}.")
        self.sequence.points(self.n, 1)  # Refuses a count that the sequence cannot have, here and not in the first step.

    @property
    def is_digital(self) -> bool:
        return self.sequence.is_digital

    def base_nodes(self, bases: tuple[Base, ...]) -> tuple[np.ndarray, np.ndarray]:
        nodes = self.sequence.points(self.n, len(bases)) if bases else np.zeros((self.n, 0))
        return nodes, np.full(self.n, 1 / self.n)


def _sequence(given: object) -> AbstractSequence:
    if not isinstance(given, AbstractSequence):
        raise ValueError(f"QuasiMonteCarlo sequence: got {given!r}; expected a sequence, for instance Sobol(), with its parentheses.")
    return given
