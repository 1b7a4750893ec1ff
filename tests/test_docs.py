"""A page is true because a test runs its code: every Python block of README, docs and examples, with fewer steps."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml

import fredholm as fr
from fredholm.diagnostics.before import check_settings
from fredholm.training.settings import resolve
from test_layers import LEVEL

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


class NotSolved:
    """Stands for the solution of an equation that was checked and not solved: it has the shapes of one, and the exact values."""

    def __init__(self, problem):
        self.problem, self.history = problem, {}

    def __call__(self, points):
        known = self.problem.exact or (lambda x: jnp.zeros(() if self.problem.outputs == 1 else (self.problem.outputs,)))
        return np.asarray(jax.vmap(known)(jnp.asarray(points, float)))

    def plot(self, path):
        assert str(path).endswith(".png")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_its_calls_are_right(path, monkeypatch, tmp_path):
    """The short form: every call of `solve` is checked as far as its first step. `make gallery` runs them in full."""
    text, solved = path.read_text(encoding="utf-8"), []
    assert len(text.splitlines()) <= 60
    assert text.startswith("# %% [markdown]\n# # ")

    def checked(problem, method=None, *, rule=None, network=None, seeds=1, progress=None, **settings):
        given = fr.Defaults(method, rule, network, **{name: settings[name] for name in ("steps", "batch") if name in settings})
        check_settings(resolve(problem, given, seeds=seeds))
        solved.append(problem)
        return NotSolved(problem)

    monkeypatch.setattr(fr, "solve", checked)
    monkeypatch.setattr(fr, "use_all_cores", lambda count=None: None)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "example" if path.stem == "two_workers" else "__main__"}
    exec(compile(text, str(path), "exec"), names)
    if path.stem == "own_loop":  # it trains in full, without `solve`, to what docs/own_loop.md says
        assert names["error"] < 0.02
    else:
        assert solved or path.stem == "two_workers"


def test_every_example_has_its_place_in_the_gallery():
    groups = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)["extra"]["gallery"]
    assert sorted(name for names in groups.values() for name in names) == [path.stem for path in EXAMPLES]


def test_links_inside_the_repository_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./-]+\.\w+)\)", page.read_text(encoding="utf-8")):
            made = re.fullmatch(r"gallery/(\w+)\.md|reference/\w+\.md", target)  # by docs/site_hooks.py
            made = made and (made.group(1) in (None, "index") or (ROOT / "examples" / f"{made.group(1)}.py").exists())
            if "://" not in target and not made and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken


def test_the_page_of_the_architecture_has_every_room_from_the_bottom_up():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [room.removesuffix(".py") for room in re.findall(r"^\| `([\w.]+)` \|", page, flags=re.MULTILINE)]
    assert sorted(rooms) == sorted(LEVEL)
    assert [LEVEL[room] for room in rooms] == sorted(LEVEL.values())


def test_the_files_to_imitate_exist():
    named = re.findall(
        r"`(\w+/\w+\.py)`", "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("style.md", "architecture.md"))
    )
    package = ROOT / "src" / "fredholm"
    assert len(set(named)) >= 5
    assert not [name for name in named if not (package / name).exists() and not (ROOT / name).exists()]
