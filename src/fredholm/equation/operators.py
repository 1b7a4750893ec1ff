"""Differential operators at one point: `u` is any function of a point of shape (d,)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from fredholm.functions.field import Evaluated

Function = Callable[[Float[Array, "d"]], Any]


def directional(u: Function, x: Float[Array, "d"], n: Float[Array, "d"], order: int = 1) -> Inexact[Array, "..."]:
    r"""$\partial_n^k u(x) = (n \cdot \nabla)^k u(x)$, in one forward pass whatever d is. With `order=2` it is the second derivative
    $n^\top H n$; its mean over `Directions(d)` is the Laplacian.

    Args:
        u (function): a function of one point.
        x (array): the point, of shape (d,).
        n (array): the direction, of shape (d,).
        order (int): 1, or 2 for the second derivative along n; default: 1.

    Returns:
        The derivative, of the shape of u(x).

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> float(fr.directional(lambda x: x[0] * x[1], jnp.array([2.0, 3.0]), jnp.array([1.0, 0.0])))
        3.0

    See also:
        `derivative`, `Directions`.
    """
    if order < 1:
        raise ValueError(f"directional order: got {order}; expected at least 1.")
    function, direction = u, jnp.asarray(n, jnp.asarray(x).dtype)
    for _ in range(order - 1):
        function = _along(function, direction)
    return _slope(function, x, direction)


def derivative(u: Function, x: Float[Array, "d"], axis: int | tuple[int, ...] = 0, order: int = 1) -> Inexact[Array, "..."]:
    r"""$\partial^k u / \partial x_a^k$, or with a tuple of axes the mixed derivative $\partial^2 u/\partial x_a \partial x_b$.

    `derivative(u, x)` is u'(x) for a function of one number; `derivative(u, x, axis=1)` is the derivative along the second
    coordinate; `derivative(u, x, axis=(0, 1))` is mixed; `order` repeats the whole.

    Args:
        u (function): a function of one point.
        x (array): the point, of shape (d,).
        axis (tuple): the coordinate, or two or more for a mixed derivative; default: 0.
        order (int): how often; default: 1.

    Returns:
        The derivative, of the shape of u(x).

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> float(fr.derivative(lambda x: x[0] ** 3, jnp.array([2.0])))
        12.0

    See also:
        `gradient`, `laplacian`, `directional`.
    """
    point = jnp.asarray(x)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if order < 1:
        raise ValueError(f"derivative order: got {order}; expected at least 1.")
    if any(not -point.shape[0] <= a < point.shape[0] for a in axes):
        raise ValueError(f"derivative axis: got {axis} for a point of {point.shape[0]} coordinates; expected 0 to {point.shape[0] - 1}.")
    function = u
    *inner, last = (jnp.zeros_like(point).at[a].set(1.0) for a in axes * order)
    for direction in inner:
        function = _along(function, direction)
    return _slope(function, x, last)


def _slope(u: Function, x: Float[Array, "d"], direction: Float[Array, "d"]) -> Inexact[Array, "..."]:
    """The derivative along a direction."""
    if isinstance(u, Evaluated):
        return u.slope(x, direction)
    return jax.jvp(u, (jnp.asarray(x),), (direction,))[1]


def _along(u: Function, direction: Float[Array, "d"]) -> Function:
    return lambda x: jax.jvp(u, (x,), (direction,))[1]


def gradient(u: Function, x: Float[Array, "d"]) -> Float[Array, "... d"]:
    r"""$\nabla u(x)$ of shape (d,); of a function with m outputs the Jacobian of shape (m, d).

    Args:
        u (function): a function of one point.
        x (array): the point, of shape (d,).

    Returns:
        An array of shape (d,), or (m, d) for m outputs.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> fr.gradient(lambda x: x[0] * x[1], jnp.array([2.0, 3.0])).tolist()
        [3.0, 2.0]

    See also:
        `derivative`, `hessian`, `divergence`.
    """
    return jax.jacrev(u)(jnp.asarray(x))


def divergence(u: Function, x: Float[Array, "d"]) -> Float[Array, ""]:
    r"""$\nabla \cdot u(x)$ of a field with d outputs.

    Args:
        u (function): a function of one point.
        x (array): the point, of shape (d,).

    Returns:
        A number.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> float(fr.divergence(lambda x: x, jnp.array([2.0, 3.0])))
        2.0

    See also:
        `curl`, `gradient`.
    """
    jacobian = jax.jacfwd(u)(jnp.asarray(x))
    if jacobian.ndim != 2 or jacobian.shape[0] != jacobian.shape[1]:
        raise ValueError(f"divergence: got a Jacobian of shape {jacobian.shape}; expected a field with as many outputs as inputs.")
    return jnp.trace(jacobian)


def curl(u: Function, x: Float[Array, "d"]) -> Float[Array, "3"]:
    r"""$\nabla \times u(x)$ of a field with 3 outputs in 3 dimensions.

    Args:
        u (function): a function of one point.
        x (array): the point, of shape (d,).

    Returns:
        An array of shape (3,).

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> fr.curl(lambda x: jnp.stack([-x[1], x[0], 0.0]), jnp.array([1.0, 2.0, 3.0])).tolist()
        [0.0, -0.0, 2.0]

    See also:
        `divergence`, `gradient`.
    """
    jacobian = jax.jacfwd(u)(jnp.asarray(x))
    if jacobian.shape != (3, 3):
        raise ValueError(f"curl: got a Jacobian of shape {jacobian.shape}; expected (3, 3), a field of 3 outputs and 3 inputs.")
    return jnp.stack([jacobian[2, 1] - jacobian[1, 2], jacobian[0, 2] - jacobian[2, 0], jacobian[1, 0] - jacobian[0, 1]])


def laplacian(u: Function, x: Float[Array, "d"], axes: int | Sequence[int] | None = None) -> Inexact[Array, "..."]:
    r"""$\nabla^2 u(x) = \sum_i \partial^2 u/\partial x_i^2$, forward over forward: the Hessian is never built.

    With `axes` only over these coordinates: `laplacian(u, x, axes=(0, 1))` leaves out the time x[2].

    Args:
        u (function): a function of one point.
        x (array): the point, of shape (d,).
        axes (int or list): the coordinates that count; None: all.

    Returns:
        A number, or (m,) for m outputs.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> float(fr.laplacian(lambda x: x[0] ** 2 + x[1] ** 2, jnp.array([2.0, 3.0])))
        4.0

    See also:
        `derivative`, `hessian`, `Directions`.
    """
    x = jnp.asarray(x)
    chosen = range(x.shape[0]) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    if not chosen or len(set(chosen)) != len(chosen) or any(not -x.shape[0] <= a < x.shape[0] for a in chosen):
        raise ValueError(f"laplacian axes: got {axes}; expected different coordinates of the point, 0 to {x.shape[0] - 1}.")

    def second(direction: Float[Array, "d"]) -> Inexact[Array, "..."]:
        return _along(_along(u, direction), direction)(x)

    return jnp.sum(jax.vmap(second)(jnp.eye(x.shape[0], dtype=x.dtype)[jnp.asarray(chosen)]), axis=0)


def hessian(u: Function, x: Float[Array, "d"]) -> Float[Array, "... d d"]:
    r"""$\partial^2 u/\partial x_i \partial x_j$ of shape (d, d); of a function with m outputs (m, d, d).

    Args:
        u (function): a function of one point.
        x (array): the point, of shape (d,).

    Returns:
        An array of shape (d, d), or (m, d, d).

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> fr.hessian(lambda x: x[0] * x[1], jnp.array([2.0, 3.0])).tolist()
        [[0.0, 1.0], [1.0, 0.0]]

    See also:
        `gradient`, `laplacian`.
    """
    return jax.jacfwd(jax.jacrev(u))(jnp.asarray(x))
