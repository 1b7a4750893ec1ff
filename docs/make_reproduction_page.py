"""Writes docs/reproduction.md and its pictures from what `fredholm reproduce` made: `python docs/make_reproduction_page.py [FOLDER]`.

What a person wrote between the marks `<!-- note NAME -->` and `<!-- end -->` stays when the page is written again.
"""

import csv
import os
import platform
import re
import sys
from pathlib import Path

from PIL import Image

from fredholm.reproduce.catalogue import FIGURES
from fredholm.storage import write_atomically
from fredholm.study.estimate import words
from fredholm.study.folder import STUDY, StudyFolder

DOCS = Path(__file__).parent
PAGE = DOCS / "reproduction.md"
WIDTH = 1300  # pixels of a picture


def main() -> None:
    """Every figure that is in the folder, in order."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/reproduce-laptop")
    notes = dict(
        re.findall(r"<!-- note (\S+) -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8") if PAGE.exists() else "", re.DOTALL)
    )
    done = [name for name in FIGURES if (folder / name / STUDY).is_file()]
    scale = StudyFolder.open(folder / done[0]).about["scale"]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    lines = [
        "# The paper's figures, run here",
        "",
        f"Written by `python docs/make_reproduction_page.py` from `fredholm reproduce NAME --scale {scale}` (`make reproduce`), on a",
        f"machine with {os.cpu_count()} cores ({platform.machine()}); {size:.0f} MiB in all, networks included. Solid: ours, with",
        "95 % intervals over seeds; dotted, crosses or hatched: published. Published numbers are of 100 seeds and 200 000 steps; ours of",
        "the seeds and steps that each figure says.",
        "",
        *_note("all", notes),
        *_verdicts(folder, done),
    ]
    for name in done:
        lines += _figure(folder / name, name, notes)
    write_atomically(PAGE, lambda file: file.write("\n".join([*lines, ""]).encode()))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _note(name: str, notes: dict[str, str]) -> list[str]:
    return [f"<!-- note {name} -->", notes.get(name, "").rstrip("\n"), "<!-- end -->", ""]


def _verdicts(folder: Path, done: list[str]) -> list[str]:
    counts = {"holds": 0, "does not hold": 0, "not resolved at this scale": 0}
    for name in done:
        for row in _rows(folder / name / "claims.csv"):
            counts[row["verdict"]] += 1
    return ["Of the claims below " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + ".", ""]


def _figure(folder: Path, name: str, notes: dict[str, str]) -> list[str]:
    study, summary = StudyFolder.open(folder), _rows(folder / "summary.csv")
    steps, seeds = ({int(row[key]) for row in summary} for key in ("steps", "seeds"))
    time = sum({row["key"]: float(row["seconds"] or 0) for row in summary}.values())
    picture = DOCS / "figures" / f"reproduction-{name}.png"
    with Image.open(folder / "figure.png") as image:
        image.thumbnail((WIDTH, 10 * WIDTH))
        image.convert("P", palette=Image.Palette.ADAPTIVE, colors=200).save(picture, optimize=True)
    long, many = (" or ".join(f"{value:,}" for value in sorted(values)) for values in (steps, seeds))
    effort = f"{len(summary)} runs of {long} steps and {many} seeds, {words(time)} of training."
    lines = [f"## {study.title.partition(': ')[2]} ({name})", "", effort, "", f"![{study.title}](figures/{picture.name})", ""]
    lines += [*_note(name, notes), "| claim | verdict | measured |", "|---|---|---|"]
    lines += [f"| {_cell(row['claim'])} | **{row['verdict']}** | {_cell(row['evidence'])} |" for row in _rows(folder / "claims.csv")]
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
