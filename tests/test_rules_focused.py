"""Focused nodes: exact densities, unbiased for any focus, and the flux of the exact field through any sphere."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.domains.rays import Rays
from fredholm.functions.field import Field
from fredholm.rules import Focused, MonteCarlo
from fredholm.rules.learned import Foci
from fredholm.training.learning import first_fits, refitted

N = 20_000
TILTED = (1.0, 2.0, -2.0)
# A domain, and foci inside, outside, at its surface and at its centre.
DOMAINS = {
    "circle of the plane": fr.Sphere((0.2, -0.1), 0.7),
    "sphere": fr.Sphere((0.2, -0.1, 0.3), 0.7),
    "sphere, d=6": fr.Sphere((0.1,) * 6, 1.2),
    "by normals": fr.NormalizedSphere((0.2, -0.1, 0.3), 0.7),
    "circle in space": fr.Circle((0.2, -0.1, 0.3), 0.7, TILTED),
    "disc": fr.Ball((0.2, -0.1), 0.7),
    "ball": fr.Ball((0.2, -0.1, 0.3), 0.7),
}


def foci_of(domain):
    center = np.asarray(getattr(domain, "sphere", domain).center)
    first = np.eye(len(center))[0]
    return {"inside": center + 0.4 * first, "outside": center + 1.5 * first, "surface": center + 0.7 * first, "center": center}


@pytest.mark.parametrize("name", DOMAINS)
def test_the_density_of_rays_is_that_of_their_points(name):
    """Rays weighted by 1/q have the plain law: mass and moments. On spheres, plain nodes weighted by q have that of the rays."""
    domain = DOMAINS[name]
    rays = Rays(domain, jnp.asarray([foci_of(domain)["inside"], foci_of(domain)["outside"]], float), jnp.asarray([1.0, 2.0]))
    plain, focused = (one.draws(jax.random.key(1), N).points for one in (domain, rays))
    ratio = jax.jit(jax.vmap(rays.log_ratio))
    of_plain, of_focused = (np.exp(np.asarray(ratio(points), float))[:, None] for points in (plain, focused))
    plain, focused = (np.concatenate([np.ones((N, 1)), points], axis=1) for points in (plain, focused))
    pairs = [(focused / of_focused, plain)]
    if not isinstance(domain, fr.Ball):  # there q has no variance under the plain law
        pairs.append((plain * of_plain, focused))
    for one, other in pairs:
        error = 5 * np.hypot(np.std(one, axis=0), np.std(other, axis=0)) / math.sqrt(N)
        assert np.all(np.abs(np.mean(one, axis=0) - np.mean(other, axis=0)) < error + 1e-4)


@pytest.mark.parametrize("name", ["circle of the plane", "sphere", "ball"])
def test_a_histogram_of_rays_is_their_density(name):
    domain = DOMAINS[name]
    rays = Rays(domain, jnp.asarray([foci_of(domain)["inside"]], float), jnp.ones(1))
    points = np.asarray(rays.draws(jax.random.key(2), N).points)[:, 0]
    plain = np.asarray(domain.draws(jax.random.key(3), 10 * N).points, np.float32)
    density = np.exp(np.asarray(jax.vmap(rays.log_ratio)(jnp.asarray(plain))))
    edges = np.linspace(plain[:, 0].min(), plain[:, 0].max(), 9)
    found, wanted = (np.histogram(values, edges, weights=weights)[0] for values, weights in ((points, None), (plain[:, 0], density / 10)))
    assert np.all(np.abs(found - wanted) < 6 * np.sqrt(wanted) + 0.03 * wanted)


@pytest.mark.parametrize("name", DOMAINS)
def test_rays_from_the_unit_cube_have_the_same_law(name):
    domain = DOMAINS[name]
    foci = jnp.asarray([foci_of(domain)["inside"], foci_of(domain)["outside"]], float)
    rays = Rays(domain, foci, jnp.asarray([1.0, 2.0]))
    drawn, mapped = (rule.nodes(rays, jax.random.key(4)).points for rule in (MonteCarlo(N), fr.QuasiMonteCarlo(4096)))
    assert np.allclose(np.mean(drawn, axis=0), np.mean(mapped, axis=0), atol=0.04)
    assert np.allclose(np.cov(drawn.T), np.cov(mapped.T), atol=0.04)


@pytest.mark.parametrize("name", DOMAINS)
def test_any_focus_leaves_the_mean(name):
    """Also a wrong one, and with one node, which is drawn from either kind."""
    domain, foci = DOMAINS[name], foci_of(DOMAINS[name])
    g = lambda t: jnp.exp(t[0]) + t[1] ** 2  # noqa: E731
    plain = MonteCarlo(10 * N).nodes(domain, jax.random.key(5))
    exact = float(jnp.sum(plain.weights * jax.vmap(g)(plain.points)))
    rules = [Focused(1, [foci["inside"]]), Focused(5, [foci["surface"]], plain=0.3), Focused(4, list(foci.values()))]

    @jax.jit
    @jax.vmap
    def estimates(key):
        drawn = [rule.nodes(domain, key) for rule in rules]
        return jnp.stack([jnp.sum(nodes.weights * jax.vmap(g)(nodes.points)) for nodes in drawn])

    found = np.asarray(estimates(jax.random.split(jax.random.key(6), N // 2)), float)
    error = 4.5 * np.std(found, axis=0) / math.sqrt(N // 2)
    assert np.all(np.abs(np.mean(found, axis=0) - exact) < error + 5e-3 * exact)


def test_lattice_nodes_are_unbiased_with_less_variance():
    domain = DOMAINS["sphere"]
    focus = [foci_of(domain)["inside"]]
    charge = jnp.asarray(focus[0], float)

    def flux(rule, key):
        nodes = rule.nodes(domain, key)
        away = nodes.points - charge[None]
        normals = (nodes.points - jnp.asarray(domain.center)[None]) / domain.radius
        return jnp.sum(nodes.weights * jnp.sum(away * normals, axis=1) / jnp.linalg.norm(away, axis=1) ** 3) / (4 * jnp.pi)

    keys = jax.random.split(jax.random.key(7), 2000)
    rules = (Focused(32, focus), Focused(32, focus, quasi=True))
    plain, quasi = np.asarray(jax.jit(jax.vmap(lambda key: jnp.stack([flux(rule, key) for rule in rules])))(keys), float).T
    assert abs(np.mean(quasi) - 1) < 4.5 * np.std(quasi) / math.sqrt(2000) + 1e-3
    assert np.std(quasi) < 0.5 * np.std(plain)


@pytest.mark.parametrize("dim", [2, 5, 10, 50])
def test_the_flux_of_the_exact_field_is_the_charge_inside_within_error_bars(dim):
    """Through the balls of the paper, whose nearest ones to the charge are left to the error bar of their own."""
    with jax.enable_x64(True):
        charges = fr.problems.Poisson(dim, charges=[[0.0] * dim, [0.5] + [0.0] * (dim - 1)], weights=[1.0, -2.0])
        rule = Focused(16, charges.charges.locations.tolist(), charges.charges.weights.tolist())

        def flux(key):
            ball = charges.domain.sample(key)

            def one(key):
                nodes = rule.nodes(charges.integrals[0].measure(ball), key)
                field = jax.vmap(charges.charges.field)(nodes.points)
                return jnp.sum(nodes.weights * jnp.sum(field * (nodes.points - ball.center[None]) / ball.radius, axis=1))

            found = jax.vmap(one)(jax.random.split(key, 100))
            return jnp.mean(found), jnp.std(found) / 10, charges.charges.enclosed(ball)

        mean, error, exact = map(np.asarray, jax.jit(jax.vmap(flux))(jax.random.split(jax.random.key(8), 60)))
        assert set(np.unique(exact)) >= {0.0} or dim > 2
        assert np.mean(np.abs(mean - exact) < 4 * error + 1e-3) > 0.95
        assert np.median(10 * error) < 0.5, "sixteen focused nodes see the flux of a sphere"


def test_all_pairs_take_the_variance_within_each_kind_of_nodes():
    """Unbiased, and of the same nodes as the standard loss. The pooled variance would be too large."""
    problem = fr.problems.Poisson(3)
    rule = Focused(6, [[0.0] * 3])
    assert rule.groups == (3, 3)
    u = Field(lambda x: jnp.sum(x**2) + jnp.sin(3 * x[:1]), {}, 3, 1)
    ball = fr.domains.Record(center=jnp.asarray([0.5, 0.2, 0.1]), radius=jnp.asarray(0.6))
    method = fr.DoubleSampling("all")
    method.check(problem, [rule])
    assert method.evaluations(problem, [rule]).at_nodes == 6
    found = jax.vmap(lambda key: method.rows(u, None, problem, [rule], ball, key)["residual"].loss())(
        jax.random.split(jax.random.key(9), N)
    )
    measure = problem.integrals[0].measure(ball)
    nodes = fr.QuasiMonteCarlo(16384).nodes(measure, jax.random.key(0))
    exact = float(jnp.sum(nodes.weights * jax.vmap(lambda t: problem.integrals[0].g(u, ball, t))(nodes.points)) - problem.y(ball)) ** 2
    assert abs(float(jnp.mean(found)) - exact) < 4.5 * float(jnp.std(found)) / math.sqrt(N // 2) + 2e-3 * exact
    assert fr.DoubleSampling("all").evaluations(problem, [Focused(2, [[0.0] * 3])]).at_nodes == 4, "too few of a kind: drawn twice"


def test_a_fit_to_the_exact_field_finds_the_charge():
    """Also from plain nodes in many dimensions; what is known of the charge is the integrand alone."""
    d, rule = 8, fr.LearnedFoci(16)
    charge = np.eye(d)[0] * 0.3
    problem = fr.problems.Poisson(d, charges=[charge.tolist()])
    u, fits = Field(lambda x: problem.exact(x)[None], {}, d, 1), first_fits(problem, (rule,))
    fit = jax.jit(lambda fits, key: refitted(problem, (rule,), fits, u, jnp.asarray(rule.interval - 1), key))
    for key in jax.random.split(jax.random.key(1), 8):
        fits = fit(fits, key)
    assert np.linalg.norm(np.asarray(fits[0].places)[0] - charge) < 0.05
    unchanged = refitted(problem, (rule,), fits, u, jnp.asarray(rule.interval), jax.random.key(2))[0]
    assert np.array_equal(unchanged.places, fits[0].places), "between two fits nothing is learned"


def test_a_learned_fit_changes_no_mean_and_before_it_all_nodes_are_plain():
    domain, g = DOMAINS["sphere"], lambda t: jnp.exp(t[0]) + t[1] ** 2
    rule = fr.LearnedFoci(4, foci=2)
    plain = MonteCarlo(10 * N).nodes(domain, jax.random.key(5))
    exact = float(jnp.sum(plain.weights * jax.vmap(g)(plain.points)))
    known = Foci(jnp.asarray([[0.3, 0.2, 0.3], [5.0, 5.0, 5.0]]), jnp.asarray([0.0, -2.0]), jnp.asarray(True))
    rules = [rule, rule.with_fit(known)]

    @jax.jit
    @jax.vmap
    def estimates(key):
        drawn = [one.nodes(domain, key) for one in rules]
        return jnp.stack([jnp.sum(nodes.weights * jax.vmap(g)(nodes.points)) for nodes in drawn])

    found = np.asarray(estimates(jax.random.split(jax.random.key(6), N)), float)
    assert np.all(np.abs(np.mean(found, axis=0) - exact) < 4.5 * np.std(found, axis=0) / math.sqrt(N) + 5e-3 * exact)
    assert np.allclose(rule.nodes(domain, jax.random.key(0)).weights, domain.mass / 4, rtol=1e-5)


def test_a_run_with_learned_foci_resumes_to_the_bit(tmp_path):
    """The fit belongs to the state of a seed, and each seed has its own."""
    problem, small = fr.problems.Poisson(3), fr.MLP(8, 1, scaled=False)
    common = {
        "rule": fr.LearnedFoci(4, interval=5, places=8),
        "network": small,
        "batch": 8,
        "seeds": 2,
        "optimizer": fr.Adam(),
        "progress": False,
    }
    whole = fr.solve(problem, fr.Standard(), steps=30, **common)
    fr.solve(problem, fr.Standard(), steps=12, out=tmp_path / "run", **common)
    again = fr.resume(tmp_path / "run", steps=30, progress=False)
    points = jnp.ones((3, 3))
    assert np.array_equal(whole.members(points), again.members(points))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fr.LearnedFoci(1), "at least 2"),
        (lambda: fr.LearnedFoci(4, plain=1.0), "plain"),
        (lambda: fr.LearnedFoci(4).check(fr.Box((0.0, 0.0), (1.0, 1.0))), "Importance"),
        (lambda: Focused(0, [[0.0, 0.0]]), "at least 1"),
        (lambda: Focused(2, [[0.0, 0.0]], plain=1.5), "plain"),
        (lambda: Focused(2, [[0.0, 0.0]], [1.0, 2.0]), "one for each focus"),
        (lambda: Focused(2, [[0.0, 0.0]], [0.0]), "positive"),
        (lambda: Focused(2, [[0.0, 0.0]]).check(fr.Sphere((0.0,) * 3)), "expected 3"),
        (lambda: Focused(2, [[0.0, 0.0]]).check(fr.Box((0.0, 0.0), (1.0, 1.0))), "Importance"),
    ],
)
def test_what_makes_no_sense_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
