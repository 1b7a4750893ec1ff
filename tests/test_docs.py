"""A page is true because a test runs its code: every Python block of README, docs and examples, with fewer steps."""

import re
from pathlib import Path

import pytest

import fredholm as fr

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {page.name: re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL) for page in PAGES}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """`solve` with a few steps, no progress bar, in an empty folder."""
    solve = fr.solve

    def few_steps(*arguments, **keywords):
        return solve(*arguments, **{**keywords, "steps": 3, "seeds": 2, "progress": False})

    monkeypatch.setattr(fr, "solve", few_steps)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("page", [name for name, blocks in BLOCKS.items() if blocks])
def test_the_code_of_a_page_runs(page):
    names = {"__name__": "page"}
    for block in BLOCKS[page]:
        exec(compile(block, page, "exec"), names)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_is_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    exec(compile(text, str(path), "exec"), {"__name__": "__main__"})


def test_links_inside_the_repository_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./-]+\.\w+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken
