"""The report: one HTML page, which opens without a network, with results, curves, pictures, settings and versions."""

import base64
import datetime
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from plotly.offline import get_plotlyjs

from fredholm.equation.evaluation import METRICS
from fredholm.report.plots.comparison import plot_comparison, plot_variance
from fredholm.report.plots.curves import seed_curve
from fredholm.report.plots.interactive import Chart, charts
from fredholm.report.plots.names import metric_name, number
from fredholm.report.plots.shown import comparable
from fredholm.report.plots.solution import plot_solution
from fredholm.report.plots.style import colors, png
from fredholm.results.solution import Solution
from fredholm.storage.run_folder import write_atomically

GLYPHS = {"solid": "—", "dash": "╌", "dot": "⋯", "dashdot": "‒·", "longdash": "– –", "longdashdot": "—·"}  # the lines of DASHES
SETTINGS = (
    "problem",
    "method",
    "rule",
    "network",
    "optimizer",
    "steps",
    "batch",
    "average",
    "seeds",
    "record_every",
    "precision",
    "stop",
    "origin",
)


class Row(NamedTuple):
    """The results of one method."""

    name: str
    status: str  # in words, "finished"
    failures: list[str]  # a line for each seed that failed
    metrics: dict[str, tuple[float, float, float]]  # the mean over seeds and its interval, the score first
    best: tuple[float, int] | None  # the least of the mean error over training, and its step
    last: float | None  # the last recorded mean error
    points: int | None  # points at which the integrand is evaluated in a step, per seed
    steps: int
    seconds: float


def results(solutions: Mapping[str, Solution]) -> list[Row]:
    """The table of results, one row for each method."""
    return [_row(name, solution) for name, solution in solutions.items()]


class Section(NamedTuple):
    """A part of a page: the runs of one problem that are compared."""

    title: str
    solutions: Mapping[str, Solution]


def write_report(solutions: Mapping[str, Solution], path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Writes the page for one run or for several that are compared, and returns its path."""
    if not solutions:
        raise ValueError("write_report: got no solutions; expected a mapping from names to solutions, as compare returns.")
    title = title or (next(iter(solutions)) if len(solutions) == 1 else f"{_problem_name(solutions)}: {len(solutions)} methods")
    return write_page([Section("", solutions)], path, title)


def write_page(sections: Sequence[Section], path: str | os.PathLike[str], title: str) -> Path:
    """Writes one page of several sections, each with its results, curves, pictures and settings, and returns its path."""
    path = Path(path)
    drawn = [charts(section.solutions, _metric_words(section.solutions)) for section in sections]
    bodies = [
        _section(section, number, interactive, path) for number, (section, interactive) in enumerate(zip(sections, drawn, strict=True))
    ]
    data = [{**chart._asdict(), "name": f"{index}-{chart.name}"} for index, interactive in enumerate(drawn) for chart in interactive]
    return write_html(path, title, _subtitle(sections), "".join(bodies), data)


def write_html(path: Path, title: str, subtitle: str, body: str, charts: list[dict[str, Any]]) -> Path:
    """Writes a page that opens without a network: the template with this body, and with charts for the places `chart-<name>` in it."""
    page = Template(files("fredholm").joinpath("report_page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title), subtitle=escape(subtitle), sections=body, plotly=get_plotlyjs(), charts=safe_json(charts)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(page.encode()))
    return path


def _section(section: Section, index: int, interactive: list[Chart], path: Path) -> str:
    solutions, rows = section.solutions, results(section.solutions)
    heading = f'<h1 class="section">{escape(section.title)}</h1>' if section.title else ""
    return f"""{heading}{_failures(rows)}
<h2>Results</h2>
<div class="wide">{_results_table(rows, colors(solutions))}</div>
<p class="soft">{_results_note(solutions)}</p>
{_curves(interactive, index)}
<h2>Pictures</h2>
{_pictures(solutions)}
<h2>Settings</h2>
<div class="wide">{_settings_table(solutions)}</div>
<h2>Versions</h2>
<div class="wide">{_versions_table(solutions)}</div>
<h2>Continue or load</h2>
{how_to_go_on(solutions, path)}"""


def safe_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def points_per_step(solution: Solution) -> int | None:
    """Points at which integrands are evaluated in one step of one seed. None where the run's problem, method or rule is not in its
    folder."""
    settings, problem = solution.record.settings, solution.problem
    method, rule = settings.part("method"), settings.part("rule")
    if problem is None or method is None or rule is None:
        return None
    return method.evaluations(problem, problem.rules(rule)).of_integrands(settings.batch)


def readable(value: Any) -> str:
    """A recorded setting, about as it would be written in Python."""
    if isinstance(value, dict):
        if "opaque" in value:
            return str(value["opaque"])
        if "array" in value:
            return readable(value["array"])
        if "dict" in value:
            return readable(value["dict"])
        head = value.get("noun") or value.get("problem")
        inside = value.get("fields", value.get("options"))
        if head and isinstance(inside, dict):
            return f"{head}({', '.join(f'{name}={readable(item)}' for name, item in inside.items())})"
        return ", ".join(f"{name}: {readable(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(readable(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _row(name: str, solution: Solution) -> Row:
    ended = next((entry.status.value for entry in solution.status if not entry.status.is_failure), "every seed failed")
    failures = [f"seed {seed}: {entry}" for seed, entry in zip(solution.seeds, solution.status, strict=True) if entry.status.is_failure]
    error = seed_curve(solution, "error")
    best, last = (None, None) if error is None else (error.best, error.last)
    return Row(name, ended, failures, solution.summary(), best, last, points_per_step(solution), solution.steps, solution.seconds)


def _problem_name(solutions: Mapping[str, Solution]) -> str:
    problem = next((solution.problem for solution in solutions.values() if solution.problem is not None), None)
    return "Equation" if problem is None else type(problem).__name__


def _metric_words(solutions: Mapping[str, Solution]) -> str:
    evaluations = (solution.problem.evaluation for solution in solutions.values() if solution.problem is not None)
    evaluation = next((one for one in evaluations if one is not None), None)
    return "the problem's metric" if evaluation is None else words(evaluation.score)


def words(name: str) -> str:
    """A metric in words without mathematics, for HTML."""
    return metric_name(name).replace("$L^2$", "L²")


def _subtitle(sections: Sequence[Section]) -> str:
    seeds = sorted({len(solution.seeds) for section in sections for solution in section.solutions.values()})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    noun = "seed" if seeds == [1] else "seeds"
    names = ", ".join(dict.fromkeys(_problem_name(section.solutions) for section in sections))
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{names}; {count} {noun} each. Written by fredholm on {date}."


def _failures(rows: Iterable[Row]) -> str:
    lines = [f"<li>{escape(row.name)}, {escape(line)}</li>" for row in rows for line in row.failures]
    return f'<div class="failed" role="alert"><p>Some seeds failed:</p><ul>{"".join(lines)}</ul></div>' if lines else ""


def _results_table(rows: list[Row], palette: Mapping[str, str]) -> str:
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    lowest = {name: min((row.metrics[name][0] for row in rows if name in row.metrics), default=None) for name in metrics[:1]}
    heads = ["method", "status", *map(words, metrics), "error in training", "points a step", "steps", "time"]
    body = []
    for row in rows:
        word = f"{escape(row.status)}" + (f'<br><span class="failed">{len(row.failures)} failed</span>' if row.failures else "")
        cells = [f'<td class="status">{word}</td>']
        for index, name in enumerate(metrics):
            mean, low, high = row.metrics.get(name, (float("nan"),) * 3)
            interval = f"<small>[{number(low)}, {number(high)}]</small>" if low == low else ""
            kind = "number score" if index == 0 else "number"
            best = len(rows) > 1 and index == 0 and name in METRICS and mean == lowest[name]
            cells.append(f'<td class="{kind}"><span{" class=best" if best else ""}>{number(mean)}</span>{interval}</td>')
        cells.append(f'<td class="number training">{_in_training(row)}</td>')
        cells += [f'<td class="number">{"–" if row.points is None else f"{row.points:,}"}</td>', f'<td class="number">{row.steps:,}</td>']
        cells.append(f'<td class="number">{_time(row.seconds)}</td>')
        mark = f'<span class="mark" style="background:{palette[row.name]}"></span>'
        body.append(f'<tr data-method="{escape(row.name)}"><th scope="row">{mark}{escape(row.name)}</th>{"".join(cells)}</tr>')
    return table(heads, "".join(body), "results")


def _in_training(row: Row) -> str:
    if row.best is None or row.last is None:
        return "–"
    return f"best {number(row.best[0])} <small>at step {row.best[1]:,}</small>last {number(row.last)}"


def table(heads: Iterable[str], body: str, kind: str) -> str:
    """A table of a class, with rows that are HTML already."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _results_note(solutions: Mapping[str, Solution]) -> str:
    text = "Mean over the seeds that ended well, with its 95 % bootstrap interval."
    if any(seed_curve(solution, "error") is not None for solution in solutions.values()):
        text += f" Error in training: the least and the last value of the seed-mean curve of {_metric_words(solutions)}."
    text += " Points a step: evaluations of the integrand in a step of one seed."
    return escape(text)


def _curves(interactive: list[Chart], section: int) -> str:
    if not interactive:
        return ""
    blocks = []
    for chart in interactive:
        kind = chart.figure["layout"]["yaxis"]["type"]
        scales = buttons("scale", [(f'data-scale="{scale}"', scale, scale == kind) for scale in ("log", "linear")])
        shown = [(f'data-shown="{i}"', f"{GLYPHS[s.dash]} {s.label}", s.shown) for i, s in enumerate(chart.switches)]
        quantities = buttons("what is shown", shown) if shown else ""
        blocks.append(
            f'<section class="chart"><header><h3>{escape(chart.title)}</h3>{quantities}{scales}</header>'
            f'<p class="soft">{escape(chart.about)}</p><div class="plot" id="chart-{section}-{chart.name}"></div></section>'
        )
    about = "Mean over seeds; the band is their range. Drag to zoom, double-click to go back, click a method in a legend to hide it."
    return f'<h2>Training</h2><p class="soft">{about}</p><div class="charts">{"".join(blocks)}</div>'


def buttons(about: str, labels: list[tuple[str, str, bool]]) -> str:
    """A row of buttons, each of an attribute, an HTML label, and whether it is pressed at first."""
    inside = "".join(f'<button type="button" {what} aria-pressed="{str(on).lower()}">{label}</button>' for what, label, on in labels)
    return f'<div class="switch" role="group" aria-label="{about}">{inside}</div>'


def _pictures(solutions: Mapping[str, Solution]) -> str:
    several = len(solutions) > 1
    pictures = []
    if several and comparable(solutions):
        pictures.append(picture(plot_comparison(solutions), "All methods on one scale, means over seeds."))
    if several and any(seed_curve(solution, "excess_variance") is not None for solution in solutions.values()):
        pictures.append(picture(plot_variance(solutions), "Loss against the excess variance, by which the standard loss is biased."))
    for name, solution in solutions.items():
        own = picture(plot_solution(solution), f"The solution by {name}.")
        pictures.append(f"<details><summary>{escape(name)}</summary>{own}</details>" if several else own)
    return "".join(pictures)


def picture(figure: Figure, caption: str) -> str:
    """A figure inside of the page."""
    data = base64.b64encode(png(figure)).decode()
    width = int(figure.get_figwidth() * 96)
    text = escape(caption)
    return f'<figure><img src="data:image/png;base64,{data}" width="{width}" alt="{text}"><figcaption>{text}</figcaption></figure>'


def _settings_table(solutions: Mapping[str, Solution]) -> str:
    rows = {name: [readable(solution.settings.get(name)) for solution in solutions.values()] for name in SETTINGS}
    return _shared_rows({name: values for name, values in rows.items() if set(values) != {"None"}}, solutions)


def _versions_table(solutions: Mapping[str, Solution]) -> str:
    def flat(environment: Mapping[str, Any]) -> dict[str, str]:
        rest = {name: value if isinstance(value, str) else readable(value) for name, value in environment.items() if name != "packages"}
        return {**{name: str(version) for name, version in environment.get("packages", {}).items()}, **rest}

    found = [flat(solution.settings.get("environment") or {}) for solution in solutions.values()]
    names = dict.fromkeys(name for entry in found for name in entry)
    return _shared_rows({name: [entry.get(name, "–") for entry in found] for name in names}, solutions)


def _shared_rows(rows: Mapping[str, list[str]], solutions: Mapping[str, Solution]) -> str:
    """A row for each name; a value that all solutions share stands once."""
    differ = any(len(set(values)) > 1 for values in rows.values())
    body = []
    for name, values in rows.items():
        if len(set(values)) == 1:
            cells = f'<td colspan="{len(values) if differ else 1}">{escape(values[0])}</td>'
        else:
            cells = "".join(f"<td>{escape(value)}</td>" for value in values)
        body.append(f'<tr><th scope="row">{escape(name.replace("_", " "))}</th>{cells}</tr>')
    return table(["", *(solutions if differ else [""])], "".join(body), "settings")


def how_to_go_on(solutions: Mapping[str, Solution], path: Path) -> str:
    """How to take the runs up again; folders by their names only, since a page may travel."""
    beside = sorted(folder.parent.name for folder in path.parent.glob("*/run.json")) if path.parent.is_dir() else []
    runs = [path.parent.resolve().name] if (path.parent / "run.json").is_file() else beside or ["RUN"]
    own = [name for name in ("problem", "network") if any("opaque" in readable_keys(s.settings.get(name)) for s in solutions.values())]
    given = "".join(f", {name}=..." for name in own)
    lines = ["import fredholm as fr", *(f'solution = fr.load("{run}"{given})' for run in runs)]
    lines += ["solution(points)                         # predictions at points of shape (n, d)"]
    if any(solution.settings.get("kept") == "networks" for solution in solutions.values()):
        lines += ["# A study kept only the networks: to train longer, run the study again with more steps."]
    else:
        lines += [
            f'fr.resume("{runs[0]}", steps=...{given})     # more steps',
            "",
            *(f"$ fredholm resume {run} --steps ..." for run in runs),
        ]
    note = "RUN is the folder of the run, what solve(out=...) or solution.save(...) wrote. " if runs == ["RUN"] else ""
    note += f"The {' and the '.join(own)} were made in Python and must be given again." if own else ""
    return (f'<p class="soft">{escape(note)}</p>' if note else "") + f"<pre>{escape(chr(10).join(lines))}</pre>"


def readable_keys(value: Any) -> Iterable[str]:
    """The keys of a recorded setting, none for plain values."""
    return value.keys() if isinstance(value, dict) else ()
