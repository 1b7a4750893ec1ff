"""The reference solver of Smoluchowski's equation: exact solutions, refinement, the published grid, the cache."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fredholm.common.caches import cache_directory
from fredholm.problems.coagulation import Collocation, EulerGrid
from fredholm.problems.coagulation_kernels import AdditiveKernel, Coagulation, ConstantKernel, CutOffKernel, SaturatingKernel
from fredholm.problems.coagulation_table import TabulatedDensity
from fredholm.problems.smoluchowski_exact import SmoluchowskiConstant, SmoluchowskiGolovin, exponential_density

COARSE = Collocation(nodes=33, angles=12, samples=64, times=9)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FREDHOLM_CACHE", str(tmp_path / "cache"))


def points(dim, n=3000):
    return jnp.asarray(np.random.default_rng(0).uniform(size=(n, dim + 1)), jnp.float32)


def mean_square(first, second, at):
    return float(jax.jit(lambda at: jnp.mean((jax.vmap(first)(at) - jax.vmap(second)(at)) ** 2))(at))


def half_line_error(problem, size, reference):
    """The mean square error on the half-line, cut off at a size beyond which the density is negligible, at points where it is not."""
    solution, model = problem.solution, problem.solution.coagulation
    truncated = Coagulation(model.dim, model.kernel, exponential_density, size=size, duration=model.duration)
    at = points(model.dim) * jnp.array([[4.0] * model.dim + [model.duration]])
    return mean_square(reference.solve(truncated), lambda point: solution.density(problem.exact, point), at)


@pytest.mark.parametrize(
    ("problem", "size", "coarse", "fine", "bound"),
    [
        (lambda: SmoluchowskiConstant(1), 30.0, (26, 16, 128), (51, 16, 128), 1e-9),
        (lambda: SmoluchowskiConstant(2), 30.0, (13, 12, 64), (25, 12, 64), 1e-7),
        (lambda: SmoluchowskiGolovin(), 150.0, (51, 24, 256), (101, 24, 256), 1e-7),
    ],
)
def test_exact_solutions_at_fourth_order(problem, size, coarse, fine, bound):
    errors = [half_line_error(problem(), size, Collocation(*settings)) for settings in (coarse, fine)]
    assert errors[1] < bound
    assert (errors[0] / errors[1]) ** 0.5 > 8  # twice the nodes: 16 times for the fourth order, with margin


def test_exact_solution_in_three_dimensions():
    assert half_line_error(SmoluchowskiConstant(3), 20.0, Collocation(9, 6, 16, times=9)) < 3e-5


@pytest.mark.parametrize(
    ("dim", "coarse", "middle", "fine", "bound"),
    [
        (1, (101, 32, 1024), (401, 64, 2048), (None, None, None), 1e-5),
        (2, (17, 16, 64), (25, 16, 64), (33, 20, 96), 1e-5),
        (3, (7, 6, 16), (9, 8, 16), (11, 8, 24), 1e-4),
    ],
)
def test_refinement_on_the_published_kernel(dim, coarse, middle, fine, bound):
    tables = [Collocation(*settings, times=17).solve(Coagulation(dim)) for settings in (coarse, middle, fine)]
    first, second = mean_square(tables[0], tables[1], points(dim)), mean_square(tables[1], tables[2], points(dim))
    assert second < bound
    assert second < first


def test_published_grid_has_its_known_error():
    truth, euler = Collocation(401).solve(Coagulation(1)), EulerGrid().solve(Coagulation(1))
    x, t = np.meshgrid(np.arange(1, 101) / 100, np.arange(100) / 99, indexing="ij")
    error = mean_square(truth, euler, jnp.asarray(np.stack([x.ravel(), t.ravel()], axis=-1), jnp.float32))
    assert error == pytest.approx(1.95e-4, rel=0.05)


def test_published_grid_in_two_dimensions_converges_to_the_reference():
    truth = Collocation(25, 16, 64).solve(Coagulation(2))
    errors = [mean_square(truth, EulerGrid(nodes, 40).solve(Coagulation(2)), 0.2 + 0.8 * points(2)) for nodes in (8, 16)]
    assert errors[1] < 0.5 * errors[0]


def test_kernels_agree_where_they_should():
    x, y = jnp.array([0.04]), jnp.array([0.09])
    s = (0.2 + 0.3) ** 2
    assert CutOffKernel()(x, y) == pytest.approx(1.23 * s**1.5, rel=1e-5)
    assert SaturatingKernel()(x, y) == pytest.approx(1.23 * s**1.5, rel=1e-5)  # below both limits they are the same
    assert CutOffKernel()(jnp.array([0.5]), jnp.array([0.5])) == 0.0
    assert SaturatingKernel()(jnp.array([0.5]), jnp.array([0.5])) == pytest.approx(1.23 * 1.14**3, rel=1e-5)
    assert AdditiveKernel()(x, y) == pytest.approx(0.13)
    assert ConstantKernel(2.0)(x, y) == 2.0


def test_table_is_exact_for_cubics():
    y, t = np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 5), indexing="ij")
    table = TabulatedDensity(jnp.asarray(y**3 - 2 * y * t**3 + t, jnp.float32), 0.0, 4.0, 2.0, 2.0)
    for x, time in [(0.0, 0.0), (0.3, 0.7), (4.0, 2.0), (3.9, 1.1)]:
        root, share = (x / 4) ** 0.5, time / 2
        assert table(jnp.array([x, time])) == pytest.approx(root**3 - 2 * root * share**3 + share, abs=2e-6)
        slope = jax.jit(lambda p: jax.jvp(table, (p,), (jnp.array([0.0, 1.0]),))[1])(jnp.array([x, time]))
        assert slope == pytest.approx((1 - 6 * root * share**2) / 2, abs=2e-5)


def test_cache_is_used_and_told_apart(monkeypatch):
    problem = Coagulation(1)
    first = COARSE.solve(problem)
    assert len(list(cache_directory().glob("*.npz"))) == 1
    with monkeypatch.context() as patch:
        patch.setattr(Collocation, "values", lambda self, problem: pytest.fail("computed again"))
        assert jnp.array_equal(first.values, COARSE.solve(Coagulation(1)).values)
    COARSE.solve(Coagulation(1, lambda x, y: CutOffKernel(1.24)(x, y)))
    COARSE.solve(Coagulation(1, initial=lambda x: 3.0 - x[0] ** 2))
    COARSE.solve(Coagulation(1, CutOffKernel(cut=1.1400001)))
    assert len(list(cache_directory().glob("*.npz"))) == 4


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda content: b"", lambda content: b"no zip" * 100])
def test_damaged_cache_is_computed_again(damage, caplog):
    problem = Coagulation(1)
    first = COARSE.solve(problem)
    (path,) = cache_directory().glob("*.npz")
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING, logger="fredholm"):
        again = COARSE.solve(problem)
    assert jnp.array_equal(first.values, again.values)
    assert "computing it again" in caplog.text
    caplog.clear()
    COARSE.solve(problem)
    assert not caplog.text


def test_unwritable_cache_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FREDHOLM_CACHE", str(tmp_path / "file" / "cache"))
    assert np.all(np.isfinite(COARSE.solve(Coagulation(1)).values))
    assert (tmp_path / "file").read_text() == ""


def test_cache_directory_follows_the_environment(tmp_path, monkeypatch):
    assert cache_directory() == tmp_path / "cache"
    monkeypatch.delenv("FREDHOLM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "fredholm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory().name in ("fredholm", "Cache")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"dim": 0}, "dim"),
        ({"kernel": lambda x, y: x + y}, "kernel"),
        ({"dim": 2, "kernel": lambda x, y: x + y}, "kernel"),
        ({"kernel": lambda x, y: jnp.log(x[0])}, "kernel"),
        ({"kernel": lambda x, y: jnp.nan}, "kernel"),
        ({"initial": lambda x: x}, "initial"),
        ({"initial": lambda x: 1 / x[0]}, "initial"),
        ({"size": -1.0}, "size"),
    ],
)
def test_bad_input_names_the_argument(arguments, word):
    with pytest.raises(ValueError, match=f"^{word}"):
        Coagulation(**arguments)


def test_bad_resolution_names_the_argument():
    with pytest.raises(ValueError, match="nodes"):
        Collocation(nodes=2)
    with pytest.raises(ValueError, match="steps"):
        EulerGrid(steps=0)
    with pytest.raises(ValueError, match="reference=None"):
        Collocation().solve(Coagulation(4))
