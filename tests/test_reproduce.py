"""The paper's figures: every published number stands beside a run of ours, and verdicts follow the data."""

import csv
import html
import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import fredholm as fr
from fredholm.__main__ import main
from fredholm.paper.reproduction import published
from fredholm.paper.reproduction.catalogue import FIGURES, figure, figures
from fredholm.paper.reproduction.draw import draw
from fredholm.paper.reproduction.families import GAUSS_NODES, LEJA_NODES, SCALES, high_dimension
from fredholm.paper.reproduction.panels import Bars, Curves, Lines
from fredholm.paper.reproduction.published import panels
from fredholm.paper.reproduction.records import read_records, write_record
from fredholm.paper.reproduction.verdicts import Verdict
from fredholm.report.page import plotly_script
from fredholm.study import StudyFolder, outcomes
from fredholm.study.page import Judged, write_study_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAPER = SCALES["paper"]
QUICK = [name for name in FIGURES if name != "figure-7"]  # whose truths in 2 and 3 dimensions take minutes to compute


@pytest.mark.parametrize("name", QUICK)
def test_every_published_number_stands_beside_a_run_of_ours_of_the_published_effort(name, monkeypatch):
    asked = []
    original = published.published

    def noted(number, problem, quantity, panel=""):
        asked.append((problem, quantity, panel))
        return original(number, problem, quantity, panel)

    for module in ("published", "main_text", "sampling", "architecture", "targets"):
        monkeypatch.setattr(f"fredholm.paper.reproduction.{module}.published", noted)
    made = figure(name, "paper")
    number = int(name.removeprefix("figure-"))
    wanted = panels(number)
    if number == 4:  # of the left panels two dimensions are drawn, each with the truth of ours
        wanted = [entry for entry in wanted if entry[1] != "prediction vs radius (main)"]
    assert set(wanted) <= set(asked)
    for panel in (panel for row in made.rows for panel in row):
        if isinstance(panel, (Bars, Curves, Lines)):
            assert set(panel.published) <= set(panel.bars if isinstance(panel, Bars) else panel.lines)
        if isinstance(panel, Curves) and "by batch" in panel.title:
            assert set(panel.published) == set(panel.lines)
            assert len(panel.lines) == 10
    assert len({run.name for run in made.runs}) == len({run.key for run in made.runs}) == len(made.runs)
    for run in made.runs:
        assert (run.settings.steps, len(run.seeds), run.settings.average) == (200_000, 100, 0.0)


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_high_dimension_has_the_published_nodes_and_volumes(dim):
    runs = high_dimension(PAPER, dim)
    gauss, leja = {2: (333, 333), 3: (71, 166), 10: (5, 18)}[dim]
    expected = {
        "Gaussian Quadrature": (gauss, GAUSS_NODES[dim - 2]),
        "Leja Quadrature": (leja, LEJA_NODES[dim - 2]),
        "Standard (N=1)": (500, 2),
        "Standard (N=100)": (10, 101),
        "QMC (N=100)": (10, 101),
        "Double Sampling (N=100)": (10, 100),
        "Delayed Target (N=10)": (100, 11),
    }
    for name, (volumes, nodes) in expected.items():
        settings = runs[name].settings
        problem, method, rule = (settings.part(part) for part in ("problem", "method", "rule"))
        assert settings.batch == volumes
        assert method.evaluations(problem, problem.rules(rule)).of_integrands(1) == nodes
        assert settings.part("network") == fr.MLP(64, 5, "silu", scaled=False)


def test_figures_of_one_scale_share_their_runs():
    keys = [{run.key for run in figure(name, "laptop").runs} for name in ("figure-1", "figure-8", "figure-10", "figure-12", "figure-16")]
    assert keys[3] <= keys[2]
    assert keys[0] & keys[1]
    assert keys[2] & keys[4]


def test_an_unknown_figure_or_scale_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "figure-22"]) == 2
    assert "unknown figure 'figure-22'" in capsys.readouterr().err
    assert main(["reproduce", "figure-1", "--scale", "labtop"]) == 2
    assert "Did you mean 'laptop'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_headline_is_the_published_length_of_what_decides_the_main_claims(tmp_path, monkeypatch, capsys):
    assert set(figures("headline")) == {f"figure-{number}" for number in range(1, 7)}
    assert figures("laptop") == list(FIGURES)
    assert figures("labtop") == list(FIGURES)  # which is then named
    made = figure("figure-4", "headline")
    assert len(made.runs) == 3 * 6
    assert {(run.settings.steps, len(run.seeds)) for run in made.runs} == {(200_000, 4)}
    assert any("QMC with N=100" in claim.text for claim in made.claims)
    assert not any("Quadrature" in claim.text for claim in made.claims)
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "figure-1", "--scale", "headline", "--estimate"]) == 0
    assert "2 of 2 runs to do, 200,000 steps, 4 seeds: about" in capsys.readouterr().out


def test_the_estimate_is_given_before_anything_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "figure-2", "--scale", "laptop", "--estimate"]) == 0
    assert "6 of 6 runs to do, 20,000 steps, 4 seeds: about" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_figure_without_a_result_yet_is_drawn_and_its_headline_is_not_cut(smoke):
    made = figure("figure-21", "smoke")
    assert max(len(row) for row in made.rows) == 2
    drawn = draw(made, StudyFolder.open(smoke), {})
    headline = drawn._suptitle.get_window_extent()
    assert drawn.bbox.x0 <= headline.x0
    assert headline.x1 <= drawn.bbox.x1


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Figure 1 at smoke scale, by the command."""
    out = tmp_path_factory.mktemp("reproduce")
    assert main(["reproduce", "figure-1", "--scale", "smoke", "--out", str(out)]) == 0
    return out / "figure-1"


def test_a_figure_at_smoke_scale_is_a_picture_tables_and_a_page(smoke, capsys, monkeypatch):
    assert {"figure.png", "report.html", "table.csv", "summary.csv", "paired.csv", "claims.csv", "published.csv"} <= {
        path.name for path in smoke.iterdir()
    }
    with (smoke / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(figure("figure-1", "smoke").claims)
    assert {row["verdict"] for row in rows} == {Verdict.OPEN.value}
    size = sum(path.stat().st_size for path in smoke.parent.rglob("*") if path.is_file())
    assert size < 10 * 2**20
    monkeypatch.setattr("fredholm.study.work.solve", None)  # nothing is trained twice
    assert main(["reproduce", "figure-1", "--scale", "smoke", "--out", str(smoke.parent)]) == 0
    assert "all 2 runs are finished" in capsys.readouterr().out


def test_the_page_asks_for_nothing_from_outside_and_has_its_script_once(smoke):
    text = (smoke / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'<(script|link|img|iframe)[^>]*(src|href)="(?!data:)', text)
    assert text.count(plotly_script()) == 1
    links = re.findall(r'<summary><a href="([^"]*)"', text)
    assert len(links) == 2
    assert all((smoke / link / "run.json").is_file() for link in links)


def test_the_page_of_the_reproduction_is_made_from_records(smoke, tmp_path):
    write_page = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "make_reproduction_page.py"))["write_page"]
    page, folder, records = tmp_path / "page.md", StudyFolder.open(smoke), tmp_path / "records" / "smoke"
    with pytest.raises(SystemExit, match="no figure has records"):
        write_page([smoke.parent], page, ["smoke"], ["figure-1", "figure-3"])
    first = outcomes(folder)
    for one in first.values():
        write_record(records, one)
    write_page([smoke.parent], page, ["smoke"], ["figure-1", "figure-3"])
    text = page.read_text(encoding="utf-8")
    assert "2 runs of 40 steps and 2 seeds" in text
    section = re.search(r"^## [^\n]*\(figure-1\)\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    assert section is not None
    assert section[1].count(f"| **{Verdict.OPEN.value}** |") == len(figure("figure-1", "smoke").claims)
    claims = text.count(f"| **{Verdict.OPEN.value}** |")  # a figure that shares these runs has its claims too
    assert f"Of the {claims} claims below, each judged by its longest runs: holds 0, does not hold 0, open {claims}." in text
    assert all((tmp_path / picture).is_file() for picture in re.findall(r"\]\((figures/.*?)\)", text))
    noted = text.replace("<!-- note figure-1 -->\n", "<!-- note figure-1 -->\nA person wrote this.\n")
    older = "## Another (figure-3)\n\nOlder.\n\n| claim | verdict | measured |\n|---|---|---|\n| a | holds (earlier rule) | b |\n"
    page.write_text(f"{noted}\n{older}", encoding="utf-8")
    write_page([smoke.parent], page, ["smoke"], ["figure-1", "figure-3"])
    kept = page.read_text(encoding="utf-8")
    assert older in kept, "a figure without records keeps its section"
    assert "A person wrote this." in kept
    assert f"Of the {claims} claims below" in kept


def test_a_run_that_has_its_record_is_not_trained_again(smoke, tmp_path, capsys):
    first = outcomes(StudyFolder.open(smoke))
    for one in first.values():
        write_record(tmp_path / "records" / "smoke", one)
    runs = figure("figure-1", "smoke").runs
    again = read_records(tmp_path / "records" / "smoke", runs)
    for run in runs:
        np.testing.assert_allclose(again[run.name].curve("loss"), first[run.name].curve("loss"), rtol=1e-4)
        assert again[run.name].status == first[run.name].status
    # A run with another setting, or another length, is another run.
    for changed in ({"steps": 41}, {"batch": 7}):
        assert not read_records(tmp_path / "records" / "smoke", [run._replace(settings=run.settings.replaced(**changed)) for run in runs])
    options = ["--scale", "smoke", "--out", str(tmp_path / "out"), "--records", str(tmp_path / "records")]
    assert main(["reproduce", "figure-1", *options]) == 0
    assert "all 2 runs are finished" in capsys.readouterr().out
    assert not list((tmp_path / "out" / "runs").glob("*/run.json"))
    assert (tmp_path / "out" / "figure-1" / "figure.png").is_file()
    # What is run goes to the records.
    place = tmp_path / "records" / "smoke"
    next(place.glob("*.npz")).unlink()
    assert main(["reproduce", "figure-1", *options]) == 0
    assert "1 of 2 runs to do" in capsys.readouterr().out
    assert len(list(place.glob("*.npz"))) == 2


def test_nothing_of_a_study_becomes_markup(smoke, tmp_path):
    attack = "<script>alert(1)</script>"
    folder = StudyFolder.open(smoke)
    evil = StudyFolder(tmp_path, attack, [run._replace(name=attack + str(index)) for index, run in enumerate(folder.runs)], "runs")
    shutil.copytree(folder.pool, evil.pool)
    page = write_study_page(evil, outcomes(evil), claims=[Judged(attack, attack, attack)], note=attack)
    text = page.read_text(encoding="utf-8")
    assert attack not in text
    assert html.escape(attack) in text


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine: the page is not tried in a browser")
def test_a_browser_draws_the_study_and_picks_a_quantity_and_runs(smoke, tmp_path):
    picks = """<script>(async () => {
      const chart = document.getElementById("chart-study"), found = [];
      const click = element => {
        for (const kind of ["mousedown", "mouseup", "click"]) element.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
        return new Promise(done => setTimeout(done, 600));  // longer than plotly waits for a second click
      };
      const choose = async place => {
        await click(chart.querySelector(".updatemenu-header"));
        await click(chart.querySelectorAll(".updatemenu-dropdown-button")[place]);
      };
      const see = () => found.push([
        chart.querySelectorAll("g.trace.scatter path.js-line").length, chart._fullLayout.yaxis.type, chart._fullData.at(-1).y[0],
      ]);
      see();
      await click(chart.querySelector(".legendtoggle")); see();
      await choose(1); see();
      await click([...chart.querySelectorAll(".updatemenu-button")].find(one => one.textContent === "linear")); see();
      document.body.dataset.found = JSON.stringify(found);
    })();</script></body>"""
    page = tmp_path / "page.html"
    page.write_text((smoke / "report.html").read_text(encoding="utf-8").replace("</body>", picks), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    flags += " --disable-sync --virtual-time-budget=12000 --enable-logging=stderr --dump-dom"
    command = [str(BROWSER), *flags.split(), f"--user-data-dir={tmp_path}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found is not None
    every, one, other, linear = json.loads(html.unescape(found.group(1)))
    folder = StudyFolder.open(smoke)
    (*_, last), both = outcomes(folder).values(), len(folder.runs)
    assert every[0] == both * one[0] > 0  # a click on a run's name hides it
    assert other[0] == linear[0] == one[0]  # and another quantity or scale does not bring it back
    assert [seen[1] for seen in (every, one, other, linear)] == ["log", "log", "log", "linear"]
    for seen, quantity in ((every, "error"), (one, "error"), (other, "loss"), (linear, "loss")):
        assert seen[2] == pytest.approx(last.curve(quantity)[last.good].mean(axis=0)[0], rel=1e-5)
