"""Writes docs/reproduction.md and its pictures from the records of what `fredholm reproduce --records docs/records` ran.

`python docs/make_reproduction_page.py [FOLDER ...]`: numbers and verdicts are made from docs/records, pictures are taken from the folders
that `reproduce` wrote, runs/reproduce-laptop and runs/reproduce-headline unless given. A figure without records keeps its section of
earlier, and a picture stays where there is no newer one. What a person wrote between `<!-- note NAME -->` and `<!-- end -->` stays.
"""

import os
import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from fredholm.paper.reproduction.catalogue import FIGURES, figure
from fredholm.paper.reproduction.panels import Figure
from fredholm.paper.reproduction.records import read_records
from fredholm.paper.reproduction.statements import STATEMENTS, Statement
from fredholm.paper.reproduction.tables import Beside, beside
from fredholm.paper.reproduction.verdicts import Assessment, Claim, Verdict
from fredholm.storage.files import write_atomically
from fredholm.study.estimate import words
from fredholm.study.folder import StudyFolder
from fredholm.study.outcome import Outcome, Results

PAGE = Path(__file__).parent / "reproduction.md"
WIDTH = 1300  # pixels of a picture
SCALES = ("headline", "laptop")  # the longer one is judged where a figure has both
CHANCE = 0.025  # that a check holds where nothing is there: at most
Judged = list[tuple[Claim, Assessment]]


class Made(NamedTuple):
    """A figure of the page."""

    text: str  # its section
    judged: Judged  # what is claimed of it, where its curves are at hand


def write_page(folders: Iterable[Path], page: Path, scales: Sequence[str] = SCALES, figures: Iterable[str] = FIGURES) -> None:
    """Every figure that has records or was on the page before, in order."""
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    notes = dict(re.findall(r"<!-- note (\S+) -->\n(.*?)<!-- end -->", before, re.DOTALL))
    sections = {name: text for text, name in re.findall(r"^(## [^\n]* \((figure-\d+)\)\n.*?)(?=^## |\Z)", before, re.DOTALL | re.MULTILINE)}
    _copy_pictures(folders, page.parent / "figures")
    made = dict[str, Made]()
    for name in figures:
        parts = [part for scale in scales if (part := _part(name, scale, page.parent)) is not None]
        if parts:
            title = f"## {figure(name, scales[0]).title} ({name})\n"
            text = "\n".join([title, *_note(name, notes), *(part.text for part in parts)])
            made[name] = Made(text, _longest(parts))
        elif name in sections:
            made[name] = Made(sections[name], [])
    if not made:
        raise SystemExit(f"{page.parent / 'records'}: no figure has records; expected what fredholm reproduce NAME --records wrote.")
    lines = [
        "# The paper's figures, run here",
        "",
        "Written by `python docs/make_reproduction_page.py` from `fredholm reproduce NAME --scale SCALE --records docs/records`",
        f"(`make reproduce SCALE=...`), on a machine with {machine()}. Solid: ours, with 95 % intervals over seeds;",
        "dotted, crosses or hatched: published. Published numbers are of 100 seeds and 200 000 steps; ours of the seeds and steps that",
        "each figure says.",
        "",
        *_note("all", notes),
        *_verdicts(made),
        *_note("sure", notes),
        *(one.text.rstrip("\n") + "\n" for one in made.values()),
        *_statements([entry for one in made.values() for entry in one.judged]),
    ]
    write_atomically(page, lambda file: file.write("\n".join(lines).encode()))


def _copy_pictures(folders: Iterable[Path], pictures: Path) -> None:
    """The pictures that `reproduce` drew, as small files."""
    pictures.mkdir(exist_ok=True)
    for place in sorted(picture for folder in folders for picture in folder.glob("figure-*/figure.png")):
        about = StudyFolder.open(place.parent).about
        with Image.open(place) as image:
            image.thumbnail((WIDTH, 10 * WIDTH))
            image.convert("RGB").save(pictures / _picture(str(about["figure"]), str(about["scale"])), optimize=True)


def _picture(name: str, scale: str) -> str:
    return f"reproduction-{name}.png" if scale == "laptop" else f"reproduction-{name}-{scale}.png"


def _part(name: str, scale: str, docs: Path) -> Made | None:
    """A figure at one scale, or None where less than half of its runs are there: figures share runs."""
    chosen = figure(name, scale)
    found = read_records(docs / "records" / scale, chosen.runs)
    if len(found) < len(chosen.runs) / 2:
        return None
    judged = [(claim, claim.assess(Results(found))) for claim in chosen.claims]
    lines = [f"### {name} at {scale} scale", "", _effort(chosen, found), ""]
    if (docs / "figures" / _picture(name, scale)).is_file():
        lines += [f"![Figure {chosen.number} at {scale} scale: {chosen.title}](figures/{_picture(name, scale)})", ""]
    lines += _claims(judged) + _numbers(beside(chosen, found))
    return Made("\n".join(lines), judged)


def _effort(chosen: Figure, found: Mapping[str, Outcome]) -> str:
    long = " or ".join(f"{steps:,}" for steps in sorted({run.settings.steps for run in chosen.runs}))
    many = " or ".join(f"{seeds}" for seeds in sorted({len(run.seeds) for run in chosen.runs}))
    missing = "" if len(found) == len(chosen.runs) else f" {len(chosen.runs) - len(found)} of them have not been run yet."
    time = words(sum(one.seconds for one in found.values()))
    return f"{len(chosen.runs)} runs of {long} steps and {many} seeds, {time} of training.{missing}"


def _claims(judged: Judged) -> list[str]:
    rows = [
        f"| {_cell(claim.text)}{'' if claim.statement else ' *(ours)*'} | **{found.verdict.value}** | {_cell(found.evidence)} |"
        for claim, found in judged
    ]
    return ["| claim | verdict | measured |", "|---|---|---|", *rows, ""] if rows else []


def _numbers(rows: Sequence[Beside]) -> list[str]:
    """Our best errors beside the published ones, folded away."""
    if not rows:
        return []
    lines = [
        "<details><summary>Best errors, number by number</summary>",
        "",
        "| panel | run | ours | 95 % interval | published | ours / published |",
    ]
    lines.append("|---|---|---|---|---|---|")
    for one in rows:
        at = "" if one.x != one.x else f", {one.x:g}"
        interval = f"[{one.low:.3g}, {one.high:.3g}]" if one.low == one.low else ""
        cells = (one.panel, f"{one.series}{at}", f"{one.ours:.3g}", interval, f"{one.published:.3g}", f"{one.ours / one.published:.2f}")
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return [*lines, "", "</details>", ""]


def _longest(parts: Sequence[Made]) -> Judged:
    """The claims as judged by the longest runs that there are."""
    found: dict[str, tuple[Claim, Assessment]] = {}
    for part in reversed(parts):  # a longer scale replaces what a shorter one says, unless it has no result yet
        for claim, verdict in part.judged:
            if claim.text not in found or "has no result" not in verdict.evidence:
                found[claim.text] = (claim, verdict)
    return list(found.values())


def machine() -> str:
    """Cores and memory."""
    try:
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"
    except (AttributeError, ValueError, OSError):  # not on this system
        memory = ""
    return f"{os.cpu_count()} cores ({platform.machine()}){memory} and no GPU"


def _note(name: str, notes: dict[str, str]) -> list[str]:
    return [f"<!-- note {name} -->", *notes.get(name, "").splitlines(), "<!-- end -->", ""]


def _verdicts(made: dict[str, Made]) -> list[str]:
    """How many claims hold, how many would by chance, and which figures cannot be judged."""
    judged = [entry for one in made.values() for entry in one.judged]
    counts = Counter(found.verdict for _, found in judged)
    said = {claim.statement for claim, _ in judged if claim.statement}
    theirs = sum(claim.statement is not None for claim, _ in judged)
    said_of = ", ".join(f"{verdict.value} {counts[verdict]}" for verdict in Verdict)
    lines = [
        f"Of the {counts.total()} claims below, each judged by its longest runs: {said_of}.",
        f"They check {len(said)} of the {len(STATEMENTS)} [statements that the paper makes about its figures](#the-papers-statements) by",
        f"{theirs} checks; the other {counts.total() - theirs} claims are ours. Where nothing is there, a check holds by chance in",
        f"about {CHANCE:.1%} of all cases: of {theirs} checks, {CHANCE * theirs:.1f}.",
    ]
    old = [name for name, one in made.items() if not one.judged]
    if old:
        lines += [f"Not counted, since their curves were not kept: {', '.join(old)}.", "Their verdicts are by earlier, weaker rules."]
    return [*lines, ""]


def _statements(judged: Judged) -> list[str]:
    """Each statement of the paper with the verdicts on it."""
    found = defaultdict[Statement, list[Verdict]](list)
    for claim, finding in judged:
        if claim.statement:
            found[claim.statement].append(finding.verdict)
    head = "A statement holds if all of its checks do, and does not hold if one does not; what has no verdict has not been run."
    lines = ["## The paper's statements", "", head, "", "| figures | the paper says | verdict | checks |", "|---|---|---|---|"]
    for statement in STATEMENTS:
        cells = [statement.figures, _cell(statement.words), _together(found[statement]), _count(found[statement])]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _together(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "not run"
    return next((one for one in (Verdict.FAILS, Verdict.OPEN) if one in verdicts), Verdict.HOLDS).value


def _count(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{number} {verdict.value}" for verdict, number in Counter(verdicts).items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    write_page(given or [Path(f"runs/reproduce-{scale}") for scale in SCALES], PAGE)
