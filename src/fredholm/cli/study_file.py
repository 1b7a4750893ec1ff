"""A study in YAML: its keys are the options of `fredholm solve`, so that there is one vocabulary."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fredholm.cli import values
from fredholm.cli.choices import keywords_of, method_of, problem_of
from fredholm.cli.values import CHARACTERS, Loader, plain_yaml
from fredholm.common.checks import nearest
from fredholm.equation.files import is_file
from fredholm.storage.files import read_limited
from fredholm.study.run import Run, check_run, make_run
from fredholm.study.sweeps import grid, name_of, one_at_a_time
from fredholm.training.settings import settings_of

TOP = ("name", "base", "runs", "grid", "sweep")
NOT_HERE = ("help", "verbose", "out", "label", "minutes", "stop-at", "checkpoint-every")  # options of a single run's training


class _Strict(Loader):
    """Refuses a key that is given twice, of which YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = [key for index, key in enumerate(keys) if key in keys[:index]]
        if twice:
            raise yaml.YAMLError(f"the key {twice[0]!r} is there twice{node.start_mark}")
        return super().construct_mapping(node, deep)


Parse = Callable[[Sequence[str]], Namespace]  # the arguments of a command as its options


def read_study(path: Path, parse: Parse, known: Sequence[str]) -> tuple[str, list[Run]]:
    """The title and the runs of a study's file; `parse` reads arguments of the command line, and `known` are the options of solve."""
    try:
        text = read_limited(path, CHARACTERS).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} cannot be read: {error}. Expected a study in YAML.") from None
    content = plain_yaml(str(path), text, _Strict)
    content = _mapping(path, "the file", content)
    for key in content:
        if key not in TOP:
            raise nearest(f"key of {path}", str(key), TOP)
    base, axes = _mapping(path, "base", content.get("base", {})), {}
    for kind in ("grid", "sweep"):
        axes[kind] = _mapping(path, kind, content.get(kind, {}))
        for name, listed in axes[kind].items():
            if not isinstance(listed, list) or not listed:
                raise ValueError(f"{path}: {kind}, {name}: got {listed!r}; expected a list of values.")
    entries = _mapping(path, "runs", content.get("runs") or {"": {}})
    runs = []
    for entry, own in entries.items():
        settings = {**base, **_mapping(path, f"runs, {entry}", own)}
        for changes in _changes(axes["grid"], axes["sweep"]):
            name = ", ".join(part for part in (str(entry), name_of(changes)) if part) or "run"
            labels: dict[str, Any] = {"series": str(entry) or "base", **{key: _label(value) for key, value in changes.items()}}
            runs.append(_run(path, name, {**settings, **changes}, labels, parse, known))
    return str(content.get("name", path.stem)), runs


def _changes(full: Mapping[str, Any], single: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings of the grid, those of the sweep, and the base itself where it is not among them."""
    if single or not full:
        yield {}
    if full:
        yield from grid(full)
    yield from one_at_a_time(single)


def _run(path: Path, name: str, settings: Mapping[str, Any], labels: dict[str, Any], parse: Parse, options_of_solve: Sequence[str]) -> Run:
    known = ["problem", *(option for option in options_of_solve if option not in NOT_HERE)]
    options: dict[str, Any] = {}
    for key, value in settings.items():
        plain = str(key).replace("_", "-")
        if plain.startswith("set."):
            options.setdefault("set", {})
            options["set"] = {**_mapping(path, "set", options["set"]), plain.removeprefix("set."): value}
        elif plain not in known:
            raise nearest(f"key of a run in {path}", str(key), known)
        elif plain == "set":
            options["set"] = {**_mapping(path, "set", value), **options.get("set", {})}
        else:
            options[plain] = value
    if "problem" not in options:
        raise ValueError(f"{path}: run {name!r} has no problem; give one in base, for instance problem: poisson.")
    if not isinstance(options["problem"], str) or options["problem"].startswith("-"):
        raise ValueError(f"{path}: run {name!r}: problem: got {options['problem']!r}; expected a name, or path/to/file.py:name.")
    problem_name = str(options.pop("problem"))
    if is_file(problem_name):  # beside the study, wherever the command is given
        problem_name = str(path.parent / problem_name)
    arguments = ["solve", problem_name]
    for key, value in options.items():
        arguments += [f"--{key}"] * bool(value) if key == "published" else [f"--{key}", *_texts(key, value)]
    try:
        chosen = parse(arguments)
        problem = problem_of(chosen.problem, chosen.set, chosen.published)
        keywords = {key: value for key, value in keywords_of(problem, chosen).items() if key not in ("minutes", "checkpoint_every")}
        method = method_of(problem, chosen.method, chosen)
        check_run(settings_of(problem, method, **keywords))
        if is_file(problem_name):
            return make_run(name, problem_name, method, options=values.pairs(chosen.set, "--set"), labels=labels, **keywords)
        return make_run(name, problem, method, labels=labels, **keywords)
    except ValueError as error:
        raise ValueError(f"{path}: run {name!r}: {error}") from None


def _texts(key: str, value: object) -> list[str]:
    """A value as the command line has it."""
    if key == "set" and isinstance(value, dict):
        return [f"{name}={_text(one)}" for name, one in value.items()]
    if key == "seeds" and isinstance(value, list):
        return [",".join(map(str, value)) + ","]
    return [_text(value)]


def _text(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def _label(value: object) -> str | float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else _text(value)


def _mapping(path: Path, what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{path}: {what}: got {value!r}; expected names with their values.")
    return value
