"""Our products and layers are the formulas they say, of every shape, in every way that JAX has; and nothing needs a compiler."""

import os
import shutil
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm import linear
from fredholm.activations import ACTIVATIONS, with_derivatives
from fredholm.kernels import Kernels, kernels
from fredholm.layer import _layer, layer
from fredholm.linear import columns_times, rows_times
from fredholm.networks import Field
from table import METHODS

HAS_COMPILER = sys.platform.startswith("linux") and shutil.which("c++") is not None
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C++ compiler here")
# Rows around the six of a tile, columns around the 16 of a vector and the 64 of a tile, and both sides of what has a way of its own.
SIZES = [(1, 1, 1), (5, 2, 3), (6, 3, 16), (7, 64, 1), (13, 64, 3), (8, 1, 17), (25, 40, 50), (400, 64, 64), (9, 130, 100), (11, 300, 20)]


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape, np.float32)


def called(function, *arguments):
    """The value of a fresh program, and its text."""
    program = jax.jit(lambda *given: function(*given)).lower(*arguments)
    return program.compile()(*arguments), program.as_text()


def activated(activation, order, z):
    """The layer's activation at z itself, with derivatives, and the text of the program."""
    one, zero = jnp.eye(z.shape[-1]), jnp.zeros(z.shape[-1])
    return called(lambda z: _layer.bind(z, one, zero, activation=activation, order=order), z)


@needs_compiler
def test_there_are_kernels_where_there_is_a_compiler():
    assert kernels().are_ready, kernels().about


@needs_compiler
@pytest.mark.parametrize(("rows", "length", "columns"), SIZES)
def test_products_of_every_shape(rows, length, columns):
    x, w, y = numbers(rows, length), numbers(length, columns, seed=1), numbers(rows, columns, seed=2)
    for function, one, other, expected in (
        (rows_times, x, w, x.astype(float) @ w),
        (columns_times, x, y, x.T.astype(float) @ y),
    ):
        found, text = called(function, one, other)
        assert f"fredholm_{function.__name__}" in text
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-6 * max(rows, length))


def test_what_the_kernels_are_not_for_is_left_to_the_compiler():
    wide, (x, w) = 1024, (numbers(3, 4), numbers(4, 5))
    assert "fredholm_" not in called(rows_times, numbers(2, wide), numbers(wide, wide))[1]
    assert "fredholm_" not in called(lambda x, w: rows_times(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)), x, w)[1]
    for activation, width in (("gelu", 64), ("tanh", 15)):
        found, text = called(lambda x, w, b, a=activation: layer(x, w, b, a), x, numbers(4, width), numbers(width))
        assert "_layer" not in text
        assert np.allclose(found, ACTIVATIONS[activation](x @ numbers(4, width) + numbers(width)[None]), rtol=1e-4, atol=1e-6)


@needs_compiler
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("activation", ["silu", "tanh"])
def test_activations_and_their_derivatives_are_exact_to_rounding(activation, order):
    z = np.concatenate([np.linspace(-100, 100, 4001), np.linspace(-1e-3, 1e-3, 199), [0.0, 1e-30, -1e-30, 1e30, -1e30]]).astype(np.float32)
    z = np.pad(z, (0, -len(z) % 17)).reshape(-1, 17)  # a row is no whole number of vectors
    found, text = activated(activation, order, z)
    assert f"fredholm_{activation}_layer" in text
    with jax.enable_x64(True):
        exact = [np.asarray(one) for one in with_derivatives(activation, jnp.asarray(z, jnp.float64), order)]
    for one, other in zip(found, exact, strict=True):
        assert np.allclose(one, other, rtol=2e-6, atol=1e-6)  # eight roundings of 1


@needs_compiler
@pytest.mark.parametrize("activation", ["silu", "tanh"])
def test_what_is_no_number_stays_none(activation):
    z = np.zeros((3, 16), np.float32)
    z[1, 5] = np.nan
    for found in activated(activation, 2, z)[0]:
        assert np.isnan(found[1]).all()  # nan times 0 of the product
        assert np.isfinite(found[np.array([0, 2])]).all()


# ---- in every way that JAX has ----

X, DX = (jnp.asarray(numbers(4, 5, 3, seed=seed)) for seed in (2, 3))
W, B, V = (jnp.asarray(numbers(2, *shape, seed=4)) for shape in ((3, 20), (20,), (20, 20)))


def plain(x, w, b, activation):
    return ACTIVATIONS[activation](jnp.matmul(x, w) + jnp.broadcast_to(b, (*x.shape[:-1], b.shape[-1])))


def network(layer, activation, x, w, b, v):
    return jnp.sum(layer(layer(x, w, b, activation), v, b, activation) ** 2)


def slope(f, x, dx):
    return jax.jvp(f, (x,), (dx,))[1]


WAYS = {
    "batches": lambda u: jax.vmap(jax.vmap(u, (0, None, None, None)), (1, None, None, None))(X, W[0], B[0], V[0]),
    "weights of each seed": lambda u: jax.vmap(u)(X[:2, 0], W, B, V),
    "a derivative": lambda u: jax.vmap(lambda x, dx: slope(lambda x: u(x, W[0], B[0], V[0]), x, dx))(X[0], DX[0]),
    "one direction for all": lambda u: jax.vmap(lambda x: slope(lambda x: u(x, W[0], B[0], V[0]), x, DX[0, 0]))(X[0]),
    "the gradient by the weights": lambda u: jax.grad(lambda p: jnp.sum(jax.vmap(u, (0, None, None, None))(X[0], *p) ** 2))(
        (W[0], B[0], V[0])
    ),
    "the gradient by each of them alone": lambda u: [
        jax.grad(lambda *p: jnp.sum(jax.vmap(u, (0, None, None, None))(X[0], *p)), k)(W[0], B[0], V[0]) for k in range(3)
    ],
    "the gradient of derivatives": lambda u: jax.grad(
        lambda p: jnp.sum(jax.vmap(lambda x, dx: slope(lambda x: u(x, *p), x, dx) ** 2 + u(x, *p))(X[0], DX[0]))
    )((W[0], B[0], V[0])),
    "the gradient of a derivative, for each seed": lambda u: jax.vmap(
        jax.grad(lambda p: jnp.sum(jax.vmap(lambda x, dx: slope(lambda x: u(x, *p), x, dx))(X[0], DX[0])))
    )((W, B, V)),
    "a derivative of the gradient": lambda u: slope(
        jax.grad(lambda w: jnp.sum(jax.vmap(lambda x: u(x, w, B[0], V[0]))(X[0]))), jnp.asarray(W[0]), jnp.ones_like(W[0])
    ),
    "the gradient of a second derivative": lambda u: jax.grad(
        lambda p: jnp.sum(jax.vmap(lambda x, dx: slope(lambda x: slope(lambda x: u(x, *p), x, dx), x, dx))(X[0], DX[0]))
    )((W[0], B[0], V[0])),
    "all directions, forward and back": lambda u: jax.vmap(
        lambda x: (jax.jacfwd(u)(x, W[0], B[0], V[0]), jax.jacrev(u)(x, W[0], B[0], V[0]), jax.hessian(u)(x, W[0], B[0], V[0]))
    )(X[0]),
}


@pytest.mark.parametrize("activation", ["silu", "tanh", "sin"])
@pytest.mark.parametrize("way", WAYS)
def test_a_layer_is_its_formula_in_every_way_that_jax_has(way, activation):
    found, expected = (jax.jit(lambda f=f: WAYS[way](lambda *given: network(f, activation, *given)))() for f in (layer, plain))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4 * np.abs(b).max()), found, expected)


# ---- in a training ----


EQUATIONS = {
    "poisson": (fr.problems.Poisson(3), "silu"),
    "maxwell": (fr.problems.Maxwell(), "tanh"),
    "smoluchowski": (fr.problems.SmoluchowskiConstant(), "silu"),
}


def loss_and_gradient(equation, method, activation):
    def field(seed):
        network = fr.MLP(20, 2, activation).build(equation.inputs, equation.outputs, jax.random.key(seed))
        return Field(network, {}, equation.inputs, equation.outputs)

    def compute(u, other):
        return method.loss_and_gradient(u, method.init(other), equation, equation.rules(fr.MonteCarlo(4)), 12, jax.random.key(3), 12)

    return eqx.filter(eqx.filter_jit(compute)(field(1), field(2)), eqx.is_array)


@needs_compiler
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_a_step_is_the_same_without_kernels(equation, method, monkeypatch):
    equation, activation = EQUATIONS[equation]
    ours = loss_and_gradient(equation, METHODS[method], activation)
    monkeypatch.setattr(linear, "kernels", lambda: Kernels(False, "turned off by the test"))
    theirs = loss_and_gradient(equation, METHODS[method], activation)
    largest = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(theirs))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6 * largest), ours, theirs)


# ---- the compiler ----

LOOK = "from fredholm.kernels import kernels; k = kernels(); print(k.are_ready, k.about)"


def looked(tmp_path, **environment):
    full = {**os.environ, "FREDHOLM_CACHE": str(tmp_path), **environment}
    return subprocess.run([sys.executable, "-c", LOOK], env=full, capture_output=True, text=True, check=True).stdout


@needs_compiler
def test_the_library_is_made_once_and_nothing_else_is_left(tmp_path):
    assert looked(tmp_path).startswith("True")
    (made,) = (path for path in tmp_path.rglob("*") if path.is_file())
    before = made.stat().st_mtime_ns
    assert looked(tmp_path).startswith("True")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [made]
    assert made.stat().st_mtime_ns == before


def test_without_a_compiler_everything_is_as_before_and_the_reason_is_told(tmp_path):
    assert "there is no C++ compiler" in looked(tmp_path, CXX="/nowhere/c++")
    assert "FREDHOLM_KERNELS is off" in looked(tmp_path, FREDHOLM_KERNELS="off")
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no such flag' >&2\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    told = looked(tmp_path, CXX=str(broken))
    assert told.startswith("False")
    assert "no such flag" in told


@needs_compiler
def test_a_library_that_was_cut_short_is_made_again(tmp_path):
    looked(tmp_path)
    (made,) = (path for path in tmp_path.rglob("*") if path.is_file())
    made.write_bytes(made.read_bytes()[:100])
    assert looked(tmp_path).startswith("True")
