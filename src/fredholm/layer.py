r"""A layer of a network, $h = \sigma(x W + b)$, as three parts that JAX puts together.

    layer      (x, W, b)                ↦ σ(z), σ'(z), … up to an order, with z = x W + b
    tangent    (dx, dW, db; σ'(z), …)   ↦ σ'(z) dz, …, with dz = dx W + x dW + db: linear in what moves
    backward   (h̄, …; σ'(z), …)         ↦ z̄ = h̄ σ'(z) + …, then z̄ Wᵀ, xᵀ z̄ and the sum of z̄ over its rows

A derivative by x is a tangent in which dx alone moves, and the gradient of a loss has a backward for each layer and each tangent. On a CPU
each part is one kernel, which does all of its arithmetic while a few rows are in the first cache. Each is defined by `rows_times` and plain
arithmetic too: for other devices, and for what a kernel does not have.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
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

Which = tuple[bool, bool, bool]  # of x, W and b

_layer, _tangent, _backward = Primitive("layer"), Primitive("layer_tangent"), Primitive("layer_backward")
for _one in (_layer, _tangent, _backward):
    _one.multiple_results = True


def layer(x: Float[Array, "*rows k"], weights: Float[Array, "k m"], biases: Float[Array, "m"], activation: str) -> Float[Array, "*rows m"]:
    """The layer; `activation` is a name of `fredholm.activations`."""
    kind = jnp.result_type(x, weights, biases)
    return _layer.bind(*(jnp.asarray(one, kind) for one in (x, weights, biases)), activation=activation, order=0)[0]


def _by_definition(compute: Callable[..., list[Array]], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Array], list[Array]]:
    """What a primitive is and how it moves, by what it is made of."""
    moving = [jnp.zeros_like(one) if isinstance(by, ad.Zero) else by for one, by in zip(primals, tangents, strict=True)]
    return jax.jvp(compute, tuple(primals), tuple(moving))


def _each(compute: Callable[..., list[Array]], arguments: Sequence[Any], axes: Sequence[int | None]) -> list[Array]:
    """A primitive for each of a batch, by what it is made of."""
    return jax.vmap(compute, in_axes=tuple(axes))(*arguments)


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
        found = _each(partial(_compute_layer, **known), arguments, axes)
    return found, [0] * len(found)


# ---- how it moves: dx, dW and db as far as they are there, then W where dx is and x where dW is, then the derivatives of σ ----


def _apart(arguments: Sequence[Any], moves: Which) -> tuple[list[Any], Any, Any, list[Any]]:
    """(dx, dW, db), W, x and the slopes, with None for what is not there."""
    left = list(arguments)
    moving = [left.pop(0) if yes else None for yes in moves]
    weights, x = (left.pop(0) if yes else None for yes in moves[:2])
    return moving, weights, x, left


def _compute_tangent(*arguments: Any, moves: Which, plain: bool) -> list[Array]:
    (dx, dw, db), weights, x, slopes = _apart(arguments, moves)
    parts = [] if dx is None else [rows_times(dx, weights)]
    parts += [] if dw is None else [rows_times(x, dw)]
    parts += [] if db is None else [jnp.broadcast_to(db, slopes[0].shape)]
    dz = reduce(operator.add, parts)
    return [slope * jnp.broadcast_to(dz, slope.shape) for slope in slopes] + ([dz] if plain else [])


def _compute_tangent_on_cpu(*arguments: Any, moves: Which, plain: bool) -> list[Array]:
    (dx, *_), weights, _, slopes = _apart(arguments, moves)
    if moves != (True, False, False) or len(slopes) != 1 or slopes[0].shape[-1] < WIDTH or not suits(weights.size, *arguments):
        return _compute_tangent(*arguments, moves=moves, plain=plain)
    rows = as_rows(dx)
    made = [jax.ShapeDtypeStruct((len(rows), weights.shape[-1]), dx.dtype)] * (1 + plain)
    return [one.reshape(slopes[0].shape) for one in kernels().call("tangent", made, rows, weights, as_rows(slopes[0]))]


def _tangent_shapes(*arguments: Any, moves: Which, plain: bool) -> list[Any]:
    slopes = _apart(arguments, moves)[-1]
    return [*slopes, *slopes[: int(plain)]]


def _tangent_moves(primals: Sequence[Any], tangents: Sequence[Any], *, moves: Which, plain: bool) -> tuple[list[Array], list[Array]]:
    """A derivative by x, s (y W), moves as the layer does, and with its slope; all else by definition."""
    if moves != (True, False, False) or plain or len(primals) != 3:
        return _by_definition(partial(_compute_tangent, moves=moves, plain=plain), primals, tangents)
    y, weights, slope = primals
    dy, dw, ds = (None if isinstance(one, ad.Zero) else one for one in tangents)
    found, *product = _tangent.bind(*primals, moves=moves, plain=ds is not None)
    parts = [] if ds is None else [ds * product[0]]
    if dy is not None or dw is not None:
        both = [
            *([] if dy is None else [dy]),
            *([] if dw is None else [dw]),
            *([] if dy is None else [weights]),
            *([] if dw is None else [y]),
        ]
        parts += _tangent.bind(*both, slope, moves=(dy is not None, dw is not None, False), plain=False)
    return [found], [reduce(operator.add, parts)]


def _tangent_back(cotangents: Sequence[Any], *arguments: Any, moves: Which, plain: bool) -> list[Any]:
    moving, weights, x, slopes = _apart(arguments, moves)
    is_wanted = [ad.is_undefined_primal(one) for one in arguments]
    pairs = [
        (c, s) for c, s in zip(cotangents, [*slopes, *map(jnp.ones_like, slopes[: int(plain)])], strict=True) if not isinstance(c, ad.Zero)
    ]
    if not pairs:
        return [ad.Zero(one.aval) if yes else None for one, yes in zip(arguments, is_wanted, strict=True)]
    wanted = tuple(one is not None and ad.is_undefined_primal(one) for one in moving)
    fixed = [*([x] if wanted[1] else []), *([weights.T] if wanted[0] else [])]
    _, *found = _backward.bind(*(one for pair in pairs for one in pair), *fixed, wanted=wanted)
    return [found.pop(0) if yes else None for yes in is_wanted]


def _batch_of_tangents(arguments: Sequence[Any], axes: Sequence[int | None], *, moves: Which, plain: bool) -> tuple[list[Array], list[int]]:
    """A batch of all that has rows is more rows."""
    (_, dw, db), weights, _, _ = _apart(range(len(arguments)), moves)
    without_rows = {place for place in (dw, db, weights) if place is not None}
    if all((axis is None) == (place in without_rows) for place, axis in enumerate(axes)):
        rows = [one if axis is None else jnp.moveaxis(one, axis, 0) for one, axis in zip(arguments, axes, strict=True)]
        found = _tangent.bind(*rows, moves=moves, plain=plain)
    else:
        found = _each(partial(_compute_tangent, moves=moves, plain=plain), arguments, axes)
    return found, [0] * len(found)


# ---- the way back: pairs of a cotangent and a slope, then x where dW is wanted, then Wᵀ where dx is ----


def _pairs(arguments: Sequence[Any], wanted: Which) -> tuple[list[Any], Any, Any]:
    left = list(arguments)
    turned = left.pop() if wanted[0] else None
    x = left.pop() if wanted[1] else None
    return left, x, turned


def _compute_backward(*arguments: Any, wanted: Which) -> list[Array]:
    pairs, x, turned = _pairs(arguments, wanted)
    total = reduce(operator.add, (c * s for c, s in zip(pairs[::2], pairs[1::2], strict=True)))
    found = [rows_times(total, turned)] if wanted[0] else []
    found += [columns_times(x, total)] if wanted[1] else []
    return [total, *found, *([jnp.sum(as_rows(total), axis=0)] if wanted[2] else [])]


def _backward_shapes(*arguments: Any, wanted: Which) -> list[Any]:
    (total, *_), x, turned = _pairs(arguments, wanted)
    return [total.update(shape=shape) for shape in _sizes(total.shape, x, turned, wanted)]


def _sizes(shape: tuple[int, ...], x: Any, turned: Any, wanted: Which) -> list[tuple[int, ...]]:
    *rows, width = shape
    of_rows, of_weights = ([(*rows, turned.shape[-1])] if wanted[0] else [], [(x.shape[-1], width)] if wanted[1] else [])
    return [shape, *of_rows, *of_weights, *([(width,)] if wanted[2] else [])]


def _compute_backward_on_cpu(*arguments: Any, wanted: Which) -> list[Array]:
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


def _backward_moves(primals: Sequence[Any], tangents: Sequence[Any], *, wanted: Which) -> tuple[list[Array], list[Array]]:
    return _by_definition(partial(_compute_backward, wanted=wanted), primals, tangents)


def _batch_of_backwards(arguments: Sequence[Any], axes: Sequence[int | None], *, wanted: Which) -> tuple[list[Array], list[int]]:
    found = _each(partial(_compute_backward, wanted=wanted), arguments, axes)
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
