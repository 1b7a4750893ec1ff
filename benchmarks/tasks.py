"""Equations as a new user writes them, with the answer from elsewhere: what `benchmarks/first_use.py` and the tests of first use try."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import fredholm as fr

Reference = tuple[np.ndarray, np.ndarray]  # points and the values of u there


class Task(NamedTuple):
    """An equation, where its solution is known from, and the relative error that the plain call must reach."""

    equation: Callable[[], fr.Equation]
    wanted: float
    reference: Callable[[], Reference] | None = None  # None: the equation has its exact solution


def history(x):
    """All times before x."""
    return fr.Interval(0.0, x[0])


def renewal() -> fr.Equation:
    """u(t) = g(t) + ∫₀ᵗ g(t − s) u(s) ds with g = t e⁻ᵗ: the rate of renewals, (1 − e⁻²ᵗ)/2, on a long interval."""

    def g(t):
        return t * jnp.exp(-t)

    past = fr.Integral(history, lambda u, x, t: g(x[0] - t[0]) * u(t))
    return fr.Equation(fr.Interval(0.0, 10.0), lambda u, x: u(x), past, lambda x: g(x[0]), exact=lambda x: (1 - jnp.exp(-2 * x[0])) / 2)


def oscillator() -> fr.Equation:
    """u'' + u = −∫₀ᵗ e^{s−t} u'(s) ds: friction with memory. The Laplace transform is (p² + p + 1)/(p³ + p² + 2p + 1)."""
    roots = np.roots([1, 1, 2, 1])
    shares = np.polyval([1, 1, 1], roots) / np.polyval([3, 2, 2], roots)
    past = fr.Integral(history, lambda u, x, t: -jnp.exp(t[0] - x[0]) * fr.derivative(u, t))
    start = [fr.Condition(fr.Point(0.0), 1.0), fr.Condition(fr.Point(0.0), 0.0, of=fr.derivative)]
    return fr.Equation(
        fr.Interval(0.0, 20.0),
        lambda u, x: fr.derivative(u, x, order=2) + u(x),
        past,
        conditions=start,
        exact=lambda x: jnp.sum(jnp.real(jnp.asarray(shares) * jnp.exp(jnp.asarray(roots) * x[0]))),
    )


def singular() -> fr.Equation:
    """u − ∫₀¹ u(t)/(10 √|x − t|) dt = y with the solution 1 + x."""

    def y(x):
        near, far = x[0], 1 - x[0]
        return 1 + x[0] - ((1 + x[0]) * 2 * (near**0.5 + far**0.5) + 2 / 3 * (far**1.5 - near**1.5)) / 10

    kernel = fr.Integral(lambda x: fr.AbsPower(0.0, 1.0, at=x[0], power=-0.5), lambda u, x, t: u(t) / 10)
    return fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), kernel, y, exact=lambda x: 1 + x[0])


SMALLEST, LARGEST = 0.01, 10.0  # sizes of the coagulation


def brownian(form: bool = False) -> fr.Equation:
    """Coagulation by Brownian motion: ∂ₜn(v) = ½∫₀ᵛ K n(v − w) n(w) dw − n(v) ∫ K n(w) dw with K = (v^⅓ + w^⅓)(v^−⅓ + w^−⅓).

    Sizes are the coordinate itself, or with `form` the logarithm, in which the small ones have room.
    """

    def kernel(v, w):
        return (v ** (1 / 3) + w ** (1 / 3)) * (v ** (-1 / 3) + w ** (-1 / 3))

    def size(p):
        return jnp.exp(p[0]) if form else p[0]

    def n(u, v, p):
        return u(jnp.stack([jnp.log(v) if form else v, p[1]]))

    gain = fr.Integral(
        lambda p: fr.Interval(0.0, size(p)),
        lambda u, p, w: 0.5 * kernel(size(p) - w[0], w[0]) * n(u, size(p) - w[0], p) * n(u, w[0], p),
    )
    loss = fr.Integral(fr.Interval(0.0, LARGEST), lambda u, p, w: -kernel(size(p), w[0]) * u(p) * n(u, w[0], p))
    low, high = (math.log(SMALLEST), math.log(LARGEST)) if form else (SMALLEST, LARGEST)
    return fr.Equation(
        fr.Box((low, 0.0), (high, 1.0)),
        lambda u, p: fr.derivative(u, p, axis=1),
        [gain, loss],
        conditions=fr.Condition(fr.Product(fr.Interval(low, high), fr.Point(0.0)), lambda p: jnp.exp(-size(p))),
    )


def brownian_reference() -> Reference:
    """Collocation with cubic splines in s = v^⅓, in which n and the sums with K are smooth: K is of degree 0, so w = v sin²θ."""
    from scipy.integrate import solve_ivp
    from scipy.interpolate import CubicSpline

    s, times = np.linspace(0.02, 20 ** (1 / 3), 400), np.linspace(0.0, 1.0, 21)
    z, weights = np.polynomial.legendre.leggauss(60)
    angle = ((z + 1) / 2) ** 3 * math.pi / 4  # graded towards w = 0
    sine, cosine = np.sin(angle) ** 2, np.cos(angle) ** 2
    kernel = (cosine ** (1 / 3) + sine ** (1 / 3)) * (cosine ** (-1 / 3) + sine ** (-1 / 3))
    of_gain = weights * 3 * ((z + 1) / 2) ** 2 * math.pi / 4 * kernel * np.sin(2 * angle)
    z, weights = np.polynomial.legendre.leggauss(400)
    node = (z + 1) / 2 * s[-1]
    of_moments = weights / 2 * s[-1] * 3 * node**2

    def density(values, at):
        spline = CubicSpline(s, values)
        return np.where(at < s[0], values[0] * at / s[0], spline(np.maximum(at, s[0])))

    def rate(_, values):
        m = density(values, node) * of_moments
        pairs = density(values, np.cbrt(s[:, None] ** 3 * sine)) * density(values, np.cbrt(s[:, None] ** 3 * cosine))
        return 0.5 * s**3 * (pairs @ of_gain) - values * (2 * m.sum() + s * (m / node).sum() + (m * node).sum() / s)

    found = solve_ivp(rate, (0.0, 1.0), np.exp(-(s**3)), t_eval=times, rtol=1e-7, atol=1e-9).y
    rng = np.random.default_rng(0)
    at, v = rng.integers(0, len(times), 400), np.exp(rng.uniform(math.log(SMALLEST), math.log(LARGEST), 400))
    values = np.array([CubicSpline(s, found[:, index])(one ** (1 / 3)) for index, one in zip(at, v, strict=True)])
    return np.stack([v, times[at]], axis=1), values


RATE = 0.1  # k of the truth


def rate() -> fr.Equation:
    """u' = −k u − ½∫₀ᵗ e^{s−t} u(s) ds with u(0) = 1, and k from 40 values with an error of 0.02."""
    times, values = rate_reference()
    noisy = values + 0.02 * np.random.default_rng(0).normal(size=len(values))
    return fr.Equation(
        fr.Interval(0.0, 10.0),
        lambda u, x: fr.derivative(u, x) + u.k * u(x),
        fr.Integral(history, lambda u, x, t: -0.5 * jnp.exp(t[0] - x[0]) * u(t)),
        conditions=[fr.Condition(fr.Point(0.0), 1.0), fr.Data(times, noisy, sigma=0.02)],
        unknowns={"k": 0.3},
    )


def rate_reference() -> Reference:
    """With v = ∫₀ᵗ e^{s−t} u ds this is u' = −k u − v/2, v' = u − v."""
    values, vectors = np.linalg.eig(np.array([[-RATE, -0.5], [1.0, -1.0]]))
    times = np.linspace(0.25, 10.0, 40)
    of_start = np.linalg.solve(vectors, [1.0, 0.0])
    return times[:, None], np.real(np.exp(times[:, None] * values) @ (of_start * vectors[0]))


VOLATILITY, CORRELATION, INTEREST = 0.2, 0.4, 0.03
JUMPS, MEAN, SPREAD = 0.5, -0.1, 0.15  # jumps a year, and the law of each logarithm's jump
DRIFT = INTEREST - VOLATILITY**2 / 2 - JUMPS * (math.exp(MEAN + SPREAD**2 / 2) - 1)


def covariance(assets: int) -> np.ndarray:
    """Of the logarithms of the prices after a year, without jumps."""
    return VOLATILITY**2 * (CORRELATION + (1 - CORRELATION) * np.eye(assets))


def payoff(p):
    """What the put pays at the end."""
    return jnp.maximum(1 - jnp.mean(jnp.exp(p[:-1])), 0.0)


def basket(assets: int = 5) -> fr.Equation:
    """A put on the mean of correlated prices that diffuse and jump, in p = (logarithms of the prices, time that is left)."""

    def f(u, p):
        slope, curvature = fr.gradient(u, p), fr.hessian(u, p)[:-1, :-1]
        diffusion = 0.5 * jnp.sum(jnp.asarray(covariance(assets), p.dtype) * curvature)
        return slope[-1] - diffusion - DRIFT * jnp.sum(slope[:-1]) + INTEREST * u(p)

    def jump(u, p, z):
        return u(p + jnp.concatenate([z, jnp.zeros(1)])) - u(p)

    box = fr.Box((-0.8,) * assets, (0.8,) * assets)
    return fr.Equation(
        fr.Product(box, fr.Interval(0.0, 1.0)),
        f,
        fr.Integral(fr.Jumps(JUMPS, fr.Normal((MEAN,) * assets, SPREAD)), jump),
        conditions=fr.Condition(fr.Product(box, fr.Point(0.0)), payoff),
    )


def basket_reference(assets: int = 5, paths: int = 200_000) -> Reference:
    """Means over final prices, which are normal given the number of jumps; at prices within 30 % of the strike."""
    from scipy.stats import poisson

    rng = np.random.default_rng(7)
    x, left = rng.uniform(-0.3, 0.3, (150, assets)), rng.uniform(0.0, 1.0, 150)
    moved = rng.normal(size=(paths, assets)) @ np.linalg.cholesky(covariance(assets)).T
    jumped, uniform = rng.normal(size=(paths, assets)), rng.uniform(size=paths)
    values = []
    for start, t in zip(x, left, strict=True):
        count = poisson.ppf(uniform, JUMPS * t)[:, None]
        end = start + DRIFT * t + math.sqrt(t) * moved + count * MEAN + SPREAD * np.sqrt(count) * jumped
        values.append(math.exp(-INTEREST * t) * np.mean(np.maximum(1 - np.exp(end).mean(axis=1), 0.0)))
    return np.concatenate([x, left[:, None]], axis=1), np.array(values)


DISCOUNT, TURN, NOISE = 0.95, np.array([[0.8, 0.2], [-0.2, 0.8]]), 0.1


def reward(s: np.ndarray) -> np.ndarray:
    """The mean reward in state s."""
    return np.cos(2 * s[..., 0]) + s[..., 1] ** 2


def transitions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """20 000 states, the state that followed each, and noisy rewards."""
    rng = np.random.default_rng(0)
    s = rng.uniform(-1, 1, (20_000, 2))
    return s, s @ TURN.T + NOISE * rng.normal(size=s.shape), reward(s) + 0.1 * rng.normal(size=len(s))


def policy() -> fr.Equation:
    """The value of a policy, V(s) = E[r + 0.95 V(s')], from transitions that were observed."""
    s, following, rewards = transitions()
    return fr.Equation(
        fr.Offline(point=s, next=following[:, None], reward=rewards, held_out=0.1),
        lambda u, x: u(x.point),
        fr.Integral(lambda x: fr.Given(x.next), lambda u, x, t: DISCOUNT * u(t)),
        lambda x: x.reward,
    )


def policy_reference() -> Reference:
    """Means over rollouts: reward is even in each noise, so E[cos] and E[square] follow from mean and variance of s_k."""
    s, value, variance = np.random.default_rng(1).uniform(-0.8, 0.8, (200, 2)), np.zeros(200), 0.0
    mean = s
    for step in range(400):
        value += DISCOUNT**step * (np.cos(2 * mean[:, 0]) * math.exp(-2 * variance) + mean[:, 1] ** 2 + variance)
        mean, variance = mean @ TURN.T, 0.68 * variance + NOISE**2  # TURN is a rotation times √0.68
    return s, value


def least_squares(degree: int = 6) -> float:
    """The error of least squares for the temporal difference on the same transitions: what a training can hope for."""
    s, following, rewards = transitions()
    at, values = policy_reference()

    def features(s):
        return np.stack([s[:, 0] ** i * s[:, 1] ** j for i in range(degree + 1) for j in range(degree + 1 - i)], axis=1)

    now = features(s)
    theta = np.linalg.solve(now.T @ (now - DISCOUNT * features(following)), now.T @ rewards)
    return relative(features(at) @ theta, values)


def relative(found: np.ndarray, values: np.ndarray) -> float:
    """The relative error in the mean square."""
    return float(np.sqrt(np.mean((found - values) ** 2) / np.mean(values**2)))


TASKS = {
    "renewal on [0, 10]": Task(renewal, 1e-3),
    "oscillator with memory on [0, 20]": Task(oscillator, 1e-3),
    "kernel |x − t|^(−1/2)": Task(singular, 1e-3),
    "unknown rate from 40 data": Task(rate, 0.02, rate_reference),
    "coagulation, Brownian kernel": Task(brownian, 0.01, brownian_reference),
    "policy from 20 000 transitions": Task(policy, 0.03, policy_reference),
    "basket put, 5 assets with jumps": Task(basket, 0.005, basket_reference),
}
