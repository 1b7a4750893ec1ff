r"""A layer of a network, $h = \sigma(x W + b)$, as three parts that JAX puts together.

    layer      (x, W, b)                ↦ σ(z), σ'(z), … up to an order, with z = x W + b
    tangent    (dx, dW, db; σ'(z), …)   ↦ σ'(z) dz, …, with dz = dx W + x dW + db: linear in what moves
    backward   (h̄, …; σ'(z), …)         ↦ z̄ = h̄ σ'(z) + …, then z̄ Wᵀ, xᵀ z̄ and the sum of z̄ over its rows

A derivative by x is a tangent in which dx alone moves, and the gradient of a loss has a backward for each layer and each tangent. On a CPU
each part is one kernel, which does all of its arithmetic while a few rows are in the first cache. Each is defined by `rows_times` and plain
arithmetic too: for other devices, and for what a kernel does not have.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching
from jaxtyping import Array, Float

from fredholm.activations import with_derivatives
from fredholm.kernels import kernels
from fredholm.linear import as_rows, columns_times, define, rows_times, suits

OF_KERNELS = ("silu", "tanh")  # the activations that the kernels have,
ORDER = 2  # with derivatives up to this order,
WIDTH = 16  # for layers of at least so many units: a vector of the largest processors

_layer, _tangent, _backward = Primitive("layer"), Primitive("layer_tangent"), Primitive("layer_backward")
for _one in (_layer, _tangent, _backward):
    _one.multiple_results = True


def layer(x: Float[Array, "*rows k"], weights: Float[Array, "k m"], biases: Float[Array, "m"], activation: str) -> Float[Array, "*rows m"]:
    """The layer; `activation` is a name of `fredholm.activations`."""
    kind = jnp.result_type(x, weights, biases)
    return _layer.bind(*(jnp.asarray(one, kind) for one in (x, weights, biases)), activation=activation, order=0)[0]


# ---- the layer ----


def _compute_layer(x: Any, weights: Any, biases: Any, *, activation: str, order: int) -> list[Array]:
    z = rows_times(x, weights)
    return with_derivatives(activation, z + jnp.broadcast_to(biases, z.shape), order)


def _compute_layer_on_cpu(x: Any, weights: Any, biases: Any, *, activation: str, order: int) -> list[Array]:
    if activation not in OF_KERNELS or order > ORDER or biases.size < WIDTH or not suits(weights.size, x, weights, biases):
        return _compute_layer(x, weights, biases, activation=activation, order=order)
    rows = as_rows(x)
    made = [jax.ShapeDtypeStruct((len(rows), biases.size), x.dtype)] * (order + 1)
    found = kernels().call(f"{activation}_layer", made, rows, weights, biases)
    return [one.reshape(*x.shape[:-1], biases.size) for one in found]


def _layer_shapes(x: Any, weights: Any, biases: Any, *, activation: str, order: int) -> list[Any]:
    return [x.update(shape=(*x.shape[:-1], biases.shape[0]))] * (order + 1)


def _layer_moves(primals: Sequence[Any], tangents: Sequence[Any], *, activation: str, order: int) -> tuple[list[Array], list[Array]]:
    x, weights, _ = primals
    *found, last = _layer.bind(*primals, activation=activation, order=order + 1)
    moves = tuple(not isinstance(one, ad.Zero) for one in tangents)
    moving = [one for one, yes in zip(tangents, moves, strict=True) if yes]
    fixed = ([weights] if moves[0] else []) + ([x] if moves[1] else [])
    return found, _tangent.bind(*moving, *fixed, *found[1:], last, moves=moves, plain=False)


def _batch_of_layers(arguments: Sequence[Any], axes: Sequence[int | None], **known: Any) -> tuple[list[Array], list[int]]:
    """A batch of x is more rows; a batch of weights or biases is a layer for each of them."""
    x, weights, biases = arguments
    if axes[1] is None and axes[2] is None:
        found = _layer.bind(jnp.moveaxis(x, axes[0] or 0, 0), weights, biases, **known)
    else:
        found = jax.vmap(lambda *own: _compute_layer(*own, **known), in_axes=tuple(axes))(*arguments)
    return found, [0] * len(found)


# ---- how it moves: dx, dW and db as far as they are there, then W where dx is and x where dW is, then the derivatives of σ ----


def _apart(arguments: Sequence[Any], moves: tuple[bool, bool, bool]) -> tuple[list[Any], Any, Any, list[Any]]:
    """(dx, dW, db), W, x and the slopes, with None for what is not there."""
    left = list(arguments)
    moving = [left.pop(0) if yes else None for yes in moves]
    weights, x = (left.pop(0) if yes else None for yes in moves[:2])
    return moving, weights, x, left


def _compute_tangent(*arguments: Any, moves: tuple[bool, bool, bool], plain: bool) -> list[Array]:
    (dx, dw, db), weights, x, slopes = _apart(arguments, moves)
    parts = [] if dx is None else [rows_times(dx, weights)]
    parts += [] if dw is None else [rows_times(x, dw)]
    parts += [] if db is None else [jnp.broadcast_to(db, slopes[0].shape)]
    dz = sum(parts[1:], parts[0])
    return [slope * jnp.broadcast_to(dz, slope.shape) for slope in slopes] + ([dz] if plain else [])


def _compute_tangent_on_cpu(*arguments: Any, moves: tuple[bool, bool, bool], plain: bool) -> list[Array]:
    (dx, *_), weights, _, slopes = _apart(arguments, moves)
    if moves != (True, False, False) or len(slopes) != 1 or slopes[0].shape[-1] < WIDTH or not suits(weights.size, *arguments):
        return _compute_tangent(*arguments, moves=moves, plain=plain)
    rows = as_rows(dx)
    made = [jax.ShapeDtypeStruct((len(rows), weights.shape[-1]), dx.dtype)] * (1 + plain)
    return [one.reshape(slopes[0].shape) for one in kernels().call("tangent", made, rows, weights, as_rows(slopes[0]))]


def _tangent_shapes(*arguments: Any, moves: tuple[bool, bool, bool], plain: bool) -> list[Any]:
    slopes = _apart(arguments, moves)[-1]
    return [*slopes, *slopes[: int(plain)]]


def _tangent_moves(
    primals: Sequence[Any], tangents: Sequence[Any], *, moves: tuple[bool, bool, bool], plain: bool
) -> tuple[list[Array], list[Array]]:
    if moves != (True, False, False) or plain or len(primals) != 3:
        moving = [jnp.zeros_like(one) if isinstance(by, ad.Zero) else by for one, by in zip(primals, tangents, strict=True)]
        return jax.jvp(lambda *given: _compute_tangent(*given, moves=moves, plain=plain), tuple(primals), tuple(moving))
    dx, weights, slope = primals
    ddx, dweights, dslope = (None if isinstance(one, ad.Zero) else one for one in tangents)
    parts = []
    if dslope is None:
        (found,) = _tangent.bind(*primals, moves=moves, plain=False)
    else:
        found, dz = _tangent.bind(*primals, moves=moves, plain=True)
        parts.append(dslope * dz)
    if ddx is not None or dweights is not None:
        moving = [one for one in (ddx, dweights) if one is not None]
        fixed = ([weights] if ddx is not None else []) + ([dx] if dweights is not None else [])
        parts += _tangent.bind(*moving, *fixed, slope, moves=(ddx is not None, dweights is not None, False), plain=False)
    return [found], [sum(parts[1:], parts[0])]


def _tangent_back(cotangents: Sequence[Any], *arguments: Any, moves: tuple[bool, bool, bool], plain: bool) -> list[Any]:
    moving, weights, x, slopes = _apart(arguments, moves)
    wanted = tuple(one is not None and ad.is_undefined_primal(one) for one in moving)
    assert wanted == moves, "a tangent is linear in all that moves, or is not transposed"
    pairs = [(c, s) for c, s in zip(cotangents, [*slopes, None], strict=False) if not isinstance(c, ad.Zero)]
    if not pairs:
        return [ad.Zero(one.aval) if ad.is_undefined_primal(one) else None for one in arguments]
    pairs = [(c, jnp.ones_like(c) if s is None else s) for c, s in pairs]
    fixed = ([x] if moves[1] else []) + ([weights.T] if moves[0] else [])
    found = _backward.bind(*(one for pair in pairs for one in pair), *fixed, wanted=wanted)[1:]
    return [*found, *[None] * (len(arguments) - len(found))]


def _batch_of_tangents(
    arguments: Sequence[Any], axes: Sequence[int | None], *, moves: tuple[bool, bool, bool], plain: bool
) -> tuple[list[Array], list[int]]:
    (_, dw, db), weights, _, _ = _apart(axes, moves)
    is_row = _apart(list(range(len(arguments))), moves)
    places = {place for place in (is_row[0][1], is_row[0][2], is_row[1]) if place is not None}
    is_shared = all(axis is None for axis in (dw, db, weights))
    if is_shared and all(axis is not None for place, axis in enumerate(axes) if place not in places):
        own = [one if place in places else jnp.moveaxis(one, axes[place], 0) for place, one in enumerate(arguments)]
        found = _tangent.bind(*own, moves=moves, plain=plain)
    else:
        found = jax.vmap(lambda *own: _compute_tangent(*own, moves=moves, plain=plain), in_axes=tuple(axes))(*arguments)
    return found, [0] * len(found)


# ---- the way back: pairs of a cotangent and a slope, then x where dW is wanted, then Wᵀ where dx is ----


def _pairs(arguments: Sequence[Any], wanted: tuple[bool, bool, bool]) -> tuple[list[Any], Any, Any]:
    left = list(arguments)
    turned = left.pop() if wanted[0] else None
    x = left.pop() if wanted[1] else None
    return left, x, turned


def _compute_backward(*arguments: Any, wanted: tuple[bool, bool, bool]) -> list[Array]:
    pairs, x, turned = _pairs(arguments, wanted)
    products = [c * s for c, s in zip(pairs[::2], pairs[1::2], strict=True)]
    total = sum(products[1:], products[0])
    found = [rows_times(total, turned)] if wanted[0] else []
    found += [columns_times(x, total)] if wanted[1] else []
    return [total, *found, *([jnp.sum(as_rows(total), axis=0)] if wanted[2] else [])]


def _backward_shapes(*arguments: Any, wanted: tuple[bool, bool, bool]) -> list[Any]:
    (total, *_), x, turned = _pairs(arguments, wanted)
    return [total.update(shape=shape) for shape in _sizes(total.shape, x, turned, wanted)]


def _sizes(shape: tuple[int, ...], x: Any, turned: Any, wanted: tuple[bool, bool, bool]) -> list[tuple[int, ...]]:
    *rows, width = shape
    of_rows, of_weights = ([(*rows, turned.shape[-1])] if wanted[0] else [], [(x.shape[-1], width)] if wanted[1] else [])
    return [shape, *of_rows, *of_weights, *([(width,)] if wanted[2] else [])]


def _compute_backward_on_cpu(*arguments: Any, wanted: tuple[bool, bool, bool]) -> list[Array]:
    pairs, x, turned = _pairs(arguments, wanted)
    shape, fixed = pairs[0].shape, [one for one in (x, turned) if one is not None]
    count = shape[-1] * max((one.shape[-1] for one in fixed), default=1)
    if len(pairs) > 4 or shape[-1] < WIDTH or not suits(count, *arguments):
        return _compute_backward(*arguments, wanted=wanted)
    rows = as_rows(pairs[0]).shape
    made = [jax.ShapeDtypeStruct(size, pairs[0].dtype) for size in _sizes(rows, x, turned, wanted)]
    bits = np.int64(sum(2**place for place, yes in enumerate(wanted) if yes))
    found = kernels().call("backward", made, *map(as_rows, (*pairs, *fixed)), wanted=bits)
    return [one.reshape(size) for one, size in zip(found, _sizes(shape, x, turned, wanted), strict=True)]


def _backward_moves(primals: Sequence[Any], tangents: Sequence[Any], *, wanted: tuple[bool, bool, bool]) -> tuple[list[Array], list[Array]]:
    moving = [jnp.zeros_like(one) if isinstance(by, ad.Zero) else by for one, by in zip(primals, tangents, strict=True)]
    return jax.jvp(lambda *given: _compute_backward(*given, wanted=wanted), tuple(primals), tuple(moving))


def _batch_of_backwards(
    arguments: Sequence[Any], axes: Sequence[int | None], *, wanted: tuple[bool, bool, bool]
) -> tuple[list[Array], list[int]]:
    found = jax.vmap(lambda *own: _compute_backward(*own, wanted=wanted), in_axes=tuple(axes))(*arguments)
    return found, [0] * len(found)


define(_layer, _layer_shapes, _compute_layer, _compute_layer_on_cpu, ("activation", "order"))
ad.primitive_jvps[_layer] = _layer_moves
batching.primitive_batchers[_layer] = _batch_of_layers

define(_tangent, _tangent_shapes, _compute_tangent, _compute_tangent_on_cpu, ("moves", "plain"))
ad.primitive_jvps[_tangent] = _tangent_moves
ad.primitive_transposes[_tangent] = _tangent_back
batching.primitive_batchers[_tangent] = _batch_of_tangents

define(_backward, _backward_shapes, _compute_backward, _compute_backward_on_cpu, ("wanted",))
ad.primitive_jvps[_backward] = _backward_moves
batching.primitive_batchers[_backward] = _batch_of_backwards
