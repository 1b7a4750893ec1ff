"""Settings as text and back: one form, as in Python, for run.json, YAML, the command line and pages.

`to_text` writes a value with every constructor argument by name, so that a later change of a default does not change the meaning of an old
file: `Adam(learning_rate=0.001, schedule=ConstantRate(), b1=0.9, b2=0.999, eps=1e-08)`. `from_text` reads it with `ast` and never runs
code: it knows the library's own classes, plain literals, `array(...)` and `float('inf')`. The user's own objects are written as
`Opaque('...')`; reading that raises `NotRebuildableError`.
"""

import ast
import hashlib
import inspect
import keyword
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fredholm import domains, functions, methods, optimizers, problems, rules
from fredholm.common.checks import is_concrete, nearest
from fredholm.equation import evaluation
from fredholm.equation.equation import Equation
from fredholm.functions.chebyshev import Series
from fredholm.functions.constrained import Formed
from fredholm.functions.mlp import Perceptron
from fredholm.functions.scaled import Rescaled

ALIASES: Mapping[str, str] = MappingProxyType({"Constant": "ConstantRate"})  # renamed classes, old name to new: for reading only
RESERVED = ("Opaque", "array", "float")  # names with a meaning of their own in the text; no class may have them
# A run builds these from its settings; they are not settings. Format 1 could hold them, in a user's own network.
BUILT: Mapping[str, type] = MappingProxyType(
    {built.__name__: built for built in (domains.Nodes, Perceptron, Formed, Rescaled, Series, functions.Field)}
)
NUMBERS = 100  # an array with more numbers goes to a separate file
CHARACTERS = 1_000_000  # a longer text is an error
DEPTH = 50  # and so is deeper nesting
DTYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)), "float16", "float32", "float64")
EXAMPLE = "'Smolyak(Gauss(1), 3)'"


class NotRebuildableError(ValueError):
    """The recorded object was the user's own, which the file does not hold."""


def registry(modules: Iterable[ModuleType]) -> Mapping[str, type]:
    """The classes of these modules that settings consist of, by name. Two classes with one name are an error."""
    found: dict[str, type] = {}
    for module in modules:
        for name, spec in vars(module).items():
            if not _is_spec(module, name, spec):
                continue
            if name in RESERVED:
                raise ValueError(f"{spec.__module__}.{name}: the name {name!r} has a meaning of its own in a text; expected another name.")
            if found.setdefault(name, spec) is not spec:
                raise ValueError(f"two classes are called {name!r}, in {found[name].__module__} and {spec.__module__}; rename one of them.")
    return MappingProxyType(found)


def _is_spec(module: ModuleType, name: str, found: object) -> bool:
    """True for a public, concrete class that the module defines, not for one that it imports."""
    if not isinstance(found, type) or not issubclass(found, eqx.Module) or name.startswith(("_", "Abstract")):
        return False
    return found.__module__.startswith(module.__name__) and found not in BUILT.values()


SPECS: Mapping[str, type] = registry((domains, rules, methods, functions, optimizers, evaluation, problems))


# Writing


def to_text(value: object, arrays: dict[str, np.ndarray] | None = None) -> str:
    """`value` as Python source. An array of more than 100 numbers goes into `arrays`, for the caller to save; without them it is opaque."""
    return _text(value, arrays, 0)


def _text(value: object, arrays: dict[str, np.ndarray] | None, depth: int) -> str:
    def inside(item: object) -> str:
        return _text(item, arrays, depth + 1)

    if depth > DEPTH:
        return f"Opaque('nested more than {DEPTH} levels deep')"
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return repr(value)
    if type(value) is float:
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if type(value) is list:
        return f"[{', '.join(map(inside, value))}]"
    if type(value) is tuple:  # not a named tuple, which an optax transformation is
        return f"({', '.join(map(inside, value))}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return f"{{{', '.join(f'{inside(key)}: {inside(item)}' for key, item in value.items())}}}"
    if isinstance(value, (np.ndarray, jax.Array)):
        return _array_text(value, arrays)
    if SPECS.get(type(value).__name__) is not type(value):
        return f"Opaque({_short(value)!r})"
    positional, named = arguments_of(value)
    plain = {name: item for name, item in named.items() if name.isascii() and name.isidentifier() and not keyword.iskeyword(name)}
    other = {name: item for name, item in named.items() if name not in plain}  # a part of a Law may be called lambda
    parts = [*map(inside, positional), *(f"{name}={inside(item)}" for name, item in plain.items())]
    return f"{type(value).__name__}({', '.join([*parts, f'**{inside(other)}'] if other else parts)})"


def arguments_of(value: object) -> tuple[list[object], dict[str, object]]:
    """The positional and the named arguments that rebuild a library object.

    A parameter has the value of the field with its name, `*parts` and `**parts` too. Where that is not so, the class has a method
    `arguments()`, and a problem a method `recipe()`.
    """
    own = getattr(value, "recipe", None) or getattr(value, "arguments", None)
    if own is not None:
        return [], dict(own())
    positional: list[object] = []
    named: dict[str, object] = {}
    for name, parameter in inspect.signature(type(value)).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(getattr(value, name))
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(getattr(value, name))
        else:
            named[name] = getattr(value, name)
    return positional, named


def _array_text(value: np.ndarray | jax.Array, arrays: dict[str, np.ndarray] | None) -> str:
    if not is_concrete(value) or jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return f"Opaque('array of shape {value.shape}')"
    array = np.array(value)  # a copy, so that the saved array is the hashed one
    if array.dtype.name not in DTYPES or (array.size > NUMBERS and arrays is None):
        return f"Opaque('array of shape {array.shape}')"
    if array.size > NUMBERS and arrays is not None:
        name = _array_name(array)
        arrays[name] = array
        return f"array(file={name!r})"
    dtype = "" if array.dtype == np.float64 else f", dtype={array.dtype.name!r}"
    shape = f", shape={array.shape}" if array.size == 0 and array.ndim > 1 else ""
    return f"array({_text(array.tolist(), None, 0)}{dtype}{shape})"


def _array_name(array: np.ndarray) -> str:
    """A name from the content: the same array is saved once, and a changed one is noticed."""
    digest = hashlib.sha256(f"{array.dtype.name} {array.shape} ".encode())
    digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return f"array_{digest.hexdigest()[:16]}"


def _short(value: object) -> str:
    """A short description for a person, without memory addresses, so that two processes write the same."""
    if isinstance(value, Equation):
        return f"{type(value).__name__} made in Python"
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str):
        return f"{getattr(value, '__module__', '')}.{name}"
    try:
        text = repr(value)
    except Exception:  # a user's own __repr__, which must not end a run
        text = type(value).__name__
    return " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", text).split())[:200]


# Reading


def from_text(text: str, arrays: Mapping[str, np.ndarray] | None = None) -> Any:
    """The value of a text by `to_text` or by a person. `arrays` are the arrays that `to_text` collected.

    `NotRebuildableError` where a part was made in Python and is not in the text; `ValueError` for everything else that is wrong in it.
    """
    try:
        return _Reader(text, arrays or {}).value(_parsed(text), 0)
    except RecursionError:
        raise ValueError(f"{_start(text)!r}: nested too deeply.") from None


def is_rebuildable(text: str) -> bool:
    """True where no part of the text is opaque."""
    calls = (node.func for node in ast.walk(_parsed(text)) if isinstance(node, ast.Call))
    return not any(isinstance(called, ast.Name) and called.id == "Opaque" for called in calls)


def _parsed(text: str) -> ast.expr:
    if len(text) > CHARACTERS:
        raise ValueError(f"{_start(text)!r}: got a text of {len(text):,} characters; expected at most {CHARACTERS:,}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd escapes in strings
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None) or error
        raise ValueError(f"{_start(text)!r}: {reason}; expected a name with its arguments, for instance {EXAMPLE}.") from None
    except (RecursionError, MemoryError):  # both mean that the nesting is too deep for the parser
        raise ValueError(f"{_start(text)!r}: nested too deeply.") from None


def _start(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}..."


class _Reader(NamedTuple):
    """Reads a text; each method returns the value of one part."""

    text: str
    arrays: Mapping[str, np.ndarray]

    def value(self, node: ast.expr, depth: int) -> object:
        """A literal or a library object. Everything else is an error, so no other code can run."""
        if depth > DEPTH:
            raise ValueError(f"{_start(self.text)!r}: nested more than {DEPTH} levels deep.")
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as plain):
                return plain
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if not isinstance(number, bool):
                return -number
            case ast.List(elts=items):
                return [self.value(item, depth + 1) for item in items]
            case ast.Tuple(elts=items):
                return tuple(self.value(item, depth + 1) for item in items)
            case ast.Dict(keys=keys, values=items):
                return self.mapping(keys, items, depth)
            case ast.Call(func=ast.Name(id=name)):
                return self.called(name, node, depth)
        raise self.not_understood()

    def mapping(self, keys: list[ast.expr | None], items: list[ast.expr], depth: int) -> dict[object, object]:
        found: dict[object, object] = {}
        for key, item in zip(keys, items, strict=True):
            if key is None:  # {**other}
                raise self.not_understood()
            name, value = self.value(key, depth + 1), self.value(item, depth + 1)
            try:
                found[name] = value
            except TypeError:
                raise ValueError(f"{_start(self.text)!r}: {name!r} cannot be the key of a dictionary.") from None
        return found

    def called(self, name: str, node: ast.Call, depth: int) -> object:
        spec = SPECS.get(ALIASES.get(name, name))
        if spec is None and name not in RESERVED:
            raise nearest("name", name[:100], SPECS)
        positional = [self.value(argument, 0 if name == "array" else depth + 1) for argument in node.args]
        named: dict[str, object] = {}
        for argument in node.keywords:
            value = self.value(argument.value, depth + 1)
            given = {argument.arg: value} if argument.arg is not None else value
            if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
                raise self.not_understood()
            twice = next((key for key in given if key in named), None)
            if twice is not None:
                raise ValueError(f"{_start(self.text)!r}: {name} has the argument {twice!r} twice.")
            named.update(given)
        if spec is not None:
            return _built(name, spec, positional, named)
        if name == "Opaque":
            raise NotRebuildableError(f"it was made in Python and is not in the file: {' '.join(map(str, positional))}")
        if name == "array":
            return self.array(positional, named)
        if named or positional not in (["inf"], ["-inf"], ["nan"]):
            raise self.not_understood()
        return float(str(positional[0]))

    def array(self, positional: list[object], named: Mapping[str, object]) -> np.ndarray:
        """`array([1, 2], dtype='int64')`, or `array(file='name')` for one in a separate file."""
        if not positional and list(named) == ["file"]:
            name = str(named["file"])
            if name not in self.arrays:
                raise NotRebuildableError(f"the array {name!r} is kept in a separate file, which is missing.")
            if _array_name(np.asarray(self.arrays[name])) != name:
                raise NotRebuildableError(f"the array {name!r} in its file is not the one that was written.")
            return np.asarray(self.arrays[name])
        dtype, shape = named.get("dtype", "float64"), named.get("shape")
        if len(positional) != 1 or not set(named) <= {"dtype", "shape"} or dtype not in DTYPES or not isinstance(shape, tuple | None):
            raise self.not_understood()
        try:
            array = np.array(positional[0], dtype=str(dtype))
            return array if shape is None else array.reshape(shape)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{_start(self.text)!r}: array: {error}") from None

    def not_understood(self) -> ValueError:
        return ValueError(f"{_start(self.text)!r}: expected the library's names and plain values only, for instance {EXAMPLE}.")


def _built(name: str, spec: type, positional: list[object], named: dict[str, object]) -> object:
    """Calls the class; a `ValueError` says what is wrong with the arguments."""
    signature = inspect.signature(spec)
    parameters = signature.parameters
    if parameters and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for argument in named:
            if argument not in parameters:
                raise nearest(f"argument of {name}", argument[:100], parameters)
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        raise ValueError(f"{name}: {error}; expected {name}({', '.join(map(str, parameters))}).") from None
    try:
        return spec(*positional, **named)
    except ValueError:
        raise
    except Exception as error:  # whatever the constructor raises, the cause is the text
        raise ValueError(f"{name}: {' '.join(str(error).split())}") from error


# Older files


def decode(data: object, arrays: Mapping[str, np.ndarray] | None = None) -> Any:
    """The value of a recorded setting: of a text, a plain number, or tagged JSON (format 1)."""
    if isinstance(data, str):
        return from_text(data, arrays)
    return decode_format_1(data)


def decode_format_1(data: object) -> Any:
    """The value of tagged JSON, `{"noun": "MLP", "fields": {...}}`, from folders written before settings were text."""
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return tuple(decode_format_1(item) for item in data)
    if not isinstance(data, dict):
        raise ValueError(f"got {data!r}; expected a recorded setting.")
    if "dict" in data:
        return {name: decode_format_1(item) for name, item in data["dict"].items()}
    if "array" in data:
        return np.asarray(data["array"])
    name, recorded = str(data.get("noun", data.get("problem"))), data.get("fields", data.get("options"))
    name = "OwnNetwork" if name == "Given" and recorded and "source" in recorded else ALIASES.get(name, name)
    spec = SPECS.get(name) or BUILT.get(name)
    if spec is None and "opaque" not in data:
        raise nearest("name", name[:100], SPECS)
    if spec is None or not isinstance(recorded, dict):
        raise NotRebuildableError(f"it was made in Python and is not in the file: {data.get('opaque', data)!s:.200}")
    values = {field: decode_format_1(item) for field, item in recorded.items()}
    if issubclass(spec, Equation):
        return _built(name, spec, [], values)
    # The file has fields, not arguments, so they are set directly. A field that is newer than the file has its default.
    defaults = {field.name: field.default for field in fields(spec) if field.default is not MISSING}
    if set(defaults | values) != {field.name for field in fields(spec)}:
        raise NotRebuildableError(f"{name}: its recorded settings are those of another version of fredholm.")
    parameters = inspect.signature(spec).parameters if name in SPECS else {}
    if set(parameters) == set(defaults | values) and all(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters.values()):
        return _built(name, spec, [], defaults | values)  # fields are arguments here: they are checked
    made = object.__new__(spec)
    for field, value in (defaults | values).items():
        object.__setattr__(made, field, value)
    return made
