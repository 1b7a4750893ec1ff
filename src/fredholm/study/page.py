"""The page of a study: claims, tables, interactive curves and links to its runs, in one file that opens without a network."""

import datetime
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from fredholm.common.statistics import bootstrap_interval
from fredholm.report.page import buttons, picture, readable, table, words, write_html
from fredholm.report.plots.curves import seed_curve
from fredholm.report.plots.interactive import Switch, layout, legend_entry, traces
from fredholm.report.plots.names import number, with_interval
from fredholm.report.plots.style import distinct_colors
from fredholm.study.folder import StudyFolder
from fredholm.study.outcome import Outcome, paired
from fredholm.study.tables import MOST_PAIRED, subject

QUANTITIES = {
    "error": "error",
    "loss": "loss",
    "integration_variance": "integration variance",
    "excess_variance": "excess variance",
    "target_variance": "target variance",
    "drift": "drift",
}
FEW = 12  # runs whose names have room above a chart
SHOWN_SETTINGS = ("method", "rule", "network", "optimizer", "steps", "batch", "seeds", "problem")


class Judged(NamedTuple):
    """A claim with its verdict, in words."""

    claim: str
    verdict: str
    evidence: str


def write_study_page(
    folder: StudyFolder,
    found: Mapping[str, Outcome],
    *,
    claims: Sequence[Judged] = (),
    pictures: Mapping[str, Figure] | None = None,
    note: str = "",
    published: Sequence[tuple[str, str, float, tuple[float, float, float], float]] = (),
) -> Path:
    """Writes `report.html` into the study's folder. `published` are panel, series, place on its axis, our best error, the published one."""
    charts = _charts(found)
    parts = [
        _failures(folder),
        f"<p>{escape(note)}</p>" if note else "",
        "".join(picture(figure, caption) for caption, figure in (pictures or {}).items()),
        _claims(claims),
        _published(published),
        "<h2>Results</h2>",
        f'<div class="wide">{_results(folder, found)}</div>',
        '<p class="soft">Best: the record where the mean over the seeds is least, as published numbers are chosen; end: the mean over the '
        "last twentieth of the training. Means over the seeds that ended well, with 95 % bootstrap intervals.</p>",
        _paired(found),
        _training(charts, found),
        _runs(folder),
    ]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    subtitle = f"{len(found)} of {len(folder.runs)} runs finished. Written by fredholm on {now}."
    return write_html(folder.path / "report.html", folder.title, subtitle, "".join(parts), charts)


def _failures(folder: StudyFolder) -> str:
    lines = [f"<li>{escape(run.name)}: {escape(reason)}</li>" for run in folder.runs if (reason := folder.failure(run))]
    return f'<div class="failed" role="alert"><p>Some runs failed:</p><ul>{"".join(lines)}</ul></div>' if lines else ""


def _claims(claims: Sequence[Judged]) -> str:
    if not claims:
        return ""
    kinds = {"holds": "yes", "does not hold": "no"}
    rows = [
        f'<tr><td>{escape(one.claim)}</td><td class="verdict {kinds.get(one.verdict, "open")}">{escape(one.verdict)}</td>'
        f"<td>{escape(one.evidence)}</td></tr>"
        for one in claims
    ]
    about = "Each verdict follows from a 95 % interval over seeds; runs are compared seed by seed, as ratios of their best errors."
    made = table(["claim", "verdict", "what was measured"], "".join(rows), "claims")
    return f'<h2>Claims</h2><p class="soft">{about}</p><div class="wide">{made}</div>'


def _published(rows: Sequence[tuple[str, str, float, tuple[float, float, float], float]]) -> str:
    if not rows:
        return ""
    body = []
    for panel, series, x, ours, theirs in rows:
        cells = [escape(panel), escape(series), "" if x != x else f"{x:g}", _interval(ours), number(theirs), number(ours[0] / theirs)]
        body.append("<tr>" + "".join(f'<td class="number">{cell}</td>' for cell in cells) + "</tr>")
    about = "Best errors: ours after the steps of this scale, the paper's after 200 000 steps of 100 seeds."
    made = table(["panel", "series", "at", "ours", "published", "ratio"], "".join(body), "published")
    return f'<h2>Beside the published numbers</h2><p class="soft">{about}</p><div class="wide">{made}</div>'


def _results(folder: StudyFolder, found: Mapping[str, Outcome]) -> str:
    rows = []
    for run in folder.runs:
        one = found.get(run.name)
        if one is None:
            state = folder.state(run)
            rows.append(
                f'<tr><th scope="row">{escape(run.name)}</th><td colspan="8">{escape(state.word)}; {escape(state.reason)}</td></tr>'
            )
            continue
        kept = one.kept()
        cells = [_interval(bootstrap_interval(values[kept], least=0.0)) for values in (one.best(), one.last())]
        step = f"{int(one.steps[one.best_record()]):,}" if len(one.steps) else "–"
        failed = int((~one.good).sum())
        seeds = f'{len(one.seeds)}<br><span class="failed">{failed} failed</span>' if failed else f"{len(one.seeds)}"
        texts = [
            words(one.metric),
            *cells,
            step,
            f"{int(run.settings['steps']):,}",
            f"{run.settings['batch']:,}",
            seeds,
            f"{one.seconds:.0f} s",
        ]
        plain = [escape(texts[0]), *texts[1:3], *map(str, texts[3:])]
        rows.append(
            f'<tr data-run="{escape(run.name)}"><th scope="row">{escape(run.name)}</th>'
            + "".join(f'<td class="number">{cell}</td>' for cell in plain)
            + "</tr>"
        )
    return table(["run", "metric", "best", "end", "best at step", "steps", "batch", "seeds", "time"], "".join(rows), "results")


def _interval(values: tuple[float, float, float]) -> str:
    mean, low, high = values
    return number(mean) + (f"<small>[{number(low)}, {number(high)}]</small>" if low == low else "")


def _paired(found: Mapping[str, Outcome]) -> str:
    """Every run against the first of its problem, seed by seed."""
    rows, references = [], {}
    for name, one in found.items():
        reference = references.setdefault(subject(one.run), one)
        if reference is not one:
            between = paired(one, reference)
            cells = [name, reference.run.name, with_interval(between.difference), with_interval(between.ratio), str(between.seeds)]
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    if not rows:
        return ""
    about = "Best errors on matched seeds, against the first run of the same problem; every pair of a problem with at "
    about += f"most {MOST_PAIRED} runs is in paired.csv."
    heads = ["run", "against", "difference", "ratio", "seeds"]
    return f'<h2>Matched seeds</h2><p class="soft">{about}</p><div class="wide">{table(heads, "".join(rows), "paired")}</div>'


def _charts(found: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """One chart with every run and quantity; the page shows one quantity at a time, of all runs or of some."""
    palette, data = distinct_colors(found), []
    used = [name for name in QUANTITIES if any(seed_curve(one, name) is not None for one in found.values())]
    for name, one in found.items():
        data.append({**legend_entry(name, palette[name]), "meta": {"quantity": -1, "method": name}})
        for index, quantity in enumerate(used):
            curve = seed_curve(one, quantity)
            if curve is not None:
                switch = Switch(escape(QUANTITIES[quantity]), "solid", index == 0)
                lines = traces(curve, name, switch, index, palette[name])
                data += [{**line, "meta": {"quantity": index, "method": name}} for line in lines]
    if not used:
        return []
    look = layout(True)
    look["height"] = 480
    if len(found) > FEW:  # A legend on top would push the chart off the page; at its side it scrolls.
        look["legend"] = {"x": 1.01, "y": 1.0, "font": {"size": 10}, "tracegroupgap": 0}
    return [{"name": "study", "title": "", "about": "", "switches": used, "figure": {"data": data, "layout": look}}]


def _training(charts: list[dict[str, Any]], found: Mapping[str, Outcome]) -> str:
    if not charts:
        return ""
    quantities = "".join(f'<option value="{i}">{escape(QUANTITIES[name])}</option>' for i, name in enumerate(charts[0]["switches"]))
    methods = '<option value="" selected>all runs</option>'
    methods += "".join(f'<option value="{escape(name)}">{escape(name)}</option>' for name in found)
    scales = buttons("scale", [(f'data-scale="{scale}"', scale, scale == "log") for scale in ("log", "linear")])
    return (
        '<h2>Training</h2><p class="soft">Mean over seeds; the band is their range. Drag to zoom, double-click to go back. '
        "Several runs at once with Ctrl or ⌘.</p>"
        f'<section class="chart"><header><label>quantity <select data-pick="quantity">{quantities}</select></label>'
        f'<label>runs <select data-pick="method" multiple size="{min(6, 1 + len(found))}">{methods}</select></label>{scales}</header>'
        '<div class="plot" id="chart-study"></div></section>'
    )


def _runs(folder: StudyFolder) -> str:
    """A link to each run's folder, its settings, and how its own page is made."""
    place = "../runs" if folder.pool.parent != folder.path else "runs"
    rows = []
    for run in folder.runs:
        settings = "".join(f"<div><b>{name}</b> {escape(readable(run.settings[name]))}</div>" for name in SHOWN_SETTINGS)
        link = f'<a href="{place}/{run.key}/">{escape(run.name)}</a>' if folder.is_finished(run) else escape(run.name)
        rows.append(f"<details><summary>{link} <small>{run.key}</small></summary>{settings}</details>")
    hint = f'A run\'s own page is made by: fredholm report {place}/KEY. In Python: fredholm.load("{place}/KEY").'
    return f'<h2>Runs</h2><p class="soft">{escape(hint)}</p>{"".join(rows)}'
