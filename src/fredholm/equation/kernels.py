"""Integrals that have a name: fractional derivatives, memory and convolution, as an equation's `integrals` take them."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import real
from fredholm.domains.abel import Abel
from fredholm.domains.base import AbstractDomain, Place
from fredholm.equation.operators import derivative
from fredholm.equation.residual import Integral
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule

Times = float | Callable[..., Any]  # a factor: a number, or a function of u and x
Quantity = Callable[..., Any]  # B[u](x)


def _value(u: Function, x: Array) -> Array:
    return u(x)


def caputo(
    order: float,
    times: Times = 1.0,
    *,
    start: float = 0.0,
    axis: int = 0,
    of: Quantity = _value,
    rule: AbstractRule | None = None,
) -> Integral:
    r"""Caputo's derivative of fractional order α in the coordinate τ = x[axis],

    $$c\,D^\alpha u(x) = \frac{c}{\Gamma(n - \alpha)} \int_a^{\tau} (\tau - t)^{n - \alpha - 1}\,\partial_\tau^n u(x)\big|_{\tau = t}\,dt,
    \qquad n = \lceil\alpha\rceil,$$

    with the singular kernel as the measure. It is one of the `integrals`, which f − Σ∫ − y subtracts: the example is $D^{1/2} u = -u$.

    Args:
        order (float): α > 0, no whole number.
        times (float or function): the factor c, or a function of u and x; default: 1.0.
        start (float): a, where the time begins; default: 0.0.
        axis (int): the coordinate of time; default: 0.
        of (function): what is differentiated, B[u](x); default: u.
        rule (rule): the nodes of this integral; default: those of the solve.

    Returns:
        An `Integral` for `Equation(integrals=...)`.

    Raises:
        ValueError: where the order is a whole number or not positive; the message says what to do.

    Examples:
        >>> import fredholm as fr
        >>> problem = fr.Equation(
        ...     domain=fr.Interval(0.0, 1.0),
        ...     f=lambda u, x: -u(x),
        ...     integrals=fr.caputo(0.5),
        ...     conditions=fr.Condition(fr.Point(0.0), 1.0),
        ... )
        >>> len(problem.integrals)
        1

    See also:
        `memory`, `Abel`, `derivative`, `Integral`.
    """
    order = real("caputo order", order, low=0.0)
    whole = math.ceil(order)
    if order == whole:
        raise ValueError(f"caputo order: got {order:g}, a whole number; expected a fraction. Use derivative(u, x, order={whole}) in f.")
    factor = 1 / math.gamma(whole - order)

    def kernel(u: Function, x: Array, point: Array) -> Any:
        return factor * _factor(times, u, x) * derivative(lambda p: of(u, p), point, axis, whole)

    return _past(kernel, whole - order - 1, start, axis, rule)


def memory(
    kernel: Callable[..., Any] | None = None,
    times: Times = 1.0,
    *,
    power: float = 0.0,
    start: float = 0.0,
    axis: int = 0,
    of: Quantity = _value,
    rule: AbstractRule | None = None,
) -> Integral:
    r"""What is remembered of the past: $c \int_a^{\tau} (\tau - t)^p\,k(\tau - t)\,u(x)\big|_{\tau = t}\,dt$ with τ = x[axis].

    `fr.memory(lambda s: jnp.exp(-s))` fades, and `fr.memory(power=-0.5)` is Abel's integral, with the singularity as the measure.

    Args:
        kernel (function): k, of the time s = τ − t that has passed, a number; default: 1.
        times (float or function): the factor c, or a function of u and x; default: 1.0.
        power (float): p > −1, a singularity of the kernel at s = 0; default: 0.0.
        start (float): a, where the memory begins; default: 0.0.
        axis (int): the coordinate of time; default: 0.
        of (function): what is remembered, B[u](x); default: u.
        rule (rule): the nodes of this integral; default: those of the solve.

    Returns:
        An `Integral` for `Equation(integrals=...)`.

    Examples:
        >>> import fredholm as fr
        >>> import jax.numpy as jnp
        >>> fading = fr.memory(lambda s: jnp.exp(-s), times=2.0)
        >>> type(fading).__name__
        'Integral'

    See also:
        `caputo`, `convolution`, `Abel`, `Integral`.
    """

    def weighted(u: Function, x: Array, point: Array) -> Any:
        known = 1.0 if kernel is None else kernel(x[axis] - point[axis])
        return _factor(times, u, x) * known * of(u, point)

    return _past(weighted, power, start, axis, rule)


def convolution(
    kernel: Callable[..., Any],
    over: AbstractDomain | Callable[..., Any],
    times: Times = 1.0,
    *,
    of: Quantity = _value,
    rule: AbstractRule | None = None,
) -> Integral:
    r"""$c \int k(x - t)\,u(t)\,d\mu(t)$, an integral over a kernel of the difference.

    Args:
        kernel (function): k, of the difference s = x − t, of shape (d,).
        over (domain): μ, or a function of x that returns a domain.
        times (float or function): the factor c, or a function of u and x; default: 1.0.
        of (function): what is convolved, B[u](t); default: u.
        rule (rule): the nodes of this integral; default: those of the solve.

    Returns:
        An `Integral` for `Equation(integrals=...)`.

    Examples:
        >>> import fredholm as fr
        >>> import jax.numpy as jnp
        >>> blurred = fr.convolution(lambda s: jnp.exp(-(s[0] ** 2)), over=fr.Interval(-1.0, 1.0))
        >>> type(blurred).__name__
        'Integral'

    See also:
        `memory`, `Integral`.
    """
    return Integral(over, lambda u, x, t: _factor(times, u, x) * kernel(x - t) * of(u, t), rule)


def _past(g: Callable[..., Any], power: float, start: float, axis: int, rule: AbstractRule | None) -> Integral:
    """An integral over the time before x, with a power of the time that has passed as its measure."""

    def at(x: Array, t: Float[Array, "1"]) -> Array:
        return x.at[axis].set(t[0])

    return Integral(lambda x: Abel(start, x[axis], power), lambda u, x, t: g(u, x, at(x, t)), rule, at=at)


def _factor(times: Times, u: Function, x: Place) -> Any:
    return times(u, x) if callable(times) else jnp.asarray(times, float)
