"""The report: one page with every number of the summary, nothing from outside, and charts that a browser draws."""

import copy
import dataclasses
import html
import re
import shutil
import subprocess

import numpy as np
import pytest

import fredholm as fr
from fredholm.report.page import plotly_script, results, write_report
from fredholm.report.plots.interactive import charts
from fredholm.report.plots.names import number
from fredholm.results.solution import Solution
from test_plots import PROBLEMS, decay, made, with_failure

ATTACK = "<script>alert(1)</script>"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
METHODS = {"standard": fr.Standard(), "double sampling": fr.DoubleSampling(), "delayed target": fr.DelayedTarget()}


@pytest.fixture(scope="module")
def compared() -> dict[str, Solution]:
    problem = decay(unknowns={"rate": 0.5})
    return {name: made(problem, name, method) for name, method in METHODS.items()}


@pytest.fixture(scope="module")
def page(compared, tmp_path_factory):
    return write_report(compared, tmp_path_factory.mktemp("report") / "report.html")


def rows(text: str) -> dict[str, str]:
    """The rows of the table of results, by method."""
    return dict(re.findall(r'<tr data-method="([^"]*)">(.*?)</tr>', text, re.DOTALL))


def test_a_row_for_each_method_with_the_numbers_of_its_summary(compared, page):
    found = rows(page.read_text(encoding="utf-8"))
    assert list(found) == list(compared)
    for name, solution in compared.items():
        for values in solution.summary().values():
            assert all(number(value) in found[name] for value in values)
        curve = solution.history.error.mean("seed").to_numpy()
        assert f"best {number(curve.min())}" in found[name]
        assert f"at step {int(solution.history.step[curve.argmin()])}" in found[name]
        assert f"last {number(curve[-1])}" in found[name]
        assert "finished" in found[name]


def test_the_page_asks_for_nothing_from_outside(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r'<(script|link|img|iframe)[^>]*(src|href)="(?!data:)', text)
    assert "default-src 'none'" in text
    assert text.count(plotly_script()) == 1
    assert len(text) < 2.5e6
    assert len(re.findall('<img src="data:image/png;base64,', text)) == 2 + len(METHODS)


def test_settings_versions_and_the_way_back_are_there(page):
    text = html.unescape(page.read_text(encoding="utf-8"))
    for expected in ("DelayedTarget(tau=None", "MonteCarlo(n=2)", "MLP(width=4", "0.1.0", "fr.load(", "fredholm resume"):
        assert expected in text


def test_nothing_of_the_users_becomes_markup(compared, tmp_path):
    solution = compared["standard"]
    record = solution.record
    evil = Solution(
        dataclasses.replace(record, label=ATTACK, origin={"command": [ATTACK]}, settings=record.settings.replaced(stop=ATTACK)),
        solution.problem,
        solution.history,
        solution._u,
        solution._target,
        solution._arrays,
    )
    labels = [ATTACK, '"><img src=x onerror=alert(1)>']
    text = write_report(dict.fromkeys(labels, evil), tmp_path / "page.html", title=ATTACK).read_text(encoding="utf-8")
    assert ATTACK not in text
    assert "<img src=x" not in text
    assert html.escape(ATTACK) in text
    drawn = charts(dict.fromkeys(labels, evil), ATTACK)
    names = [str(trace.name) for chart in drawn for trace in chart.figure.data]
    assert any("script" in name for name in names)
    assert not any("<" in name for name in names)  # plotly would read it as a tag
    around = text.replace(plotly_script(), "")
    assert len(re.findall("<script", around)) == len(re.findall("</script", around)) == 1 + len(drawn)  # none ends early


def test_a_failed_seed_is_seen(compared, tmp_path):
    failed = with_failure(compared["standard"], [1])
    text = write_report({"standard": failed}, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Some seeds failed" in text
    assert "seed 1: the loss or the network became non-finite" in text
    assert "1 failed" in rows(text)["standard"]
    every = with_failure(compared["standard"], [0, 1])
    assert "every seed failed" in rows(write_report({"x": every}, tmp_path / "page.html").read_text(encoding="utf-8"))["x"]


def test_without_a_truth_and_for_different_problems(tmp_path):
    runs = {name: made(PROBLEMS[name][0], name) for name in ("1-D without truth", "3-D without truth")}
    text = write_report(runs, tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert list(rows(text)) == list(runs)
    assert "chart-0-loss" in text
    assert "chart-0-error" not in text


def test_charts_hold_the_curves_and_only_numbers(compared):
    made_charts = {chart.name: chart for chart in charts(compared, "error")}
    assert list(made_charts) == ["error", "loss", "variance", "drift", "unknowns"]
    lines = [trace for trace in made_charts["error"].figure.data if trace.hovertemplate]
    assert [trace.name for trace in lines] == list(METHODS)
    np.testing.assert_allclose(lines[0].y, compared["standard"].history.error.mean("seed"), rtol=1e-5)
    for chart in made_charts.values():
        assert not re.search("NaN|Infinity", chart.figure.to_json())


def test_a_menu_shows_each_quantity_or_all(compared):
    (chart,) = (chart for chart in charts(compared, "error") if chart.name == "variance")
    _, menu = chart.figure.layout.updatemenus
    names = [trace.name.split(": ")[1] if trace.name else None for trace in chart.figure.data]
    visible = {button.label: button.args[0]["visible"] for button in menu.buttons}
    shown = {label: {name for name, on in zip(names, choice, strict=True) if on and name} for label, choice in visible.items()}
    assert [trace.visible for trace in chart.figure.data] == list(visible["excess and target"])
    every = {"excess", "target", "integration"}
    assert shown == {"excess and target": {"excess", "target"}, **{one: {one} for one in every}, "all": every}


def test_a_logarithmic_scale_leaves_out_what_is_not_positive_and_a_linear_one_shows_it(compared):
    (chart,) = (chart for chart in charts(compared, "error") if chart.name == "loss")
    assert all((np.isnan(trace.y) | (trace.y > 0)).all() for trace in chart.figure.data)
    (place,) = (place for place, trace in enumerate(chart.figure.data) if trace.name == "double sampling: loss")
    log, linear = chart.figure.layout.updatemenus[0].buttons
    recorded = compared["double sampling"].history.loss.mean("seed").to_numpy()
    values, _, changed = linear.args
    np.testing.assert_allclose(values["y"][changed.index(place)], recorded, rtol=1e-5)
    values, _, changed = log.args
    np.testing.assert_allclose(values["y"][changed.index(place)], np.where(recorded > 0, recorded, np.nan), rtol=1e-5)


def test_points_a_step_count_every_node(compared):
    # With learned scalars a delayed target has nodes of their own for them.
    assert [solution.shown().evaluations for solution in compared.values()] == [8, 8, 16]
    weak = made(PROBLEMS["2-D"][0], "weak", fr.DelayedTarget(main=3))
    assert weak.shown().evaluations == 4 * (2 + 3)
    assert results({"weak": weak})[0].points == 20


def test_a_page_says_what_was_chosen_and_why_and_a_notebook_shows_a_picture(compared, tmp_path):
    solution = compared["standard"]
    chosen = copy.copy(solution)
    chosen.record = solution.record.with_reasons(["a series <of> degree 8"])
    assert "a series &lt;of&gt; degree 8" in chosen.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'src="data:image/png;base64,' in solution._repr_html_()


def test_settings_read_like_python(compared):
    shown = compared["standard"].shown().settings
    assert shown["rule"] == "MonteCarlo(n=2)"
    assert shown["network"] == "MLP(width=4, depth=1, activation='silu', scaled=True)"
    assert "stop" not in shown, "it was not given"


def test_a_trained_run_reports_itself(tmp_path):
    solution = fr.solve(decay(), fr.Standard(), rule=fr.MonteCarlo(1), network=fr.MLP(4, 1), steps=4, batch=4, seeds=1, progress=False)
    solution.plot(tmp_path / "picture.png")
    text = solution.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(text) < 2e6
    assert list(rows(text)) == [html.escape(solution.label)]
    assert "must be given again" in text  # the equation is the user's own


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine: the page is not tried in a browser")
def test_a_browser_draws_every_chart_without_a_complaint(page, tmp_path):
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    flags += " --disable-sync --virtual-time-budget=8000 --window-size=1400,2000 --enable-logging=stderr --dump-dom"
    command = [str(BROWSER), *flags.split(), f"--user-data-dir={tmp_path}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert len(re.findall(r'class="[^"]*js-plotly-plot', done.stdout)) == 5
    assert len(re.findall(r'<g class="trace scatter', done.stdout)) >= 5 * len(METHODS)
