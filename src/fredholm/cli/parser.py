"""The commands, their options and their help.

argparse and not tyro: tyro 1.0 answers wrong input with a box of several lines and, except for options, without the nearest name; what
would change that is private (`tyro._errors`). It has no place for examples below the options, and shows `{None}|FLOAT` where an
option falls back to the problem's own default. Here an error is one line, and methods, rules and problems bring their own options.
"""

import argparse
import difflib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NoReturn

from fredholm.cli import checking, doctor, listing, results, resuming, studies, theory, training, zoo
from fredholm.cli.choices import METHOD_OPTIONS
from fredholm.cli.names import METHODS, OPTIMIZERS, PROBLEMS, RANDOMIZATIONS, RULES, SCHEDULES, comments, fields, kebab
from fredholm.cli.values import whole
from fredholm.common.checks import nearest
from fredholm.functions.mlp import ACTIVATIONS
from fredholm.paper.theory.worked import RUNS, STEPS
from fredholm.study.zoo import CASES, COLUMNS

DESCRIPTION = "Neural solvers for integro-differential equations, without the integral bias."
EXAMPLES = """\
examples:
  fredholm list                                          what there is
  fredholm solve volterra                                one sample for each integral, and no bias
  fredholm solve poisson --method standard --n 100       another method, with 100 samples
  fredholm check my_problem.py:problem                   what is wrong with your own equation, before training
  fredholm solve my_problem.py:problem --seeds 8         your own equation, from your own file
  fredholm compare volterra --methods standard delayed-target --n 1
  fredholm resume runs/volterra-2026-11-15-1a2b3c        after Ctrl-C, a crash, or to go on
  fredholm diagnose runs/volterra-2026-11-15-1a2b3c      why it failed, and what to do
  fredholm theory                                        the paper's theorem on a worked example
  fredholm reproduce figure-1 --scale laptop             a figure of the paper, and whether its claims hold here
  fredholm study study.yaml --workers 2                  a sweep with matched seeds

fredholm COMMAND --help explains a command."""
SOLVE_EXAMPLES = """\
What is not given is the problem's own default; for your own equation a short pilot chooses it and says why (--method auto).

examples:
  fredholm solve volterra
  fredholm solve poisson --set dim=5 --seeds 2 --steps 2000
  fredholm solve volterra --method standard --rule gauss --n 16          the deterministic approach
  fredholm solve volterra --method delayed-target --tau 0.999 --every 100
  fredholm solve volterra --rule 'QuasiMonteCarlo(64, sequence=Sobol(), randomize=Scramble())'
  fredholm solve my_problem.py:problem --minutes 5 --stop-at 1e-3 --out runs/mine

In my_problem.py, `problem` is a fredholm.Equation, or a function that returns one; --set gives the function its arguments."""
COMPARE_EXAMPLES = """\
All methods get the same seeds: the same first networks and, at equal --n and --batch, the same points. --tau and the like go to the
methods that have them.

examples:
  fredholm compare volterra --methods standard delayed-target --rule monte-carlo --n 1
  fredholm compare poisson --methods standard double-sampling delayed-target --n 2 --steps 5000
  fredholm compare volterra --methods 'DelayedTarget(tau=0.9)' 'DelayedTarget(tau=0.999)'
  fredholm compare --zoo                                  the table of docs/zoo.md; hours. What is finished is not run again
  fredholm compare --zoo --cases volterra fredholm-nonlinear --scale 0.1 --out runs/zoo-quick"""
RESUME_EXAMPLES = """\
A resumed run equals an uninterrupted one, bit for bit on the same devices. For a run of your own file.py:name the file is imported
again, and this is said; nothing else that a run folder holds is ever executed.

examples:
  fredholm resume runs/mine                    to the planned number of steps
  fredholm resume runs/mine --steps 40000      to 40000 steps in all
  fredholm resume runs/mine --steps +5000      5000 steps more than planned"""
REPORT_EXAMPLES = """\
Nothing that the folder holds is imported or executed.

examples:
  fredholm report runs/mine
  fredholm report runs/comparison              a folder with several runs gives one page with all of them"""
PREDICT_EXAMPLES = """\
The file has the mean over the seeds, that of the networks without the averaging of their parameters, that of the target networks (the
delayed copies), the exact solution where it is known, and every seed's own prediction.

examples:
  fredholm predict runs/volterra --out u.csv
  fredholm predict runs/volterra --grid x0=0:5:101 --out u.nc
  fredholm predict runs/poisson --grid x0=-1:1:51 x1=0,0.5 --out u.nc"""

THEORY_EXAMPLES = """\
A Fredholm equation of the second kind on a ring of S points, u(x) = γ ∫ k(x' − x) u(x') dx' + y(x), with d bumps as features; and Poisson's
weak form, where delayed targets can diverge. docs/theory.md explains the numbers.

examples:
  fredholm theory
  fredholm theory --discount 0.95 --features 5 --out runs/theory
  fredholm theory --steps 2000 --runs 16                a quick look"""


STUDY_EXAMPLES = """\
A study is a list of runs, a grid, or one-at-a-time changes, in YAML; its keys are the options of fredholm solve. What is finished is not
run again: after Ctrl-C, a crash or the loss of a cluster, give the same command.

examples:
  fredholm study study.yaml                                   one run after the other, seeds over all cores
  fredholm study study.yaml --workers 4                       four processes
  fredholm study study.yaml --scheduler tcp://10.0.0.1:8786   on a Dask cluster

study.yaml:
  base: {problem: poisson, steps: 2000, seeds: 4}
  runs:
    standard: {method: standard, n: 2, batch: 400}
    delayed: {method: delayed-target, n: 1, batch: 400}
  grid: {width: [32, 64], learning-rate: [1e-3, 1e-4]}"""
REPRODUCE_EXAMPLES = """\
Each figure is drawn in the paper's layout with the published numbers beside ours, and its claims get a verdict: holds, does not hold, or
not resolved at this scale. Figures of one scale share their runs. The estimated time is printed first.

  smoke    a few steps of every run: does it work?
  laptop   4 seeds and 10 000 to 20 000 steps of most runs; about an hour a figure on 2 cores
  paper    100 seeds and 200 000 steps, as published: for a cluster

examples:
  fredholm reproduce figure-1 --scale laptop
  fredholm reproduce all --scale laptop                       what is finished is not run again
  fredholm reproduce figure-4 --scale paper --scheduler tcp://10.0.0.1:8786"""


CHECK_EXAMPLES = """\
Shapes and numbers at random points, the residual of the exact solution, integrals whose random nodes have no variance, and missing
conditions. The exit code is 1 where something is wrong or suspicious.

examples:
  fredholm check my_problem.py:problem
  fredholm check poisson --set dim=5"""


DIAGNOSE_EXAMPLES = """\
From the run's history and a few fresh samples: a biased loss, a target that is left behind or lags, a gradient of noise, a network that is
too small or whose units died, an optimiser that is stuck, a condition that is missing. The exit code is 1 where something is wrong.

examples:
  fredholm diagnose runs/mine
  fredholm diagnose runs/mine --problem my_problem.py:problem"""


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as it is written, except that names with a hyphen are not broken."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """One line for an error, and no abbreviations: an option that is added later must not change what an old command means."""

    def __init__(self, **keywords: Any):
        super().__init__(**{"allow_abbrev": False, "formatter_class": Formatter, **keywords})

    def error(self, message: str) -> NoReturn:
        """Raises instead of exiting; `main` has the exit codes."""
        raise ValueError(f"{message}. See {self.prog} --help.")

    def check_unknown(self, extras: Sequence[str]) -> None:
        """Refuses what no option took, with the nearest option."""
        if not extras:
            return
        name = next((extra for extra in extras if extra.startswith("-")), extras[0]).partition("=")[0]
        known = [option for option in self._option_string_actions if option.startswith("--")]
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]}?" if close else ""
        own = name.lstrip("-")
        if any(own in inspect.signature(noun).parameters for noun in PROBLEMS.values()):
            hint = f" Options of a problem are given as --set {own}=..."
        raise ValueError(f"unknown {'option' if name.startswith('-') else 'argument'} {name!r}.{hint} See {self.prog} --help.")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command; `run` is the function that does it."""
    top, commands = _parsers()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in commands:
        raise nearest("command", arguments[0], commands)
    options, extras = top.parse_known_args(list(arguments))
    if not arguments or getattr(options, "run_command", None) is None:
        top.check_unknown(extras)
        top.print_help()
        raise SystemExit(0 if not arguments else 2)
    commands[options.name].check_unknown(extras)
    options.command = list(arguments)
    return options


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser, and that of each command by its name."""
    top = Parser(prog="fredholm", description=DESCRIPTION, epilog=EXAMPLES)
    top.add_argument("--version", action="version", version=f"fredholm {metadata.version('fredholm')}")
    holder = top.add_subparsers(metavar="COMMAND", dest="name", title="commands")
    made: dict[str, Parser] = {}

    def command(run: Callable[[argparse.Namespace], int], usage: str, summary: str, epilog: str = "") -> Parser:
        name, description = usage.split()[0], f"{summary[0].upper()}{summary[1:]}."
        made[name] = holder.add_parser(name, help=summary, description=description, usage=f"fredholm {usage}", epilog=epilog)
        made[name].add_argument("--verbose", "-v", action="store_true", help="show the library's log")
        made[name].set_defaults(run_command=run)
        return made[name]

    command(listing.show, "list", "problems, methods, rules and other names, with their options")
    solve = command(training.solve, "solve PROBLEM [options]", "solve an equation: progress, a run folder, a page", SOLVE_EXAMPLES)
    _add_problem(solve)
    solve.add_argument("--method", metavar="NAME", help=f"how the estimated integral becomes a loss: {', '.join(METHODS)}")
    _add_training(solve)
    solve.add_argument("--label", metavar="TEXT", help="what the run is called in tables and pictures")
    usage = "compare PROBLEM --methods A B ... [options] | compare --zoo [--cases NAME ...]"
    compare = command(training.compare, usage, "solve with several methods and the same seeds", COMPARE_EXAMPLES)
    _add_problem(compare, optional=True)
    compare.add_argument("--methods", metavar="NAME", nargs="+", help=f"two or more of {', '.join(METHODS)}")
    _add_training(compare)
    group = compare.add_argument_group("the zoo")
    group.add_argument("--zoo", action="store_true", help="every equation of the zoo by its recipe, beside the methods with one sample")
    group.add_argument("--cases", metavar="NAME", nargs="+", help=f"only these: {', '.join(map(zoo.kebab_words, CASES))}")
    group.add_argument("--columns", metavar="NAME", nargs="+", help=f"only these: {', '.join(map(zoo.kebab_words, COLUMNS))}")
    group.add_argument("--scale", metavar="X", type=_number, default=1.0, help="share of the steps to do, for a quick look")
    compare.set_defaults(run_command=lambda options: zoo_or_methods(compare, options))
    usage = "resume RUN [options]"
    resume = command(resuming.resume, usage, "continue a run, also a finished one with more steps", RESUME_EXAMPLES)
    resume.add_argument("run", metavar="RUN", help="the run's folder, or the comparison's")
    resume.add_argument("--steps", metavar="TOTAL", help="the new total number of steps, from the start; +N: N more than planned")
    _add_limits(resume)
    _add_source(resume, "needed only where it was made in Python, or where its file has moved")
    report = command(
        results.report, "report RUN|STUDY|FOLDER", "make the page of a run, of a study or of a folder of runs again", REPORT_EXAMPLES
    )
    report.add_argument("run", metavar="RUN", help="the folder of a run or of a study, or a folder with several runs")
    _add_source(report, "to compare a run of your own file with your exact solution; the file is imported")
    usage = "study STUDY.yaml [options]"
    study = command(studies.study, usage, "many runs with matched seeds, here or on a cluster, as one table and page", STUDY_EXAMPLES)
    study.add_argument("study", metavar="STUDY.yaml", help="the runs; its keys are the options of fredholm solve")
    _add_where(study)
    study.add_argument("--out", metavar="DIR", help="the study's folder; runs/<name of the file> unless given")
    usage = "reproduce NAME --scale SCALE [options]"
    reproduce = command(studies.reproduce, usage, "a figure of the paper, beside the published numbers", REPRODUCE_EXAMPLES)
    reproduce.add_argument("figure", metavar="NAME", help="figure-1 to figure-21, or all")
    reproduce.add_argument("--scale", metavar="SCALE", default="smoke", help="smoke (unless given), laptop or paper")
    reproduce.add_argument("--estimate", action="store_true", help="only say what would run and how long it would take")
    _add_where(reproduce)
    reproduce.add_argument("--out", metavar="DIR", help="the folder of all figures of a scale; runs/reproduce-<scale> unless given")
    status = command(studies.status, "status STUDY", "how far a study is")
    status.add_argument("study", metavar="STUDY", help="the study's folder")
    usage = "predict RUN --out FILE [--grid AXIS ...]"
    predict = command(results.predict, usage, "predictions on a grid, as NetCDF or CSV", PREDICT_EXAMPLES)
    predict.add_argument("run", metavar="RUN", help="a run's folder")
    grid = "an axis for each input of the network, name=low:high:count or name=a,b,c; the problem's own unless given"
    predict.add_argument("--grid", metavar="AXIS", nargs="+", help=grid)
    predict.add_argument("--out", metavar="FILE", required=True, help="a new file, .nc or .csv")
    _add_source(predict, "to add the exact solution of your own equation; the file is imported")
    usage = "theory [options]"
    worked = command(theory.theory, usage, "the paper's theorem on a worked example, in numbers and figures", THEORY_EXAMPLES)
    worked.add_argument("--points", metavar="S", type=_whole, default=32, help="points of the ring (default 32)")
    worked.add_argument("--features", metavar="D", type=_whole, default=7, help="bumps, the parameters of f (default 7)")
    worked.add_argument("--discount", metavar="X", type=_number, default=0.8, help="γ, the factor of the integral (default 0.8)")
    worked.add_argument("--steps", metavar="N", type=_whole, default=STEPS, help=f"steps of the stochastic iterations (default {STEPS})")
    worked.add_argument("--runs", metavar="N", type=_whole, default=RUNS, help=f"independent runs of each (default {RUNS})")
    worked.add_argument("--out", metavar="DIR", help="a folder for the figures; runs/theory-<date>-<hash> unless given")
    usage = "check PROBLEM [--set NAME=VALUE ...]"
    check = command(checking.check, usage, "try an equation before training, and say what is wrong or suspicious", CHECK_EXAMPLES)
    _add_problem(check)
    usage = "diagnose RUN [--problem FILE.py:NAME]"
    diagnose = command(checking.diagnose, usage, "say why a training failed, or that it did not, and what to do", DIAGNOSE_EXAMPLES)
    diagnose.add_argument("run", metavar="RUN", help="the run's folder")
    _add_source(diagnose, "needed only where it was made in Python; the file is imported")
    command(doctor.doctor, "doctor", "versions, devices, disk, and a ten-second self-test")
    return top, made


def zoo_or_methods(parser: Parser, options: argparse.Namespace) -> int:
    """`fredholm compare` of a problem, or of the zoo."""
    if options.zoo:
        usual = vars(parser.parse_args([]))
        given = [name for name, value in vars(options).items() if name not in zoo.OPTIONS and value != usual.get(name)]
        return zoo.compare_zoo(options, [name if name == "problem" else f"--{kebab(name)}" for name in given])
    for name in ("cases", "columns"):
        if getattr(options, name):
            parser.error(f"--{name} belongs to --zoo")
    if options.problem is None or options.methods is None:
        parser.error("the following arguments are required: PROBLEM, --methods (or --zoo)")
    return training.compare(options)


def _add_problem(parser: Parser, optional: bool = False) -> None:
    names = ", ".join(PROBLEMS)
    count = "?" if optional else None
    parser.add_argument("problem", metavar="PROBLEM", nargs=count, help=f"a name ({names}), or path/to/file.py:name for your own equation")
    settings = "options of the problem, see fredholm list: --set dim=5"
    parser.add_argument("--set", metavar="NAME=VALUE", nargs="+", action="extend", default=[], help=settings)


def _add_where(parser: Parser) -> None:
    parser.add_argument("--workers", metavar="K", type=_whole, help="so many processes at a time, instead of one run after the other")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://host:8786; see docs/cluster.md")
    parser.add_argument("--cores", metavar="N", type=_whole, help="CPU cores of one run, where several run at a time")
    parser.add_argument("--checkpoint-every", metavar="N", type=_whole, help="steps between two checkpoints; about 20 s unless given")


def solve_options() -> list[str]:
    """The options of `fredholm solve`, without their dashes: what a study's file may say of a run."""
    return [option.removeprefix("--") for option in _parsers()[1]["solve"]._option_string_actions if option.startswith("--")]


def _add_source(parser: Parser, help_text: str) -> None:
    parser.add_argument("--problem", metavar="FILE.py:NAME", help=f"where the equation is: {help_text}")


def _add_training(parser: Parser) -> None:
    group = parser.add_argument_group("options of the methods")
    for option in METHOD_OPTIONS:
        owners = [name for name, noun in METHODS.items() if option in fields(noun)]
        text = f"{', '.join(owners)}: {comments(METHODS[owners[0]]).get(option, '')}".replace("%", "%%")
        # Left out of the options unless given, so that a method without this field can say so.
        group.add_argument(f"--{kebab(option)}", metavar="X", default=argparse.SUPPRESS, help=text)
    group = parser.add_argument_group("integrals")
    python = "or as in Python, 'Smolyak(Gauss(1), 3)'"
    group.add_argument("--rule", metavar="NAME", help=f"where the integrand is evaluated: {', '.join(RULES)}; {python}")
    group.add_argument("--n", metavar="N", type=_whole, help="how many nodes (for most deterministic rules, on each axis)")
    group.add_argument("--randomize", metavar="NAME", help=f"a random move of the nodes: none, {', '.join(RANDOMIZATIONS)}")
    group = parser.add_argument_group("network and optimiser")
    group.add_argument("--width", metavar="N", type=_whole, help="units in each hidden layer")
    group.add_argument("--depth", metavar="N", type=_whole, help="hidden layers")
    group.add_argument("--activation", metavar="NAME", help=", ".join(ACTIVATIONS))
    group.add_argument("--optimizer", metavar="NAME", help=", ".join(OPTIMIZERS))
    group.add_argument("--learning-rate", metavar="X", type=_number, help="of the optimiser")
    group.add_argument("--schedule", metavar="NAME", help=f"how the learning rate changes over the run: {', '.join(SCHEDULES)}")
    group = parser.add_argument_group("the run")
    group.add_argument("--steps", metavar="N", type=_whole, help="steps of the optimiser")
    _add_limits(group)
    group.add_argument("--batch", metavar="N", type=_whole, help="points x in each step")
    average = "the answer is an average of the parameters, of which this share stays at each step; 0: the network itself"
    group.add_argument("--average", metavar="X", type=_number, help=average)
    group.add_argument("--seeds", metavar="S", nargs="+", help="how many, or which (3,7); 4 unless given. They train side by side")
    group.add_argument("--precision", metavar="NAME", default="float32", help="float32 (unless given) or float64")
    group.add_argument("--record-every", metavar="N", type=_whole, help="steps between two points of the curves; 100 points unless given")
    group.add_argument("--out", metavar="DIR", help="a new folder for the run; runs/<name>-<date>-<hash> unless given")


def _add_limits(group: Any) -> None:
    group.add_argument("--minutes", metavar="X", type=_number, help="a time budget: stop then, even if steps are left; resume continues")
    group.add_argument("--stop-at", metavar="ERROR", type=_number, help="stop early, at this error (without an exact solution: this loss)")
    group.add_argument("--checkpoint-every", metavar="N", type=_whole, help="steps between two checkpoints; about 20 s unless given")


def _whole(text: str) -> int:
    try:
        return whole(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a number") from None
