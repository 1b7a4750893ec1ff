"""The names of the command line: the library's nouns in kebab-case, with their own docstrings and comments as help."""

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import equinox as eqx

from fredholm import methods, optimizers, rules
from fredholm.common.checks import nearest
from fredholm.storage import serialisation as recipes

_SYMBOLS = {
    "int": "∫",
    "oint": "∮",
    "nabla": "∇",
    "partial": "∂",
    "rho": "ρ",
    "alpha": "α",
    "xi": "ξ",
    "delta": "δ",
    "varphi": "φ",
    "Gamma": "Γ",
    "Delta": "Δ",
    "sum": "Σ",
    "cdot": "·",
    "times": "×",
    "tau": "τ",
    "mu": "μ",
    "omega": "ω",
    "approx": "≈",
    "infty": "∞",
    "theta": "θ",
    "lambda": "λ",
    "eta": "η",
    "gamma": "γ",
    "phi": "φ",
    "leftarrow": "<-",
    "ldots": "...",
    "bigl": "",
    "bigr": "",
    "big": "",
    "mapsto": "->",
    "sim": "~",
    "bmod": "mod",
    "in": "∈",
    "pi": "π",
    "bar": "",
    "hat": "",
    "left": "",
    "right": "",
}


def kebab(name: str) -> str:
    """`QuasiMonteCarlo` as `quasi-monte-carlo`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).replace("_", "-").lower()


def _concrete(module: ModuleType, base: type) -> dict[str, type]:
    found = {name: noun for name, noun in vars(module).items() if isinstance(noun, type) and issubclass(noun, base)}
    return {kebab(name): noun for name, noun in sorted(found.items()) if not name.startswith("Abstract")}


PROBLEMS: Mapping[str, type] = {kebab(name): noun for name, noun in sorted(recipes.PROBLEMS.items())}
METHODS: Mapping[str, type] = {"auto": methods.Auto, **_concrete(methods, methods.AbstractMethod)}
RULES: Mapping[str, type] = _concrete(rules, rules.AbstractRule)
RANDOMIZATIONS: Mapping[str, type] = _concrete(rules, rules.AbstractRandomization)
SCHEDULES: Mapping[str, type] = _concrete(optimizers, optimizers.AbstractSchedule)
# An optax transformation is made in Python, not on the command line.
OPTIMIZERS: Mapping[str, type] = {
    name: noun for name, noun in _concrete(optimizers, optimizers.AbstractOptimizer).items() if noun is not optimizers.Transformation
}


def known(kind: str, name: str, table: Mapping[str, type]) -> type:
    """The noun of this name, or a `ValueError` with the nearest name."""
    found = table.get(name) or table.get(kebab(name))
    if found is None:
        raise nearest(kind, name, table)
    return found


def fields(noun: type) -> list[str]:
    """The names of a noun's fields."""
    return list(getattr(noun, "__dataclass_fields__", {}))


def default(noun: type, name: str) -> Any:
    """A field's default, or `inspect.Parameter.empty` where it must be given."""
    return inspect.signature(noun).parameters[name].default


@functools.cache
def comments(noun: type) -> dict[str, str]:
    """The comment behind each field of a noun: it is the help of its option."""
    found: dict[str, str] = {}
    for owner in reversed(noun.__mro__):
        if owner in (eqx.Module, object) or "__dataclass_fields__" not in vars(owner):
            continue
        source = textwrap.dedent(inspect.getsource(owner))
        lines = source.encode().splitlines()
        body = ast.parse(source).body[0]
        assert isinstance(body, ast.ClassDef)
        for node in body.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.end_lineno:
                rest = lines[node.end_lineno - 1][node.end_col_offset :].decode()
                found[node.target.id] = rest.strip().lstrip("# ")
    return found


def first_line(noun: type) -> str:
    """The first sentence of a noun's docstring, with its LaTeX as far as possible in plain letters."""
    paragraph = inspect.cleandoc(noun.__doc__ or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[\w)$])\. (?=[A-Z])", " ".join(paragraph.split()))[0]
    return plain(sentence).rstrip(",:;. ")


def _grouped(text: str) -> str:
    """In brackets where it is more than a number, a symbol or a letter."""
    return text if re.fullmatch(r"\w+|\\[A-Za-z]+", text) else f"({text})"


def plain(text: str) -> str:
    """LaTeX in a sentence, made readable on a terminal."""

    part = r"\s*(?:\{([^{}]*)\}|(\\[a-z]+|\w))"  # an argument: a group, a symbol or one letter

    def fraction(match: re.Match[str]) -> str:
        top, bottom = match.group(1) or match.group(2), match.group(3) or match.group(4)
        return f"{_grouped(top)}/{_grouped(bottom)} "

    def formula(match: re.Match[str]) -> str:
        inner = re.sub(r"\\[,;! ]", " ", match.group(1))
        inner = re.sub(r"\\[dt]?frac" + part + part, fraction, inner)
        inner = re.sub(r"\\(?:math|operatorname)\w*\{([^{}]*)\}|\\text\{([^{}]*)\}", lambda m: m.group(1) or m.group(2), inner)
        inner = re.sub(r"\\([A-Za-z]+)", lambda m: _SYMBOLS.get(m.group(1), m.group(1)), inner)
        inner = re.sub(r"\{([^{}\s])\}", r"\1", inner).replace("{", "(").replace("}", ")")
        return re.sub(r" (?=[]),])", "", " ".join(inner.replace("\\", "").split()))

    return re.sub(r"\$([^$]*)\$", formula, text).replace("`", "")
