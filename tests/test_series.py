"""Series: a smooth equation is solved to rounding error, and the steps on the way obey their laws."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.domains.graded import Graded
from fredholm.equation.accurate import accurate, sample_of
from fredholm.functions.axes import Pieces, Ray, Segment, WholeLine, harmonics, polynomials
from fredholm.functions.field import Field
from fredholm.functions.frame import Frame
from fredholm.rules.resolved import graded_levels
from fredholm.solving.first_kind import regularized
from fredholm.solving.newton import Decomposed, solve_rows
from fredholm.solving.pieces import cuts_of, order_of

Span = fr.Interval
T = fr.Integral(Span(0.0, 1.0), lambda u, x, t: u(t))
BACK = lambda x: Span(0.0, x[0])  # noqa: E731 - the past of x


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


# The functions


def test_polynomials_are_those_of_chebyshev():
    s = np.linspace(-1, 1, 7)
    expected = np.cos(np.arange(41) * np.arccos(s)[:, None])
    np.testing.assert_allclose(jax.vmap(lambda one: polynomials(one, 40))(jnp.asarray(s)), expected, atol=1e-13)
    assert polynomials(jnp.asarray(0.3), 0).shape == (1,)


def test_harmonics_are_a_constant_and_pairs():
    found = harmonics(jnp.asarray(0.4), 2)
    np.testing.assert_allclose(found, [1, np.cos(0.4), np.sin(0.4), np.cos(0.8), np.sin(0.8)], atol=1e-15)


@pytest.mark.parametrize(
    "axis",
    [Segment(-2.0, 3.0), Segment(1.0, 5.0, 8.0), Ray(1.0, 2.0), Ray(1.0, 2.0, 2, False), WholeLine(0.5, 3.0)],
    ids=lambda axis: type(axis).__name__,
)
def test_the_variable_of_an_axis_is_the_inverse_of_its_coordinate(axis):
    s = np.linspace(-0.99, 0.99, 23)
    x = jnp.asarray(axis.coordinate(s))
    np.testing.assert_allclose(jax.vmap(axis.variable)(x), s, atol=1e-9)
    assert jnp.all(jnp.isfinite(jax.vmap(jax.grad(axis.variable))(x)))


def test_a_frame_gives_the_kind_of_axis():
    frame = Frame((0.0, 0.0, -3.0, -3.0), (1.0, 3.0, 3.0, 0.0), (False, False, True, True), (False, True, True, False), *[(0.0,) * 4] * 2)
    assert [type(axis).__name__ for axis in fr.Chebyshev().fitted(frame, 1).axes] == ["Segment", "Ray", "WholeLine", "Ray"]


# Nodes

SINGULAR = {
    "a kink at x": (lambda x, t: jnp.abs(x - t), lambda x: x**2 / 2 + (1 - x) ** 2 / 2, 1e-13),
    "a logarithm at x": (lambda x, t: jnp.log(jnp.abs(x - t)), lambda x: x * jnp.log(x) + (1 - x) * jnp.log(1 - x) - 1, 1e-12),
    "a root at x": (lambda x, t: jnp.abs(x - t) ** -0.5, lambda x: 2 * jnp.sqrt(x) + 2 * jnp.sqrt(1 - x), 1e-6),
    "a root at an end": (lambda x, t: t**-0.5 + 0 * x, lambda x: 2.0 + 0 * x, 1e-6),
}


def constant(equation, value=1.0):
    series = fr.Chebyshev(0, (Segment(0.0, 1.0),) * equation.inputs).build(equation.inputs, 1, jax.random.key(0))
    return Field(eqx.tree_at(lambda one: one.coefficients, series, jnp.full((1, 1), value)), {}, equation.inputs, 1)


@pytest.mark.parametrize("name", SINGULAR)
def test_nodes_are_found_for_singular_kernels(name):
    kernel, truth, tolerance = SINGULAR[name]
    equation = fr.Equation(Span(0.0, 1.0), lambda u, x: u(x), fr.Integral(Span(0.0, 1.0), lambda u, x, t: kernel(x[0], t[0]) * u(t)))
    found = accurate(equation, [constant(equation)], sample_of(equation, jax.random.key(0)))
    x = jnp.array([0.37])
    total = sum(jnp.sum(jax.vmap(lambda t, w: w * kernel(x[0], t[0]))(n.points, n.weights)) for n in drawn(found.integrals, x))
    np.testing.assert_allclose(total, truth(x[0]), rtol=tolerance)


def drawn(integrals, x):
    return [one.rule.nodes(one.measure(x), jax.random.key(0)) for one in integrals]


@pytest.mark.parametrize(
    ("g", "value"), [(lambda t: jnp.exp(-t), 1.0), (lambda t: 1 / (1 + t) ** 2, 1.0), (lambda t: t * jnp.exp(-3 * t), 1 / 9)]
)
def test_half_lines_have_nodes_for_every_decay(g, value):
    rule = graded_levels(Graded(fr.HalfLine(0.0)))[-1]
    nodes = rule.nodes(Graded(fr.HalfLine(0.0)), jax.random.key(0))
    np.testing.assert_allclose(jnp.sum(nodes.weights * jax.vmap(lambda t: g(t[0]))(nodes.points)), value, rtol=1e-12)


def test_the_line_has_nodes_too():
    rule = graded_levels(Graded(fr.Line()))[-1]
    nodes = rule.nodes(Graded(fr.Line(1.0, 2.0)), jax.random.key(0))
    np.testing.assert_allclose(jnp.sum(nodes.weights / (1 + (nodes.points[:, 0] - 1) ** 2)), np.pi, rtol=1e-12)


def test_pieces_leave_the_measure_unchanged():
    for pieces in (1, 2, 3):
        measure = Graded(fr.Product(Span(0.0, 2.0), Span(-1.0, 1.0)), pieces)
        nodes = fr.Even(60).nodes(measure, jax.random.key(0))
        np.testing.assert_allclose(jnp.sum(nodes.weights * nodes.points[:, 0] ** 2 * nodes.points[:, 1] ** 2), 8 / 3 * 2 / 3, rtol=1e-10)


# Newton's method


def test_an_affine_system_is_solved_in_one_step_to_the_least_squares_solution():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(40, 12)), rng.normal(size=40)
    found = solve_rows(lambda theta: (a @ theta - b, a), np.zeros(12))
    assert found.is_affine
    np.testing.assert_allclose(found.parameters, np.linalg.lstsq(a, b, rcond=None)[0], rtol=1e-10)


def test_a_root_that_newton_would_overshoot_is_found_and_never_left_behind():
    found = solve_rows(lambda theta: (np.arctan(theta), np.diag(1 / (1 + theta**2))), np.array([3.0]))
    assert abs(found.parameters[0]) < 1e-10
    assert not found.is_affine


def test_a_direction_that_the_rows_do_not_determine_is_dropped():
    a = np.array([[1.0, 1.0], [2.0, 2.0]])
    found = solve_rows(lambda theta: (a @ theta - np.array([1.0, 2.0]), a), np.zeros(2))
    assert found.dropped == 1
    np.testing.assert_allclose(found.parameters, [0.5, 0.5])


def test_the_damped_step_solves_the_damped_system():
    rng = np.random.default_rng(1)
    a, r = rng.normal(size=(9, 4)), rng.normal(size=9)
    known = Decomposed.of(a)
    scaled = a / known.columns
    expected = -np.linalg.solve(scaled.T @ scaled + 0.1 * known.values[0] ** 2 * np.eye(4), scaled.T @ r) / known.columns
    np.testing.assert_allclose(known.step(r, 0.1), expected, rtol=1e-10)


# Kinks and jumps


def delay():
    """u' = -u(x - 1) with u = 1 before 0: polynomials between whole x, by the method of steps."""
    terms = lambda x: [(-1.0) ** k * jnp.maximum(x - (k - 1), 0.0) ** k / math.factorial(k) for k in range(1, 5)]  # noqa: E731
    return fr.Equation(
        Span(0.0, 3.0),
        lambda u, x: fr.derivative(u, x) + jnp.where(x[0] < 1, 1.0, u(jnp.maximum(x - 1, 0.0))),
        conditions=[fr.Condition(fr.Point(0.0), 1.0)],
        exact=lambda x: 1 + sum(terms(x[0])),
    )


def test_the_functions_of_pieces_are_polynomials_in_one_piece_and_zero_outside():
    axis = Pieces((0.0, 1.0, 3.0))
    values = jax.vmap(lambda x: axis.functions(x, 2))(jnp.array([0.25, 1.0, 2.5]))
    np.testing.assert_allclose(values, [[1, -0.5, -0.5, 0, 0, 0], [0, 0, 0, 1, -1, 1], [0, 0, 0, 1, 0.5, -0.5]], atol=1e-15)
    assert axis.orders(2).tolist() == [0, 1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match="growing numbers"):
        Pieces((0.0, 0.0, 1.0))


def test_cuts_are_found_where_delays_carry_a_jump():
    equation = delay()
    np.testing.assert_allclose(cuts_of(equation, 0.0, 3.0), [1.0, 2.0], atol=1e-12)
    assert order_of(equation, 0.0, 3.0) == 1
    smooth = fr.Equation(Span(0.0, 3.0), lambda u, x: fr.derivative(u, x, order=3) + jnp.sin(x[0]) * u(x))
    assert cuts_of(smooth, 0.0, 3.0) == ()
    assert order_of(smooth, 0.0, 3.0) == 3


def test_a_series_in_pieces_solves_a_delay_equation_to_rounding_error():
    solution = fr.solve(delay(), fr.Standard(), network=fr.Chebyshev(6, (Pieces((0.0, 1.0, 2.0, 3.0)),)), seeds=1)
    assert solution.evaluate()["relative_l2"][0] < 1e-13


# Equations of the first kind


def analytic(rng, size=12, rate=2.5):
    """Rows of ill-conditioned data, the coefficients behind them, and their noise."""
    orders = np.arange(size)
    turn, other = (np.linalg.qr(rng.normal(size=(n, size)))[0] for n in (30, size))
    matrix = turn @ np.diag(10.0 ** -np.arange(size)) @ other.T
    return matrix, rng.normal(size=size) * rate**-orders, orders


def test_the_error_of_regularised_coefficients_is_their_spread():
    rng, inside = np.random.default_rng(0), []
    for _ in range(60):
        matrix, truth, orders = analytic(rng)
        noise = np.full(30, 1e-6)
        found = regularized(-matrix @ truth + noise * rng.normal(size=30), matrix, noise, orders)
        inside.append(np.linalg.norm(found.parameters - truth) / np.linalg.norm(found.spread))
    assert np.mean(np.array(inside) < 2) > 0.9
    assert np.median(inside) > 0.2


def test_an_equation_of_the_first_kind_is_regularised_at_the_noise_of_y_and_says_so():
    noise = np.random.default_rng(1).normal(size=400)
    equation = fr.Equation(
        Span(0.0, 1.0),
        None,
        fr.Integral(Span(0.0, 1.0), lambda u, x, t: jnp.exp(x[0] * t[0]) * u(t)),
        y=lambda x: (jnp.exp(x[0] + 1) - 1) / (x[0] + 1) + 1e-3 * jnp.asarray(noise, float)[jnp.asarray(399 * x[0], int)],
        sigma=1e-3,
        exact=lambda x: jnp.exp(x[0]),
    )
    solution = fr.solve(equation, fr.Standard(), network=fr.Chebyshev(12), seeds=1)
    error, estimate = solution.evaluate()["relative_l2"][0], float(solution.history["estimated_error"][0, -1])
    assert error < estimate < 1.0
    assert "it is regularised" in str(solution)


# Whole equations: one short solve of each kind

EXACT = {
    "second order in a box": (
        fr.Equation(
            Span(0.0, 20.0),
            lambda u, x: fr.derivative(u, x, order=2) + u(x),
            conditions=[fr.Condition(fr.Point(0.0), 1.0), fr.Condition(fr.Point(0.0), 0.0, of=fr.derivative)],
            exact=lambda x: jnp.cos(x[0]),
        ),
        1e-10,
    ),
    "a half-line": (
        fr.Equation(
            fr.Exponential(),
            lambda u, x: u(x),
            fr.Integral(fr.HalfLine(0.0), lambda u, x, t: 0.5 * jnp.exp(-x[0] - t[0]) * u(t)),
            y=lambda x: jnp.exp(-2 * x[0]),
            exact=lambda x: jnp.exp(-2 * x[0]) + jnp.exp(-x[0]) / 4.5,
        ),
        1e-9,
    ),
    "nonlinear, and far from zero": (
        fr.Equation(Span(0.0, 1.0), lambda u, x: u(x) ** 2, T, y=lambda x: (1 + x[0]) ** 2 - 1.5, exact=lambda x: 1 + x[0]),
        1e-10,
    ),
    "an unknown scalar": (
        fr.Equation(
            Span(0.0, 1.0),
            lambda u, x: fr.derivative(u, x) + u.kappa * u(x),
            conditions=[fr.Condition(fr.Point(0.0), 1.0), fr.Condition(fr.Point(1.0), np.exp(-1.3))],
            unknowns={"kappa": 0.5},
            exact=lambda x: jnp.exp(-1.3 * x[0]),
        ),
        1e-10,
    ),
    "an eigenvalue": (
        fr.Equation(
            Span(0.0, np.pi),
            lambda u, x: fr.derivative(u, x, order=2) + u.rate * u(x),
            conditions=[
                fr.Condition(fr.Point(0.0), 0.0),
                fr.Condition(fr.Point(np.pi), 0.0),
                fr.IntegralCondition(fr.Integral(Span(0.0, np.pi), lambda u, x, t: u(t) ** 2), np.pi / 2),
            ],
            unknowns={"rate": 3.4},
            exact=lambda x: jnp.sin(2 * x[0]),
        ),
        1e-10,
    ),
    "a system": (
        fr.Equation(
            Span(0.0, 3.0),
            lambda u, x: fr.derivative(u, x),
            fr.Integral(BACK, lambda u, x, t: jnp.stack([-u(t)[0], -u(t)[1]])),
            outputs=2,
            conditions=[fr.Condition(fr.Point(0.0), lambda x: jnp.array([1.0, 2.0]))],
            exact=lambda x: jnp.cos(x[0]) * jnp.array([1.0, 2.0]),
        ),
        1e-10,
    ),
    "two dimensions with moving limits": (
        fr.Equation(
            fr.Box((0.0, 0.0), (1.0, 1.0)),
            lambda u, x: u(x),
            fr.Integral(lambda p: fr.Box((0.0, 0.0), (p[0], p[1])), lambda u, x, t: u(t)),
            y=lambda x: jnp.exp(x[0] + x[1]) - (jnp.exp(x[0]) - 1) * (jnp.exp(x[1]) - 1),
            exact=lambda x: jnp.exp(x[0] + x[1]),
        ),
        1e-9,
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_series_solves(name):
    equation, tolerance = EXACT[name]
    solution = fr.solve(equation, fr.Standard(), network=fr.Chebyshev(), seeds=2)
    assert solution.evaluate()["relative_l2"].max() < tolerance
    assert solution.status[0].status is fr.Status.FINISHED
    np.testing.assert_array_equal(solution.members([[0.5] * equation.inputs])[0], solution.members([[0.5] * equation.inputs])[1])


def test_clustered_axes_resolve_a_root_at_the_end():
    """Abel's equation, whose solution begins like a root, with the kernel as it is written."""
    equation = fr.Equation(
        Span(0.0, 1.0),
        lambda u, x: u(x),
        fr.Integral(BACK, lambda u, x, t: -((x[0] - t[0]) ** -0.5) * u(t)),
        y=1.0,
        exact=lambda x: jnp.exp(jnp.pi * x[0]) * jax.scipy.special.erfc(jnp.sqrt(jnp.pi * x[0])),
    )
    clustered, plain = (
        fr.solve(equation, fr.Standard(), network=fr.Chebyshev(64, (Segment(0.0, 1.0, clustering),)), seeds=1) for clustering in (9.0, 0.0)
    )
    assert clustered.evaluate()["relative_l2"][0] < 1e-5
    assert plain.evaluate()["relative_l2"][0] > 1e-5


def test_the_method_makes_no_difference_where_nodes_are_exact():
    problem = fr.problems.Volterra2()
    one, other = (fr.solve(problem, method, network=fr.Chebyshev(12), seeds=1) for method in (fr.Standard(), fr.DelayedTarget()))
    np.testing.assert_allclose(one([[0.3]]), other([[0.3]]), rtol=1e-14)


def test_a_solution_in_the_class_has_a_residual_at_rounding():
    equation = fr.Equation(Span(0.0, 1.0), lambda u, x: 2 * u(x), T, y=lambda x: 2 * x[0] ** 3 - 0.25, exact=lambda x: x[0] ** 3)
    solution = fr.solve(equation, fr.Standard(), network=fr.Chebyshev(3), seeds=1)
    assert float(solution.history["relative_residual"][0, -1]) < 1e-14
    assert solution.evaluate()["relative_l2"][0] < 1e-14


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_change_nothing(scale):
    """x and u in other units: the same relative error."""
    equation = fr.Equation(
        Span(0.0, scale),
        lambda u, x: scale * fr.derivative(u, x) + u(x),
        conditions=[fr.Condition(fr.Point(0.0), 1 / scale)],
        exact=lambda x: jnp.exp(-x[0] / scale) / scale,
    )
    assert fr.solve(equation, fr.Standard(), network=fr.Chebyshev(), seeds=1).evaluate()["relative_l2"][0] < 1e-12


def test_a_solve_is_saved_loaded_and_resumed(tmp_path):
    problem = fr.problems.Volterra2()
    solution = fr.solve(problem, network=fr.Chebyshev(), seeds=2, out=tmp_path / "run")
    x = [[0.2], [0.9]]
    np.testing.assert_array_equal(fr.load(tmp_path / "run")(x), solution(x))
    np.testing.assert_array_equal(fr.resume(tmp_path / "run")(x), solution(x))


@pytest.mark.pilot
def test_auto_takes_a_series_where_it_is_exact_and_a_network_where_it_is_not():
    smooth = fr.Equation(Span(0.0, 1.0), lambda u, x: fr.derivative(u, x) + u(x), conditions=[fr.Condition(fr.Point(0.0), 1.0)])
    solution = fr.solve(smooth, seeds=1)
    assert "Chebyshev" in solution.settings["network"]
    assert "Chebyshev of degree 24" in str(solution)


def test_bad_input_says_what_to_do():
    with pytest.raises(ValueError, match="coefficients; expected at most"):
        fr.Chebyshev(200).build(3, 1, jax.random.key(0))
    with pytest.raises(ValueError, match="one for each"):
        fr.Chebyshev((3, 4), (Segment(0.0, 1.0),))
    with pytest.raises(ValueError, match="has no end"):
        fr.Fourier(3).fitted(Frame((0.0,), (1.0,), (False,), (True,), (0.0,), (1.0,)), 1)


def test_the_estimated_error_contains_the_true_one():
    """At several resolutions of several equations."""
    equations = [fr.problems.Volterra2(), fr.problems.FredholmSecondKind(), EXACT["a half-line"][0]]
    inside = []
    for equation in equations:
        for degree in (7, 13):
            solution = fr.solve(equation, fr.Standard(), network=fr.Chebyshev(degree), seeds=1)
            inside.append(solution.evaluate()["relative_l2"][0] / float(solution.history["estimated_error"][0, -1]))
    assert max(inside) < 1
    assert np.median(inside) > 0.01
