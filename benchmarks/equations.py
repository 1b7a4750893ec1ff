"""Integro-differential equations with exact solutions, as a user writes them; for each the plain call: `python benchmarks/equations.py`.

Those in `OTHERS` are from the documentation and tests of idesolver, NeuralPDE and DeepXDE, and rows of benchmarks/digits.py.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special as special

import fredholm as fr

Span, D, at = fr.Interval, fr.derivative, fr.Point
PI = np.pi


def starts(*values: float, place: float = 0.0) -> list[fr.Condition]:
    """u, u', u'', ... at one point."""
    return [
        fr.Condition(at(place), value, of=(lambda u, x, k=k: D(u, x, order=k)) if k else (lambda u, x: u(x)))
        for k, value in enumerate(values)
    ]


def past(x: Any) -> fr.Interval:
    """From 0 to x."""
    return Span(0.0, x[0])


def on(span: fr.Interval, f: Any, integrals: Any, y: Any, exact: Any, conditions: Any = (), **keywords: Any) -> fr.Equation:
    """An equation with its exact solution."""
    return fr.Equation(span, f, integrals, y, conditions=conditions, exact=exact, **keywords)


def idesolver_quickstart() -> fr.Equation:
    """u' = u - x/2 + 1/(1 + x) - ln(1 + x) + (ln 2)^-2 ∫₀¹ x/(1 + s) u(s) ds."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x) - u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, s: x[0] / (1 + s[0]) * u(s) / np.log(2) ** 2),
        lambda x: -x[0] / 2 + 1 / (1 + x[0]) - jnp.log1p(x[0]),
        lambda x: jnp.log1p(x[0]),
        starts(0.0),
    )


def idesolver_periodic() -> fr.Equation:
    """The second example of idesolver's tests (Gelmi and Jorquera, 2014)."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x) - u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, s: jnp.sin(2 * PI * (2 * x[0] + s[0])) * u(s)),
        lambda x: -jnp.cos(2 * PI * x[0]) - 2 * PI * jnp.sin(2 * PI * x[0]) - 0.5 * jnp.sin(4 * PI * x[0]),
        lambda x: jnp.cos(2 * PI * x[0]),
        starts(1.0),
    )


def idesolver_square() -> fr.Equation:
    """The third: u' = 1 - 29x/60 + ∫₀¹ x s u² ds."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, s: x[0] * s[0] * u(s) ** 2),
        lambda x: 1 - 29 / 60 * x[0],
        lambda x: 1 + x[0] + x[0] ** 2,
        starts(1.0),
    )


def idesolver_limits() -> fr.Equation:
    """The fourth: both limits move, and one like a root."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x),
        fr.Integral(lambda x: Span(x[0], jnp.sqrt(x[0])), lambda u, x, s: x[0] * s[0] * u(s)),
        lambda x: x[0] * (1 + jnp.sqrt(x[0])) * jnp.exp(-jnp.sqrt(x[0])) - (x[0] ** 2 + x[0] + 1) * jnp.exp(-x[0]),
        lambda x: jnp.exp(-x[0]),
        starts(1.0),
    )


def idesolver_system() -> fr.Equation:
    """Its example in two dimensions."""
    return on(
        Span(0.0, 7.0),
        lambda u, x: D(u, x) - 0.5 * jnp.stack([u(x)[1] + 1, -u(x)[0]]),
        fr.Integral(past, lambda u, x, s: -0.5 * u(s)),
        0.0,
        lambda x: jnp.stack([jnp.sin(x[0]), jnp.cos(x[0])]),
        [fr.Condition(at(0.0), lambda x: jnp.array([0.0, 1.0]))],
        outputs=2,
    )


def neuralpde_memory() -> fr.Equation:
    """u' + 2u + 5∫₀ᵗ u = 1: the example of NeuralPDE's documentation."""
    return on(
        Span(0.0, 2.0),
        lambda u, x: D(u, x) + 2 * u(x),
        fr.Integral(past, lambda u, x, t: -5 * u(t)),
        1.0,
        lambda x: 0.5 * jnp.exp(-x[0]) * jnp.sin(2 * x[0]),
        starts(0.0),
    )


def neuralpde_cosine() -> fr.Equation:
    """∫₀ˣ u cos = x³/3 of its tests, of the first kind."""
    return on(
        Span(0.0, 1.0),
        None,
        fr.Integral(past, lambda u, x, t: u(t) * jnp.cos(t[0])),
        lambda x: x[0] ** 3 / 3,
        lambda x: x[0] ** 2 / jnp.cos(x[0]),
    )


def neuralpde_infinity() -> fr.Equation:
    """∫ₓ^∞ u = 1/x on [1, 2] of its tests."""
    return on(
        Span(1.0, 2.0),
        None,
        fr.Integral(lambda x: fr.HalfLine(x[0]), lambda u, x, t: u(t)),
        lambda x: 1 / x[0],
        lambda x: 1 / x[0] ** 2,
    )


def deepxde_sine() -> fr.Equation:
    """u' + ∫₀ˣ u = 2π cos 2πx + sin²(πx)/π: DeepXDE's first example with an integral."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x),
        fr.Integral(past, lambda u, x, t: -u(t)),
        lambda x: 2 * PI * jnp.cos(2 * PI * x[0]) + jnp.sin(PI * x[0]) ** 2 / PI,
        lambda x: jnp.sin(2 * PI * x[0]),
        starts(0.0),
    )


def deepxde_volterra() -> fr.Equation:
    """u' + u = ∫₀ˣ e^(t-x) u on [0, 5]: DeepXDE's second."""
    return on(
        Span(0.0, 5.0),
        lambda u, x: D(u, x) + u(x),
        fr.Integral(past, lambda u, x, t: jnp.exp(t[0] - x[0]) * u(t)),
        0.0,
        lambda x: jnp.exp(-x[0]) * jnp.cosh(x[0]),
        starts(1.0),
    )


OTHERS: dict[str, Callable[[], fr.Equation]] = {
    "idesolver: its quickstart": idesolver_quickstart,
    "idesolver: periodic kernel": idesolver_periodic,
    "idesolver: a square": idesolver_square,
    "idesolver: limits x and √x": idesolver_limits,
    "idesolver: a system": idesolver_system,
    "NeuralPDE: memory": neuralpde_memory,
    "NeuralPDE: first kind": neuralpde_cosine,
    "NeuralPDE: to infinity": neuralpde_infinity,
    "DeepXDE: sine": deepxde_sine,
    "DeepXDE: Volterra": deepxde_volterra,
}


# More kinds of equations.


def volterra_first_kind() -> fr.Equation:
    """∫₀ˣ cos(x - t) u = x sin x, solved by 2 sin x."""
    return on(
        Span(0.0, 3.0),
        lambda u, x: 0.0,
        fr.Integral(past, lambda u, x, t: jnp.cos(x[0] - t[0]) * u(t)),
        lambda x: -x[0] * jnp.sin(x[0]),
        lambda x: 2 * jnp.sin(x[0]),
    )


def fredholm_first_kind() -> fr.Equation:
    """∫₀¹ e^(xt) u = (e^(x+1) - 1)/(x + 1), solved by e^t."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: 0.0,
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: -jnp.exp(x[0] * t[0]) * u(t)),
        lambda x: (jnp.exp(x[0] + 1) - 1) / (x[0] + 1),
        lambda x: jnp.exp(x[0]),
    )


def abel_first_kind() -> fr.Equation:
    """∫₀ˣ u/√(x - t) = (4/3) x^(3/2), solved by x."""
    return on(
        Span(0.0, 1.0),
        None,
        fr.Integral(past, lambda u, x, t: u(t) / jnp.sqrt(x[0] - t[0])),
        lambda x: 4 / 3 * x[0] ** 1.5,
        lambda x: x[0],
    )


def abel_second_kind() -> fr.Equation:
    """u + ∫₀ˣ u/√(x - t) = 1: the solution begins like a root."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(past, lambda u, x, t: -u(t) / jnp.sqrt(x[0] - t[0])),
        1.0,
        lambda x: jnp.exp(PI * x[0]) * jax.scipy.special.erfc(jnp.sqrt(PI * x[0])),
    )


def logarithm() -> fr.Equation:
    """u(x) - ∫ log|x - t| u(t) dt on [-1, 1], solved by x."""

    def integral(x: Any) -> Any:
        return 0.5 * (x**2 - 1) * (jnp.log1p(x) - jnp.log1p(-x)) - x

    return on(
        Span(-1.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(Span(-1.0, 1.0), lambda u, x, t: jnp.log(jnp.abs(x[0] - t[0])) * u(t)),
        lambda x: x[0] - integral(x[0]),
        lambda x: x[0],
    )


def long_oscillation() -> fr.Equation:
    """u' = -∫₀ˣ u on [0, 100]."""
    return on(Span(0.0, 100.0), lambda u, x: D(u, x), fr.Integral(past, lambda u, x, t: -u(t)), 0.0, lambda x: jnp.cos(x[0]), starts(1.0))


def long_fast_oscillation() -> fr.Equation:
    """u' = -9∫₀ˣ u on [0, 100]: 48 waves."""
    return on(
        Span(0.0, 100.0), lambda u, x: D(u, x), fr.Integral(past, lambda u, x, t: -9 * u(t)), 0.0, lambda x: jnp.cos(3 * x[0]), starts(1.0)
    )


def long_relaxation() -> fr.Equation:
    """u' = -u + ½∫₀ˣ e^(-2(x-t)) u on [0, 100]: two rates."""
    a, b = np.roots([1, 3, 1.5])

    def exact(x: Any) -> Any:
        return ((a + 2) * jnp.exp(a * x[0]) - (b + 2) * jnp.exp(b * x[0])) / (a - b)

    return on(
        Span(0.0, 100.0),
        lambda u, x: D(u, x) + u(x),
        fr.Integral(past, lambda u, x, t: 0.5 * jnp.exp(-2 * (x[0] - t[0])) * u(t)),
        0.0,
        exact,
        starts(1.0),
    )


def long_logistic() -> fr.Equation:
    """A logistic growth with u' = u(1 - u) + ∫₀ᵗ e^(s-t) (u(s) - v(s)) ds for its solution v, on [0, 40]."""

    def logistic(x: Any) -> Any:
        return jax.nn.sigmoid(x[0] - 5.0)

    return on(
        Span(0.0, 40.0),
        lambda u, x: D(u, x) - u(x) * (1 - u(x)),
        fr.Integral(past, lambda u, x, s: jnp.exp(s[0] - x[0]) * (u(s) - logistic(s))),
        0.0,
        logistic,
        starts(float(special.expit(-5.0))),
    )


def nonlinear_volterra() -> fr.Equation:
    """u = e^x - (e^(2x) - 1)/2 + ∫₀ˣ u²."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(past, lambda u, x, t: u(t) ** 2),
        lambda x: jnp.exp(x[0]) - 0.5 * (jnp.exp(2 * x[0]) - 1),
        lambda x: jnp.exp(x[0]),
    )


def population() -> fr.Equation:
    """Volterra's population u' = 10u - 10u² - 10u∫₀ᵗ u with u(0) = 0.1, scaled: κ = 0.1; u(t) = u₀ exp((1/κ)∫(1 - u - ∫u))."""
    from scipy.integrate import solve_ivp

    def rate(_: float, v: Any) -> Any:  # v = (u, ∫u)
        return [10 * v[0] * (1 - v[0] - v[1]), v[0]]

    grid = 0.5 * (1 - np.cos(PI * (np.arange(121) + 0.5) / 121))
    values = solve_ivp(rate, (0, 1), [0.1, 0.0], "DOP853", np.sort(grid), rtol=1e-13, atol=1e-15).y[0]
    series = np.polynomial.chebyshev.Chebyshev.fit(np.sort(grid), values, 100, domain=[0, 1]).coef

    def exact(x: Any) -> Any:
        return jnp.sum(jnp.asarray(series) * jnp.cos(jnp.arange(101) * jnp.arccos(jnp.clip(2 * x[0] - 1, -1, 1))))

    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x) - 10 * u(x) + 10 * u(x) ** 2,
        fr.Integral(past, lambda u, x, t: -10 * u(x) * u(t)),
        0.0,
        exact,
        starts(0.1),
    )


def chandrasekhar() -> fr.Equation:
    """H(μ) = 1 + ½ω μ H(μ) ∫₀¹ H(ν)/(μ + ν) dν with ω = 0.5, from its closed form."""
    theta, weights = np.polynomial.legendre.leggauss(400)
    angle, weights = jnp.asarray((theta + 1) * PI / 4), jnp.asarray(weights * PI / 4)

    def exact(x: Any) -> Any:
        # ln H = -(1/π) ∫₀^{π/2} ln(1 - ω φ cot φ) μ/(cos²φ + μ² sin²φ) dφ
        inside = jnp.log(1 - 0.5 * angle / jnp.tan(angle))
        return jnp.exp(-jnp.sum(weights * inside * x[0] / (jnp.cos(angle) ** 2 + (x[0] * jnp.sin(angle)) ** 2)) / PI)

    return on(
        Span(0.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: 0.25 * x[0] / (x[0] + t[0]) * u(x) * u(t)),
        1.0,
        exact,
    )


def hammerstein() -> fr.Equation:
    """u = sin πx + (1/5)∫₀¹ cos(πx) sin(πt) u³ dt (Atkinson's survey), which has a closed form."""
    shift = (20 - np.sqrt(391)) / 3
    return on(
        Span(0.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: 0.2 * jnp.cos(PI * x[0]) * jnp.sin(PI * t[0]) * u(t) ** 3),
        lambda x: jnp.sin(PI * x[0]),
        lambda x: jnp.sin(PI * x[0]) + shift * jnp.cos(PI * x[0]),
    )


def volterra_system() -> fr.Equation:
    """A nonlinear system, u = sin x + ½ sin² x - ∫₀ˣ u v and v = cos x - x/2 + sin(2x)/4 + ∫₀ˣ u², solved by sin and cos."""
    return on(
        Span(0.0, 2.0),
        lambda u, x: u(x),
        fr.Integral(past, lambda u, x, t: jnp.stack([-u(t)[0] * u(t)[1], u(t)[0] ** 2])),
        lambda x: jnp.stack([jnp.sin(x[0]) + 0.5 * jnp.sin(x[0]) ** 2, jnp.cos(x[0]) - 0.5 * x[0] + 0.25 * jnp.sin(2 * x[0])]),
        lambda x: jnp.stack([jnp.sin(x[0]), jnp.cos(x[0])]),
        outputs=2,
    )


def second_order() -> fr.Equation:
    """u'' = u + ∫₀¹ x t u - y with two boundary values, solved by e^x."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x, order=2) - u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: x[0] * t[0] * u(t)),
        lambda x: -x[0],
        lambda x: jnp.exp(x[0]),
        [*starts(1.0), *starts(np.e, place=1.0)],
    )


def third_order() -> fr.Equation:
    """u''' = sin x - x - ∫₀^{π/2} x t u' dt, solved by cos x."""
    return on(
        Span(0.0, PI / 2),
        lambda u, x: D(u, x, order=3),
        fr.Integral(Span(0.0, PI / 2), lambda u, x, t: -x[0] * t[0] * D(u, t)),
        lambda x: jnp.sin(x[0]) - x[0],
        lambda x: jnp.cos(x[0]),
        starts(1.0, 0.0, -1.0),
    )


def fourth_order() -> fr.Equation:
    """u'''' = 1 + ∫₀ˣ e^(-t) u² dt with boundary values, solved by e^x."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x, order=4),
        fr.Integral(past, lambda u, x, t: jnp.exp(-t[0]) * u(t) ** 2),
        1.0,
        lambda x: jnp.exp(x[0]),
        [*starts(1.0, 1.0), *starts(np.e, np.e, place=1.0)],
    )


def pantograph() -> fr.Equation:
    """u' = ½e^(x/2) u(x/2) + ½u + ∫₀^{x/2} u - (e^(x/2) - 1), solved by e^x."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: D(u, x) - 0.5 * jnp.exp(x[0] / 2) * u(x / 2) - 0.5 * u(x),
        fr.Integral(lambda x: Span(0.0, x[0] / 2), lambda u, x, t: u(t)),
        lambda x: 1 - jnp.exp(x[0] / 2),
        lambda x: jnp.exp(x[0]),
        starts(1.0),
    )


def steps_of_delay(x: Any) -> Any:
    """The solution of u' = -u(x - 1) with u = 1 before 0, by the method of steps."""
    terms = [(-1.0) ** k * jnp.maximum(x - (k - 1), 0.0) ** k / special.factorial(k) for k in range(1, 8)]
    return 1 + sum(terms)


def delay() -> fr.Equation:
    """u' = -u(x - 1) on [0, 4] with u = 1 before 0: a kink at every whole x."""
    return on(
        Span(0.0, 4.0),
        lambda u, x: D(u, x) + jnp.where(x[0] < 1, 1.0, u(jnp.maximum(x - 1, 0.0))),
        (),
        0.0,
        lambda x: steps_of_delay(x[0]),
        starts(1.0),
    )


def distributed_delay() -> fr.Equation:
    """u' = y - ∫ u from x - 1 to x, with the history cos 2x before 0 and cos 2x as its solution."""
    w = 2.0

    def exact(x: Any) -> Any:
        return jnp.cos(w * x[0])

    return on(
        Span(0.0, 5.0),
        lambda u, x: D(u, x),
        fr.Integral(lambda x: Span(x[0] - 1, x[0]), lambda u, x, t: -jnp.where(t[0] < 0, exact(t), u(jnp.maximum(t, 0.0)))),
        lambda x: -w * jnp.sin(w * x[0]) + (jnp.sin(w * x[0]) - jnp.sin(w * (x[0] - 1))) / w,
        exact,
        starts(1.0),
    )


def half_line_exponential() -> fr.Equation:
    """u' + u = ∫₀^∞ e^(-x-t) u dt - ½e^(-x) on the half-line, solved by e^(-x)."""
    return on(
        fr.Exponential(),
        lambda u, x: D(u, x) + u(x),
        fr.Integral(fr.HalfLine(0.0), lambda u, x, t: jnp.exp(-x[0] - t[0]) * u(t)),
        lambda x: -0.5 * jnp.exp(-x[0]),
        lambda x: jnp.exp(-x[0]),
        starts(1.0),
    )


def half_line_of_an_interval() -> fr.Equation:
    """u - ½∫₀^∞ e^(-xt) u dt on [0, 10], solved by x e^(-x)."""
    return on(
        Span(0.0, 10.0),
        lambda u, x: u(x),
        fr.Integral(fr.HalfLine(0.0), lambda u, x, t: jnp.exp(-x[0] * t[0]) * u(t) / 2),
        lambda x: x[0] * jnp.exp(-x[0]) - 0.5 / (1 + x[0]) ** 2,
        lambda x: x[0] * jnp.exp(-x[0]),
    )


def half_line_algebraic() -> fr.Equation:
    """u - ½∫₀^∞ (1 + x)^-2 (1 + t)^-2 u = (5/6)(1 + x)^-2, solved by (1 + x)^-2."""
    return on(
        Span(0.0, 10.0),
        lambda u, x: u(x),
        fr.Integral(fr.HalfLine(0.0), lambda u, x, t: 0.5 / ((1 + x[0]) * (1 + t[0])) ** 2 * u(t)),
        lambda x: 5 / 6 / (1 + x[0]) ** 2,
        lambda x: 1 / (1 + x[0]) ** 2,
    )


def half_line_slow() -> fr.Equation:
    """∫₀^∞ u/(x + t + 1)² dt on the half-line, u = 1/(1 + x): algebraic decay of the slowest kind."""

    def inside(x: Any) -> Any:  # ∫₀^∞ dt/((1 + t)(x + t + 1)²) = (ln(1 + x) - x/(1 + x))/x²
        small = x < 1e-2
        z = jnp.where(small, 1.0, x)
        series = 0.5 - 2 * x / 3 + 3 * x**2 / 4 - 4 * x**3 / 5 + 5 * x**4 / 6 - 6 * x**5 / 7 + 7 * x**6 / 8
        return jnp.where(small, series, (jnp.log1p(z) - z / (1 + z)) / z**2)

    return on(
        fr.Exponential(),
        lambda u, x: u(x),
        fr.Integral(fr.HalfLine(0.0), lambda u, x, t: 0.5 * u(t) / (x[0] + t[0] + 1) ** 2),
        lambda x: 1 / (1 + x[0]) - 0.5 * inside(x[0]),
        lambda x: 1 / (1 + x[0]),
    )


def gaussian_line() -> fr.Equation:
    """u - ½∫ e^(-(x-t)²) u dt over the line, solved by e^(-x²)."""
    return on(
        fr.Normal(),
        lambda u, x: u(x),
        fr.Integral(fr.Line(), lambda u, x, t: 0.5 * jnp.exp(-((x[0] - t[0]) ** 2)) * u(t)),
        lambda x: jnp.exp(-(x[0] ** 2)) - 0.5 * np.sqrt(PI / 2) * jnp.exp(-(x[0] ** 2) / 2),
        lambda x: jnp.exp(-(x[0] ** 2)),
    )


def heat_with_memory() -> fr.Equation:
    """u_t = u_xx + ∫₀ᵗ e^(s-t) u(s, x) ds + y, points (t, x), solved by e^(-t) sin πx."""
    return on(
        fr.Box((0.0, 0.0), (1.0, 1.0)),
        lambda u, p: D(u, p, 0) - D(u, p, 1, order=2),
        fr.Integral(lambda p: Span(0.0, p[0]), lambda u, p, s: jnp.exp(s[0] - p[0]) * u(jnp.stack([s[0], p[1]]))),
        lambda p: (PI**2 - 1 - p[0]) * jnp.exp(-p[0]) * jnp.sin(PI * p[1]),
        lambda p: jnp.exp(-p[0]) * jnp.sin(PI * p[1]),
        [
            fr.Condition(fr.Product(at(0.0), Span(0.0, 1.0)), lambda p: jnp.sin(PI * p[1])),
            fr.Condition(fr.Product(Span(0.0, 1.0), at(0.0)), 0.0),
            fr.Condition(fr.Product(Span(0.0, 1.0), at(1.0)), 0.0),
        ],
    )


def transport_with_scattering() -> fr.Equation:
    """u_t + u_x = ∫₀¹ x z u(t, z) dz + y, solved by cos(t - 2x)."""

    def moment(t: Any) -> Any:  # ∫₀¹ z cos(t - 2z) dz
        return -0.5 * jnp.sin(t - 2) + 0.25 * (jnp.cos(t - 2) - jnp.cos(t))

    return on(
        fr.Box((0.0, 0.0), (2.0, 1.0)),
        lambda u, p: D(u, p, 0) + D(u, p, 1),
        fr.Integral(Span(0.0, 1.0), lambda u, p, z: p[1] * z[0] * u(jnp.stack([p[0], z[0]]))),
        lambda p: jnp.sin(p[0] - 2 * p[1]) - p[1] * moment(p[0]),
        lambda p: jnp.cos(p[0] - 2 * p[1]),
        [
            fr.Condition(fr.Product(at(0.0), Span(0.0, 1.0)), lambda p: jnp.cos(2 * p[1])),
            fr.Condition(fr.Product(Span(0.0, 2.0), at(0.0)), lambda p: jnp.cos(p[0])),
        ],
    )


def wave_with_memory() -> fr.Equation:
    """u_tt = u_xx - ∫₀ᵗ u(s, x) ds + y, solved by cos 2t sin x."""
    return on(
        fr.Box((0.0, 0.0), (2.0, PI)),
        lambda u, p: D(u, p, 0, order=2) - D(u, p, 1, order=2),
        fr.Integral(lambda p: Span(0.0, p[0]), lambda u, p, s: -u(jnp.stack([s[0], p[1]]))),
        lambda p: (-3 * jnp.cos(2 * p[0]) + 0.5 * jnp.sin(2 * p[0])) * jnp.sin(p[1]),
        lambda p: jnp.cos(2 * p[0]) * jnp.sin(p[1]),
        [
            fr.Condition(fr.Product(at(0.0), Span(0.0, PI)), lambda p: jnp.sin(p[1])),
            fr.Condition(fr.Product(at(0.0), Span(0.0, PI)), 0.0, of=lambda u, p: D(u, p, 0)),
            fr.Condition(fr.Product(Span(0.0, 2.0), at(0.0)), 0.0),
            fr.Condition(fr.Product(Span(0.0, 2.0), at(PI)), 0.0),
        ],
    )


def population_with_age() -> fr.Equation:
    """McKendrick's u_t + u_a = -u, born by u(t, 0) = ∫₀³ b u da: e^(t·r - (1 + r)a) with r = ½ and the b that belongs to it."""
    r = 0.5
    births = (1 + r) / (1 - np.exp(-3 * (1 + r)))

    def exact(p: Any) -> Any:
        return jnp.exp(r * p[0] - (1 + r) * p[1])

    return on(
        fr.Box((0.0, 0.0), (1.0, 3.0)),
        lambda u, p: D(u, p, 0) + D(u, p, 1) + u(p),
        (),
        0.0,
        exact,
        [
            fr.Condition(fr.Product(at(0.0), Span(0.0, 3.0)), exact),
            fr.IntegralCondition(
                fr.Integral(Span(0.0, 3.0), lambda u, t, a: births * u(jnp.stack([t[0], a[0]])) - u(jnp.stack([t[0], 0.0 * a[0]])) / 3),
                0.0,
                at=Span(0.0, 1.0),
            ),
        ],
    )


def volterra_in_two_dimensions() -> fr.Equation:
    """u - ∫₀ˣ∫₀ʸ (x s + cos t) u ds dt, solved by x sin y."""

    def inside(x: Any, y: Any) -> Any:
        return x**4 / 3 * (1 - jnp.cos(y)) + x**2 / 4 * jnp.sin(y) ** 2

    return on(
        fr.Box((0.0, 0.0), (1.0, 2.0)),
        lambda u, p: u(p),
        fr.Integral(lambda p: fr.Box((0.0, 0.0), (p[0], p[1])), lambda u, p, t: (p[0] * t[0] + jnp.cos(t[1])) * u(t)),
        lambda p: p[0] * jnp.sin(p[1]) - inside(p[0], p[1]),
        lambda p: p[0] * jnp.sin(p[1]),
    )


def nonlinear_in_two_dimensions() -> fr.Equation:
    """u = y + ∫₀ˣ∫₀ʸ u² with u = x + y."""
    return on(
        fr.Box((0.0, 0.0), (1.0, 1.0)),
        lambda u, p: u(p),
        fr.Integral(lambda p: fr.Box((0.0, 0.0), (p[0], p[1])), lambda u, p, t: u(t) ** 2),
        lambda p: p[0] + p[1] - (p[0] ** 3 * p[1] + p[0] * p[1] ** 3) / 3 - (p[0] * p[1]) ** 2 / 2,
        lambda p: p[0] + p[1],
    )


def caputo_relaxation() -> fr.Equation:
    """D^½ u = -u with u(0) = 1, as the integral of u'(t)/√(π(x - t)): e^x erfc √x."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(past, lambda u, x, t: -D(u, t) / jnp.sqrt(PI * (x[0] - t[0]))),
        0.0,
        lambda x: jnp.exp(x[0]) * jax.scipy.special.erfc(jnp.sqrt(x[0])),
        starts(1.0),
    )


def caputo_polynomial() -> fr.Equation:
    """D^0.7 u + u = y with u = x² on [0, 2]."""
    gamma = float(special.gamma(2.3))
    return on(
        Span(0.0, 2.0),
        lambda u, x: u(x),
        fr.Integral(past, lambda u, x, t: -((x[0] - t[0]) ** -0.7) * D(u, t) / float(special.gamma(0.3))),
        lambda x: x[0] ** 2 + 2 * x[0] ** 1.3 / gamma,
        lambda x: x[0] ** 2,
        starts(0.0),
    )


def box() -> fr.Equation:
    """u - ∫ over the unit cube of (x₁t₁ + x₂t₂t₃) u, solved by e^(x₁) + x₂x₃."""
    e = np.e
    # ∫ t₁ u = 1 + 1/8; ∫ t₂t₃ u = (e - 1)/4 + 1/9
    return on(
        fr.Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        lambda u, x: u(x),
        fr.Integral(fr.Box((0.0,) * 3, (1.0,) * 3), lambda u, x, t: (x[0] * t[0] + x[1] * t[1] * t[2]) * u(t)),
        lambda x: jnp.exp(x[0]) + x[1] * x[2] - x[0] * 1.125 - x[1] * ((e - 1) / 4 + 1 / 9),
        lambda x: jnp.exp(x[0]) + x[1] * x[2],
    )


def box_with_laplacian() -> fr.Equation:
    """Δu + ∫u over the unit cube with values on its six faces, solved by sin x₁ + x₂² cos x₃."""

    def exact(x: Any) -> Any:
        return jnp.sin(x[0]) + x[1] ** 2 * jnp.cos(x[2])

    one = Span(0.0, 1.0)
    faces = [fr.Product(*[at(side) if axis == k else one for k in range(3)]) for axis in range(3) for side in (0.0, 1.0)]
    mean = 1 - np.cos(1) + np.sin(1) / 3
    return on(
        fr.Box((0.0,) * 3, (1.0,) * 3),
        fr.laplacian,
        fr.Integral(fr.Box((0.0,) * 3, (1.0,) * 3), lambda u, x, t: -u(t)),
        lambda x: -jnp.sin(x[0]) + 2 * jnp.cos(x[2]) - x[1] ** 2 * jnp.cos(x[2]) + mean,
        exact,
        [fr.Condition(face, exact) for face in faces],
    )


def eigenvalue() -> fr.Equation:
    """u'' + λu = 0 with u = 0 at both ends and ∫u² = 1: λ = 1 on [0, π]."""
    return on(
        Span(0.0, PI),
        lambda u, x: D(u, x, order=2) + u.rate * u(x),
        (),
        0.0,
        lambda x: jnp.sqrt(2 / PI) * jnp.sin(x[0]),
        [
            *starts(0.0),
            *starts(0.0, place=PI),
            fr.IntegralCondition(fr.Integral(Span(0.0, PI), lambda u, x, t: u(t) ** 2), 1.0),
        ],
        unknowns={"rate": 1.3},
    )


def eigenvalue_of_a_kernel() -> fr.Equation:
    """∫₀¹ min(x, t) u(t) dt = μ u(x) with ∫u² = 1: μ = 4/π²."""
    return on(
        Span(0.0, 1.0),
        lambda u, x: u.mu * u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: jnp.minimum(x[0], t[0]) * u(t)),
        0.0,
        lambda x: np.sqrt(2) * jnp.sin(PI / 2 * x[0]),
        [fr.IntegralCondition(fr.Integral(Span(0.0, 1.0), lambda u, x, t: u(t) ** 2), 1.0)],
        unknowns={"mu": 0.5},
    )


def inverse() -> fr.Equation:
    """u' = -κ∫₀ˣ u with κ from twenty exact observations: κ = 4."""
    places = np.linspace(0.1, 2.9, 20)
    return on(
        Span(0.0, 3.0),
        lambda u, x: D(u, x),
        fr.Integral(past, lambda u, x, t: -u.kappa * u(t)),
        0.0,
        lambda x: jnp.cos(2 * x[0]),
        [*starts(1.0), fr.Data(places[:, None], np.cos(2 * places))],
        unknowns={"kappa": 3.0},
    )


def runge() -> fr.Equation:
    """u - ½∫ u over [-1, 1] with the solution 1/(1 + 25x²), which needs a high degree."""
    return on(
        Span(-1.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(Span(-1.0, 1.0), lambda u, x, t: 0.5 * jnp.cos(x[0]) * u(t)),
        lambda x: 1 / (1 + 25 * x[0] ** 2) - 0.2 * np.arctan(5) * jnp.cos(x[0]),
        lambda x: 1 / (1 + 25 * x[0] ** 2),
    )


def layer() -> fr.Equation:
    """εu'' = u - ∫₀¹u + … with a boundary layer of width 0.02: u = e^(-x/0.02) + x."""
    e = 0.02
    mean = e * (1 - np.exp(-1 / e)) + 0.5
    return on(
        Span(0.0, 1.0),
        lambda u, x: e**2 * D(u, x, order=2) - u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: -u(t)),
        lambda x: -x[0] + mean,
        lambda x: jnp.exp(-x[0] / e) + x[0],
        [*starts(1.0), *starts(1 + float(np.exp(-1 / e)), place=1.0)],
    )


def kink() -> fr.Equation:
    """u - ½∫₀¹ x t u with the solution |x - 0.3|, whose data have a kink."""
    inside = float(0.3**3 / 6 + (1 / 3 - 0.15 + 0.3**3 / 6))  # ∫₀¹ t|t - 0.3| dt
    return on(
        Span(0.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: 0.5 * x[0] * t[0] * u(t)),
        lambda x: jnp.abs(x[0] - 0.3) - 0.5 * x[0] * inside,
        lambda x: jnp.abs(x[0] - 0.3),
    )


MORE: dict[str, Callable[[], fr.Equation]] = {
    one.__name__.replace("_", " "): one
    for one in (
        *(volterra_first_kind, fredholm_first_kind, abel_first_kind, abel_second_kind, logarithm),
        *(long_oscillation, long_fast_oscillation, long_relaxation, long_logistic),
        *(nonlinear_volterra, population, chandrasekhar, hammerstein, volterra_system),
        *(second_order, third_order, fourth_order, pantograph, delay, distributed_delay),
        *(half_line_exponential, half_line_of_an_interval, half_line_algebraic, half_line_slow, gaussian_line),
        *(heat_with_memory, transport_with_scattering, wave_with_memory, population_with_age),
        *(volterra_in_two_dimensions, nonlinear_in_two_dimensions, caputo_relaxation, caputo_polynomial),
        *(box, box_with_laplacian, eigenvalue, eigenvalue_of_a_kernel, inverse, runge, layer, kink),
    )
}
EQUATIONS = {**OTHERS, **MORE}


def measured(make: Callable[[], fr.Equation], seeds: int = 1) -> dict[str, Any]:
    """The plain call: errors, seconds and seconds of processor, and what it chose."""
    begin, spent = time.perf_counter(), time.process_time()
    solution = fr.solve(make(), seeds=seeds, progress=False, throw=False)
    clocks = {"seconds": time.perf_counter() - begin, "processor": time.process_time() - spent}
    network = str(solution.settings["network"])
    return {"errors": solution.evaluate()["relative_l2"].tolist(), "network": network.split("(")[0], **clocks}


def main() -> None:
    """Prints a line for each equation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="parts of their names")
    options = parser.parse_args()
    for name, make in EQUATIONS.items():
        if options.only is None or any(part in name for part in options.only):
            found = measured(make)
            print(f"{name:34} {max(found['errors']):8.1e}  {found['network']:10} {found['seconds']:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
