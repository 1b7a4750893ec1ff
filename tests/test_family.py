"""A family of equations is its members: the residual at a parameter is that of the single equation, and so is the solution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.domains import Record
from fredholm.equation.estimate import draw, estimated
from fredholm.functions.field import Field

KAPPA = 1.3
KAPPAS = {"kappa": fr.Interval(0.5, 2.0)}


def decay(kappa=None):
    """u' + κ u = ∫ exp(κ (t − x)) u(t) dt over the past, as a family or for one κ."""

    def of(u):
        return u.kappa if kappa is None else kappa

    own = {"parameters": KAPPAS} if kappa is None else {}
    value, y, exact = (lambda x, kappa: 2 * kappa), (lambda x, kappa: kappa + x[0]), (lambda x, kappa: kappa * x[0])
    one = (lambda function: function) if kappa is None else (lambda function: lambda x: function(x, kappa))
    return fr.Equation(
        domain=fr.Interval(0.0, 2.0),
        f=lambda u, x: fr.derivative(u, x) + of(u) * u(x),
        integrals=fr.Integral(one(lambda x, kappa: fr.Interval(0.0, kappa * x[0])), lambda u, x, t: jnp.exp(of(u) * (t[0] - x[0])) * u(t)),
        y=one(y),
        conditions=[
            fr.Condition(fr.Point(0.0), one(value), of=lambda u, x: of(u) * fr.derivative(u, x), weight=3.0),
            fr.Periodic(fr.Point(0.0), fr.Point(2.0), order=1, axis=-1, of=lambda u, x: of(u) + u(x) ** 2),
            fr.IntegralCondition(fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: of(u) * u(t) ** 2), 1.0),
            fr.IntegralCondition(fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t) * x[0]), one(exact), at=fr.Interval(0.0, 1.0)),
        ],
        exact=one(exact),
        **own,
    )


def flux(kappa=None):
    """A weak form, whose x is a disc."""

    def of(u):
        return u.kappa if kappa is None else kappa

    own = {"parameters": KAPPAS} if kappa is None else {"inputs": 2}
    y = (lambda x, kappa: kappa * x.radius**2) if kappa is None else (lambda x: kappa * x.radius**2)
    return fr.Equation(
        domain=fr.Law(center=fr.Box((-1.0, -1.0), (1.0, 1.0)), radius=fr.Interval(0.1, 1.0)),
        integrals=fr.Integral(
            lambda x: fr.Sphere(x.center, x.radius), lambda u, x, t: of(u) * fr.directional(u, t, (t - x.center) / x.radius)
        ),
        y=y,
        **{"inputs": 2, **own},
    )


@pytest.mark.parametrize("make", [decay, flux])
def test_the_residual_at_a_parameter_is_that_of_the_single_equation(make, key):
    family, single = make(), make(KAPPA)
    d, q = single.inputs, 1
    assert family.inputs == d + q

    def member(x):
        return jnp.sin(jnp.sum(x) * KAPPA)

    u_of_family = Field(lambda p: jnp.sin(jnp.sum(p[:d]) * p[d]), {}, d + q, 1)
    u = Field(member, {}, d, 1)
    again = family.at(kappa=KAPPA)
    parts = zip(*((one, *one.conditions) for one in (single, family, again)), strict=True)
    for own, residual, fixed in parts:
        x, rule = own.law.sample(key), [fr.Gauss(3)] * len(own.integrals)
        expected = estimated(own, u, x, draw(own, rule, x, key))
        with_kappa = beside(x, own)
        found = estimated(residual, u_of_family, with_kappa, draw(residual, rule, with_kappa, key))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(estimated(fixed, u, x, draw(fixed, rule, x, key)), expected, rtol=1e-5, atol=1e-5)
    if family.exact is not None:
        np.testing.assert_allclose(family.truth(jnp.array([[0.5, KAPPA]])), single.truth(jnp.array([[0.5]])))


def beside(x, residual):
    """The point of a family: x with the parameter after it, at both faces of a periodic condition."""
    if isinstance(residual, fr.Periodic):
        return Record(at=jnp.append(x, KAPPA), to=jnp.array([2.0, KAPPA]))
    return jnp.append(x, KAPPA) if isinstance(x, jax.Array) else Record(**vars(x), kappa=jnp.asarray(KAPPA))


GROWTH = fr.Equation(
    domain=fr.Interval(0.0, 1.0),
    f=lambda u, x: fr.derivative(u, x) + u.kappa * u(x),
    conditions=[fr.Condition(fr.Point(0.0), 1.0)],
    exact=lambda x, kappa: jnp.exp(-kappa * x[0]),
    parameters=KAPPAS,
)
X = np.linspace(0.0, 1.0, 7)


def test_a_family_is_solved_to_rounding_and_equals_the_single_equation():
    solution = fr.solve(GROWTH, fr.Standard(), network=fr.Chebyshev(14), seeds=1, progress=False)
    np.testing.assert_allclose(solution(X, kappa=KAPPA), np.exp(-KAPPA * X), rtol=1e-11)
    single = fr.solve(GROWTH.at(kappa=KAPPA), fr.Standard(), network=fr.Chebyshev(14), seeds=1, progress=False)
    np.testing.assert_allclose(solution(X, kappa=KAPPA), single(X), rtol=1e-11)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("family") / "run"
    settings = {"rule": fr.MonteCarlo(2), "network": fr.MLP(8, 1), "steps": 20, "batch": 16, "seeds": 2, "progress": False}
    return fr.solve(GROWTH, fr.Standard(), out=out, **settings), out


def test_a_prediction_takes_the_parameter_by_its_name(trained):
    solution, _ = trained
    points = np.stack([X, np.full(7, KAPPA)], axis=1)
    np.testing.assert_array_equal(solution(X, kappa=KAPPA), solution(points))
    np.testing.assert_array_equal(solution(X, kappa=points[:, 1]), solution(points))
    assert solution.members(0.5, kappa=KAPPA).shape == (2,)
    slope = solution(X, kappa=KAPPA, of=lambda u, x: fr.derivative(u, x) * u.kappa)
    centred = KAPPA * (solution(X + 1e-2, kappa=KAPPA) - solution(X - 1e-2, kappa=KAPPA)) / 2e-2
    np.testing.assert_allclose(slope, centred, atol=1e-3)
    assert np.isfinite(jax.grad(lambda kappa: solution(0.5, kappa=kappa))(KAPPA))
    assert solution.evaluate(kappa=KAPPA)["mse"].shape == (2,)
    assert list(solution.to_dataset().coords) == ["seed", "x0", "kappa"]


def test_a_family_is_saved_loaded_and_continued(trained):
    solution, out = trained
    np.testing.assert_array_equal(fr.load(out)(X, kappa=KAPPA), solution(X, kappa=KAPPA))
    assert fr.resume(out, steps=25, problem=GROWTH, progress=False).steps == 25


def test_the_page_has_a_slider(trained, tmp_path):
    text = trained[0].report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"currentvalue":{"prefix":"kappa = "}' in text
    assert "error over kappa" in text


def test_what_is_wrong_is_said(trained):
    solution, _ = trained
    for call, words in (
        (lambda: solution(X), "kappa=\\.\\.\\."),
        (lambda: solution(X, kapa=1.0), "'kapa'.*'kappa'"),
        (lambda: GROWTH.at(), "a value for each of \\['kappa'\\]"),
        (lambda: fr.problems.Volterra().at(kappa=1.0), "no parameters"),
        (lambda: fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), parameters={"k": fr.Box((0.0, 0.0), (1.0, 1.0))}), "of one number"),
        (lambda: fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), parameters=KAPPAS, unknowns={"kappa": 1.0}), "unknowns"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_a_complex_u_is_two_real_outputs():
    problem = fr.Equation(
        domain=fr.Interval(0.0, 2.0),
        f=lambda u, x: 1j * fr.derivative(u, x) - u.omega * u(x),
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 0.5 * u(t)),
        y=lambda x, omega: -0.5 * (jnp.exp(-1j * omega) - 1) / (-1j * omega),
        conditions=[fr.Condition(fr.Point(0.0), 1.0)],
        exact=lambda x, omega: jnp.exp(-1j * omega * x[0]),
        parameters={"omega": fr.Interval(1.0, 2.0)},
        is_complex=True,
    ).at(omega=2.0)
    solution = fr.solve(problem, network=fr.Chebyshev(20), seeds=1, progress=False)
    real, imaginary = solution(X).T
    np.testing.assert_allclose(real + 1j * imaginary, np.exp(-2j * X), atol=1e-11)
