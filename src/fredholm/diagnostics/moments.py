"""Given samples: does the residual vanish in the mean? A test that one sample at each x allows, on rows that were held out."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.diagnostics.uniqueness import exponents_of, polynomials
from fredholm.domains.base import Record
from fredholm.domains.offline import Offline
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.residual import as_vector, call
from fredholm.functions.field import Field
from fredholm.rules.even import Even

DEGREE = 6  # of the test functions
ROWS_EACH = 20  # rows for each test function, at least
SURE = 1e-3  # a residual whose moments are as large as this with less probability by chance is not 0


class Moments(eqx.Module):
    r"""The mean of the residual against test functions, $m_k = \frac1n\sum_i \varphi_k(x_i)\,\hat r(x_i)$ with one sample of the integral
    in each residual: an unbiased estimate of $\mathbb{E}\,\varphi_k r$, whatever the noise of the samples is.

    With orthonormal polynomials $\varphi_k$ of the point, $\sum_k m_k^2$ less its noise is the squared residual in their span. In policy
    evaluation these are the moments of the temporal difference, which are 0 for the least-squares solution on this class.
    """

    relative: float  # the residual in the span of the test functions, relative to those of f, integrals and y
    low: float  # its 95 % interval
    high: float
    chance: float  # the probability of moments as large as these where the residual is 0
    rows: int  # how many
    are_held_out: bool  # True where the training has not seen them

    @property
    def is_wrong(self) -> bool:
        """True where the residual is not 0, and not by chance."""
        return self.chance < SURE

    def __str__(self) -> str:
        rows = f"{self.rows} rows that were held out" if self.are_held_out else f"{self.rows} rows, those of the training"
        interval = f"95 % interval [{self.low:.1%}, {self.high:.1%}]"
        noise = "" if self.is_wrong else f", which noise explains (probability {self.chance:.2g})"
        return f"on {rows}, the smooth part of the residual is {self.relative:.1%} of its terms, {interval}{noise}"


def moments(equation: Equation, u: Field) -> Moments | None:
    """The moments of the residual on given rows; None where x is not drawn from given rows, or where there are too few of them."""
    if not isinstance(equation.domain, Offline):
        return None
    rows = equation.domain.scored()
    exponents = exponents_of(equation.domain.dimension, DEGREE)
    points = np.asarray(rows.point, float)
    n = len(points)
    exponents = exponents[: max(1, n // ROWS_EACH)]
    if n < ROWS_EACH:
        return None
    center, scale = points.mean(axis=0), np.where(points.std(axis=0) > 0, points.std(axis=0), 1.0)
    basis = np.linalg.qr(polynomials(exponents, np.clip((points - center) / scale, -3, 3)))[0] * math.sqrt(n)
    local, inside, known = (np.asarray(part, float) for part in _terms(equation, u, rows))
    residual = local + equation.sign * inside
    products = (basis[:, :, None] * residual[:, None, :]).reshape(n, -1)
    means, noise = products.mean(axis=0), products.var(axis=0, ddof=1) / n
    # Where rows differ in their noise, moments are correlated, and the statistic takes it into account.
    covariance = np.atleast_2d(np.cov(products.T)) / n
    statistic = float(means @ np.linalg.pinv(covariance, hermitian=True) @ means)
    squared, error = float(means @ means - noise.sum()), 2 * math.sqrt(float(2 * noise @ noise + 4 * (means**2) @ noise))
    size = sum(float(np.linalg.norm(basis.T @ part / n)) for part in (local + known, inside, known)) or 1.0
    mean, low, high = (math.sqrt(max(one, 0.0)) / size for one in (squared, squared - error, squared + error))
    chance = float(scipy.special.gammaincc(len(means) / 2, statistic / 2))
    return Moments(mean, low, high, chance, n, equation.domain.held_out > 0)


def _terms(equation: Equation, u: Field, rows: Record) -> tuple[Array, Array, Array]:
    """f − y, the integrals and y at every row, with all given samples."""

    @compiled_once
    @jax.vmap
    def terms(x: Record) -> tuple[Float[Array, "e"], Float[Array, "e"], Float[Array, "e"]]:
        local = equation.local_residual(u, x)
        inside = estimate(equation, u, x, draw(equation, [Even(1)] * len(equation.integrals), x, jax.random.key(0)))
        return local, inside * jnp.ones_like(local), as_vector("y", call(equation.y, x)) * jnp.ones_like(local)

    return terms(rows)
