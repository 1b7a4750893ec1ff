"""Every public name says what it is, what its arguments mean, what it returns and raises, and has an example that runs."""

import ast
import doctest
import inspect
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

NAMES = [name for name in fr.__all__ if not inspect.ismodule(getattr(fr, name))]
PLAIN = {"Status", "ProblemWarning", "AbstractCallback", "AfterRecord"}  # nobody calls these with arguments


def wants(name: str) -> list[str]:
    """What the docstring of a public name lacks, in words."""
    thing = getattr(fr, name)
    text = inspect.cleandoc(thing.__doc__ or "")
    missing = [] if len(text.split("\n\n")[0]) > 20 else ["a first paragraph that says what it is, with the equation"]
    if name not in PLAIN:
        arguments = [p for p in inspect.signature(thing).parameters.values() if p.name != "unknown"]
        section = re.search(r"^Args:\n((?: .*\n?|\n)*)", text, flags=re.MULTILINE)
        listed = re.findall(r"^ {4}\**(\w+)(?: \([^)]+\))?:", section.group(1) if section else "", flags=re.MULTILINE)
        missing += [f"Args: {p.name} (type): meaning, and its default" for p in arguments if p.name not in listed]
        missing += [f"Args: {name}, which is no argument" for name in listed if name not in {p.name for p in arguments}]
    if inspect.isfunction(thing) and "Returns:\n" not in text:
        missing.append("Returns:")
    if _may_raise(thing) and "Raises:\n" not in text:
        missing.append("Raises:")
    if ">>> " not in text:
        missing.append("Examples: with lines that begin with >>>")
    see = re.search(r"See also:\n +(.*)", text)
    if see is None:
        missing.append("See also: `Name`, `Name`.")
    else:
        missing += [
            f"See also: {other}, which is no public name" for other in re.findall(r"`(\w+)`", see.group(1)) if other not in fr.__all__
        ]
    return missing


def _may_raise(thing: object) -> bool:
    """Whether its own source raises errors of wrong input; read from the file, since the tests run an instrumented program."""
    tree = ast.parse(Path(sys.modules[thing.__module__].__file__).read_text(encoding="utf-8"))
    own = [node for node in tree.body if getattr(node, "name", "") == thing.__name__]
    own = [part for node in own for part in (getattr(node, "body", ()) if isinstance(node, ast.ClassDef) else [node])]
    checked = [node for node in own if getattr(node, "name", "") in ("__init__", "__check_init__", thing.__name__)]
    return any("raise ValueError" in ast.unparse(node) for node in checked)


def test_every_public_name_is_documented():
    lacking = {name: found for name in NAMES if (found := wants(name))}
    told = [f"fr.{name} ({getattr(fr, name).__module__}) lacks\n    " + "\n    ".join(found) for name, found in lacking.items()]
    assert not lacking, "Add to the docstring (imitate rules/gauss.py):\n" + "\n".join(told)


def test_a_name_without_a_docstring_is_noticed(monkeypatch):
    monkeypatch.setattr(fr.Gauss, "__doc__", "Nodes.")
    assert len(wants("Gauss")) >= 4


def test_the_examples_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    solve, solved = fr.solve, {}

    def once(*arguments, **keywords):  # the same equation in several examples is solved once
        key = repr((arguments, keywords))
        if key not in solved:
            solved[key] = solve(*arguments, **keywords)
        return solved[key]

    monkeypatch.setattr(fr, "solve", once)
    runner, told = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    for name in NAMES:
        names = {"fr": fr, "jax": jax, "jnp": jnp, "np": np}
        example = doctest.DocTestParser().get_doctest(inspect.cleandoc(getattr(fr, name).__doc__ or ""), names, name, None, None)
        runner.run(example, out=told.append)
    assert runner.failures == 0, "".join(told)


def test_dir_shows_public_names_only():
    shown = set(dir(fr))
    assert set(fr.__all__) <= shown
    assert not {name for name in shown - set(fr.__all__) if not (name.startswith("__") and name.endswith("__"))}


@pytest.mark.parametrize("name", ["Gauss", "solve"])
def test_help_shows_the_docstring(name):
    assert "See also" in inspect.getdoc(getattr(fr, name))
