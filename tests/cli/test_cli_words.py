"""The command line: help, names, values, and what is wrong in them; nothing is trained here."""

import inspect
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import fredholm as fr
from commands import TINY, command
from fredholm.cli import main, values
from fredholm.cli.choices import MADE_OF_OTHERS, keywords_of, method_of, problem_of
from fredholm.cli.names import METHODS, PROBLEMS, RULES, comments, fields, first_line, kebab, plain
from fredholm.cli.parser import parse

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
    for noun in METHODS.values():
        for field in fields(noun):
            assert f"--{kebab(field)}: {comments(noun)[field]}" in shown
    assert "$" not in shown
    assert "\\" not in shown


def test_every_field_of_a_method_has_a_comment_and_is_an_option(capsys):
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    shown = capsys.readouterr().out
    for noun in METHODS.values():
        for field in fields(noun):
            assert comments(noun)[field]
            assert f"--{kebab(field)} " in shown


def test_names_and_formulas_are_readable():
    assert [kebab(name) for name in ("QuasiMonteCarlo", "MLP", "ClenshawCurtis")] == ["quasi-monte-carlo", "mlp", "clenshaw-curtis"]
    assert plain(r"$\int_0^x e^{t-x}\,u(t)\,dt$") == "∫_0^x e^(t-x) u(t) dt"
    assert plain(r"$[-\frac\pi2, \tfrac{d+\alpha}2]$ and $\tfrac12 x$") == "[-π/2, (d+α)/2] and 1/2 x"


def test_no_formula_of_the_list_keeps_a_word_of_latex():
    spelled = {"sin", "cos", "cosh", "exp", "ln", "log", "sqrt", "max", "min", "mod", "text"}  # these read well as they are
    for noun in (*PROBLEMS.values(), *METHODS.values(), *RULES.values()):
        source = " ".join(inspect.cleandoc(noun.__doc__).split("\n\n")[0].split())
        left = {word for word in re.findall(r"\\([A-Za-z]{2,})", source) if re.search(rf"\b{word}", first_line(noun))}
        assert left <= spelled, f"{noun.__name__}: {left}"


# Options to nouns


def chosen(*arguments: str):
    options = parse(["solve", *arguments])
    problem = problem_of(options.problem, options.set)
    return method_of(problem, options.method, options), keywords_of(problem, options)


def test_options_change_only_what_they_name():
    method, keywords = chosen("poisson", "--tau", "0.5")
    assert method == fr.DelayedTarget(tau=0.5, regularization=1.0, split=100.0)
    assert {name for name, value in keywords.items() if value is not None} == {"seeds", "precision"}
    method, keywords = chosen("poisson", "--method", "delayed-target", "--every", "10", "--width", "8", "--schedule", "cosine")
    assert method == fr.DelayedTarget(tau=0.999, regularization=1.0, split=100.0, every=10)
    assert keywords["network"] == fr.MLP(8, 3, "silu")
    assert keywords["optimizer"] == fr.Adam(1e-3, fr.Cosine())
    assert chosen("poisson", "--optimizer", "muon")[1]["optimizer"] == fr.Muon()
    assert chosen("poisson", "--optimizer", "Muon", "--learning-rate", "0.02")[1]["optimizer"] == fr.Muon(0.02)
    assert chosen("poisson", "--optimizer", "adam", "--schedule", "cosine")[1]["optimizer"] == fr.Adam(1e-3, fr.Cosine())
    assert chosen("poisson", "--method", "double-sampling", "--pairs", "all")[0] == fr.DoubleSampling(pairs="all")


def test_where_auto_chooses_options_are_meant_for_it():
    assert chosen("own.py:problem")[0] is None, "solve lets Auto choose"
    assert chosen("own.py:problem", "--pilot", "50")[0] == fr.Auto(pilot=50)
    assert chosen("own.py:problem", "--learning-rate", "0.02")[1]["optimizer"] == fr.Muon(0.02)
    assert chosen("own.py:problem", "--method", "auto", "--learning-rate", "0.02")[1]["optimizer"] == fr.Muon(0.02)
    assert isinstance(chosen("own.py:problem", "--method", "standard", "--learning-rate", "0.02")[1]["optimizer"], fr.Adam)
    assert chosen("own.py:problem", "--tau", "0.5")[0] == fr.DelayedTarget(tau=0.5)


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
    assert chosen("volterra", *given)[1]["rule"] == rule


@pytest.mark.parametrize(("text", "seeds"), [("4", 4), ("3,7", [3, 7]), ("3 7", [3, 7]), ("3,", [3])])
def test_seeds_are_a_number_or_a_list(text, seeds):
    assert chosen("volterra", "--seeds", *text.split())[1]["seeds"] == seeds


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
    ("solve own.py:undefined --method standard", "own.py, line 21: NameError"),
    ("solve own.py:reversed_limits", "own.py, line 24: ValueError: Interval"),
    ("solve syntax.py:problem", "syntax.py, line 2: SyntaxError"),
    ("solve missing_module.py:problem", "missing_module.py, line 1: ModuleNotFoundError"),
    ("resume nothing", "not a run folder"),
    ("report .", "not a run folder"),
    ("predict nothing --out u.txt", "ends in .nc"),
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


def test_every_rule_that_is_made_of_others_has_an_example_that_works():
    nested = {noun for noun in RULES.values() if "n" not in fields(noun)}
    assert {noun.__name__ for noun in nested} == set(MADE_OF_OTHERS)
    for noun in nested:
        assert isinstance(values.noun(f"{noun.__name__}({MADE_OF_OTHERS[noun.__name__]})"), noun)


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
