"""Text from the command line as values: numbers, YAML, and the library's nouns written as in Python."""

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from fredholm.common.checks import nearest
from fredholm.storage.serialisation import NOUNS


class Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a number; YAML 1.1 wants 1.0e-3."""


Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d[\d_]*)(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789"))


def value(text: str) -> Any:
    """What a person means by `5`, `1e-3`, `none`, `[[0, 0], [1, 1]]` or `PowerLaw(0.0, 1.0, power=2.0)`."""
    if text.lower() == "none":
        return None
    if re.fullmatch(r"[A-Z]\w*\(.*\)", text.strip(), re.DOTALL):
        return noun(text)
    try:
        return yaml.load(text, Loader)  # a safe loader: plain values only
    except yaml.YAMLError as error:
        raise ValueError(f"{text!r} is not a value: {' '.join(str(error).split())}.") from None


def noun(text: str) -> Any:
    """One of the library's nouns, written as in Python: `Smolyak(Gauss(1), 3)`. Only their names and plain values are understood."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r}: {error.msg}; expected a name with its arguments, for instance 'Smolyak(Gauss(1), 3)'.") from None
    return _built(tree, text)


def _built(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id not in NOUNS:
            raise nearest("name", node.func.id, NOUNS)
        positional = [_built(argument, text) for argument in node.args]
        named = {argument.arg: _built(argument.value, text) for argument in node.keywords if argument.arg is not None}
        try:
            return NOUNS[node.func.id](*positional, **named)
        except TypeError as error:
            raise ValueError(f"{text}: {error}.") from None
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ValueError(f"{text!r}: expected the library's names and plain values only, for instance 'Smolyak(Gauss(1), 3)'.") from None


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
