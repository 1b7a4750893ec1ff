"""Settings as text: what is written is read back as it was, and reading runs nothing but the library's constructors."""

import inspect
import json
import math
import re
import subprocess
import sys
from types import ModuleType
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fredholm as fr
from fredholm import problems, rules
from fredholm.domains import Warped
from fredholm.functions import Loop, Pieces, Ray, Segment, WholeLine
from fredholm.functions.mlp import Perceptron
from fredholm.functions.protocol import OwnNetwork
from fredholm.optimizers import Transformation
from fredholm.storage import serialisation
from fredholm.storage.serialisation import (
    ALIASES,
    BUILT,
    RESERVED,
    SPECS,
    NotRebuildableError,
    decode,
    decode_format_1,
    from_text,
    is_rebuildable,
    registry,
    to_text,
)
from patience import ends
from table import METHODS, PROBLEMS, RULES, ZOO

BALLS = {"center": fr.Ball((0.0, 0.0), 1.0), "radius": fr.Interval(0.1, 1.0)}
# One or more of every class that settings are made of. What stands in the tables of tests/table.py is added below.
EXAMPLES = [
    fr.Ball((0.0, 1.0), 2.0),
    fr.Box((0.0, -1.0), (1.0, 1.0)),
    fr.Circle((0.0, 0.0, 1.0), 0.5, (1.0, 0.0, 0.0)),
    fr.Disc((0.0, 0.0), 2.0),
    fr.Discrete([[0.0, 1.0], [2.0, 3.0]], [0.25, 0.5]),
    fr.Discrete([1.0, 2.0, 3.0]),
    fr.Exponential(1.0, 0.5),
    fr.Given([[0.0], [1.0]]),
    fr.HalfLine(1.0, 2.0),
    fr.Interval(0.1, 0.3),
    fr.Interval(jnp.float32(0.1), 1.0),
    fr.Jumps(0.5, fr.Normal((0.0,), 0.2)),
    fr.Law(center=fr.Box((0.0,), (1.0,)), radius=fr.Interval(0.1, 1.0)),
    fr.Law(**{"lambda": fr.Interval(0.0, 1.0), "ﬁ": fr.Point(0.0), "two words": fr.Point(1.0), "point": fr.Point(2.0)}),
    fr.Line(1.0, 2.0),
    fr.LogNormal(0.5, 0.25),
    fr.Normal((0.0, 1.0), 0.5),
    fr.NormalizedSphere((0.0, 1.0), 2.0),
    fr.Directions(100, "axes"),
    fr.WithoutReplacement(3),
    fr.Orthogonal(4),
    fr.Radial(fr.Even(4, fr.Shift()), 2),
    fr.LearnedFoci(8, 2, plain=0.25, interval=50, places=64),
    fr.Mixture((fr.Normal((0.0,)), fr.Interval(0.0, 2.0)), (0.25, 0.75)),
    fr.Focused(16, [[0.0, 0.5], [0.0, 0.0]], [1.0, 2.0], quasi=True),
    fr.Offline(point=[[0.0], [1.0]], next=[2.0, 3.0]),
    fr.Offline(held_out=0.5, point=[[0.0], [1.0]], next=[2.0, 3.0]),
    fr.Point(),
    fr.Point(0.5),
    fr.Point(0.0, 1.0),
    fr.PoissonCounts(2.0),
    fr.PoissonCounts(2.0, most=7),
    fr.PowerLaw(0.0, 1.0, power=3.0),
    fr.Split(0.0, 1.0, at=(0.3, 0.5)),
    fr.AbsPower(0.0, 1.0, at=0.3, power=-0.5),
    fr.Abel(0.0, 1.0, power=-0.5),
    fr.LogDistance(0.0, 1.0, at=0.3),
    fr.Normal((0.0, 1.0), covariance=((2.0, 0.5), (0.5, 1.0))),
    fr.Product(fr.Interval(0.0, 1.0), fr.Point(0.0)),
    fr.Simplex(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))),
    fr.Sphere((0.0, 0.0, 0.0), 2.0),
    Warped(fr.Interval(0.0, 1.0), ((0.0, 0.25, 1.0),)),
    fr.Evaluation(fr.Interval(0.0, 1.0), n=7, score="mse"),
    fr.Importance(fr.MonteCarlo(4), rules.Warp(((0.0, 0.65, 1.0),))),
    fr.Importance(fr.MonteCarlo(4), fr.Normal((0.0,))),
    fr.Even(2, fr.Rotation()),
    fr.Auto(points=64, using=fr.DoubleSampling("all")),
    fr.MLP(32, 2, "tanh"),
    fr.Scaled(fr.MLP(4, 1, scaled=False), (0.5,), (0.5,), (0.0,), (2.0,), ((1.0,), (0.5, 8.0))),
    fr.Chebyshev((4, 5), (Segment(0.0, 1.0, 2.0), Ray(0.0, 1.5))),
    fr.Chebyshev(5, (Pieces((0.0, 0.5, 1.0)),)),
    fr.Fourier((3, 4), (Loop(0.0, 2.0), WholeLine(0.0, 1.0)), (0,)),
    fr.BuiltIn(fr.MLP(4, 1), (0, 2)),
    fr.Slabs("t", 2, fr.MLP(4, 1)),
    fr.Balanced(every=50),
    fr.ResidualPoints(n=64),
    fr.Causal("t", 3.0),
    fr.RandomFeatures(7, 1.5, (0.0,), (2.0,)),
    fr.Resolved(),
    fr.Constrained(fr.MLP(), problems.InsideBall(0.75)),
    fr.Constrained(fr.MLP(), problems.SmoothedPayoff(problems.Call(0.2, 0.5, 0.05, 1.0))),
    fr.Adam(1e-2, fr.Cosine(0.1)),
    fr.Adam(),
    fr.Muon(2e-2),
    fr.GaussNewton(0.2, refresh=5),
    problems.Charges(jnp.asarray([[0.0, 0.5]]), jnp.asarray([2.0])),
    problems.Wires([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 2.0),
    problems.Collocation(nodes=11),
    problems.EulerGrid(nodes=8),
    problems.ConstantKernel(2.0),
    problems.AdditiveKernel(0.5),
    problems.CutOffKernel(),
    problems.SaturatingKernel(),
    problems.EvenRadius(4),
    problems.AfterJumps(3, 0.4, 0.25),
    problems.Prices(3, 0.6, 0.3),
    problems.InsideBalls(**BALLS),
    problems.InsideDiscs(fr.Law(**BALLS, normal=fr.Sphere((0.0, 0.0, 0.0)))),
    problems.RadialGrid(problems.InsideBalls(**BALLS), radii=3),
    problems.Smoluchowski(reference=None, loss_rule=fr.MonteCarlo(2), evaluation=fr.Evaluation(fr.Box((0.0, 0.0), (1.0, 1.0)))),
    *PROBLEMS.values(),
    *(problem for problem, _, _ in ZOO.values()),
    *METHODS.values(),
    *(rule for name, rule in RULES.items() if name != "importance"),
]
NOT_IN_A_FILE = {
    OwnNetwork: OwnNetwork(lambda key: eqx.nn.MLP(1, 1, 4, 1, key=key)),
    Transformation: Transformation(optax.adam(1e-3)),
    fr.Constrained: fr.Constrained(fr.MLP(), lambda n, x: x[0] * n(x)),
    fr.Importance: RULES["importance"],
}


def same(one: object, other: object) -> bool:
    """Equal in type and in every number. A problem is more than its arguments, but made of nothing else."""
    if isinstance(one, fr.Equation):
        return type(one) is type(other) and to_text(one) == to_text(other)
    return bool(eqx.tree_equal(one, other))


# Writing and reading


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: to_text(value)[:60])
def test_an_object_is_read_as_it_was_written(value):
    text = to_text(value)
    found = from_text(text)
    assert to_text(found) == text
    if not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value)):  # a jax array may come back as numbers or as numpy's
        assert same(found, value)


def test_there_is_an_example_of_every_class_of_the_registry():
    written = " ".join(to_text(value) for value in (*EXAMPLES, *NOT_IN_A_FILE.values()))
    assert set(SPECS) <= set(re.findall(r"\b(\w+)\(", written))


@pytest.mark.parametrize("value", NOT_IN_A_FILE.values(), ids=lambda value: type(value).__name__)
def test_what_was_made_in_python_is_shown_and_refused(value):
    text = to_text(value)
    assert text.startswith(f"{type(value).__name__}(")
    assert "Opaque(" in text
    assert "0x" not in text, "an address: another process would write another text"
    assert not is_rebuildable(text)
    with pytest.raises(NotRebuildableError, match="it was made in Python and is not in the file: "):
        from_text(text)


def test_every_argument_is_written_by_name():
    """A default that changes later must not change what an old file means."""
    for value in EXAMPLES:
        parameters = inspect.signature(type(value)).parameters.values()
        named = {one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
        _, written = serialisation.arguments_of(value)
        # Left out by their recipes: weights of charges that are drawn, which have none, the published initial density, and its gain; and
        # the form of built-in conditions, which is made again from the equation.
        assert named - set(written) <= {"weights", "initial", "gain_factor", "form", "windings"}, type(value)
    assert to_text(fr.MLP(64, 3, "tanh")) == "MLP(width=64, depth=3, activation='tanh', scaled=True)"
    assert to_text(fr.Adam()) == "Adam(learning_rate=0.001, schedule=ConstantRate(), b1=0.9, b2=0.999, eps=1e-08)"
    assert to_text(fr.Product(fr.Point(0.0), fr.Point())) == "Product(Point(0.0), Point())"


def test_the_users_own_is_opaque_wherever_it_stands():
    class Own(fr.Equation):
        pass

    class MLP(eqx.Module):  # the name of one of ours
        width: int = 3

    own = Own(fr.Interval(0.0, 1.0), lambda u, x: u(x))
    assert to_text(own) == "Opaque('Own made in Python')"
    assert to_text(fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x))) == "Opaque('Equation made in Python')"
    assert to_text((1, MLP(), [jnp.tanh], {2, 3})).count("Opaque(") == 3
    assert to_text(optax.adam(1e-3)).startswith("Opaque("), "a named tuple is not a tuple of settings"
    loop: list = []
    loop.append(loop)
    assert not is_rebuildable(to_text(loop))
    assert is_rebuildable("'Opaque'")


class Made(NamedTuple):
    """A library object that is still to be made: strategies must not call what is checked at random, as containers are by beartype."""

    spec: type
    positional: tuple
    named: dict

    @classmethod
    def strategy(cls, spec: type, *positional: st.SearchStrategy, **named: st.SearchStrategy) -> st.SearchStrategy["Made"]:
        return st.builds(cls, st.just(spec), st.tuples(*positional), st.fixed_dictionaries(named))


def made(value):
    """The value with everything in it made."""
    if isinstance(value, Made):
        return value.spec(*made(value.positional), **made(value.named))
    if isinstance(value, dict):
        return {key: made(item) for key, item in value.items()}
    return type(value)(map(made, value)) if isinstance(value, (list, tuple)) else value


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
points = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3).map(lambda numbers: Made(fr.Point, tuple(numbers), {}))
names = st.text(min_size=1).filter(lambda name: name != "self")
unit = st.floats(0.0, 1.0, exclude_max=True)
specs = st.one_of(
    points,
    Made.strategy(fr.MLP, st.integers(1, 99), st.integers(1, 9), st.sampled_from(["silu", "tanh"])),
    Made.strategy(fr.Interval, st.floats(-2.0, 0.0), st.floats(0.0, 2.0)),
    Made.strategy(fr.DelayedTarget, tau=st.none() | unit, main=st.none() | Made.strategy(fr.MonteCarlo, st.integers(1, 9))),
    st.dictionaries(names, points, min_size=1, max_size=3).map(lambda parts: Made(fr.Law, (), parts)),
    st.lists(points, min_size=1, max_size=3).map(lambda parts: Made(fr.Product, tuple(parts), {})),
)
values = st.recursive(
    scalars | specs,
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(scalars, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(values)
def test_nested_values_are_read_as_they_were_written(drawn):
    value = made(drawn)
    text = to_text(value)
    found = from_text(text)
    assert found == value
    assert to_text(found) == text, "-0.0 and 0.0, True and 1 are equal, and not the same"


def test_numbers_that_python_has_no_literal_for():
    assert to_text((math.inf, -math.inf)) == "(float('inf'), float('-inf'))"
    assert from_text("[float('inf'), float('-inf')]") == [math.inf, -math.inf]
    assert math.isnan(from_text(to_text(math.nan)))
    assert to_text(np.float64(0.1)) == "0.1"
    assert to_text((np.int32(3), np.bool_(True), np.str_("a"))) == "(3, True, 'a')"


# Arrays


@pytest.mark.parametrize(
    "array",
    [
        np.asarray([[0.1, -0.0], [1e-300, math.inf]]),
        np.asarray([1, 2]),
        np.asarray([2**64 - 1], np.uint64),
        np.asarray([True, False]),
        np.asarray(0.1, np.float32),
        np.zeros((0, 3)),
        np.zeros(0, np.int8),
        np.arange(6.0).reshape(2, 3).T,
        np.asarray([1.0, 2.0], ">f8"),
        np.full((1,) * 20, 0.5),
    ],
    ids=str,
)
def test_arrays_keep_numbers_shape_and_type(array):
    found = from_text(to_text(array))
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.shape == array.shape
    assert found.tobytes() == array.astype(found.dtype).tobytes()


def test_an_array_says_its_type_where_it_is_not_float64():
    assert to_text(np.asarray([1.0, 2.0])) == "array([1.0, 2.0])"
    assert to_text(np.asarray([1, 2])) == "array([1, 2], dtype='int64')"
    assert to_text(jnp.asarray([0.5])) == "array([0.5], dtype='float32')"


def test_many_numbers_go_to_a_file_of_their_own():
    many = np.arange(101.0)
    domain = fr.Offline(point=many, next=many + 1, same=many + 1)
    assert to_text(many[:100]).startswith("array([0.0, 1.0")
    kept: dict[str, np.ndarray] = {}
    text = to_text(domain, kept)
    assert len(kept) == 2, "the same numbers are kept once"
    assert text.count("array(file=") == 3
    assert from_text(text, kept) == domain
    other: dict[str, np.ndarray] = {}
    to_text(fr.Offline(point=many + 2), other)
    assert not set(kept) & set(other), "another content has another name"
    assert "Opaque('array of shape (101, 1)')" in to_text(domain)
    with pytest.raises(NotRebuildableError, match="separate file, which is missing"):
        from_text(text)
    with pytest.raises(NotRebuildableError, match="not the one that was written"):
        from_text(text, {name: array + 1 for name, array in kept.items()})


def test_a_long_discrete_measure_has_a_short_text():
    measure, kept = fr.Discrete(np.arange(500.0), np.linspace(1.0, 2.0, 500)), {}
    text = to_text(measure, kept)
    assert len(text) < 200
    assert from_text(text, kept) == measure


def test_what_has_no_numbers_to_write_is_opaque():
    for value in (jax.random.key(0), np.asarray([object()]), np.asarray([1j]), jnp.asarray([1.0], jnp.bfloat16)):
        assert to_text(value).startswith("Opaque('array of shape")
    seen = []
    jax.jit(lambda x: seen.append(to_text(fr.Interval(0.0, x))) or x)(1.0)
    assert seen == ["Interval(low=0.0, high=Opaque('array of shape ()'))"]


# Wrong and hostile texts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MLQ(3)", "unknown name 'MLQ'. Did you mean 'MLP'?"),
        ("Smolyak(Gaus(1), 3)", "Did you mean 'Gauss'?"),
        ("MLP(widht=3)", "unknown argument of MLP 'widht'. Did you mean 'width'?"),
        ("MLP(1, 2, 'tanh', True, 4)", "MLP: too many positional arguments; expected MLP(width, depth, activation, scaled)"),
        ("Even()", "missing a required argument: 'n'; expected Even(n, randomize)"),
        ("Standard(tau=3)", "Standard: got an unexpected keyword argument 'tau'; expected Standard()"),
        ("MLP(width=1, width=2)", "'width' twice"),
        ("MLP(width=0)", "MLP width: got 0"),
        ("MLP(activation='tahn')", "Did you mean 'tanh'?"),
        ("Law(x=1)", "Law: "),
        ("Warped(1, 2)", "Warped: "),
        ("MLP", "expected the library's names and plain values only"),
        ("MLP(", "expected a name with its arguments"),
        ("", "expected a name with its arguments"),
        ("{[1]: 2}", "cannot be the key"),
        ("array([1, 'x'])", "array: "),
        ("array([1, 2], [3])", "plain values only"),
        ("array([300], dtype='int8')", "out of bounds"),
        ("float('1')", "plain values only"),
    ],
)
def test_a_wrong_text_says_what_is_wrong(text, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the message is compared below
        from_text(text)
    assert message in str(raised.value)


HOSTILE = [
    "__import__('os').system('x')",
    "Point(__import__('os').getcwd())",
    "().__class__.__bases__",
    "MLP.build",
    "MLP().build(1, 1, None)",
    "(lambda: 1)()",
    "lambda: 1",
    "[x for x in (1, 2)]",
    "f'{1}'",
    "'a' * 10 ** 10",
    "9**9**9",
    "9" * 100_000,
    "print(1)",
    "eval('1')",
    "open('x')",
    "Even(*(1,))",
    "MLP(**MLP())",
    "x := 1",
    "1 if True else 2",
    "1, *(2,)",
    "{**{}}",
    "1j",
    "b'x'",
    "...",
    "-True",
    "array([1], dtype='object')",
    "array([1], dtype='O,O')",
    "array(file='/etc/passwd')",
    "\x00",
    "import os",
    "[" * 10_000 + "]" * 10_000,
    "[" * 100 + "]" * 100,
    "array(" * 80 + ")" * 80,
    "Shared(" * 60 + "MonteCarlo(1)" + ")" * 60,
    "-" * 10_000 + "1",
    "not " * 10_000 + "1",
    "a" + ".a" * 100_000,
    "1" + "+1" * 100_000,
    "a" * 900_000 + "()",
    "1" + " " * 2_000_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:30])
def test_hostile_texts_are_refused_at_once(text):
    with ends(), pytest.raises(ValueError) as raised:  # noqa: PT011 - any of them
        from_text(text)
    assert len(str(raised.value)) < 2000


def test_reading_executes_nothing(tmp_path):
    """Python says of every call that could do harm; none comes from reading."""
    code = """
import sys
from fredholm.storage.serialisation import from_text
texts = sys.stdin.read().split("\\n\\n")
heard = []
harm = ("exec", "import", "open", "os", "subprocess", "socket")
sys.addaudithook(lambda event, _: heard.append(event) if event.split(".")[0] in harm else None)
for text in texts:
    try:
        from_text(text)
    except ValueError:
        pass
assert not heard, heard
"""
    texts = "\n\n".join(text for text in HOSTILE if "\x00" not in text and len(text) < 1000)
    subprocess.run([sys.executable, "-c", code], input=texts, text=True, check=True, cwd=tmp_path)


# The registry


def class_in(module: str, name: str) -> ModuleType:
    made = ModuleType(module)
    setattr(made, name, type(name, (eqx.Module,), {"__module__": module}))
    return made


def test_the_registry_refuses_two_classes_of_one_name():
    with pytest.raises(ValueError, match=r"two classes are called 'Same', in one and two; rename one"):
        registry([class_in("one", "Same"), class_in("two", "Same")])
    once = class_in("one", "Same")
    assert list(registry([once, once])) == ["Same"]


@pytest.mark.parametrize("name", RESERVED)
def test_the_registry_refuses_the_names_of_the_text_itself(name):
    with pytest.raises(ValueError, match="meaning of its own"):
        registry([class_in("one", name)])


def test_the_registry_has_public_classes_of_settings_only():
    assert not any(name.startswith(("_", "Abstract")) for name in SPECS)
    assert not set(SPECS) & set(BUILT)
    assert all(name == spec.__name__ for name, spec in SPECS.items())
    assert SPECS["Given"] is fr.Given, "networks.Given is OwnNetwork now"
    # Of the public classes only those that hold the user's functions, and results, are not there.
    public = {name for name in fr.__all__ if isinstance(getattr(fr, name), type) and issubclass(getattr(fr, name), eqx.Module)}
    assert public - set(SPECS) == {
        "AbstractAdaptation",
        "Condition",
        "Data",
        "Defaults",
        "Equation",
        "Integral",
        "IntegralCondition",
        "Periodic",
        "Plateau",
        "Tolerance",
        "View",
    }


@pytest.mark.parametrize(("old", "new"), ALIASES.items())
def test_a_renamed_class_is_read_by_its_old_name_and_written_by_its_new(old, new):
    assert old not in SPECS
    assert to_text(from_text(f"{old}()")) == f"{new}()"
    assert type(decode_format_1({"noun": old, "fields": {}})) is SPECS[new]
    with pytest.raises(AttributeError, match=rf"^fr\.{old} is now fr\.{new}$"):
        getattr(fr, old)


def test_other_names_that_are_missing_are_missing_as_usual():
    assert not hasattr(fr, "Nothing")
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = fr.Nothing


# Folders that were written before

FORMAT_1 = [
    (
        {
            "noun": "Adam",
            "fields": {"learning_rate": 0.01, "schedule": {"noun": "Constant", "fields": {}}, "b1": 0.9, "b2": 0.999, "eps": 1e-8},
        },
        fr.Adam(0.01, fr.ConstantRate()),
    ),
    (
        {"noun": "NormalizedSphere", "fields": {"sphere": {"noun": "Sphere", "fields": {"center": [0.0, 1.0], "radius": 2.0}}}},
        fr.NormalizedSphere((0.0, 1.0), 2.0),
    ),
    ({"noun": "Law", "fields": {"parts": {"dict": {"a": {"noun": "Point", "fields": {"coordinates": [0.0]}}}}}}, fr.Law(a=fr.Point(0.0))),
    ({"noun": "MLP", "fields": {"width": 8, "depth": 1}}, fr.MLP(8, 1)),  # a field that is newer than the file
    ([1, [2.0, "MLP(3)"], None], (1, (2.0, "MLP(3)"), None)),
    ({"dict": {"a": {"array": [1.0, 2.0]}}}, {"a": np.asarray([1.0, 2.0])}),
]


@pytest.mark.parametrize(("data", "value"), FORMAT_1, ids=lambda part: str(part)[:40])
def test_tagged_json_is_still_read(data, value):
    found = decode(json.loads(json.dumps(data)))
    assert jax.tree.structure(found) == jax.tree.structure(value)
    assert eqx.tree_equal(found, value)


def test_a_problem_and_a_network_of_format_1_are_read():
    data = {
        "problem": "Poisson",
        "options": {"dim": 2, "charges": {"array": [[0.0, 0.5]]}, "radii": {"noun": "Interval", "fields": {"low": 0.1, "high": 0.2}}},
    }
    assert to_text(decode(data)) == to_text(problems.Poisson(charges=[[0.0, 0.5]], radii=fr.Interval(0.1, 0.2)))
    perceptron = {"noun": "Perceptron", "fields": {"layers": [[{"array": [[1.0]]}, {"array": [0.0]}]], "activation": "tanh"}}
    network = decode({"noun": "Given", "fields": {"source": perceptron}})
    assert isinstance(network, OwnNetwork)
    assert isinstance(network.source, Perceptron)


@pytest.mark.parametrize(
    "data",
    [
        {"opaque": "Equation made in Python"},
        {"noun": "MLP"},
        {"noun": "MLP", "fields": {"width": 8, "depth": 1, "activation": "tanh", "gone": 1}},
        {"noun": "Even", "fields": {"randomize": None}},
        {"noun": "Given", "fields": {"source": {"opaque": "<function>"}}},
        [{"opaque": "x"}],
    ],
    ids=str,
)
def test_what_format_1_does_not_hold_is_not_rebuilt(data):
    with pytest.raises(NotRebuildableError):
        decode(data)


def test_an_unknown_name_in_format_1_is_an_error_and_not_the_users_own():
    with pytest.raises(ValueError, match=r"unknown name 'MLQ'. Did you mean 'MLP'") as caught:
        decode({"noun": "MLQ", "fields": {"width": 8, "depth": 1, "activation": "tanh"}})
    assert not isinstance(caught.value, NotRebuildableError)
    with pytest.raises(ValueError, match="MLP width: got 0"):
        decode({"noun": "MLP", "fields": {"width": 0, "depth": 1, "activation": "tanh"}})


def test_decode_reads_text_and_plain_values():
    assert decode("MLP(width=8, depth=1, activation='tanh')") == fr.MLP(8, 1, "tanh")
    assert [decode(value) for value in (None, True, 3, 0.5)] == [None, True, 3, 0.5]
    kept: dict[str, np.ndarray] = {}
    text = to_text(np.arange(200.0), kept)
    np.testing.assert_array_equal(decode(text, kept), np.arange(200.0))
    with pytest.raises(ValueError, match="expected a recorded setting"):
        decode(object())
