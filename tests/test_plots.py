"""Pictures: every kind of solution has one, with the panels it should have and nothing that does not apply."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import fredholm as fr
from fredholm.functions.field import Field
from fredholm.methods import AbstractMethod
from fredholm.problems.evaluation import RadialGrid
from fredholm.report.plots.comparison import plot_comparison, plot_variance
from fredholm.report.plots.curves import seed_curve
from fredholm.report.plots.errors import plot_errors
from fredholm.report.plots.names import axis_names, output_names
from fredholm.report.plots.scales import scale_of
from fredholm.report.plots.shown import data_of, field_lines, plane, profiles, robust_limits, time_axis, values_at
from fredholm.report.plots.solution import plot_solution
from fredholm.report.plots.style import colors, fitting, plain, png
from fredholm.results.solution import Solution
from fredholm.training.record import RunRecord
from fredholm.training.settings import settings_of
from fredholm.training.status import SeedStatus, Status

STANDARD = fr.Standard()


def decay(exact: bool = True, **keywords) -> fr.Equation:
    """u' = −u with a trivial integral; m copies of it for m outputs."""
    m = keywords.get("outputs", 1)
    return fr.Equation(
        fr.Interval(0.0, 1.0),
        f=lambda u, x: fr.derivative(u, x) + (u.rate if keywords.get("unknowns") else 1.0) * u(x),
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 0.0 * u(t)),
        conditions=fr.Condition(fr.Point(0.0), lambda x: jnp.ones(m) if m > 1 else 1.0),
        exact=(lambda x: jnp.exp(-x[0]) * (jnp.arange(m) + 1.0 if m > 1 else 1.0)) if exact else None,
        **keywords,
    )


def in_box(dimension: int, exact: bool = True) -> fr.Equation:
    """u(x) = sum of x, with an integral that vanishes."""
    box = fr.Box((0.0,) * dimension, (1.0,) * dimension)
    return fr.Equation(
        box, f=lambda u, x: u(x), integrals=fr.Integral(box, lambda u, x, t: 0.0 * u(t)), y=jnp.sum, exact=jnp.sum if exact else None
    )


PROBLEMS = {  # the problem, and the number of axes of its picture without colour bars
    "1-D": (decay(), 4),
    "1-D without truth": (decay(exact=False), 2),
    "1-D, two outputs": (decay(outputs=2), 6),
    "1-D, learned scalar": (decay(unknowns={"rate": 0.5}), 5),
    "2-D": (fr.problems.Poisson(2), 5),
    "2-D without truth": (in_box(2, exact=False), 3),
    "3-D": (in_box(3), 6),
    "3-D without truth": (in_box(3, exact=False), 4),
    "2-D, drawn for each seed": (fr.problems.Poisson(2, charges=fr.Box((-1.0, -1.0), (1.0, 1.0))), 5),
    "5-D, radial": (fr.problems.Poisson(5, evaluation=RadialGrid(fr.Ball((0.0,) * 5), 20, 20, 500)), 4),
}


def made(problem: fr.Equation, label: str, method: AbstractMethod = STANDARD, n: int = 2) -> Solution:
    """A solution as `solve` returns it, with untrained networks and invented records: nothing to compile."""
    seeds, steps = 2, np.arange(2, 22, 2)
    unknowns = dict(problem.unknowns)

    def field(key, scale):
        network = fr.MLP(4, 1).build(problem.inputs, problem.outputs, key)
        return Field(network, {name: value * scale for name, value in unknowns.items()}, problem.inputs, problem.outputs)

    u = eqx.filter_vmap(field)(jax.random.split(jax.random.key(0), seeds), jnp.array([1.0, 2.0]))
    noise = np.exp(np.random.default_rng(0).normal(size=(seeds, len(steps))))
    names = ["loss", "residual", "conditions", "integration_variance", "excess_variance", "drift"]
    names += ["target_variance"] if isinstance(method, fr.DelayedTarget) else []
    names += ["error"] if problem.exact is not None else []
    records = {name: noise / (1 + index) for index, name in enumerate(names + [f"unknown_{name}" for name in unknowns])}
    if isinstance(method, fr.DoubleSampling):
        records["loss"] = noise - 1.0  # it has values on both sides of 0
    history = xr.Dataset({name: (("seed", "step"), values) for name, values in records.items()}, {"seed": [0, 1], "step": steps})
    settings = settings_of(problem, method, rule=fr.MonteCarlo(n), network=fr.MLP(4, 1), optimizer=fr.Adam(), steps=20, batch=4, seeds=2)
    record = dataclasses.replace(
        RunRecord.of(settings, label, None, None),
        environment={"python": "3.11", "packages": {"fredholm": "0.1.0", "jax": "0.10"}, "devices": ["cpu"], "commit": None},
    )
    return Solution(record.at(20, 1.5, (SeedStatus(Status.FINISHED, 20),) * seeds), problem, history, u, u, {})


@pytest.fixture(scope="module")
def solved() -> dict[str, Solution]:
    return {name: made(problem, name) for name, (problem, _) in PROBLEMS.items()}


@pytest.fixture(scope="module")
def compared() -> dict[str, Solution]:
    methods = {"standard": fr.Standard(), "double sampling": fr.DoubleSampling(), "delayed target": fr.DelayedTarget()}
    problem = decay()
    return {name: made(problem, name, method) for name, method in methods.items()}


def with_failure(solution: Solution, failed: list[int]) -> Solution:
    """The same solution, in which some seeds turned non-finite after their first record."""
    status = [SeedStatus(Status.NONFINITE, 3) if index in failed else entry for index, entry in enumerate(solution.status)]
    history = solution.history.copy(deep=True)
    for name in history:
        history[name][failed, 1:] = np.nan
    record = dataclasses.replace(solution.record, status=tuple(status))
    return Solution(record, solution.problem, history, solution._u, solution._target, solution._arrays)


def panels(figure: Figure) -> list:
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_kind_of_solution_has_its_panels(name, solved, tmp_path):
    figure = plot_solution(solved[name], tmp_path / "picture.png")
    assert len(panels(figure)) == PROBLEMS[name][1]
    assert all(axes.has_data() for axes in panels(figure))
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in tmp_path.iterdir()] == ["picture.png"]


def test_truth_and_prediction_share_one_colour_scale(solved):
    images = [axes.images[0] for axes in panels(plot_solution(solved["2-D"])) if axes.images]
    truth, prediction, error = (image.get_clim() for image in images)
    assert truth == prediction
    assert error[0] == -error[1]


class Peak(eqx.Module):
    """A peak at the origin that few points see."""

    height: jax.Array

    def __call__(self, x):
        return self.height[None] * jnp.exp(-jnp.sum((x / 0.01) ** 2)) + 0.1 * jnp.sum(x)[None]


def peaked(problem):
    solution = made(problem, "a name that is far too long for its figure " * 3)
    u = Field(Peak(jnp.ones(2)), {}, problem.inputs, 1)
    return Solution(solution.record, problem, solution.history, u, u, {})


def test_u_is_never_cut_off():
    """An axis hid u(0), and colours ended where a percent of the points was left."""
    line, box = peaked(decay(exact=False)), peaked(in_box(2, exact=False))
    low, high = panels(plot_solution(line))[0].get_ylim()
    assert low <= 0.0
    assert high >= 1.0
    assert panels(plot_solution(box))[0].images[0].get_clim()[1] >= 0.99


def test_sizes_that_span_decades_have_a_logarithmic_scale():
    x = np.linspace(0, 10, 101)
    assert scale_of([np.exp(-x)]).kind == "log"
    assert scale_of([np.exp(-x) - 0.5]).kind == "linear"
    assert scale_of([1 / (x - 5.0001)]).kind == "symlog"
    for values in (np.exp(-x), np.sin(x), 1 / (x - 5.0001), np.full(5, 3.0)):
        scale = scale_of([values])
        assert scale.low <= values.min() <= values.max() <= scale.high


def test_data_are_dots_and_times_are_slices_with_the_names_of_the_view():
    data = dataclasses.replace(decay(view=fr.View(("age",), ("n",))), conditions=(fr.Data([0.0, 0.5], [1.0, 0.6]),))
    axes = panels(plot_solution(made(data, "data")))[0]
    dots = next(one for one in axes.lines if one.get_label() == "data")
    assert dots.get_xydata().tolist() == [[0.0, 1.0], [0.5, 0.6]]
    assert axes.get_xlabel() == "age"
    assert data_of(dataclasses.replace(data, conditions=(fr.Data([0.0], [1.0], of=fr.derivative),)), 0) == []

    def started(axis):
        sides = [fr.Interval(0.0, 1.0), fr.Interval(0.0, 1.0)]
        sides[axis] = fr.Point(0.0)
        return dataclasses.replace(in_box(2), conditions=(fr.Condition(fr.Product(*sides), 1.0),))

    assert [time_axis(started(0)), time_axis(started(1)), time_axis(in_box(2))] == [0, 1, None]
    assert time_axis(dataclasses.replace(in_box(2), view=fr.View(("x", "t")))) == 1
    figure = plot_solution(made(dataclasses.replace(started(1), view=fr.View(("size", "t"), ("n",))), "slices"))
    found = next(axes for axes in panels(figure) if "fixed times" in axes.get_title())
    assert found.get_xlabel() == "size"
    assert [text.get_text() for text in found.get_legend().get_texts()] == ["$t$ = 0", "$t$ = 0.333", "$t$ = 0.667", "$t$ = 1"]


def test_titles_fit():
    figure = plot_solution(peaked(decay(exact=False)))
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for text in (figure._suptitle, *(axes.title for axes in figure.axes)):
        box = text.get_window_extent(renderer)
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert fitting("short $a b$", 10.0, 9.0) == "short $a b$"
    assert fitting("a formula $x = 1, y = 2$ stays whole", 1.0, 9.0).count("$") == 2
    assert "$x = 1, y = 2$" in fitting("a formula $x = 1, y = 2$ stays whole", 1.0, 9.0)


def test_what_the_metric_cannot_see_is_removed(solved):
    """The shown difference has the score that the metric gives, here without mean and linear part."""
    solution = solved["2-D"]
    assert solution.problem is not None
    assert solution.problem.evaluation is not None
    points = np.asarray(solution.problem.evaluation.points(), float)
    shown = values_at(solution, solution.problem, points)
    assert shown.truth is not None
    scores = np.mean((shown.members - shown.truth)[..., 0] ** 2, axis=1)
    np.testing.assert_allclose(scores, solution.evaluate()["mse_linear_free"], rtol=0.02)
    assert "linear part removed" in plot_solution(solution).get_suptitle()


def test_a_domain_that_is_no_box_is_masked():
    disc = fr.Equation(fr.Ball((0.0, 0.0), 1.0), f=lambda u, x: u(x), exact=lambda x: x[0])
    assert plane(disc).inside.mean() == pytest.approx(np.pi / 4, abs=0.05)
    assert plane(in_box(2)).inside.all()


def test_profiles_are_lines_of_the_domain():
    (line,) = profiles(decay())
    assert (line.abscissa[0], line.abscissa[-1]) == (0.0, 1.0)
    (radial,) = profiles(PROBLEMS["5-D, radial"][0])
    np.testing.assert_allclose(np.linalg.norm(radial.points, axis=1), np.repeat(radial.abscissa, radial.width), rtol=1e-6)
    assert len(profiles(in_box(3))) == 3


@pytest.mark.parametrize("failed", [[1], [0, 1]])
def test_a_failed_seed_is_left_out_of_the_mean_and_named(failed, solved):
    solution = with_failure(solved["1-D"], failed)
    assert f"{len(failed)} of 2 seeds failed" in plot_solution(solution).get_suptitle()
    curve = seed_curve(solution, "loss")
    assert curve is not None
    assert list(curve.failed) == failed
    if failed == [1]:
        np.testing.assert_array_equal(curve.mean, solution.history.loss.to_numpy()[0])


def test_without_a_problem_or_a_record_the_picture_shows_what_there_is(solved):
    known = solved["1-D"]
    unknown = Solution(known.record, None, known.history, known._u, known._target, known._arrays)
    assert len(panels(plot_solution(unknown))) == 2
    assert len(panels(plot_solution(unknown, problem=known.problem))) == 4
    empty = Solution(known.record, None, known.history.isel(step=slice(0, 0)), known._u, known._target, known._arrays)
    assert "nothing was recorded" in panels(plot_solution(empty))[0].texts[0].get_text()


def test_a_comparison_in_one_dimension_has_a_line_for_each_method(compared, tmp_path):
    figure = plot_comparison(compared, tmp_path / "comparison.png")
    solution, error = panels(figure)
    assert len(solution.lines) == len(compared) + 1  # and the truth
    assert len(solution.collections) == len(error.collections) == len(compared)  # bands
    assert (tmp_path / "comparison.png").stat().st_size > 10_000


def test_a_comparison_in_two_dimensions_has_one_scale(solved):
    figure = plot_comparison({"a": solved["2-D"], "b": solved["2-D"]})
    images = [axes.images[0] for axes in panels(figure) if axes.images]
    assert len(images) == 5
    assert len({image.get_clim() for image in images}) == 2  # values, errors
    assert len(panels(plot_comparison({"a": solved["2-D without truth"]}))) == 2


@pytest.mark.parametrize("name", ["1-D without truth", "1-D, two outputs", "3-D", "5-D, radial"])
def test_other_comparisons(name, solved):
    figure = plot_comparison({"a": solved[name], "b": solved[name]})
    assert all(axes.has_data() for axes in panels(figure))


def test_a_comparison_refuses_what_cannot_be_compared(solved):
    with pytest.raises(ValueError, match="different problems"):
        plot_comparison({"a": solved["1-D"], "b": solved["2-D"]})
    with pytest.raises(ValueError, match="expected 0 to 1"):
        plot_comparison({"a": solved["1-D, two outputs"]}, output=2)
    with pytest.raises(ValueError, match="got none"):
        plot_comparison({})


def test_loss_against_variance_has_a_panel_for_each_method(solved, tmp_path):
    six = {f"method {index}": solved["2-D"] for index in range(6)}
    figure = plot_variance(six, tmp_path / "variance.png")
    assert len(panels(figure)) == 6
    assert all(len(axes.lines) == 2 for axes in panels(figure))  # the loss, the excess variance


def test_a_loss_on_both_sides_of_zero_is_shown_whole(compared):
    figure = plot_variance(compared)
    assert {axes.get_yscale() for axes in panels(figure)} == {"symlog"}
    assert {axes.get_yscale() for axes in panels(plot_variance({"standard": compared["standard"]}))} == {"log"}


def test_colours_are_those_of_the_family_and_differ():
    names = ["Standard, N=1", "standard, N=100", "double sampling", "delayed target", "mine", "_other", "$x$", "another"]
    assert colors(names)["delayed target"] == colors(["delayed target"])["delayed target"]
    assert len(set(colors(names).values())) == len(names)
    assert colors(["recipe", "standard N=1"])["standard N=1"] == colors(["standard N=1"])["standard N=1"], "also behind another"
    assert len(colors(map(str, range(30)))) == 30


def test_labels_of_a_user_are_shown_as_they_are(solved):
    odd = ["$x$ \\frac", "_hidden", "a very long name " * 8]
    figure = plot_comparison(dict.fromkeys(odd, solved["2-D"]))
    assert png(figure)
    assert plain("_hidden").strip() == "_hidden"


def test_limits_ignore_a_singularity_but_not_a_constant():
    values = np.append(np.linspace(0, 1, 1000), 1e6)
    assert robust_limits([values])[1] < 1.1
    low, high = robust_limits([np.full(10, 3.0)])
    assert low < 3.0 < high


def test_no_global_state_is_touched(solved):
    before = dict(matplotlib.rcParams)
    plot_solution(solved["1-D"])
    assert dict(matplotlib.rcParams) == before


def test_a_view_names_the_axes_and_gives_the_plane_of_a_heat_map():
    problem = fr.problems.Maxwell()
    assert axis_names(problem, 3) == ["$x$", "$y$", "$z$"]
    grid = plane(problem)
    assert (grid.names, grid.where) == (["$x$", "$y$"], "$z$ = 0")
    points = grid.points.reshape(161, 161, 3)
    assert (points[..., 2] == 0).all()
    np.testing.assert_allclose(points[0, -1, :2], [1 - 1 / 161, -1 + 1 / 161])  # the second axis is slow
    lines = field_lines(problem, None)
    here = np.array([lines.first[3], lines.second[30], 0.0])
    np.testing.assert_allclose([lines.along_first[30, 3], lines.along_second[30, 3]], problem.wires.field(jnp.asarray(here))[:2], rtol=1e-3)


@pytest.mark.parametrize(
    "view",
    [{"inputs": ("x", "t")}, {"through": (0.0, 0.0)}, {"through": (0.0, 0.0, 0.0), "output": 1}, {"through": (0.0,) * 3, "along": (0, 3)}],
)
def test_a_view_that_does_not_fit_is_refused(view):
    with pytest.raises(ValueError, match="View"):
        fr.Equation(fr.Box((0.0,) * 3, (1.0,) * 3), f=lambda u, x: u(x), view=fr.View(**view))


def test_errors_stand_at_their_means_in_the_row_of_their_case_with_interval_and_target(tmp_path):
    rows = {"first": {"recipe": (1e-3, 5e-4, 2e-3), "standard N=1": (0.5, 0.4, 0.6)}, "second_$": {"standard N=1": (0.1, 0.0, 0.2)}}
    figure = plot_errors(rows, {"second_$": 1e-2}, "error", "title", tmp_path / "errors.png")
    assert (tmp_path / "errors.png").stat().st_size > 1000
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", r"second_\$"]
    drawn = [(line.get_xdata(), line.get_ydata(), line.get_marker()) for line in axes.lines]
    means = {(x[0], round(y[0])) for x, y, marker in drawn if marker != "None"}
    assert means == {(1e-3, 0), (0.5, 0), (0.1, 1)}
    ends = {(*x, round(y[0])) for x, y, marker in drawn if marker == "None"}
    assert ends == {(5e-4, 2e-3, 0), (0.4, 0.6, 0), (1e-3, 0.2, 1), (1e-2, 1e-2, 1)}, "a low end of 0 is cut on the logarithmic axis"


def test_axes_have_the_letters_of_the_equation():
    growth = fr.Equation(domain=fr.Interval(0.0, 1.0), f=lambda n, t: fr.derivative(n, t) - n(t))
    assert (axis_names(growth, 1), output_names(growth, 1)) == (["$t$"], ["$n$"])
    assert (axis_names(None, 1), output_names(None, 1)) == (["$x$"], ["$u$"])
