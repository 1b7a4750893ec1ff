"""A solution is a function: of points as they come, and of JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

TINY = {"network": fr.MLP(8, 1, "tanh"), "steps": 1e1, "batch": 4, "seeds": 2, "rule": fr.MonteCarlo(1), "progress": False}


@functools.cache
def solved_line():
    return fr.solve(fr.problems.Volterra(), fr.DelayedTarget(), **TINY)


@functools.cache
def solved_plane():
    box = fr.Box((0.0, 0.0), (1.0, 1.0))
    problem = fr.Equation(box, lambda u, x: u(x) * u.kappa, y=lambda x: jnp.stack([x[0], x[1]]), outputs=2, unknowns={"kappa": 1.0})
    return fr.solve(problem, fr.Standard(), **TINY)


@pytest.fixture
def line():
    return solved_line()


@pytest.fixture
def plane():
    return solved_plane()


def test_points_as_they_come(line, plane):
    assert line.steps == 10, "1e1 steps are ten"
    numbers = np.linspace(0.0, 5.0, 7)
    np.testing.assert_array_equal(line(numbers), line(numbers[:, None]))
    assert isinstance(line(numbers), np.ndarray)
    assert line(0.5) == line([0.5]) == line([[0.5]])[0]
    assert line.members(numbers).shape == (2, 7)
    assert plane([0.1, 0.2]).shape == (2,)
    np.testing.assert_array_equal(plane([[0.1, 0.2]])[0], plane([0.1, 0.2]))
    with pytest.raises(ValueError, match=r"expected \(n, 2\).*\(2,\) for one"):
        plane([0.1, 0.2, 0.3])


def test_a_solution_goes_through_grad_jit_and_vmap(line, plane):
    x, points = jnp.array([0.7]), jnp.linspace(0.0, 5.0, 4)[:, None]
    slope = line(x, of=fr.derivative)
    np.testing.assert_allclose(jax.grad(line)(x)[0], slope, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(line)(0.7), slope, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(line)(points), line(points), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(line)(points), line(points), rtol=1e-5)
    assert jax.jacobian(plane)(jnp.array([0.1, 0.2])).shape == (2, 2)
    assert jax.vmap(plane)(jnp.zeros((3, 2))).shape == (3, 2)


def test_the_mean_as_a_function_of_one_point(line, plane):
    x = jnp.array([0.7])
    assert line.u(x).shape == ()
    np.testing.assert_allclose(line.u(x), line(x), rtol=1e-5)
    np.testing.assert_allclose(fr.derivative(line.u, x, order=2), fr.hessian(line.u, x)[0, 0], rtol=1e-4)
    assert plane.u(jnp.zeros(2)).shape == (2,)
    assert plane.u.kappa == pytest.approx(plane.unknowns["kappa"].mean(), rel=1e-6)


def test_in_double_precision_too():
    solution = fr.solve(fr.problems.Volterra(), fr.DelayedTarget(), precision="float64", **TINY)
    assert solution([0.5]).dtype == np.float64
    np.testing.assert_allclose(jax.grad(solution)(0.5), solution([0.5], of=fr.derivative), rtol=1e-4)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(solution)(jnp.array([0.5])), solution([0.5]), rtol=1e-12)
