"""The report: one HTML page that opens offline, with results, curves, pictures, settings and versions.

Here the page is plain data; the templates in `templates/` give it its form.
"""

import base64
import datetime
import gzip
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import jinja2
import plotly.graph_objects as go
from markupsafe import Markup
from matplotlib.figure import Figure

from fredholm.equation.evaluation import METRICS
from fredholm.report.plots.comparison import plot_comparison, plot_variance
from fredholm.report.plots.curves import seed_curve
from fredholm.report.plots.family import family_charts
from fredholm.report.plots.interactive import Chart, charts
from fredholm.report.plots.names import metric_name, number
from fredholm.report.plots.shown import comparable
from fredholm.report.plots.solution import plot_solution
from fredholm.report.plots.style import colors, png
from fredholm.report.solved import Solved
from fredholm.storage.files import write_atomically
from fredholm.training.status import describe_failures


class Section(NamedTuple):
    """A part of a page: the runs of one problem that are compared."""

    title: str
    solutions: Mapping[str, Solved]


class Row(NamedTuple):
    """The results of one method."""

    name: str
    color: str  # of its lines in charts and pictures
    status: str  # in words, "finished"
    failures: list[str]  # a line for each seed that failed
    metrics: dict[str, tuple[float, float, float]]  # the mean over seeds and its interval, the score first
    best: tuple[float, int] | None  # the least of the mean error over training, and its step
    last: float | None  # the last recorded mean error
    points: int | None  # points at which the integrand is evaluated in a step, per seed
    steps: int
    seconds: float


class Picture(NamedTuple):
    """A figure inside of the page."""

    data: str  # PNG in base64
    width: int  # in pixels
    caption: str
    folded: str = ""  # the heading under which it is folded away; empty where it is shown at once


class Compared(NamedTuple):
    """Settings by name."""

    names: list[str]  # of the runs; none where they agree in everything
    rows: dict[str, list[str]]  # the value of each run, or the one that they share


class Usage(NamedTuple):
    """How to take runs up again."""

    note: str
    code: str


class Shown(NamedTuple):
    """A section as the template takes it."""

    title: str
    failures: list[str]  # the method, and which seed failed why
    metrics: dict[str, str]  # the columns of the table of results, in words
    rows: list[Row]
    least: float | None  # the least score of several methods
    note: str
    words: list[tuple[str, str]]  # what printing the solution says below its name; empty where several are compared
    family: list[Chart]  # with a slider for a parameter; none for a single equation
    charts: list[Chart]
    pictures: list[Picture]
    settings: Compared
    versions: Compared
    usage: Usage


def write_report(solutions: Mapping[str, Solved], path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Writes the page for one run or for several that are compared, and returns its path."""
    if not solutions:
        raise ValueError("write_report: got no solutions; expected a mapping from names to solutions, as compare returns.")
    title = title or (next(iter(solutions)) if len(solutions) == 1 else f"{_problem_name(solutions)}: {len(solutions)} methods")
    return write_page([Section("", solutions)], path, title)


def write_page(sections: Sequence[Section], path: str | os.PathLike[str], title: str) -> Path:
    """Writes one page of several sections, each with its results, curves, pictures and settings, and returns its path."""
    path = Path(path)
    seeds = sorted({len(solution.seeds) for section in sections for solution in section.solutions.values()})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    names = ", ".join(dict.fromkeys(_problem_name(section.solutions) for section in sections))
    subtitle = f"{names}; {count} {'seed' if seeds == [1] else 'seeds'} each."
    return write_html("run.html", path, title, subtitle, [_shown(section, path) for section in sections])


def write_html(template: str, path: Path, title: str, subtitle: str, content: object) -> Path:
    """Writes a page by a template of `templates/`, to which `content` is handed, and returns its path."""
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    page = _templates().get_template(template)
    text = page.render(title=title, subtitle=f"{subtitle} Written by fredholm on {date}.", content=content, plotly=Markup(plotly_script()))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(text.encode()))
    return path


@cache
def plotly_script() -> str:
    """The basic bundle of plotly.js (MIT), which draws lines: a quarter of what plotly.py holds, so that a page stays below 2 MB."""
    packed = files("fredholm.report").joinpath("templates", "plotly-basic.min.js.gz").read_bytes()
    return gzip.decompress(packed).decode()


@cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("fredholm.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "duration": duration, "chart": _chart}
    return made


def _chart(figure: go.Figure, place: str) -> Markup:
    """A figure at a place of the page. plotly escapes its text, which cannot end the script that it stands in."""
    return Markup(figure.to_html(config={"displayModeBar": False}, include_plotlyjs=False, full_html=False, div_id=place))


def duration(seconds: float) -> str:
    """A time in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def results(solutions: Mapping[str, Solved]) -> list[Row]:
    """The table of results, one row for each method."""
    palette = colors(solutions)
    return [_row(name, solution, palette[name]) for name, solution in solutions.items()]


def _row(name: str, solution: Solved, color: str) -> Row:
    ended = next((entry.status.value for entry in solution.status if not entry.status.is_failure), "every seed failed")
    failures, error = describe_failures(solution.status, solution.seeds), seed_curve(solution, "error")
    best, last = (None, None) if error is None else (error.best, error.last)
    return Row(name, color, ended, failures, solution.summary(), best, last, solution.shown().evaluations, solution.steps, solution.seconds)


def _shown(section: Section, path: Path) -> Shown:
    solutions, rows = section.solutions, results(section.solutions)
    metrics = {name: metric_name(name) for row in rows for name in row.metrics}
    score = next(iter(metrics), "")
    scores = [row.metrics[score][0] for row in rows if score in row.metrics]
    return Shown(
        title=section.title,
        failures=[f"{row.name}, {line}" for row in rows for line in row.failures],
        metrics=metrics,
        rows=rows,
        least=min((value for value in scores if value == value), default=None) if len(rows) > 1 and score in METRICS else None,
        note=_results_note(solutions),
        words=next(iter(solutions.values())).lines()[1:] if len(solutions) == 1 else [],
        family=[one for number, solution in enumerate(solutions.values()) for one in family_charts(number, solution)],
        charts=charts(solutions, _score_words(solutions)),
        pictures=_pictures(solutions),
        settings=_compared({name: solution.shown().settings for name, solution in solutions.items()}),
        versions=_compared({name: solution.shown().versions for name, solution in solutions.items()}),
        usage=how_to_go_on(solutions, path),
    )


def _problem_name(solutions: Mapping[str, Solved]) -> str:
    problem = next((solution.problem for solution in solutions.values() if solution.problem is not None), None)
    return "Equation" if problem is None else type(problem).__name__


def _score_words(solutions: Mapping[str, Solved]) -> str:
    evaluations = (solution.problem.evaluation for solution in solutions.values() if solution.problem is not None)
    evaluation = next((one for one in evaluations if one is not None), None)
    return "the problem's metric" if evaluation is None else metric_name(evaluation.score)


def _results_note(solutions: Mapping[str, Solved]) -> str:
    text = "Mean over the seeds that succeeded, with its 95 % bootstrap interval."
    if any(seed_curve(solution, "error") is not None for solution in solutions.values()):
        text += f" Error in training: the least and the last value of the seed-mean curve of {_score_words(solutions)}."
    if any(solution.unknowns for solution in solutions.values()):
        text += " Of a learned scalar it is the spread over seeds, and no interval of the truth."
    return text + " Points a step: evaluations of the integrand in a step of one seed."


def _pictures(solutions: Mapping[str, Solved]) -> list[Picture]:
    several, pictures = len(solutions) > 1, list[Picture]()
    if several and comparable(solutions):
        pictures.append(picture(plot_comparison(solutions), "All methods on one scale, means over seeds."))
    if several and any(seed_curve(solution, "excess_variance") is not None for solution in solutions.values()):
        pictures.append(picture(plot_variance(solutions), "Loss against the excess variance, by which the standard loss is biased."))
    own = [picture(plot_solution(solution), f"The solution by {name}.") for name, solution in solutions.items()]
    return pictures + [one._replace(folded=name) if several else one for name, one in zip(solutions, own, strict=True)]


def picture(figure: Figure, caption: str) -> Picture:
    """A figure as a page takes it."""
    return Picture(base64.b64encode(png(figure)).decode(), int(figure.get_figwidth() * 96), caption)


def _compared(found: Mapping[str, Mapping[str, str]]) -> Compared:
    """The settings of runs side by side; a value that all of them share stands once."""
    names = dict.fromkeys(name for settings in found.values() for name in settings)
    rows = {name.replace("_", " "): [settings.get(name, "–") for settings in found.values()] for name in names}
    differ = any(len(set(values)) > 1 for values in rows.values())
    shared = {name: values[:1] if len(set(values)) == 1 else values for name, values in rows.items()}
    return Compared(list(found) if differ else [], shared)


def how_to_go_on(solutions: Mapping[str, Solved], path: Path) -> Usage:
    """How to take the runs up again; folders by their names only, since a page may travel."""
    beside = sorted(folder.parent.name for folder in path.parent.glob("*/run.json")) if path.parent.is_dir() else []
    runs = [path.parent.resolve().name] if (path.parent / "run.json").is_file() else beside or ["RUN"]
    kept = [solution.shown() for solution in solutions.values()]
    own = list(dict.fromkeys(name for one in kept for name in one.own))
    given = "".join(f", {name}=..." for name in own)
    lines = ["import fredholm as fr", *(f'solution = fr.load("{run}"{given})' for run in runs)]
    lines += ["solution(points)                         # predictions at points of shape (n, d)"]
    if all(one.is_resumable for one in kept):
        lines += [f'fr.resume("{runs[0]}", steps=...{given})     # more steps', ""]
        lines += [f"$ fredholm resume {run} --steps ..." for run in runs]
    else:
        lines += ["# A study kept only the networks: to train longer, run the study again with more steps."]
    note = "RUN is the folder of the run, what solve(out=...) or solution.save(...) wrote. " if runs == ["RUN"] else ""
    note += f"The {' and the '.join(own)} were made in Python and must be given again." if own else ""
    return Usage(note, "\n".join(lines))
