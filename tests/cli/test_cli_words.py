"""The command line: help, names, values, and what is wrong in them; nothing is trained here."""

import dataclasses
import inspect
import re
import shlex
import subprocess
from pathlib import Path

import optax
import pytest

import fredholm as fr
from commands import TINY, command
from fredholm import optimizers
from fredholm.__main__ import main
from fredholm.cli import values
from fredholm.cli.choices import keywords_of, method_of, problem_of
from fredholm.cli.kinds import KINDS, MADE_OF_OTHERS, METHOD, NETWORK, OPTIMIZER, RULE, chosen
from fredholm.cli.names import METHODS, PROBLEMS, RULES, comments, concrete, fields, first_line, hints, is_writable, kebab, plain
from fredholm.cli.parser import parse, solve_options
from fredholm.functions.protocol import OwnNetwork
from fredholm.optimizers import Transformation
from fredholm.problems import InsideBall
from fredholm.storage.serialisation import SPECS, from_text

# Help and names


def test_help_names_every_command_and_has_examples():
    done = subprocess.run(command("--help"), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "examples:" in done.stdout
    for name in ("list", "check", "solve", "compare", "resume", "report", "predict", "theory", "doctor"):
        assert re.search(rf"^ +{name} ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", ["check", "solve", "compare", "resume", "report", "predict", "theory"])
def test_every_command_has_help_with_examples_that_parse(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    examples = re.findall(r"^  fredholm (.+?)(?:   .*)?$", text, re.MULTILINE)
    assert examples
    for example in examples:
        assert parse(shlex.split(example)).name == name


def test_list_shows_every_name_with_its_comment():
    done = subprocess.run(command("list"), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    for name in (*PROBLEMS, *METHODS, *RULES, "shift", "rotation", "tanh", "adam", "cosine"):
        assert re.search(rf" {name}[ ,]", shown)
    for kind in KINDS:
        for spec in kind.classes.values():
            for field in fields(spec):
                assert f"{'--' if field in kind.options else ''}{kebab(field)}: {comments(spec)[field]}" in shown
    assert "$" not in shown
    assert "\\" not in shown


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.flag)
def test_every_field_has_a_comment_and_is_an_option(kind, capsys):
    """Only an object of the same kind inside another, and what has no short text, are none: they are written as in Python."""
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for spec in kind.classes.values():
        for field in fields(spec):
            assert comments(spec)[field]
            if not is_writable(hints(spec)[field]):
                continue
            assert comments(spec)[field] in shown or field == kind.flag
            assert (kebab(field) in solve_options()) or field == kind.flag
            assert (f"--{kebab(field)} " in shown) or field == kind.flag


def test_a_new_class_has_its_name_and_its_options_by_itself(monkeypatch):
    class Momentum(optimizers.AbstractOptimizer):
        learning_rate: float = 0.1  # how fast
        friction: float | None = None  # how soon it stops
        build = optimizers.Adam.build

    monkeypatch.setattr("fredholm.cli.names.SPECS", {**SPECS, "Momentum": Momentum})
    kind = dataclasses.replace(OPTIMIZER, classes=concrete(optimizers.AbstractOptimizer))
    assert list(kind.classes) == ["adam", "gauss-newton", "momentum", "muon"]
    assert kind.options["friction"].help == "momentum: how soon it stops"
    assert "momentum: how fast" in kind.options["learning_rate"].help
    assert chosen(kind, "momentum", fr.Adam(), {"friction": 0.5}) == Momentum(0.1, 0.5)


def test_what_needs_a_function_has_no_name():
    for kind in KINDS:
        assert not {OwnNetwork, Transformation, fr.Constrained} & set(kind.classes.values())


def test_names_and_formulas_are_readable():
    assert [kebab(name) for name in ("QuasiMonteCarlo", "MLP", "ClenshawCurtis")] == ["quasi-monte-carlo", "mlp", "clenshaw-curtis"]
    assert plain(r"$\int_0^x e^{t-x}\,u(t)\,dt$") == "∫_0^x e^(t-x) u(t) dt"
    assert plain(r"$[-\frac\pi2, \tfrac{d+\alpha}2]$ and $\tfrac12 x$") == "[-π/2, (d+α)/2] and 1/2 x"


def test_no_formula_of_the_list_keeps_a_word_of_latex():
    spelled = {"sin", "cos", "cosh", "tanh", "exp", "ln", "log", "sqrt", "max", "min", "mod", "text"}  # these read well as they are
    for spec in (*PROBLEMS.values(), *(spec for kind in KINDS for spec in kind.classes.values())):
        source = " ".join(inspect.cleandoc(spec.__doc__).split("\n\n")[0].split())
        left = {word for word in re.findall(r"\\([A-Za-z]{2,})", source) if re.search(rf"\b{word}", first_line(spec))}
        assert left <= spelled, f"{spec.__name__}: {left}"


# Options to objects


def asked(*arguments: str):
    options = parse(["solve", *arguments])
    problem = problem_of(options.problem, options.set, options.published)
    return method_of(problem, options.method, options), keywords_of(problem, options)


def test_options_change_only_what_they_name():
    method, keywords = asked("poisson", "--published", "--tau", "0.5")
    assert method == fr.DelayedTarget(tau=0.5, regularization=1.0, split=100.0)
    assert {name for name, value in keywords.items() if value is not None} == {"seeds"}
    method, keywords = asked(
        "poisson", "--published", "--method", "delayed-target", "--every", "10", "--width", "8", "--schedule", "cosine"
    )
    assert method == fr.DelayedTarget(tau=0.999, regularization=1.0, split=100.0, every=10)
    assert keywords["network"] == fr.MLP(8, 3, "silu", scaled=False)
    assert keywords["optimizer"] == fr.Adam(1e-3, fr.Cosine())
    with pytest.raises(ValueError, match="standard has no such option; it belongs to delayed-target"):
        asked("poisson", "--tau", "0.5")
    with pytest.raises(ValueError, match="Volterra has no settings of a published run"):
        asked("volterra", "--published")
    assert asked("poisson", "--set", "dim=5", "--n", "8")[1]["rule"] == fr.Focused(8, [[0.0] * 5])
    assert asked("poisson", "--published", "--optimizer", "muon")[1]["optimizer"] == fr.Muon()
    assert asked("poisson", "--published", "--optimizer", "Muon", "--learning-rate", "0.02")[1]["optimizer"] == fr.Muon(0.02)
    assert asked("poisson", "--published", "--optimizer", "adam", "--schedule", "cosine")[1]["optimizer"] == fr.Adam(1e-3, fr.Cosine())
    assert asked("poisson", "--method", "double-sampling", "--pairs", "all")[0] == fr.DoubleSampling(pairs="all")


def test_where_auto_chooses_options_are_meant_for_it():
    assert asked("own.py:problem")[0] is None, "solve lets Auto choose"
    assert asked("own.py:problem", "--pilot", "50")[0] == fr.Auto(pilot=50)
    assert asked("own.py:problem", "--learning-rate", "0.02")[1]["optimizer"] == fr.Muon(0.02)
    assert asked("own.py:problem", "--method", "auto", "--learning-rate", "0.02")[1]["optimizer"] == fr.Muon(0.02)
    assert isinstance(asked("own.py:problem", "--method", "standard", "--learning-rate", "0.02")[1]["optimizer"], fr.Adam)
    assert asked("own.py:problem", "--tau", "0.5")[0] == fr.DelayedTarget(tau=0.5)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (["--n", "7"], fr.MonteCarlo(7)),
        (["--rule", "monte-carlo"], fr.MonteCarlo(1)),
        (["--rule", "even", "--n", "5"], fr.Even(5)),
        (["--rule", "even", "--n", "5", "--randomize", "shift"], fr.Even(5, randomize=fr.Shift())),
        (["--rule", "Even(5, randomize=Rotation())"], fr.Even(5, randomize=fr.Rotation())),
        (["--rule", "Even(5, randomize=Shift())", "--randomize", "none", "--n", "2"], fr.Even(2)),
    ],
)
def test_rules_by_name_and_as_in_python(given, rule):
    assert asked("volterra", *given)[1]["rule"] == rule


def test_every_kind_is_given_by_name_or_as_in_python():
    assert asked("volterra", "--method", "DelayedTarget(tau=0.5)", "--every", "3")[0] == fr.DelayedTarget(tau=0.5, every=3)
    assert asked("volterra", "--network", 'MLP(32, 2, "tanh")')[1]["network"] == fr.MLP(32, 2, "tanh")
    assert asked("volterra", "--network", "MLP(32, 2)", "--width", "8")[1]["network"] == fr.MLP(8, 2)
    assert asked("volterra", "--network", "mlp", "--depth", "1")[1]["network"].depth == 1
    assert asked("volterra", "--optimizer", "Adam(1e-2, Cosine(0.1))")[1]["optimizer"] == fr.Adam(1e-2, fr.Cosine(0.1))
    assert asked("volterra", "--optimizer", "Adam(1e-2)", "--eps", "1e-6")[1]["optimizer"] == fr.Adam(1e-2, eps=1e-6)
    assert asked("volterra", "--optimizer", "adam", "--schedule", "Cosine(0.5)")[1]["optimizer"].schedule == fr.Cosine(0.5)
    assert asked("volterra", "--optimizer", "adam", "--schedule", "constant")[1]["optimizer"].schedule == fr.ConstantRate(), "its old name"
    assert asked("own.py:problem", "--using", "standard")[0] == fr.Auto(using=fr.Standard())
    assert asked("own.py:problem", "--using", "DelayedTarget(0.5)")[0] == fr.Auto(using=fr.DelayedTarget(0.5))
    assert asked("volterra", "--method", "delayed-target", "--main", "MonteCarlo(2)")[0].main == fr.MonteCarlo(2)
    assert asked("volterra", "--method", "delayed-target", "--main", "2e1", "--tau", "none")[0].main == 20


def test_options_reach_the_object_inside_another_of_its_kind():
    """A form that meets a condition is kept when its network is made wider."""
    assert asked("fractional-poisson", "--width", "8")[1]["network"] == fr.Constrained(
        dataclasses.replace(fr.problems.FractionalPoisson().defaults.network.network, width=8), InsideBall(0.75)
    )
    own = fr.Constrained(OwnNetwork(lambda key: None), InsideBall(0.75))
    assert chosen(NETWORK, None, own, {"width": 8}).network == dataclasses.replace(NETWORK.general, width=8)
    assert asked("volterra", "--rule", "Shared(MonteCarlo(16))", "--n", "4")[1]["rule"] == fr.Shared(fr.MonteCarlo(4))
    assert asked("volterra", "--rule", "Smolyak(Gauss(1), 3)", "--level", "2")[1]["rule"] == fr.Smolyak(fr.Gauss(1), 2)
    assert asked("volterra", "--rule", "Smolyak(Gauss(1), 3)", "--merge", "false")[1]["rule"].merge is False


def test_what_a_problem_has_from_python_is_left_where_nothing_is_said_of_it():
    for kind in KINDS:
        assert chosen(kind, None, object(), {}) is None
    assert chosen(OPTIMIZER, None, Transformation(optax.sgd(0.1)), {"b1": 0.5}) == dataclasses.replace(OPTIMIZER.general, b1=0.5)
    assert chosen(NETWORK, None, lambda key: None, {"width": 8}) == dataclasses.replace(NETWORK.general, width=8)
    assert chosen(METHOD, "standard", fr.DelayedTarget(), {"tau": None}) == fr.Standard(), "none, of what it does not have"
    assert chosen(RULE, "monte-carlo", fr.MonteCarlo(3), {"randomize": None}) == fr.MonteCarlo(3)


def test_a_rule_of_the_users_own_takes_the_options_that_it_has():
    class Own(fr.MonteCarlo):
        pass

    assert type(chosen(RULE, None, Own(2), {"n": 3})) is Own
    assert chosen(RULE, None, Own(2), {"n": 3}).n == 3
    with pytest.raises(ValueError, match="--level: own has no such option; it belongs to smolyak"):
        chosen(RULE, None, Own(2), {"level": 3})


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("2e4", int, 20_000),
        ("3", float, 3.0),
        ("none", float | None, None),
        ("None", float | None, None),
        ("true", bool, True),
        ("f", hints(fr.DelayedTarget)["on"], "f"),
        ("shift", hints(fr.Even)["randomize"], fr.Shift()),
        ("Shift", hints(fr.Even)["randomize"], fr.Shift()),
        ("Shift(fixed=True)", hints(fr.Even)["randomize"], fr.Shift(fixed=True)),
        ("tanh", str, "tanh"),
    ],
)
def test_a_text_is_read_by_the_type_of_its_field(text, hint, value):
    found = values.read(text, hint)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("text", "seeds"), [("4", 4), ("3,7", [3, 7]), ("3 7", [3, 7]), ("3,", [3])])
def test_seeds_are_a_number_or_a_list(text, seeds):
    assert asked("volterra", "--seeds", *text.split())[1]["seeds"] == seeds


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("5", 5), ("none", None), ("[[0, 1e-2]]", [[0, 0.01]]), ("Point(1.0)", fr.Point(1.0))],
)
def test_values_are_what_a_person_means(text, value):
    assert values.value(text) == value


@pytest.mark.parametrize("text", ["Point(__import__('os').getcwd())", "Point(().__class__)", "Even(open('x'))"])
def test_values_never_run_code(text):
    with pytest.raises(ValueError, match=r"expected the library's names|unknown name"):
        values.value(text)


def test_problem_options_reach_the_problem():
    assert problem_of("poisson", ["dim=5", "radii=Interval(0.2, 0.3)"]).inputs == 5
    assert problem_of("own.py:make", ["rate=2.0"]).inputs == 1


# Wrong input: one line, exit code 2, nothing left behind

WRONG = [
    ("solv", "Did you mean 'solve'"),
    ("solve", "PROBLEM"),
    ("solve poison", "Did you mean 'poisson'"),
    ("solve volterra --method standrad", "Did you mean 'standard'"),
    ("solve volterra --tua 0.5", "Did you mean --tau"),
    ("solve smoluchowski --dim 2", "--set dim="),
    ("solve Smoluchowski(dim=2)", "Smoluchowski --set dim=2"),
    ("solve volterra --tau x", "--tau: got 'x'; expected a number"),
    ("solve volterra --tau -0.1", "expected a finite number in"),
    ("solve volterra --on outptu", "Did you mean 'output'"),
    ("solve volterra --tau 1", "expected a finite number in"),
    ("solve volterra --regularization -1", "regularization"),
    ("solve volterra --method standard --tau 0.5", "standard has no such option; it belongs to delayed-target"),
    ("solve volterra --n 0", "MonteCarlo n: got 0"),
    ("solve volterra --n many", "expected a whole number"),
    ("solve volterra --rule evn --n 2", "Did you mean 'even'"),
    ("solve volterra --rule even", "needs --n"),
    ("solve volterra --rule smolyak", "needs rule and level; write it as in Python, --rule 'Smolyak(Gauss(1), 3)'"),
    ("solve volterra --rule shared --n 16", "no such option; it has rule; write it as in Python, --rule 'Shared(MonteCarlo(16))'"),
    ("solve volterra --rule importance", "--rule 'Importance(MonteCarlo(16), Normal((0.0,)))'"),
    ("solve volterra --rule Gaus(3)", "Did you mean 'Gauss'"),
    ("solve volterra --randomize shift", "monte-carlo has no such option"),
    ("solve volterra --randomize shfit --rule even --n 2", "Did you mean 'shift'"),
    ("solve volterra --activation tahn", "Did you mean 'tanh'"),
    ("solve volterra --schedule cosin", "Did you mean 'cosine'"),
    ("solve volterra --optimizer moun", "Did you mean 'muon'"),
    ("solve volterra --optimizer MLP(8)", "--optimizer: got MLP(8); expected an optimizer, for instance 'Adam(1e-3, Cosine())'"),
    ("solve volterra --network Gauss(8)", "--network: got Gauss(8); expected a network"),
    ("solve volterra --network MLQ(8)", "Did you mean 'MLP'"),
    ("solve volterra --network own-network", "Known: built-in, chebyshev"),
    ("solve volterra --schedule MLP(8)", "--schedule: got 'MLP(8)'; expected a schedule"),
    ("solve volterra --main x", "--main: got 'x'; expected a whole number or radial or resolved or none or an object as in Python"),
    ("solve volterra --rule gauss --merge maybe", "unknown value 'maybe'"),
    ("solve volterra --optimizer adam --beta 0.5", "--beta: adam has no such option; it belongs to muon"),
    ("solve volterra --rule quasi-monte-carlo", "it needs --n (N, exactly this many points)"),
    ("solve volterra --width 2.5", "--width: got '2.5'; expected a whole number"),
    ("solve volterra --precision float16", "Did you mean 'float"),
    ("solve volterra --seeds 0", "seeds: got 0"),
    ("solve volterra --seeds 4 volterra", "PROBLEM comes before"),
    ("solve volterra --steps 0", "--steps: got 0"),
    ("solve volterra --minutes -1", "minutes"),
    ("solve volterra --set dim=2", "has no options"),
    ("solve poisson --set dmi=3", "Did you mean 'dim'"),
    ("solve poisson --set dim", "expected name=value"),
    ("solve poisson --set charges=none_of_it", "--set charges=none_of_it"),
    ("solve volterra --method double-sampling --n 1", "at least 2 points"),
    ("compare volterra --methods standard double-sampling --n 1", "at least 2 points"),
    ("compare volterra --methods standard standard", "different methods"),
    ("compare volterra --methods standard --tau 0.5", "belongs to delayed-target"),
    ("solve volterra --out .", "exists and is not empty"),
    ("solve own.py", "expected path/to/file.py:name"),
    ("solve missing.py:problem", "no such file"),
    ("solve own.py:problm", "Did you mean 'problem'"),
    ("solve own.py:number", "got int; expected an Equation"),
    ("solve own.py:make --set rtae=2", "Did you mean 'rate'"),
    ("solve own.py:problem --set rate=2", "make it a function"),
    ("solve own.py:undefined --method standard", "own.py, line 21: f at one x: NameError"),
    ("solve own.py:reversed_limits", "own.py, line 24: ValueError: Interval"),
    ("solve syntax.py:problem", "syntax.py, line 2: SyntaxError"),
    ("solve missing_module.py:problem", "missing_module.py, line 1: ModuleNotFoundError"),
    ("resume nothing", "not a run folder"),
    ("report .", "not a run folder"),
    ("predict nothing --out u.txt", "ends in .nc"),
    ("predict nothing --out u.nc --grid x0=0:1:1e12", "expected a whole number from 1 to 10,000,000"),
    ("predict nothing --out u.nc --grid x0=0:1:10000 x1=0:1:10000", "10000 × 10000 points; expected at most"),
    ("predict nothing --out u.nc --grid x0=nan:1:5", "expected finite numbers"),
    ("predict nothing --out u.nc --grid x0=0,inf", "expected finite numbers"),
    ("solve volterra --n 1e30", "--n: got '1e30'; expected a whole number"),
    ("solve volterra --n 1e9", "Most is for the network at all nodes of one x"),
    ("solve volterra --width 1e6", "MLP width: got 1000000; expected a whole number from 1 to 100,000"),
    ("solve volterra --seeds 1e9", "seeds: got 1000000000; expected"),
    ("solve poisson --set charges=2024-01-01", "of type date; expected numbers and text"),
    (f"solve poisson --set charges={'[' * 80}{']' * 80}", "nested more than 50 levels deep"),
    (f"solve poisson --set charges={'[' * 9000}{']' * 9000}", "nested too deeply"),
    ("solve poisson --set charges=!!python/object:os.system", "is not YAML"),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_input_is_one_line_and_leaves_nothing(line, message, here, capsys):
    Path("syntax.py").write_text("import fredholm\nx = (\n")
    Path("missing_module.py").write_text("import no_such_module_here\n")
    before = sorted(path.name for path in here.iterdir())
    assert main(line.split(" ")) == 2
    out, error = capsys.readouterr()
    assert message in error
    assert error.count("\n") == 1
    assert out == ""
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == before


MANY = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))
STUDIES = {
    "problem: got '--help'; expected a name": "base: {problem: '--help'}",
    "problem: got 3; expected a name": "base: {problem: 3}",
    "of type date": "base: {problem: volterra, steps: 2024-01-01}",
    "nested too deeply": f"base: {'[' * 9000}{']' * 9000}",
    "levels deep": f"base: {'[' * 80}{']' * 80}",
    "references": f"base: {{problem: volterra}}\na0: &a0 [1, 2, 3, 4]\n{MANY}",
    "is not YAML": "base: {problem: &a *b}",
    "is there twice": "base: {problem: volterra, problem: poisson}",
}


@pytest.mark.parametrize("message", STUDIES)
def test_a_wrong_study_is_one_line(message, here, capsys):
    Path("study.yaml").write_text(STUDIES[message])
    assert main(["study", "study.yaml", "--out", "made"]) == 2
    out, error = capsys.readouterr()
    assert message in error
    assert error.count("\n") == 1
    assert len(error) < 500
    assert out == ""
    assert not Path("made").exists()


def test_every_class_that_is_made_of_others_has_an_example_that_works():
    nested = {spec.__name__: spec for kind in KINDS for spec in kind.classes.values() if kind.flag in fields(spec)}
    assert set(nested) == set(MADE_OF_OTHERS)
    for name, spec in nested.items():
        assert type(from_text(MADE_OF_OTHERS[name])) is spec


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.flag)
def test_the_example_of_every_kind_is_one_of_it(kind):
    assert isinstance(chosen(kind, kind.example, None, {}), kind.bases)


def test_an_error_while_training_starts_leaves_nothing(monkeypatch, capsys, here):
    def fail(*_):
        raise ValueError("found only now")

    monkeypatch.setattr("fredholm.training.training.Training.advance", fail)
    assert main(["solve", "volterra", *TINY, "--out", "a/b/run"]) == 2
    assert "found only now" in capsys.readouterr().err
    assert not Path("a").exists()


def test_a_process_exits_with_2_and_one_line():
    done = subprocess.run(command("solve", "volterra", "--out", "/proc/none"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("fredholm: out: cannot write to /proc/none")
    assert done.stderr.count("\n") == 1
