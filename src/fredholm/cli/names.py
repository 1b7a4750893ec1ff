"""The names of the command line: the library's classes in kebab-case, with their own docstrings and comments as help."""

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Mapping
from types import UnionType
from typing import Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import equinox as eqx

from fredholm import methods
from fredholm.common.checks import nearest
from fredholm.equation.equation import Equation
from fredholm.functions.protocol import AbstractNetwork
from fredholm.methods.auto import Auto
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.optimizers.schedules import AbstractSchedule
from fredholm.rules.base import AbstractRandomization, AbstractRule
from fredholm.storage.serialisation import ALIASES, SPECS

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
    "pm": "±",
    "bar": "",
    "hat": "",
    "left": "",
    "right": "",
}


def kebab(name: str) -> str:
    """`QuasiMonteCarlo` as `quasi-monte-carlo`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).replace("_", "-").lower()


def fields(spec: type) -> list[str]:
    """The names of a class's fields."""
    return list(getattr(spec, "__dataclass_fields__", {}))


@functools.cache
def hints(spec: type) -> Mapping[str, object]:
    """The type of each field of a class."""
    found = get_type_hints(spec)
    return {name: found[name] for name in fields(spec)}


def parts(hint: object) -> tuple[object, ...]:
    """The types of a union; another type alone."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def is_writable(hint: object) -> bool:
    """True for a type whose values can be written on the command line: not for a function, say."""
    return any(
        part in (bool, int, float, str) or get_origin(part) is Literal or (isinstance(part, type) and issubclass(part, eqx.Module))
        for part in parts(hint)
    )


def default(spec: type, name: str) -> object:
    """A field's default, or `inspect.Parameter.empty` where it must be given."""
    return inspect.signature(spec).parameters[name].default


def required(spec: type) -> list[str]:
    """The arguments without a default."""
    return [name for name, parameter in inspect.signature(spec).parameters.items() if parameter.default is parameter.empty]


def concrete(*bases: type) -> dict[str, type]:
    """The library's classes of a kind that the command line can make, by their names there."""
    found = {kebab(name): spec for name, spec in sorted(SPECS.items()) if issubclass(spec, bases)}
    return {name: spec for name, spec in found.items() if all(is_writable(hints(spec).get(field)) for field in required(spec))}


PROBLEMS: Mapping[str, type] = {kebab(name): spec for name, spec in sorted(SPECS.items()) if issubclass(spec, Equation)}
METHODS: Mapping[str, type] = {kebab(spec.__name__): spec for spec in (Auto, *methods.METHODS)}
RULES: Mapping[str, type] = concrete(AbstractRule)
NETWORKS: Mapping[str, type] = concrete(AbstractNetwork)
OPTIMIZERS: Mapping[str, type] = concrete(AbstractOptimizer)
RANDOMIZATIONS: Mapping[str, type] = concrete(AbstractRandomization)
SCHEDULES: Mapping[str, type] = concrete(AbstractSchedule)


Named = TypeVar("Named")


def known(kind: str, name: str, table: Mapping[str, Named]) -> Named:
    """The entry of this name, which may be an old one or written as in Python, or a `ValueError` with the nearest name."""
    renamed = {kebab(old): kebab(new) for old, new in ALIASES.items()}
    found = next((text for text in (name, kebab(name), renamed.get(kebab(name))) if text in table), None)
    if found is None:
        raise nearest(kind, name, table)
    return table[found]


@functools.cache
def comments(spec: type) -> dict[str, str]:
    """The comment behind each field of a class: it is the help of its option."""
    found: dict[str, str] = {}
    for owner in reversed(spec.__mro__):
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


def first_line(spec: type) -> str:
    """The first sentence of a class's docstring, with its LaTeX as far as possible in plain letters."""
    paragraph = inspect.cleandoc(spec.__doc__ or "").split("\n\n")[0]
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
