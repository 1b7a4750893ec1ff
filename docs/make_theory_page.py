"""Computes the tables of docs/theory.md and draws its pictures: `python docs/make_theory_page.py` (a few minutes)."""

from pathlib import Path

from fredholm.paper.theory import assess, census, figures, findings, poisson, ring, tables
from fredholm.paper.theory.tables import TextTable
from fredholm.paper.theory.worked import convergence, efforts, limits, stability_maps
from fredholm.paper.theory.zoo import zoo_limits

HERE = Path(__file__).parent


def markdown(table: TextTable) -> str:
    """A table as Markdown; a bar inside a cell is not a border, and a star no emphasis."""
    lines = [table.columns, ("---",) * len(table.columns), *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in line) + " |" for line in lines)


def replace(text: str, name: str, content: str) -> str:
    """The text with what stands between the two markers of this name replaced."""
    start, stop = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = text.split(start)
    return f"{before}{start}\n{content}\n{stop}{rest.split(stop)[1]}"


def contents() -> dict[str, TextTable]:
    """Every table by the name of its marker; the pictures are drawn on the way."""
    problem, weak, folder = ring(), poisson(), HERE / "figures"
    ends, curves, made = limits(problem), convergence(problem), efforts(problem)
    maps, counted = stability_maps(weak), census()
    figures.plot_limits(problem, ends, folder / "theory-limits.png")
    figures.plot_convergence(curves, folder / "theory-convergence.png")
    figures.plot_efforts(made, folder / "theory-effort.png")
    figures.plot_stability(maps, folder / "theory-stability.png")
    figures.plot_bounds(counted, folder / "theory-bounds.png")
    return {
        "limits": tables.limits_table(ends),
        "zoo": tables.zoo_table(zoo_limits()),
        "assessment": tables.assessment_table(assess(problem)),
        "findings": tables.findings_table(findings()),
        "census": tables.census_table(counted),
        "convergence": tables.convergence_table(curves),
        "efforts": tables.efforts_table(made),
        "stability": tables.stability_table(maps),
        "cure": tables.cure_table(weak),
        "split": tables.split_table(weak),
    }


if __name__ == "__main__":
    page = HERE / "theory.md"
    text = page.read_text(encoding="utf-8")
    for name, table in contents().items():
        text = replace(text, name, markdown(table))
    page.write_text(text, encoding="utf-8")
