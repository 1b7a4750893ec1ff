"""Smoluchowski's equation: its truth has zero residual, and coagulation conserves mass."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fredholm.domains import Box
from fredholm.equation.estimate import draw, estimate
from fredholm.functions.field import Field
from fredholm.problems.coagulation import Collocation, EulerGrid
from fredholm.problems.coagulation_kernels import ConstantKernel, SaturatingKernel
from fredholm.problems.smoluchowski import Smoluchowski
from fredholm.problems.smoluchowski_exact import SmoluchowskiConstant, SmoluchowskiGolovin
from fredholm.rules import Even, Gauss, MonteCarlo


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FREDHOLM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def residuals(problem, rules, n):
    """The residual of the truth at n points of the domain."""
    u, key = Field(problem.exact, {}, problem.inputs, 1), jax.random.key(0)

    def residual(x):
        return (problem.local_residual(u, x) + problem.sign * estimate(problem, u, x, draw(problem, rules, x, key)))[0]

    points = jax.jit(jax.vmap(problem.domain.sample))(jax.random.split(jax.random.key(5), n))
    return np.asarray(jax.jit(lambda points: jax.lax.map(residual, points, batch_size=5))(points))


SMALL = Collocation(nodes=101, angles=32, samples=1024)
BOXES = {  # The rate of change is of order 1; a kernel that jumps or bends leaves an error of the rule and of the grid.
    "cut-off, d=1": (lambda: Smoluchowski(1, reference=Collocation(nodes=401)), Even(2000), 2e-2),
    "cut-off, d=2": (lambda: Smoluchowski(2, reference=Collocation(nodes=25, angles=16, samples=64)), Even(64), 2e-2),
    "cut-off, d=3": (lambda: Smoluchowski(3, reference=Collocation(nodes=9, angles=8, samples=16)), Even(16), 5e-3),
    "saturating": (lambda: Smoluchowski(1, SaturatingKernel(), reference=SMALL), Even(2000), 2e-2),
    "the user's": (lambda: Smoluchowski(1, lambda x, y: 1.0 + x[0] * y[0], lambda x: 1.0 + x[0], reference=SMALL), Gauss(40), 5e-3),
}


@pytest.mark.parametrize("name", BOXES)
def test_reference_solves_the_equation(name):
    build, rule, bound = BOXES[name]
    problem = build()
    assert np.sqrt(np.mean(residuals(problem, [rule, rule], 40) ** 2)) < bound
    (start,) = problem.conditions
    points = jax.jit(lambda key: start.points(200, [], key))(jax.random.key(1))
    assert np.all(points[:, -1] == 0.0)
    u = Field(problem.exact, {}, problem.inputs, 1)
    assert np.max(np.abs(jax.jit(jax.vmap(lambda x: start.local_residual(u, x)))(points))) < 1e-4


EXACT = {
    "constant, d=1": (lambda: SmoluchowskiConstant(1), (Gauss(40), Gauss(40)), 1e-5),
    "constant, d=2": (lambda: SmoluchowskiConstant(2), (Gauss(40), Gauss(30)), 1e-5),
    "constant, d=3": (lambda: SmoluchowskiConstant(3), (Gauss(20), Gauss(20)), 1e-5),
    "golovin": (lambda: SmoluchowskiGolovin(), (Gauss(60), Gauss(60)), 1e-4),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_solution_has_zero_residual(name):
    build, rules, bound = EXACT[name]
    problem = build()
    assert np.max(np.abs(residuals(problem, rules, 40))) < bound
    at_zero = jnp.concatenate([jnp.full((problem.inputs - 1,), 0.7), jnp.zeros(1)])
    assert problem.solution.density(problem.exact, at_zero) == pytest.approx(np.exp(-0.7 * (problem.inputs - 1)), rel=1e-5)


@pytest.mark.parametrize("name", EXACT)
def test_mass_is_conserved(name):
    problem = EXACT[name][0]()
    solution = problem.solution
    for t in (0.0, 0.5, 1.0):
        mass = jax.jit(lambda t: solution.mass(problem.exact, t))(t * solution.coagulation.duration)
        assert mass == pytest.approx(solution.coagulation.dim, rel=1e-4)


def test_exact_solution_is_safe_at_the_corner_and_far_out():
    for build, _, _ in EXACT.values():
        problem = build()
        corners = [[x] * (problem.inputs - 1) + [t] for x in (0.0, 1e-6, 40.0) for t in (0.0, 1e-6, 0.5)]
        along_time = jnp.zeros(problem.inputs).at[-1].set(1.0)
        values, slopes = jax.jit(jax.vmap(lambda p, u=problem.exact, e=along_time: jax.jvp(u, (p,), (e,))))(jnp.array(corners))
        assert np.all(np.isfinite(values))
        assert np.all(np.isfinite(slopes))


def test_two_particles_make_the_gain_and_the_loss():
    """For a density of 1 and K = 1: gain x/2 and loss 1, in closed form."""
    problem = Smoluchowski(2, ConstantKernel(), reference=None)
    u = Field(lambda point: jnp.ones(1), {}, 3, 1)
    point = jnp.array([0.5, 0.8, 0.3])
    gain, loss = (estimate_one(problem, index, u, point) for index in (0, 1))
    assert gain == pytest.approx(0.5 * 0.5 * 0.8, rel=1e-5)
    assert loss == pytest.approx(-1.0, rel=1e-5)


def estimate_one(problem, index, u, point):
    integral = problem.integrals[index]
    nodes = Gauss(4).nodes(integral.measure(point), jax.random.key(0))
    return float(jnp.sum(nodes.weights * jax.vmap(lambda t: integral.integrand(u, point, t)[0])(nodes.points)))


def test_parameters_reach_the_equation():
    problem = Smoluchowski(2, weight=7.0, loss_rule=MonteCarlo(10), reference=None)
    assert problem.exact is None
    assert problem.inputs == 3
    assert problem.conditions[0].weight == 7.0
    assert problem.integrals[0].rule is None
    assert problem.integrals[1].rule == MonteCarlo(10)
    point = jnp.array([0.2, 0.9, 0.5])
    measure = problem.integrals[0].measure(point)
    assert isinstance(measure, Box)
    assert float(measure.mass) == pytest.approx(0.18)
    assert Smoluchowski(5, reference=None).inputs == 6
    assert Smoluchowski(1, reference=EulerGrid(10, 5)).exact.values.shape == (10, 6)


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Smoluchowski(0), "dim"),
        (lambda: Smoluchowski(4), "reference=None"),
        (lambda: Smoluchowski(1, lambda x, y: jnp.ones(3)), "kernel"),
        (lambda: Smoluchowski(1, lambda x, y: x[0] / y[0]), "kernel"),
        (lambda: Smoluchowski(1, weight=-1.0), "weight"),
        (lambda: SmoluchowskiConstant(0), "dim"),
        (lambda: SmoluchowskiConstant(1, decay=0.0), "decay"),
        (lambda: SmoluchowskiGolovin(duration=-1.0), "duration"),
    ],
)
def test_bad_input_names_the_argument(build, word):
    with pytest.raises(ValueError, match=word):
        build()


def test_the_gain_of_the_text_has_no_half():
    """The factor is in the equation, in both references, and in the recipe where it is not ½."""
    half, whole = (Smoluchowski(1, gain_factor=factor, reference=EulerGrid(nodes=8, steps=4)) for factor in (0.5, 1.0))
    u, point, y = (lambda x: 1.0 + x[0]), jnp.array([0.7, 0.2]), jnp.array([0.3])
    assert whole.coagulation.gain(u, point, y) == pytest.approx(2 * half.coagulation.gain(u, point, y))
    assert "gain_factor" not in half.recipe()
    assert whole.recipe()["gain_factor"] == 1.0
    for reference in (EulerGrid(nodes=8, steps=4), Collocation(nodes=9, angles=4, samples=16, times=4)):
        end = [reference.values(one.coagulation)[..., -1].sum() for one in (half, whole)]
        assert end[1] > 1.02 * end[0]
    none = Smoluchowski(1, gain_factor=0.0, kernel=lambda x, y: 1.0, reference=None).coagulation
    found = Collocation(nodes=33, angles=8, samples=64, times=5).values(none)
    total = found[0, :] / found[0, 0]  # without gain every density falls as the total does: n' = -n N, N' = -N²
    np.testing.assert_allclose(total, 1 / (1 + 2.5 * np.linspace(0, 1, 5)), rtol=1e-3)
