"""Control variates: what has a known integral need not be estimated."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from fredholm.common.checks import Numbers, numbers
from fredholm.domains.base import Place
from fredholm.functions.field import Function

Integrand = Callable[[Function, Place, Any], Array]


def without_first_order(g: Integrand, mean: Numbers | Callable[[Place], Array]) -> Integrand:
    r"""An integrand without its first-order Taylor term in t, whose integral is 0 where m is the mean of t under the measure,

    $$g(u, x, t) - \partial_t g(u, x, m) \cdot (t - m).$$

    The integral stays and the noise becomes that of second order: of jumps, $u(x + t) - u(x)$, a hundredth in many dimensions. It costs
    one derivative along t − m at each node, which is one more pass through the network. Where m is not the mean the integral is another.

    Args:
        g: the integrand g(u, x, t), smooth at t = m.
        mean: m, a point of shape (d,), or a function of x that returns one.

    Returns:
        The new integrand, for `Integral`.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> g = fr.without_first_order(lambda u, x, t: u(x + t) - u(x), (0.1, 0.1))
        >>> integral = fr.Integral(fr.Normal((0.1, 0.1), 0.2), g)

    See also:
        `Integral`, `Normal`, `Jumps`.
    """
    known = None if callable(mean) else numbers("without_first_order mean", mean)
    if not callable(g):
        raise ValueError(f"without_first_order g: got {g!r}; expected a function g(u, x, t).")

    def rest(u: Function, x: Place, t: Array) -> Array:
        m = jnp.asarray(mean(x) if callable(mean) else known, t.dtype)
        if m.shape != t.shape:
            raise ValueError(f"without_first_order mean: got shape {m.shape}; expected {t.shape}, that of t.")
        return g(u, x, t) - jax.jvp(lambda s: g(u, x, s), (m,), (t - m,))[1]

    return rest
