"""Text from the command line as values: numbers, YAML, and the library's objects by name or as in Python."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import equinox as eqx
import yaml

from fredholm.cli.names import concrete, kebab, known, parts, required
from fredholm.common.checks import shortened
from fredholm.storage.serialisation import from_text

LARGEST = 2**53  # of whole numbers, which are read as floats
CHARACTERS, MOST, LEVELS = 1_000_000, 100_000, 50  # of a text in YAML: its length, its values and its depth


class Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a number; YAML 1.1 wants 1.0e-3."""


Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d[\d_]*)(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789"))


def value(text: str) -> Any:
    """What a person means by `5`, `1e-3`, `none`, `[[0, 0], [1, 1]]` or `PowerLaw(0.0, 1.0, power=2.0)`."""
    if text.lower() == "none":
        return None
    if re.fullmatch(r"([A-Z]\w*|array)\(.*\)", text.strip(), re.DOTALL):
        return from_text(text)
    return plain_yaml(shortened(text), text, Loader)


def plain_yaml(name: str, text: str, loader: type[yaml.SafeLoader]) -> Any:
    """The content of a YAML text, which messages call `name`: plain values, lists and names with values, not too many and not too deep."""
    if len(text) > CHARACTERS:
        raise ValueError(f"{name}: got {len(text):,} characters; expected at most {CHARACTERS:,}.")
    try:
        found = yaml.load(text, loader)  # a safe loader: no objects
    except RecursionError:
        raise ValueError(f"{name}: nested too deeply.") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError: a date that does not exist, a number of many digits
        raise ValueError(f"{name} is not YAML: {' '.join(str(error).split())[:300]}.") from None
    _check_plain(name, found)
    return found


def _check_plain(name: str, content: object) -> None:
    """Refuses what is neither a number nor a text, as a date is, and content that grows without end by references to itself."""
    level, seen = [content], 0
    for _ in range(LEVELS):
        seen += len(level)
        if seen > MOST:
            raise ValueError(f"{name}: got more than {MOST:,} values; expected fewer. Are there references (&, *) to lists of references?")
        wrong = [one for one in level if not isinstance(one, (str, int, float, bool, list, dict, NoneType))]
        if wrong:
            raise ValueError(f"{name}: got {wrong[0]} of type {type(wrong[0]).__name__}; expected numbers and text. Put text into quotes.")
        inner = [list(one.values()) + list(one) if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]
        level = [item for items in inner for item in items]
        if not level:
            return
    raise ValueError(f"{name}: nested more than {LEVELS} levels deep.")


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
    if not number.is_integer() or abs(number) > LARGEST:
        raise ValueError(f"got {text!r}; expected a whole number{f' up to {LARGEST:,}' if number.is_integer() else ''}.")
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
