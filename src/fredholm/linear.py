"""A layer's product x W that stays one product of two matrices under every batch.

JAX turns `x @ W` under nested `vmap`s, as for many x with many nodes each, into a contraction over both batches when it differentiates by
W, and XLA transposes the whole batch for it. Here all batches of x are the rows of one matrix. Whatever JAX can do with `x @ W` (jvp,
grad, vmap, in any order) it can do with this.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float

from fredholm.apart import kept_apart

_product = Primitive("rows_times_matrix")


def rows_times(x: Float[Array, "*rows k"], weights: Float[Array, "k m"]) -> Float[Array, "*rows m"]:
    """x W."""
    kind = jnp.result_type(x, weights)
    return _product.bind(jnp.asarray(x, kind), jnp.asarray(weights, kind))


def _compute(x: Any, weights: Any) -> Array:
    return (x.reshape(-1, x.shape[-1]) @ weights).reshape(*x.shape[:-1], weights.shape[-1])


def _batched(arguments: tuple[Any, Any], axes: tuple[int | None, int | None]) -> tuple[Array, int]:
    """A batch of x is more rows; a batch of weights is a product for each of them."""
    x, weights = arguments
    if axes[1] is None:
        return _product.bind(jnp.moveaxis(x, axes[0] or 0, 0), weights), 0
    return jax.vmap(_compute, in_axes=axes)(x, weights), 0


def _gradient_by_rows(cotangent: Any, x: Any, weights: Any) -> Array:
    return _product.bind(cotangent, weights.T)


@kept_apart
def _columns_times(x: Any, cotangent: Any) -> Array:
    """The transpose of x times the cotangent. XLA multiplies columns with columns at two thirds of the speed of rows with columns, so the
    narrower of the two is transposed before."""
    x, cotangent = (one.reshape(-1, one.shape[-1]) for one in (x, cotangent))
    if cotangent.shape[-1] < x.shape[-1]:
        return jax.lax.optimization_barrier(jax.lax.optimization_barrier(cotangent.T) @ x).T
    return jax.lax.optimization_barrier(x.T) @ cotangent


def _gradient_by_weights(cotangent: Any, x: Any, weights: Any) -> Array:
    return _columns_times(x, cotangent)


_product.def_impl(jax.jit(_compute))
_product.def_abstract_eval(lambda x, weights: x.update(shape=(*x.shape[:-1], weights.shape[-1])))
mlir.register_lowering(_product, mlir.lower_fun(_compute, multiple_results=False))
batching.primitive_batchers[_product] = _batched
ad.defbilinear(_product, _gradient_by_rows, _gradient_by_weights)
