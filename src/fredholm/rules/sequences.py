"""Low-discrepancy points in the unit cube."""

import math
from abc import abstractmethod

import equinox as eqx
import numpy as np

from fredholm.common.checks import real

MAXIMUM_SOBOL_AXES = 21201  # Joe and Kuo's table of direction numbers.


class AbstractSequence(eqx.Module):
    """n points of the unit cube, placed so that every box holds nearly its share of them."""

    @property
    def is_digital(self) -> bool:
        """True for a digital net in base 2."""
        return False

    @abstractmethod
    def points(self, n: int, axes: int) -> np.ndarray:
        """The first n points, of shape (n, axes), inside the open cube."""


class AdditiveRecursion(AbstractSequence):
    r"""$z_i = (\tfrac12 + i\alpha) \bmod 1$ for i = 1..n on k axes, $\alpha_j = \phi^{-j}$, $\phi > 1$ the root of $\phi^{k+1} = \phi + 1$.

    The golden ratio's sequence where k = 1, and its generalisation elsewhere (Roberts, 2018): the paper's choice.

    Examples:
        >>> import fredholm as fr
        >>> fr.QuasiMonteCarlo(50, fr.AdditiveRecursion()).size(fr.Interval(0.0, 1.0))
        50

    See also:
        `QuasiMonteCarlo`, `Halton`.
    """

    def points(self, n: int, axes: int) -> np.ndarray:
        phi = 2.0
        for _ in range(64):  # A contraction, to the fixed point of (1 + phi)^(1/(k+1)).
            phi = (1 + phi) ** (1 / (axes + 1))
        return (0.5 + np.outer(np.arange(1, n + 1), phi ** -np.arange(1.0, axes + 1))) % 1.0


class Sobol(AbstractSequence):
    """Sobol's digital net in base 2 with the direction numbers of Joe and Kuo (2008); n a power of 2, since no other count is balanced.

    The net is moved by half a cell, so that no node lies on the cube's boundary.

    Examples:
        >>> import fredholm as fr
        >>> fr.QuasiMonteCarlo(64, fr.Sobol())
        QuasiMonteCarlo(n=64, sequence=Sobol())

    See also:
        `Scramble`, `Halton`, `Lattice`.
    """

    @property
    def is_digital(self) -> bool:
        return True

    def points(self, n: int, axes: int) -> np.ndarray:
        if n & (n - 1):
            raise ValueError(
                f"Sobol(): got n={n}; expected a power of 2, for instance {2 ** int(math.log2(n))} or {2 ** (int(math.log2(n)) + 1)}: "
                "other counts are not balanced. Halton(), Lattice() and AdditiveRecursion() take any n."
            )
        if axes > MAXIMUM_SOBOL_AXES:
            raise ValueError(f"Sobol(): got {axes} axes; expected at most {MAXIMUM_SOBOL_AXES}.")
        from scipy.stats import qmc  # imported on first use: it would take a quarter of the library's import time

        return qmc.Sobol(axes, scramble=False, bits=32).random_base2(int(math.log2(n))) + 0.5 / n


class Halton(AbstractSequence):
    """The digits of 1..n, mirrored, in the base of a different prime for each axis (Halton, 1960). Good on few axes: beyond
    about 10, neighbouring axes are correlated until n exceeds the product of their primes.

    Examples:
        >>> import fredholm as fr
        >>> fr.QuasiMonteCarlo(50, fr.Halton())
        QuasiMonteCarlo(n=50, sequence=Halton())

    See also:
        `Sobol`, `AdditiveRecursion`.
    """

    def points(self, n: int, axes: int) -> np.ndarray:
        from scipy.stats import qmc

        return qmc.Halton(axes, scramble=False).random(n + 1)[1:]  # The first one is the corner 0.


class Lattice(AbstractSequence):
    r"""The rank-1 lattice $z_i = (i\,g/n + \tfrac{1}{2n}) \bmod 1$ with a generating vector g built for this n.

    g is found component by component: each entry minimises, given the ones before, the squared worst-case error in the Korobov
    space of smoothness 2,

    $$P_2 = -1 + \frac1n \sum_i \prod_j \left(1 + 2\pi^2\gamma\, B_2(\{i g_j/n\})\right),$$

    which reaches the optimal rate for smooth periodic integrands (Kuo, 2003; Nuyens and Cools, 2006). All axes count alike, since the
    axes of a sphere do; $\gamma = 0.1$ says that functions of few axes at a time matter most. It was picked from eight weightings by
    the error of four integrands with n = 100, 256, 1024 on 2, 5, 10 axes: mostly within 1.6 times of the best (not on 2 axes with
    n = 100 across a jump, 8 times), where $\gamma_j = 0.9^{j-1}$, tried first, was 11 times worse on 10 axes with n = 1024.

    Args:
        interaction (number): gamma; default: 0.1.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.QuasiMonteCarlo(64, fr.Lattice(), fr.Shift()).is_random
        True

    See also:
        `Sobol`, `Shift`.
    """

    interaction: float = eqx.field(default=0.1, converter=lambda value: real("Lattice interaction", value, low=1e-6, high=1.0))  # gamma

    def points(self, n: int, axes: int) -> np.ndarray:
        vector = generating_vector(n, axes, self.interaction)
        return (np.outer(np.arange(n), vector) % n + 0.5) / n


def generating_vector(n: int, axes: int, interaction: float) -> np.ndarray:
    """Component-by-component construction. Large n try a fixed, evenly spread part of the candidates, so that it takes seconds at most."""
    i = np.arange(n)
    kernel = interaction * 2 * np.pi**2 * ((i / n) ** 2 - i / n + 1 / 6)
    # A generator and its mirror image give the same lattice error, so half of the numbers without common divisor do.
    candidates = np.array([g for g in range(1, max(2, n // 2 + 1)) if math.gcd(g, n) == 1])
    most = max(16, 10_000_000 // n)
    if len(candidates) > most:
        candidates = candidates[np.linspace(0, len(candidates) - 1, most).astype(int)]
    chosen, product = [], np.ones(n)
    for axis in range(axes):
        errors = [np.dot(product, kernel[(i * g) % n]) for g in candidates] if axis else [0.0]
        best = candidates[int(np.argmin(errors))]
        chosen.append(best)
        product = product * (1 + kernel[(i * best) % n])
    return np.array(chosen, dtype=np.int64)
