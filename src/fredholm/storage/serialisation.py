"""Settings as plain JSON and back: only the library's own nouns, by name, and never code."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

import fredholm.domains as domains
import fredholm.equation.evaluation as metrics
import fredholm.functions as networks
import fredholm.methods as methods
import fredholm.optimizers as optimizers
import fredholm.problems as problems
import fredholm.rules as rules
from fredholm.equation.equation import Equation

NOUNS: Mapping[str, type] = {
    name: noun
    for module in (domains, rules, methods, networks, optimizers, metrics, problems)
    for name, noun in vars(module).items()
    if isinstance(noun, type) and issubclass(noun, eqx.Module) and not issubclass(noun, Equation) and not name.startswith("Abstract")
}
PROBLEMS: Mapping[str, type[Equation]] = {
    name: noun for name, noun in vars(problems).items() if isinstance(noun, type) and issubclass(noun, Equation) and noun is not Equation
}


class NotRebuildableError(ValueError):
    """The recorded thing was the user's own, and is not in the file."""


def encode(value: Any) -> Any:
    """`value` as JSON. What is not ours is recorded by its text only, and `decode` refuses it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {"dict": {str(name): encode(item) for name, item in value.items()}}
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        return {"array": np.asarray(value).tolist()}
    if isinstance(value, Equation):
        recipe = value.recipe()
        if recipe is not None and PROBLEMS.get(type(value).__name__) is type(value):
            return {"problem": type(value).__name__, "options": {name: encode(item) for name, item in recipe.items()}}
        return {"opaque": f"{type(value).__name__} made in Python"}
    if NOUNS.get(type(value).__name__) is type(value):
        fields = {name: encode(getattr(value, name)) for name in type(value).__dataclass_fields__}
        return {"noun": type(value).__name__, "fields": fields}
    return {"opaque": repr(value)[:200]}


def decode(data: Any) -> Any:
    """The thing that `encode` recorded, or `NotRebuildableError`."""
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return tuple(decode(item) for item in data)
    if "dict" in data:
        return {name: decode(item) for name, item in data["dict"].items()}
    if "array" in data:
        return np.asarray(data["array"])
    if "problem" in data and data["problem"] in PROBLEMS:
        return PROBLEMS[data["problem"]](**{name: decode(item) for name, item in data["options"].items()})
    if "noun" in data and data["noun"] in NOUNS:
        noun = NOUNS[data["noun"]]
        if set(data["fields"]) != set(noun.__dataclass_fields__):
            raise NotRebuildableError(f"{data['noun']}: its recorded settings are those of another version of fredholm.")
        made = object.__new__(noun)
        for name, item in data["fields"].items():
            object.__setattr__(made, name, decode(item))
        return made
    raise NotRebuildableError(f"it was made in Python and is not in the file: {data.get('opaque') or data}")


to_text = encode
