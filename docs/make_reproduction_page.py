"""Writes docs/reproduction.md and its pictures from what `fredholm reproduce` made.

`python docs/make_reproduction_page.py [FOLDER [PAGE]]`; FOLDER is runs/reproduce-laptop unless given. Sections of figures that are not in
the folder stay as they are, and so does what a person wrote between the marks `<!-- note NAME -->` and `<!-- end -->`.
"""

import csv
import os
import platform
import re
import sys
from collections import Counter
from pathlib import Path

from PIL import Image

from fredholm.paper.reproduction.catalogue import FIGURES
from fredholm.paper.reproduction.verdicts import Verdict
from fredholm.storage.files import write_atomically
from fredholm.study.estimate import words
from fredholm.study.folder import StudyFolder

PAGE = Path(__file__).parent / "reproduction.md"
WIDTH = 1300  # pixels of a picture
MADE = ("figure.png", "claims.csv", "summary.csv")  # what a figure has once its command has ended


def write_page(folder: Path, page: Path) -> None:
    """Every figure that is ready in the folder or was on the page before, in order."""
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    notes = dict(re.findall(r"<!-- note (\S+) -->\n(.*?)<!-- end -->", before, re.DOTALL))
    sections = {name: text for text, name in re.findall(r"^(## [^\n]* \((figure-\d+)\)\n.*?)(?=^## |\Z)", before, re.DOTALL | re.MULTILINE)}
    done = [name for name in FIGURES if all((folder / name / made).is_file() for made in MADE)]
    if not done:
        raise SystemExit(f"{folder}: no figure is ready there; expected what fredholm reproduce NAME --out {folder} wrote.")
    scale = StudyFolder.open(folder / done[0]).about["scale"]
    sections |= {name: "\n".join(_figure(folder / name, name, notes, page.parent / "figures")) for name in done}
    shown = [sections[name].rstrip("\n") + "\n" for name in FIGURES if name in sections]
    lines = [
        "# The paper's figures, run here",
        "",
        f"Written by `python docs/make_reproduction_page.py` from `fredholm reproduce NAME --scale {scale}` (`make reproduce`), on a",
        f"machine with {machine()}. Solid: ours, with 95 % intervals over seeds; dotted, crosses or hatched: published.",
        "Published numbers are of 100 seeds and 200 000 steps; ours of the seeds and steps that each figure says.",
        "",
        *_note("all", notes),
        *_verdicts(shown),
        *shown,
    ]
    write_atomically(page, lambda file: file.write("\n".join(lines).encode()))


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


def _verdicts(sections: list[str]) -> list[str]:
    counts = Counter(word for text in sections for word in re.findall(r"\| \*\*([^*|]*)\*\* \|", text))
    parts = (f"{verdict.value} {counts[verdict.value]}" for verdict in Verdict)
    return [f"Of the {counts.total()} claims below: {', '.join(parts)}.", ""]


def _figure(folder: Path, name: str, notes: dict[str, str], pictures: Path) -> list[str]:
    study, summary, claims = StudyFolder.open(folder), _rows(folder / "summary.csv"), _rows(folder / "claims.csv")
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
    if claims:
        lines += ["| claim | verdict | measured |", "|---|---|---|"]
        lines += [f"| {_cell(row['claim'])} | **{row['verdict']}** | {_cell(row['evidence'])} |" for row in claims]
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    write_page(given[0] if given else Path("runs/reproduce-laptop"), given[1] if len(given) > 1 else PAGE)
