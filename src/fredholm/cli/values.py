"""Text from the command line as values: numbers, YAML, and the library's objects by name or as in Python."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import equinox as eqx
import yaml

from fredholm.cli.names import concrete, kebab, known, parts, required
from fredholm.storage.serialisation import from_text


class Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a number; YAML 1.1 wants 1.0e-3."""


Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d[\d_]*)(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789"))


def value(text: str) -> Any:
    """What a person means by `5`, `1e-3`, `none`, `[[0, 0], [1, 1]]` or `PowerLaw(0.0, 1.0, power=2.0)`."""
    if text.lower() == "none":
        return None
    if re.fullmatch(r"([A-Z]\w*|array)\(.*\)", text.strip(), re.DOTALL):
        return from_text(text)
    try:
        return yaml.load(text, Loader)  # a safe loader: plain values only
    except yaml.YAMLError as error:
        raise ValueError(f"{text!r} is not a value: {' '.join(str(error).split())}.") from None


def words(hint: object) -> dict[str, object]:
    """The values of a type that have a name on the command line: none, true, the words of a `Literal`, objects that need no arguments."""
    found: dict[str, object] = {}
    for part in parts(hint):
        if part is NoneType:
            found["none"] = None
        elif part is bool:
            found |= {"true": True, "false": False}
        elif get_origin(part) is Literal:
            found |= {str(word): word for word in get_args(part)}
        elif isinstance(part, type) and issubclass(part, eqx.Module):
            found |= {name: spec() for name, spec in concrete(part).items() if not required(spec)}
    return found


def read(text: str, hint: object) -> object:
    """`text` as a value of a field's type: a number, a word, or an object by its name or as in Python."""
    types, named = parts(hint), words(hint)
    classes = tuple(part for part in types if isinstance(part, type) and issubclass(part, eqx.Module))
    if classes and "(" in text:
        found = from_text(text)
        if not isinstance(found, classes):
            expected = " or ".join(kebab(one.__name__.removeprefix("Abstract")).replace("-", " ") for one in classes)
            raise ValueError(f"got {text!r}; expected a {expected}.")
        return found
    for number, parse in ((int, whole), (float, float)):
        if number in types:
            with suppress(ValueError):
                return parse(text)
    if str in types:
        return text
    numbers = [what for number, what in ((int, "a whole number"), (float, "a number")) if number in types]
    if not numbers or text.lower() in named:
        return known("value", text.lower() if text.lower() in named else text, named)
    python = ["an object as in Python"] if classes else []
    raise ValueError(f"got {text!r}; expected {' or '.join([*numbers, *named, *python])}.")


def pairs(texts: Sequence[str], option: str, parse: Callable[[str], Any] = value) -> dict[str, Any]:
    """`["dim=5", "count=3"]` as a dictionary."""
    found = {}
    for text in texts:
        name, equals, right = text.partition("=")
        if not equals or not name.strip() or not right.strip():
            raise ValueError(f"{option}: got {text!r}; expected name=value.")
        found[name.strip().replace("-", "_")] = parse(right)
    return found


def whole(text: str) -> int:
    """A whole number, also as 20_000 or 2e4."""
    number = float(text)
    if not number.is_integer():
        raise ValueError(f"got {text!r}; expected a whole number.")
    return int(number)


def seeds(texts: Sequence[str] | None) -> int | list[int]:
    """`["4"]` as the number of seeds; `["3", "7"]`, `["3,7"]` and `["3,"]` as a list of them."""
    if texts is None:
        return 4
    parts = [part for text in texts for part in text.split(",")]
    try:
        numbers = [whole(part) for part in parts if part.strip()]
    except ValueError:
        example = "--seeds 4 or --seeds 3,7. PROBLEM comes before the options."
        raise ValueError(f"--seeds: got {' '.join(texts)!r}; expected how many, or which, for instance {example}") from None
    return numbers[0] if len(parts) == 1 else numbers
