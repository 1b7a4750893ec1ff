"""The unit cube of d-1 axes onto the unit sphere in d dimensions, with the uniform measure."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# The largest error of the cosine and the sine of an angle, in units of the rounding error `jnp.finfo(dtype).eps`, for every power up to 98,
# ends included (tests/test_domains_sphere_map.py); in double precision it is that of scipy's inverse.
STATED_ERROR_IN_EPS = 20


def direction_from_unit(z: Float[Array, "k"]) -> Float[Array, "d"]:
    r"""A unit vector from k = d-1 uniform numbers.

    The angles $\varphi_1, \ldots, \varphi_{d-2}$ have densities proportional to $\sin^{m}$ on $[0, \pi]$ with
    $m = d-2, \ldots, 1$, and $\varphi_{d-1} = 2\pi z_{d-1}$:

    $$t = (\cos\varphi_1,\ \sin\varphi_1\cos\varphi_2,\ \ldots,\ \sin\varphi_1\cdots\sin\varphi_{d-1}).$$
    """
    k = z.shape[0]
    last = 2 * jnp.pi * z[k - 1]
    circle = jnp.stack([jnp.cos(last), jnp.sin(last)])
    if k == 1:
        return circle
    cosines, sines = sine_power_angles(z[:-1], tuple(range(k - 1, 0, -1)))
    before = jnp.concatenate([jnp.ones((1,), z.dtype), jnp.cumprod(sines)])
    return jnp.concatenate([cosines * before[:-1], circle * before[-1]])


def sine_power_angles(z: Float[Array, "k"], powers: tuple[int, ...]) -> tuple[Float[Array, "k"], Float[Array, "k"]]:
    r"""The cosine and the sine of the angle whose distribution function is z, for a density $\propto \sin^m$ on $[0, \pi]$.

    $z = I_s\!\left(\tfrac{m+1}{2}, \tfrac{m+1}{2}\right)$ with $s = \sin^2(\varphi/2)$: an inverse incomplete beta function, which JAX
    does not have. It behaves like $z^{1/(m+1)}$ at the pole, so $\sin(\varphi/2) = w\,h_m(w^2)$ with $w = (2z)^{1/(m+1)}$
    and $h_m$ smooth on [0, 1]. A Chebyshev series of $h_m$, fitted once on the host, then gives the angle with one
    power and a few multiplications: no iteration and no trigonometry in the compiled step. Beyond the
    equator $z > \tfrac12$ the angle follows from its mirror image.

    The error of the cosine and of the sine is below `STATED_ERROR_IN_EPS` rounding errors, at the poles too.
    """
    tail = jnp.minimum(z, 1 - z)  # Exact in floating point, so nothing is lost near z = 1.
    exponents = np.asarray(powers, float) + 1
    # A power from its logarithm: a CPU has vector instructions for exp and log, but not for powers.
    w = jnp.exp(jnp.log(2 * tail) * jnp.asarray(1 / exponents, z.dtype))
    coefficients = _half_angle_series(powers, float(jnp.finfo(z.dtype).eps))
    half_sine = w * _clenshaw(jnp.asarray(coefficients, z.dtype), 2 * w**2 - 1)
    square = half_sine**2
    cosine = jnp.where(z <= 0.5, 1 - 2 * square, 2 * square - 1)
    return cosine, 2 * half_sine * jnp.sqrt(1 - square)


def _clenshaw(coefficients: Float[Array, "n k"], x: Float[Array, "k"]) -> Float[Array, "k"]:
    r"""$\sum_n c_n T_n(x)$, one series per axis, by Clenshaw's recurrence. Unrolled, so that the compiler fuses it into one loop."""
    later, last = jnp.zeros_like(x), jnp.zeros_like(x)
    for n in range(coefficients.shape[0] - 1, 0, -1):
        later, last = coefficients[n] + 2 * x * later - last, later
    return coefficients[0] + x * later - last


@lru_cache(maxsize=64)
def _half_angle_series(powers: tuple[int, ...], precision: float) -> np.ndarray:
    """The coefficients of h_m for each power, of shape (terms, powers), cut where they fall below the precision."""
    series = [_one_series(power) for power in powers]
    kept = max(1 + int(np.max(np.nonzero(np.abs(one) > 0.25 * precision)[0])) for one in series)
    return np.stack([one[:kept] if len(one) >= kept else np.pad(one, (0, kept - len(one))) for one in series], axis=-1)


@lru_cache(maxsize=1024)
def _one_series(power: int) -> np.ndarray:
    """The Chebyshev coefficients of h_m on [0, 1], summed beyond double precision where the machine has it."""
    half = 0.5 * (power + 1)
    # The nearest singularity is the other pole, at w² = 2^(2/(m+1)) > 1: it fixes how fast the coefficients fall.
    distance = 2 * 2 ** (1 / half) - 1
    terms = 8 + int(np.ceil(40 / np.log(distance + np.sqrt(distance**2 - 1))))
    angles = 4 * np.arctan(np.longdouble(1)) * (np.arange(terms, dtype=np.longdouble) + 0.5) / terms
    w_squared = 0.5 * (np.cos(angles) + 1)
    values = np.sqrt(_half_angle_square(w_squared.astype(float), half) / w_squared)
    coefficients = 2 * np.cos(np.outer(np.arange(terms), angles)) @ values / terms
    coefficients[0] /= 2
    return coefficients.astype(float)


def _half_angle_square(w_squared: np.ndarray, half: float) -> np.ndarray:
    r"""s with $I_s(a, a) = w^{2a}/2$, $a = (m+1)/2$.

    Where $w^{2a}$ underflows, in more than a hundred dimensions, s is found from
    $I_s(a, a) = s^a (1-s)^a\, {}_2F_1(2a, 1; a+1; s)/(a B(a, a))$, whose a-th root does not.
    """
    from scipy import special  # imported on first use, so that importing the library stays fast

    probability = 0.5 * w_squared**half
    s = special.betaincinv(half, half, probability)
    tail = probability < 1e-290
    start = w_squared[tail] * np.exp((np.log(half) + special.betaln(half, half) - np.log(2)) / half)
    s[tail] = start
    for _ in range(60):
        s[tail] = start / ((1 - s[tail]) * special.hyp2f1(2 * half, 1, half + 1, s[tail]) ** (1 / half))
    return s
