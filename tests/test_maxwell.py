"""Wires and Ampère's law: A, B and the label agree with each other and with the law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fredholm.domains import Circle, Interval, PowerLaw, Record
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.operators import curl, divergence
from fredholm.functions.field import Field
from fredholm.problems.maxwell import RECTANGLE, Maxwell, circulation, rim
from fredholm.problems.wires import Wires
from fredholm.rules import Even

RECTANGULAR = Wires(RECTANGLE)
TRIANGLE = Wires([(0.9, 0.1, -0.2), (-0.4, 0.8, 0.3), (-0.3, -0.7, 0.1)], current=-2.5)
POLYGONS = pytest.mark.parametrize("wires", [RECTANGULAR, TRIANGLE], ids=["rectangle", "triangle"])


def samples(domain, n):
    return each(domain.sample, jax.random.split(jax.random.key(3), n))


def each(function, points):
    return jax.jit(lambda points: jax.vmap(function)(points))(points)


def random_discs(n):
    return samples(Maxwell().domain, n)


def distance_to_wires(wires, x):
    start, end = (np.asarray(ends, float) for ends in wires.segments)
    along = end - start
    share = np.clip(np.sum((x[:, None] - start) * along, -1) / np.sum(along**2, -1), 0, 1)
    return np.min(np.linalg.norm(x[:, None] - start - share[..., None] * along, axis=-1), axis=1)


def line_integral_along_the_wires(wires, x):
    """A and B at x by brute force: the integrals over every wire, in float64 and in panels that shrink towards x."""
    z, w = np.polynomial.legendre.leggauss(20)
    potential, field = np.zeros(3), np.zeros(3)
    for start, end in zip(*(np.asarray(ends, float) for ends in wires.segments), strict=True):
        length = np.linalg.norm(end - start)
        direction = (end - start) / length
        foot = np.clip((x - start) @ direction, 0.0, length)
        shrinking = np.concatenate([[0.0], 2.0 ** -np.arange(40.0, -1.0, -1.0)])
        edges = np.unique(np.concatenate([foot - foot * shrinking, foot + (length - foot) * shrinking]))
        position = (edges[:-1, None] + np.diff(edges)[:, None] * (z + 1) / 2).ravel()
        weight = (np.diff(edges)[:, None] * w / 2).ravel()
        away = x - start - position[:, None] * direction
        distance = np.linalg.norm(away, axis=1)
        potential += direction * np.sum(weight / distance)
        field += np.cross(direction, np.sum((weight / distance**3)[:, None] * away, axis=0))
    return wires.current * potential / (4 * np.pi), wires.current * field / (4 * np.pi)


@POLYGONS
def test_closed_forms_are_the_integrals_over_the_wires_and_safe_in_float32(wires):
    start, end = (np.asarray(ends, float) for ends in wires.segments)
    direction = (end[0] - start[0]) / np.linalg.norm(end[0] - start[0])
    across = np.cross(direction, [0.3, 0.5, 0.8])
    places = [np.array([0.1, -0.2, 0.3]), np.array([1.5, 0.4, -0.6])]
    places += [0.4 * start[0] + 0.6 * end[0] + distance * across for distance in (1e-1, 1e-3, 1e-4)]  # beside a wire
    places += [end[0] + direction + distance * across for distance in (1e-1, 1e-5)]  # on its axis, beyond its end
    for place in places:
        x = jnp.asarray(place, jnp.float32)
        potential, field = line_integral_along_the_wires(wires, np.asarray(x, float))
        # The wires themselves are rounded to float32, which moves them by 6e-8: near one that is a relative error of 6e-8 / distance.
        tolerance = 2e-6 + 3e-7 / distance_to_wires(wires, np.asarray(x, float)[None])[0]
        assert np.linalg.norm(each(wires.potential, x[None])[0] - potential) < tolerance * np.linalg.norm(potential)
        assert np.linalg.norm(each(wires.field, x[None])[0] - field) < tolerance * np.linalg.norm(field)


@POLYGONS
def test_curl_of_the_potential_is_the_field_and_its_divergence_is_zero(wires):
    x = np.random.default_rng(1).normal(size=(300, 3)).astype(np.float32)
    x = jnp.asarray(x[distance_to_wires(wires, x) > 0.05])
    field = each(wires.field, x)
    size = 1.0 + np.linalg.norm(field, axis=1)
    assert np.max(np.linalg.norm(each(lambda p: curl(wires.potential, p), x) - field, axis=1) / size) < 2e-5
    assert np.max(np.abs(each(lambda p: divergence(wires.potential, p), x)) / size) < 2e-5


@POLYGONS
def test_points_on_the_wires_stay_finite(wires):
    start, end = wires.segments
    x = jnp.stack([start[0], 0.5 * (start[1] + end[1]), end[0] + (end[0] - start[0])])
    assert np.all(np.isfinite(each(wires.potential, x)))
    assert np.all(np.isfinite(each(wires.field, x)))


@POLYGONS
def test_ampere_round_one_wire(wires):
    """A small circle round the middle of a wire, in the sense of its current, encloses +I; turned over, −I."""
    start, end = (ends[1] for ends in wires.segments)

    @jax.jit
    def loop_and_label(sign):
        center, normal, radius = 0.5 * (start + end), sign * (end - start) / jnp.linalg.norm(end - start), 0.1
        nodes = Even(256).nodes(Circle(center, radius, normal), jax.random.key(0))
        along = jax.vmap(lambda t: wires.field(t) @ jnp.cross(normal, (t - center) / radius))(nodes.points)
        return jnp.sum(nodes.weights * along), wires.enclosed(center, radius, normal)

    for sign in (1.0, -1.0):
        loop, label = loop_and_label(sign)
        assert loop == pytest.approx(sign * wires.current, rel=1e-5)
        assert label == pytest.approx(sign * wires.current)


@POLYGONS
def test_label_is_the_loop_integral_on_random_discs(wires):
    """The exact potential has zero residual under a converged rule."""
    problem = Maxwell(wires.vertices, wires.current)
    discs, u = random_discs(400), Field(problem.exact, {}, 3, 3)
    circles = each(lambda disc: Even(1024).nodes(rim(disc), jax.random.key(0)).points, discs)
    far = np.array([np.min(distance_to_wires(wires, np.asarray(circle))) > 0.02 for circle in circles])

    def residual(disc):
        return (
            problem.local_residual(u, disc)
            + problem.sign * estimate(problem, u, disc, draw(problem, [Even(1024)], disc, jax.random.key(0)))
        )[0]

    residuals, labels = jax.jit(lambda discs: jax.lax.map(residual, discs, batch_size=50))(discs), each(problem.y, discs)
    assert far.sum() > 300
    assert np.max(np.abs(residuals)[far]) < 2e-5 * abs(wires.current)
    assert set(np.unique(labels)) == {-abs(wires.current), 0.0, abs(wires.current)}


def test_integrand_is_the_tangential_component_of_the_curl():
    disc = jax.tree.map(lambda leaf: leaf[0], random_discs(1))
    t, _ = rim(disc).map(jnp.array([0.37]))
    tangent = jnp.cross(disc.normal, (t - disc.center) / disc.radius)

    u = Field(lambda x: jnp.stack([jnp.sin(x[1] * x[2]), x[0] ** 2 * x[2], jnp.exp(x[0] - x[1])]), {}, 3, 3)
    assert circulation(u, disc, t) == pytest.approx(float(curl(u, t) @ tangent), abs=1e-5)


def test_a_disc_with_two_crossings_adds_them():
    square = Wires([(1.0, 1.0, 0.0), (-1.0, 1.0, 0.0), (-1.0, -1.0, 0.0), (1.0, -1.0, 0.0)], current=3.0)
    normal, center = jnp.array([1.0, 0.0, 0.0]), jnp.array([0.2, 0.0, 0.0])
    assert square.enclosed(center, 1.1, normal) == 0.0  # both sides cross it, one each way
    assert square.enclosed(center + jnp.array([0.0, 0.5, 0.0]), 1.1, normal) == -3.0  # only the side that runs along -x
    assert square.enclosed(center, 1.1, jnp.array([0.0, 0.0, 1.0])) == 0.0  # the polygon lies in the disc's plane


def test_evaluation_is_inside_the_discs():
    problem = Maxwell()
    inside, discs = problem.evaluation.at, problem.domain
    z = jax.random.uniform(jax.random.key(0), (500, len(inside.bases)))
    points, drawn = each(lambda z: inside.map(z)[0], z), each(lambda z: discs.map(z[:-2])[0], z)
    away = points - drawn.center
    assert np.all(np.linalg.norm(away, axis=1) <= drawn.radius + 1e-6)
    assert np.max(np.abs(np.sum(away * drawn.normal, axis=1))) < 1e-6
    # A constant scores .0198 inside the discs; the published .0191 is of points slightly outside of them.
    truth = each(problem.exact, samples(inside, 100_000))
    assert float(jnp.sum(jnp.var(truth, axis=0))) == pytest.approx(0.0198, rel=0.02)


def test_score_cannot_see_a_constant():
    problem = Maxwell()
    points = samples(problem.evaluation.at, 500)
    truth = each(problem.exact, points)
    scores = problem.evaluation(truth + jnp.array([[1.0, -2.0, 0.5]]), truth, points)
    assert scores["mse_mean_free"] < 1e-10
    assert scores["mse"] == pytest.approx(5.25, rel=1e-4)


def test_law_of_the_discs_is_a_parameter():
    problem = Maxwell(radii=PowerLaw(0.0, 2.0, power=2.0))
    radii = samples(problem.domain, 20_000).radius
    assert float(jnp.mean(radii**2)) == pytest.approx(2.0, rel=0.03)


def test_polygon_may_be_given_in_three_ways():
    corners = np.array(RECTANGLE)
    x = jnp.array([0.1, 0.2, 0.3])
    for given in (np.concatenate([corners, corners[:1]]), np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)):
        assert np.allclose(Wires(given).potential(x), RECTANGULAR.potential(x), atol=1e-7)


@pytest.mark.parametrize(
    ("vertices", "word"),
    [
        ([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], "closed polygon"),
        ([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)], "closed polygon"),
        ([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], "shape"),
        ([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], "twice in a row"),
        ([(0.0, 0.0, 0.0), (1.0, np.nan, 0.0), (0.0, 1.0, 0.0)], "finite"),
        ([((0, 0, 0), (1, 0, 0)), ((1, 0, 0), (0, 1, 0)), ((0, 1, 0), (0, 0, 1))], "do not close"),
        ("rectangle", "3 coordinates"),
    ],
)
def test_bad_polygons_are_refused(vertices, word):
    with pytest.raises(ValueError, match=f"^vertices.*{word}"):
        Maxwell(vertices)


def test_other_bad_input_names_the_argument():
    with pytest.raises(ValueError, match="current"):
        Maxwell(current=np.inf)
    with pytest.raises(ValueError, match="centers"):
        Maxwell(centers=Interval(0.0, 1.0))


def test_record_of_a_disc_is_what_the_label_takes():
    disc = Record(center=jnp.zeros(3), normal=jnp.array([0.0, 0.0, 1.0]), radius=jnp.array(0.5))
    assert RECTANGULAR.through(disc) == RECTANGULAR.enclosed(disc.center, disc.radius, disc.normal)
