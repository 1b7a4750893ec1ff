"""The page of a study: claims, tables, interactive curves and links to its runs, in one file that opens offline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from matplotlib.figure import Figure
from plotly.graph_objs.layout.updatemenu import Button

from fredholm.common.statistics import bootstrap_interval
from fredholm.report.page import Picture, picture, write_html
from fredholm.report.plots.curves import Curve, seed_curve
from fredholm.report.plots.interactive import figure, finite, lines, plain, positive
from fredholm.report.plots.names import metric_name
from fredholm.report.plots.style import distinct_colors
from fredholm.study.folder import StudyFolder
from fredholm.study.outcome import Interval, Outcome, Paired, paired
from fredholm.study.run import Run
from fredholm.study.tables import MOST_PAIRED, subject

QUANTITIES = {
    "error": "error",
    "loss": "loss",
    "integration_variance": "integration variance",
    "excess_variance": "excess variance",
    "target_variance": "target variance",
    "drift": "drift",
}
SHOWN_SETTINGS = ("method", "rule", "network", "optimizer", "steps", "batch", "seeds", "problem")


class Judged(NamedTuple):
    """A claim with its verdict, in words."""

    claim: str
    verdict: str
    evidence: str


PublishedRow = tuple[str, str, float, Interval, float]  # panel, series, place on its axis, our best error, the published one


class Settings(NamedTuple):
    """What the page shows of a run's settings."""

    steps: int
    batch: int
    shown: dict[str, str]  # each in words


class Result(NamedTuple):
    """The numbers of a finished run."""

    color: str  # of its lines in the chart
    metric: str  # in words
    best: Interval
    end: Interval
    best_step: int | None  # None where nothing was recorded
    seeds: int
    failed: int  # how many of them
    seconds: float
    evaluations: int | None  # of f and of integrands, by each seed
    diagnosis: str  # in words; empty for runs of older versions


class Row(NamedTuple):
    """A run of the study."""

    name: str
    key: str
    settings: Settings
    state: str  # finished, failed with the reason, under way or missing
    result: Result | None  # None where it is not finished


class Shown(NamedTuple):
    """A study as the template takes it."""

    failures: list[str]  # the run, and the reason
    note: str
    pictures: list[Picture]
    claims: Sequence[Judged]
    published: Sequence[PublishedRow]
    rows: list[Row]
    pairs: list[tuple[str, str, Paired]]  # a run, the one that it is compared with, and how they compare
    most_paired: int
    solutions: go.Figure | None  # u of every run, beside the exact solution
    training: go.Figure | None
    pool: str  # the folder of the runs, as seen from the page


def write_study_page(
    folder: StudyFolder,
    found: Mapping[str, Outcome],
    *,
    claims: Sequence[Judged] = (),
    pictures: Mapping[str, Figure] | None = None,
    note: str = "",
    published: Sequence[PublishedRow] = (),
) -> Path:
    """Writes `report.html` into the study's folder."""
    palette = distinct_colors(found)
    content = Shown(
        failures=[f"{run.name}: {reason}" for run in folder.runs if (reason := folder.failure(run))],
        note=note,
        pictures=[picture(drawn, caption) for caption, drawn in (pictures or {}).items()],
        claims=claims,
        published=published,
        rows=[_row(folder, run, found.get(run.name), palette) for run in folder.runs],
        pairs=_pairs(found),
        most_paired=MOST_PAIRED,
        solutions=_solutions(found, palette),
        training=_training(found, palette),
        pool="../runs" if folder.pool.parent != folder.path else "runs",
    )
    subtitle = f"{len(found)} of {len(folder.runs)} runs finished."
    return write_html("study.html", folder.path / "report.html", folder.title, subtitle, content)


def _settings(run: Run) -> Settings:
    return Settings(run.settings.steps, run.settings.batch, {name: run.settings.text(name) for name in SHOWN_SETTINGS})


def _row(folder: StudyFolder, run: Run, one: Outcome | None, palette: Mapping[str, str]) -> Row:
    state = folder.state(run)
    text = f"{state.word}: {state.reason}" if state.reason else state.word
    return Row(run.name, run.key, _settings(run), text, None if one is None else _result(one, palette[run.name]))


def _result(one: Outcome, color: str) -> Result:
    best, end = (bootstrap_interval(values[one.kept()], least=0.0) for values in (one.best(), one.last()))
    step = one.best_step() if len(one.steps) else None
    return Result(
        color, metric_name(one.metric), best, end, step, len(one.seeds), int((~one.good).sum()), one.seconds, one.evaluations, one.diagnosis
    )


def _pairs(found: Mapping[str, Outcome]) -> list[tuple[str, str, Paired]]:
    """Every run against the first of its problem, seed by seed."""
    references = dict[str, Outcome]()
    against = {name: references.setdefault(subject(one.run), one) for name, one in found.items()}
    return [(name, against[name].run.name, paired(one, against[name])) for name, one in found.items() if against[name] is not one]


def _solutions(found: Mapping[str, Outcome], palette: Mapping[str, str]) -> go.Figure | None:
    """u of every run along a line, with the range over seeds, and the exact solution of its problem: one problem at a time."""
    traces, of, titles, labels = list[go.Scatter](), list[str](), dict[str, str](), dict[str, str]()
    for name, one in found.items():
        profile, problem = one.profile, subject(one.run)
        if profile is None:
            continue
        made = lines(Curve(profile.x, profile.mean, profile.low, profile.high, {}), name, palette[name], logarithmic=False)
        if problem not in titles and profile.exact is not None:
            made.append(
                go.Scatter(x=profile.x, y=finite(profile.exact), name="exact", mode="lines", line={"color": "#111", "dash": "dash"})
            )
        titles.setdefault(problem, f"x[0] {profile.place}".strip())
        labels.setdefault(problem, one.run.settings.text("problem"))
        traces += made
        of += [problem] * len(made)
    if not traces:
        return None
    shown = next(iter(titles))
    for trace, problem in zip(traces, of, strict=True):
        trace.visible = problem == shown
    choices = [
        Button(
            label=plain(labels[problem]), method="update", args=[{"visible": [problem == one for one in of]}, {"xaxis.title.text": title}]
        )
        for problem, title in titles.items()
    ]
    drawn = figure(traces, choices if len(choices) > 1 else (), logarithmic=False, height=440)
    return drawn.update_xaxes(title_text=titles[shown], rangemode="normal").update_yaxes(title_text="u")


def _training(found: Mapping[str, Outcome], palette: Mapping[str, str]) -> go.Figure | None:
    """Every run, one quantity at a time. A choice of quantity replaces the values of the lines, so that hidden runs stay hidden."""
    choices = list[Button]()
    used = [name for name in QUANTITIES if any(seed_curve(one, name) is not None for one in found.values())]
    drawn = {
        quantity: [line for name, one in found.items() for line in lines(_curve(one, quantity), name, palette[name])] for quantity in used
    }
    rescaled = {"yaxis.autorange": True, "xaxis.autorange": True}
    for quantity, traces in drawn.items():
        values, ranges = [np.asarray(trace.y) for trace in traces], [trace.customdata for trace in traces]
        label, shown = QUANTITIES[quantity], {"y": [positive(value) for value in values], "customdata": ranges}
        choices.append(Button(label=label, method="update", args=[shown, rescaled]))
        if any((value <= 0).any() for value in values):
            linear = {**rescaled, "yaxis.type": "linear", "updatemenus[0].active": 1}
            choices.append(Button(label=f"{label}, also below 0", method="update", args=[{**shown, "y": values}, linear]))
    if not used:
        return None
    first = drawn[used[0]]
    for trace in first:
        trace.y = positive(np.asarray(trace.y))
    return figure(first, choices, height=520)


def _curve(one: Outcome, quantity: str) -> Curve:
    """The curve of a quantity, without values where it was not recorded: every quantity has the same lines."""
    nothing = np.full(len(one.steps), np.nan)
    failed = {seed: nothing for seed, good in zip(one.seeds, one.good, strict=True) if not good}
    return seed_curve(one, quantity) or Curve(one.steps, nothing, nothing, nothing, failed)
