"""The zoo: every truth meets its equation, the references meet published tables, and the command runs what is missing and nothing else."""

import csv

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import fredholm as fr
from fredholm.__main__ import main
from fredholm.cli import zoo as cli_zoo
from fredholm.equation.estimate import draw, estimate
from fredholm.functions.field import Field
from fredholm.problems.transport import collocation, interpolation
from fredholm.storage.serialisation import from_text, to_text
from fredholm.study import StudyFolder, work, zoo
from table import ZOO

TINY = fr.MLP(4, 1, "tanh")


class Truth(eqx.Module):
    equation: fr.Equation

    def __call__(self, x):
        return self.equation.exact(x)


@pytest.mark.parametrize("name", ZOO)
def test_the_exact_solution_has_no_residual_and_meets_the_conditions(name):
    with jax.enable_x64(True):
        equation, rule, tolerance = ZOO[name]
        u = Field(Truth(equation), {}, equation.inputs, equation.outputs)

        def residual(key):
            x = equation.domain.sample(key)
            inside = estimate(equation, u, x, draw(equation, [rule] * len(equation.integrals), x, key))
            return jnp.abs(equation.local_residual(u, x) + equation.sign * inside)

        assert float(jnp.max(jax.jit(jax.vmap(residual))(jax.random.split(jax.random.key(1), 6)))) < tolerance
        for condition in equation.conditions:
            assert float(jnp.max(jnp.abs(condition.local_residual(u, condition.law.sample(jax.random.key(2)))))) < 1e-12


@pytest.mark.parametrize("name", ZOO)
def test_every_problem_has_a_loss_by_its_own_recipe_and_by_one_sample(name, key):
    """One of the methods with one sample for each problem, in turn."""
    equation, one_sample = ZOO[name][0], list(zoo.ONE_SAMPLE_METHODS.values())[list(ZOO).index(name) % 3]
    defaults = equation.defaults
    network = defaults.network.build(equation.inputs, equation.outputs, key)
    u = Field(network, {}, equation.inputs, equation.outputs)
    for method, rule in ((defaults.method, defaults.rule), one_sample):
        rules = [rule] * len(equation.integrals)
        method.check(equation, rules)
        loss, _ = eqx.filter_eval_shape(method.loss, u, method.init(u), equation, rules, 3, key)
        assert loss.shape == ()
    assert to_text(from_text(to_text(equation))) == to_text(equation)


def test_the_fractional_equation_can_be_made_where_the_volume_of_the_ball_underflows():
    """In 100 dimensions it is 2e-40, and a node's weight must not carry the area of the sphere, which would be 0 in single precision."""
    problem = fr.problems.FractionalPoisson(100)
    assert problem.domain.mass > 0
    assert [float(integral.measure(jnp.zeros(100)).mass) for integral in problem.integrals] == [1.0, 1.0]


def critical_slab(secondaries, near, order=24):
    r"""Half the thickness at which a slab keeps up its own flux, and that flux at quarters of it, by discrete ordinates.

    With Gauss's nodes μ_i on (0, 1) the transport equation $\mu\,\psi' + \psi = \varphi c/2$ has the solutions
    $\varphi = \cosh(x/\nu_j)$, with $1/\nu_j^2$ the eigenvalues of $\mathrm{diag}(\mu^{-2}) - c\,v v^T$, $v_i = \sqrt{w_i}/\mu_i$.
    A sum of them lets nothing in from outside, ψ(a, −μ_i) = 0, for a single a: no integral equation, and nothing of the library's.
    """
    z, w = np.polynomial.legendre.leggauss(order)
    mu, v = (z + 1) / 2, np.sqrt(w / 2) / ((z + 1) / 2)
    nu = 1 / np.sqrt(np.linalg.eigvalsh(np.diag(mu**-2) - secondaries * np.outer(v, v)).astype(complex))

    def wave(x, sign, a):
        return np.exp((sign * x - np.where(nu.imag == 0, a, 0.0)) / nu)  # growing waves are measured by their value at the surface

    def entering(a):
        matrix = (wave(a, -1, a) / (1 + mu[:, None] / nu) + wave(a, 1, a) / (1 - mu[:, None] / nu)).real
        return matrix / np.linalg.norm(matrix, axis=0), np.linalg.norm(matrix, axis=0)

    half = brentq(lambda a: np.linalg.det(3 * entering(a)[0]), 0.99 * near, 1.01 * near, xtol=1e-13)
    matrix, norms = entering(half)
    strengths = np.linalg.svd(matrix)[2][-1] / norms
    flux = np.array([((wave(x, -1, half) + wave(x, 1, half)) @ strengths).real for x in half * np.linspace(0, 1, 5)])
    return half, flux / flux[0]


@pytest.mark.parametrize(("secondaries", "published"), [(1.4, 0.73660355), (1.02, 5.6655054562)])
def test_the_slab_reference_meets_critical_slabs_by_discrete_ordinates_and_those_of_sood_forster_and_parsons(secondaries, published):
    """Without a source the flux is kept up at exactly this thickness: the largest eigenvalue of the kernel is 1/c."""
    half, flux = critical_slab(secondaries, published)
    assert half == pytest.approx(published, rel=1e-8)
    _, kernel = collocation(2 * half)
    values, vectors = np.linalg.eig(kernel)
    largest = np.argmax(values.real)
    assert 1 / values[largest].real == pytest.approx(secondaries, rel=1e-8)
    shape = interpolation(half * (1 + np.linspace(0, 1, 5)), 2 * half) @ vectors[:, largest].real
    assert np.allclose(shape / shape[0], flux, atol=1e-6)


def test_the_form_in_the_ball_is_zero_outside_and_can_be_differentiated_everywhere():
    form = fr.problems.InsideBall(0.75)
    slope = jax.grad(lambda x: form(lambda y: 1.0 + y[0], x))
    for x in ((0.2, 0.1), (1.0, 0.0), (0.9, 0.9)):
        assert np.isfinite(slope(jnp.array(x))).all()
    assert form(lambda y: 1.0, jnp.array([0.9, 0.9])) == 0
    assert form(lambda y: 2.0, jnp.array([0.6, 0.0])) == pytest.approx(2 * 0.64**0.75)


@pytest.fixture
def tiny_zoo(monkeypatch, tmp_path):
    """A case of the zoo with a network of four units in a form, and no pictures."""
    recipe = zoo.SMOOTH.defaults(fr.Constrained(TINY, fr.problems.InsideBall(0.75)), 2000, 8)
    monkeypatch.setitem(zoo.CASES, "volterra", zoo.CASES["volterra"]._replace(recipe=recipe))
    monkeypatch.setattr(cli_zoo, "write_study_page", lambda folder, found: folder.path / "report.html")
    monkeypatch.chdir(tmp_path)


COMMAND = ["compare", "--zoo", "--cases", "volterra", "--columns", "recipe", "--scale", "0.01", "--seeds", "2", "--out", "zoo"]


@pytest.mark.usefixtures("tiny_zoo")
def test_the_command_prints_the_table_and_does_not_run_again_what_is_finished(monkeypatch, tmp_path, capsys):
    (run,) = zoo.zoo_runs(["volterra"], ["recipe"], 2, 0.01)
    # A run that was stopped before its first step is continued.
    folder = StudyFolder.create(tmp_path / "zoo", "The zoo", [run])
    folder.begin()
    place = folder.place(run)
    assert work.perform(run, place, minutes=0.0).steps == 0
    assert main(COMMAND) == 0
    shown = capsys.readouterr().out
    assert "volterra" in shown
    assert "1.8e-4" in shown, "the best published number"
    with open("zoo/zoo.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["case"], row["column"]) for row in rows] == [("volterra", "recipe")]
    assert float(rows[0]["mean"]) == pytest.approx(fr.load(place).summary()["relative_l2"][0], rel=1e-4)
    inside, outside = fr.load(place)([[0.5], [1.2]])
    assert inside != 0
    assert outside == 0, "the network comes back from its folder with its form"
    table = [line for line in (tmp_path / "zoo" / "zoo.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert table[2].startswith("| volterra | smooth |")
    assert len({line.count("|") for line in table}) == 1, "head and rows have as many cells"
    assert (tmp_path / "zoo" / "zoo.png").read_bytes().startswith(b"\x89PNG")
    for name in ("solve", "resume"):  # Nothing may be trained now.
        monkeypatch.setattr(work, name, lambda *given, **keywords: pytest.fail("it was run again"))
    assert main(COMMAND) == 0
    assert main([*COMMAND[:-6], "--scale", "0.02", *COMMAND[-4:]]) == 2
    assert "another steps" in capsys.readouterr().err


@pytest.mark.usefixtures("tiny_zoo")
def test_wrong_names_and_options_of_other_comparisons_are_refused(capsys):
    for arguments, message in (
        (["--zoo", "--cases", "voltera"], "Did you mean 'volterra'?"),
        (["--zoo", "--columns", "recipes"], "Did you mean 'recipe'?"),
        (["--zoo", "--tau", "0.9"], "--tau"),
        (["--zoo", "volterra"], "problem"),
        (["volterra"], "required"),
        (["volterra", "--methods", "standard", "--cases", "volterra"], "belongs to --zoo"),
    ):
        assert main(["compare", *arguments]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("case", zoo.CASES)
def test_all_columns_of_a_case_have_the_same_budget(case):
    problem = zoo.CASES[case].problem()
    made = {run.labels["column"]: run.settings for run in zoo.case_runs(case, 2)}
    spent = []
    for settings in made.values():
        method, rule = settings.part("method"), settings.part("rule")
        spent.append(method.evaluations(problem, problem.rules(rule)).of_step(settings.batch))
    assert max(spent) <= 1.02 * min(spent)
    assert len({settings.steps for settings in made.values()}) == 1
    missing = set(zoo.COLUMNS) - set(made)
    assert missing <= {"delayed N=1"}
    recipe = zoo.Result(1.0, 1.0, 1.0, 0, 1.0)
    assert all(zoo.cell({zoo.RECIPE: recipe}, case, column) is recipe for column in missing), "shown once more in its own column"
