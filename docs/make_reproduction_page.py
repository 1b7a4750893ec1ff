"""Writes docs/reproduction.md and its pictures from what `fredholm reproduce` made.

`python docs/make_reproduction_page.py [FOLDER [PAGE]]`; FOLDER is runs/reproduce-laptop unless given. The curves of a figure that is in the
folder go to docs/records, and verdicts are made from there: all of them are today's. Pictures and numbers of figures that are not in the
folder stay as they are, and so does what a person wrote between the marks `<!-- note NAME -->` and `<!-- end -->`.
"""

import csv
import os
import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from fredholm.paper.reproduction.catalogue import FIGURES, figure
from fredholm.paper.reproduction.panels import Figure
from fredholm.paper.reproduction.records import read_records, write_records
from fredholm.paper.reproduction.statements import STATEMENTS, Statement
from fredholm.paper.reproduction.verdicts import Assessment, Claim, Verdict
from fredholm.storage.files import write_atomically
from fredholm.study.estimate import words
from fredholm.study.folder import StudyFolder, outcomes
from fredholm.study.outcome import Results

PAGE = Path(__file__).parent / "reproduction.md"
WIDTH = 1300  # pixels of a picture
MADE = ("figure.png", "summary.csv")  # what a figure has once its command has ended
CHANCE = 0.025  # that a check holds where nothing is there: at most
CLAIMS = "| claim | verdict | measured |"
Judged = list[tuple[Claim, Assessment]]


class Made(NamedTuple):
    """A figure of the page."""

    text: str  # its section
    judged: Judged  # what is claimed of it, where its curves are at hand


def write_page(folder: Path, page: Path) -> None:
    """Every figure that is ready in the folder or was on the page before, in order."""
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    notes = dict(re.findall(r"<!-- note (\S+) -->\n(.*?)<!-- end -->", before, re.DOTALL))
    sections = {name: text for text, name in re.findall(r"^(## [^\n]* \((figure-\d+)\)\n.*?)(?=^## |\Z)", before, re.DOTALL | re.MULTILINE)}
    done = [name for name in FIGURES if all((folder / name / made).is_file() for made in MADE)]
    if not done:
        raise SystemExit(f"{folder}: no figure is ready there; expected what fredholm reproduce NAME --out {folder} wrote.")
    scale = str(StudyFolder.open(folder / done[0]).about["scale"])
    made = dict[str, Made]()
    for name in FIGURES:
        records = page.parent / "records" / f"{name}-{scale}.npz"
        if name in done:
            study = StudyFolder.open(folder / name)
            write_records(records, outcomes(study))
            sections[name] = "\n".join(_figure(study, name, notes, page.parent / "figures"))
        if records.is_file() and name in sections:
            made[name] = _judged(sections[name], figure(name, scale), records)
        elif name in sections:
            made[name] = Made(sections[name], [])
    lines = [
        "# The paper's figures, run here",
        "",
        f"Written by `python docs/make_reproduction_page.py` from `fredholm reproduce NAME --scale {scale}` (`make reproduce`), on a",
        f"machine with {machine()}. Solid: ours, with 95 % intervals over seeds; dotted, crosses or hatched: published.",
        "Published numbers are of 100 seeds and 200 000 steps; ours of the seeds and steps that each figure says.",
        "",
        *_note("all", notes),
        *_verdicts(made),
        *_note("sure", notes),
        *(one.text.rstrip("\n") + "\n" for one in made.values()),
        *_statements([entry for one in made.values() for entry in one.judged]),
    ]
    write_atomically(page, lambda file: file.write("\n".join(lines).encode()))


def _judged(section: str, chosen: Figure, records: Path) -> Made:
    """The section with today's verdicts."""
    results = Results(read_records(records, chosen.runs))
    judged = [(claim, claim.assess(results)) for claim in chosen.claims]
    rows = [
        f"| {_cell(claim.text)}{'' if claim.statement else ' *(ours)*'} | **{found.verdict.value}** | {_cell(found.evidence)} |"
        for claim, found in judged
    ]
    return Made("\n".join([section.partition(CLAIMS)[0].rstrip("\n"), "", CLAIMS, "|---|---|---|", *rows, ""]), judged)


def machine() -> str:
    """Cores and memory."""
    try:
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"
    except (AttributeError, ValueError, OSError):  # not on this system
        memory = ""
    return f"{os.cpu_count()} cores ({platform.machine()}){memory} and no GPU"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _note(name: str, notes: dict[str, str]) -> list[str]:
    return [f"<!-- note {name} -->", *notes.get(name, "").splitlines(), "<!-- end -->", ""]


def _verdicts(made: dict[str, Made]) -> list[str]:
    """How many claims hold, how many would by chance, and which figures cannot be judged."""
    counts = Counter(word for one in made.values() for word in re.findall(r"\| \*\*([^*|]*)\*\* \|", one.text))
    judged = [entry for one in made.values() for entry in one.judged]
    said = {claim.statement for claim, _ in judged if claim.statement}
    theirs = sum(claim.statement is not None for claim, _ in judged)
    lines = [f"Of the {counts.total()} claims below: {', '.join(f'{verdict.value} {counts[verdict.value]}' for verdict in Verdict)}."]
    lines += [
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


def _figure(study: StudyFolder, name: str, notes: dict[str, str], pictures: Path) -> list[str]:
    summary, folder = _rows(study.path / "summary.csv"), study.path
    steps, seeds = ({int(row[key]) for row in summary} for key in ("steps", "seeds"))
    time = sum({row["key"]: float(row.get("seconds") or 0) for row in summary}.values())
    pictures.mkdir(exist_ok=True)
    picture = pictures / f"reproduction-{name}.png"
    with Image.open(folder / "figure.png") as image:
        image.thumbnail((WIDTH, 10 * WIDTH))
        image.convert("RGB").save(picture, optimize=True)
    long, many = (" or ".join(f"{value:,}" for value in sorted(values)) for values in (steps, seeds))
    ended = sum(row["status"] == "finished" for row in summary)
    missing = "" if ended == len(summary) else f" {len(summary) - ended} of them have no result."
    effort = f"{len(summary)} runs of {long} steps and {many} seeds, {words(time)} of training.{missing}"
    lines = [f"## {study.title.partition(': ')[2]} ({name})", "", effort, "", f"![{study.title}](figures/{picture.name})", ""]
    lines += _note(name, notes)
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    write_page(given[0] if given else Path("runs/reproduce-laptop"), given[1] if len(given) > 1 else PAGE)
