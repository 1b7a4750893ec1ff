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
from pathlib import Path
from typing import Any, NoReturn

from fredholm.cli import checking, doctor, examples, listing, new, results, resuming, studies, study_file, theory, training, zoo
from fredholm.cli.kinds import KINDS, METHOD, Kind
from fredholm.cli.names import METHODS, PROBLEMS, kebab, parts
from fredholm.cli.values import read
from fredholm.common.checks import nearest
from fredholm.paper.theory.worked import RUNS, STEPS
from fredholm.study.run import Run
from fredholm.study.zoo import CASES, COLUMNS

DESCRIPTION = "Neural solvers for integro-differential equations, without the integral bias."


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Prose is wrapped to the terminal, indented blocks stay as they are written, and names with a hyphen are not broken."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = text.split("\n\n")
        return "\n\n".join(one if "\n  " in f"\n{one}" else textwrap.fill(one, width, break_on_hyphens=False) for one in blocks)

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
        if any(own in inspect.signature(problem).parameters for problem in PROBLEMS.values()):
            hint = f" Options of a problem are given as --set {own}=..."
        raise ValueError(f"unknown {'option' if name.startswith('-') else 'argument'} {name!r}.{hint} See {self.prog} --help.")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command; `run_command` is its function."""
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


class _Commands:
    """The parser, and that of each command by its name."""

    def __init__(self) -> None:
        self.top = Parser(prog="fredholm", usage="fredholm COMMAND [options]", description=DESCRIPTION, epilog=examples.TOP)
        self.top.add_argument("--version", action="version", version=f"fredholm {metadata.version('fredholm')}")
        self.holder = self.top.add_subparsers(metavar="COMMAND [options]", prog="fredholm", dest="name", title="commands")
        self.made: dict[str, Parser] = {}

    def add(self, run: Callable[[argparse.Namespace], int], usage: str, summary: str, epilog: str = "") -> Parser:
        """A command with what it does."""
        name, description = usage.split()[0], f"{summary[0].upper()}{summary[1:]}."
        made = self.holder.add_parser(name, help=summary, description=description, usage=f"fredholm {usage}", epilog=epilog)
        made.add_argument("--verbose", "-v", action="store_true", help="show the library's log")
        made.set_defaults(run_command=run)
        self.made[name] = made
        return made


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    commands = _Commands()
    commands.add(listing.show, "list", "list problems, methods, rules and other names, with their options")
    _add_solve(commands)
    _add_compare(commands)
    _add_resume(commands)
    _add_report(commands)
    _add_study(commands)
    _add_reproduce(commands)
    _add_predict(commands)
    _add_theory(commands)
    _add_new(commands)
    _add_check(commands)
    commands.add(doctor.doctor, "doctor", "show versions, devices and disk, and run a ten-second self-test")
    return commands.top, commands.made


def _add_solve(commands: _Commands) -> None:
    summary = "solve an equation; writes a run folder and a page"
    solve = commands.add(training.solve, "solve PROBLEM [options]", summary, examples.SOLVE)
    _add_problem(solve)
    _add_training(solve)
    solve.add_argument("--label", metavar="TEXT", help="what the run is called in tables and pictures")
    together = "one of several processes that train this run together, started by srun, mpirun or torchrun (docs/cluster.md)"
    solve.add_argument("--distributed", action="store_true", help=together)


def _add_compare(commands: _Commands) -> None:
    usage = "compare PROBLEM --methods A B ... [options] | compare --zoo [--cases NAME ...]"
    compare = commands.add(training.compare, usage, "solve an equation with several methods and the same seeds", examples.COMPARE)
    _add_problem(compare, optional=True)
    compare.add_argument("--methods", metavar="NAME", nargs="+", help=f"the methods to compare: {', '.join(METHODS)}")
    _add_training(compare, several=True)
    group = compare.add_argument_group("the zoo")
    group.add_argument(
        "--zoo", action="store_true", help="every equation of the zoo, with its own settings and with one random sample per integral"
    )
    group.add_argument("--cases", metavar="NAME", nargs="+", help=f"only these: {', '.join(map(zoo.kebab_words, CASES))}")
    group.add_argument("--columns", metavar="NAME", nargs="+", help=f"only these: {', '.join(map(zoo.kebab_words, COLUMNS))}")
    scale = "share of the steps to do, for a quick trial (default: 1)"
    group.add_argument("--scale", metavar="X", type=_typed(float), default=1.0, help=scale)
    compare.set_defaults(run_command=lambda options: zoo_or_methods(compare, options))


def _add_resume(commands: _Commands) -> None:
    summary = "continue a run, or train a finished one for more steps"
    resume = commands.add(resuming.resume, "resume RUN [options]", summary, examples.RESUME)
    resume.add_argument("run", metavar="RUN", help="the run's folder, or the comparison's")
    resume.add_argument("--steps", metavar="TOTAL", help="the new total number of steps, from the start; +N: N more than planned")
    _add_limits(resume)
    _add_source(resume, "needed where it was your own; the file is imported")


def _add_report(commands: _Commands) -> None:
    summary = "write the page of a run, a study or a folder of runs again"
    report = commands.add(studies.report, "report RUN|STUDY|FOLDER", summary, examples.REPORT)
    report.add_argument("run", metavar="RUN", help="the folder of a run or of a study, or a folder with several runs")
    _add_source(report, "to compare a run of your own file with your exact solution; the file is imported")


def _add_study(commands: _Commands) -> None:
    summary = "do many runs with matched seeds, here or on a cluster; writes tables and a page"
    study = commands.add(studies.study, "study STUDY.yaml [options]", summary, examples.STUDY)
    study.set_defaults(read_study=read_study)
    study.add_argument("study", metavar="STUDY.yaml", help="the file of the study; its keys are the options of fredholm solve")
    _add_where(study)
    study.add_argument("--out", metavar="DIR", help="the study's folder (default: runs/<name of the file>)")


def _add_reproduce(commands: _Commands) -> None:
    summary = "reproduce a figure of the paper, beside the published numbers"
    reproduce = commands.add(studies.reproduce, "reproduce NAME --scale SCALE [options]", summary, examples.REPRODUCE)
    reproduce.add_argument("figure", metavar="NAME", help="figure-1 to figure-21, or all")
    reproduce.add_argument("--scale", metavar="SCALE", default="smoke", help="smoke, laptop, headline or paper (default: smoke)")
    reproduce.add_argument("--estimate", action="store_true", help="only print what would run and how long it would take")
    _add_where(reproduce)
    reproduce.add_argument("--out", metavar="DIR", help="the folder of all figures of a scale (default: runs/reproduce-<scale>)")
    records = "a folder of recorded curves, docs/records in the repository: runs that have theirs there are not trained again"
    reproduce.add_argument("--records", metavar="DIR", help=records)
    status = commands.add(studies.status, "status STUDY", "show the progress of a study")
    status.add_argument("study", metavar="STUDY", help="the study's folder")


def _add_predict(commands: _Commands) -> None:
    usage = "predict RUN --out FILE [--grid AXIS ...]"
    predict = commands.add(results.predict, usage, "write predictions on a grid, as NetCDF or CSV", examples.PREDICT)
    predict.add_argument("run", metavar="RUN", help="a run's folder")
    grid = "an axis for each input of the network, name=low:high:count or name=a,b,c (default: the problem's own)"
    predict.add_argument("--grid", metavar="AXIS", nargs="+", help=grid)
    predict.add_argument("--out", metavar="FILE", required=True, help="a new file, .nc or .csv")
    _add_source(predict, "to add the exact solution of your own equation; the file is imported")


def _add_theory(commands: _Commands) -> None:
    summary = "show the paper's theorem on a worked example, in numbers and figures"
    worked = commands.add(theory.theory, "theory [FILE] [options]", summary, examples.THEORY)
    worked.add_argument(
        "file", metavar="FILE", nargs="?", help="your own linear problem in YAML, JSON or .npz instead of the worked example"
    )
    numbers: dict[str, tuple[str, int | float, str]] = {
        "points": ("S", 32, "points of the ring"),
        "features": ("D", 7, "bumps, the parameters of f"),
        "discount": ("X", 0.8, "γ, the factor of the integral"),
        "steps": ("N", STEPS, "steps of the stochastic iterations"),
        "runs": ("N", RUNS, "independent runs of each"),
    }
    for name, (letter, default, what) in numbers.items():
        worked.add_argument(f"--{name}", metavar=letter, type=_typed(type(default)), default=default, help=f"{what} (default: {default})")
    worked.add_argument("--out", metavar="DIR", help="a folder for the figures (default: runs/theory-<date>-<hash>)")


def _add_new(commands: _Commands) -> None:
    made = commands.add(new.new, "new FILE [--kind KIND]", "write a file with an equation to start from, which runs as it is", examples.NEW)
    made.add_argument("file", metavar="FILE", help="the file to write, my_problem.py")
    made.add_argument("--kind", metavar="KIND", default="memory", help=f"{', '.join(new.KINDS)} (default: memory)")


def _add_check(commands: _Commands) -> None:
    summary = "test an equation before training, and say what is wrong or suspicious"
    check = commands.add(checking.check, "check PROBLEM [--set NAME=VALUE ...]", summary, examples.CHECK)
    _add_problem(check)
    summary = "say whether and why a training failed, and what to do"
    diagnose = commands.add(checking.diagnose, "diagnose RUN [--problem FILE.py:NAME]", summary, examples.DIAGNOSE)
    diagnose.add_argument("run", metavar="RUN", help="the run's folder")
    _add_source(diagnose, "needed only where it was made in Python; the file is imported")


def zoo_or_methods(parser: Parser, options: argparse.Namespace) -> int:
    """`fredholm compare` of a problem, or of the zoo."""
    if options.zoo:
        usual = vars(parser.parse_args([]))
        given = [name for name, value in vars(options).items() if name not in zoo.OPTIONS and value != usual.get(name)]
        return zoo.compare_zoo(options, studies.run_here, [name if name == "problem" else f"--{kebab(name)}" for name in given])
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
    parser.add_argument("--workers", metavar="K", type=_typed(int), help="number of parallel processes (default: one run after the other)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://host:8786; see docs/cluster.md")
    parser.add_argument("--cores", metavar="N", type=_typed(int), help="CPU cores of each parallel run")
    one = "with --scheduler: each run on one device of its worker, a thread of the worker for each (default: on all its devices)"
    parser.add_argument("--one-device", action="store_true", help=one)
    _add_checkpoints(parser)


def read_study(path: Path) -> tuple[str, list[Run]]:
    """The title and the runs of a study's file, whose keys are the options of `fredholm solve`."""
    return study_file.read_study(path, parse, solve_options())


def solve_options() -> list[str]:
    """The options of `fredholm solve`, without their dashes: what a study's file may say of a run."""
    return [option.removeprefix("--") for option in _parsers()[1]["solve"]._option_string_actions if option.startswith("--")]


def _add_source(parser: Parser, help_text: str) -> None:
    parser.add_argument("--problem", metavar="FILE.py:NAME", help=f"where the equation is: {help_text}")


def _add_training(parser: Parser, several: bool = False) -> None:
    """What a training is made of, and how long it goes; a comparison names `several` methods by an option of its own."""
    for kind in KINDS:
        _add_kind(parser.add_argument_group(kind.title), kind, by_name=not (several and kind is METHOD))
    group = parser.add_argument_group("the run")
    published = "start from the settings of the published run, for a problem that has one, in place of the best that is known"
    group.add_argument("--published", action="store_true", help=published)
    group.add_argument("--steps", metavar="N", type=_typed(int), help="steps of the optimiser (default: the problem's own)")
    _add_limits(group)
    group.add_argument("--batch", metavar="N", type=_typed(int), help="points x in each step (default: the problem's own)")
    average = "average the parameters over training, keeping this share of the average at each step; 0: no averaging"
    group.add_argument("--average", metavar="X", type=_typed(float), help=average)
    group.add_argument(
        "--seeds", metavar="S", nargs="+", help="number of seeds, or a list of them (3,7); they train in parallel (default: 4)"
    )
    precision = "float32 or float64 (default: float64 for a series, gauss-newton and small tolerances, else float32)"
    group.add_argument("--precision", metavar="NAME", help=precision)
    tolerance = "the residual to reach, relative to its terms: 1e-8; the status says whether it was reached"
    group.add_argument("--tolerance", metavar="X", type=_typed(float), help=tolerance)
    record = "steps between two points of the curves (default: a hundredth of the steps)"
    group.add_argument("--record-every", metavar="N", type=_typed(int), help=record)
    group.add_argument("--out", metavar="DIR", help="a new folder for the run (default: runs/<name>-<date>-<hash>)")


def _add_kind(group: argparse._ArgumentGroup, kind: Kind, by_name: bool) -> None:
    """The option of a kind, and the fields of its classes."""
    if by_name:
        text = f"{kind.about}: {', '.join(kind.classes)}; or as in Python, '{kind.example}'"
        group.add_argument(f"--{kind.flag}", metavar="NAME", help=text)
    for name, option in kind.options.items():
        types = parts(option.hint)
        letter = "N" if int in types else "X" if float in types else "NAME"
        # An option that is not given is left out, so that an object without this field can refuse it.
        settings = {"metavar": letter, "type": _typed(option.hint), "default": argparse.SUPPRESS}
        group.add_argument(f"--{kebab(name)}", help=option.help.replace("%", "%%"), **settings)


def _add_limits(group: argparse._ActionsContainer) -> None:
    minutes = "stop after this time, even if steps are left; fredholm resume continues"
    group.add_argument("--minutes", metavar="X", type=_typed(float), help=minutes)
    stop = "stop early at this error; without an exact solution, at this loss"
    group.add_argument("--stop-at", metavar="ERROR", type=_typed(float), help=stop)
    _add_checkpoints(group)


def _add_checkpoints(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--checkpoint-every", metavar="N", type=_typed(int), help="steps between two checkpoints (default: one about every 20 s)"
    )


def _typed(hint: object) -> Callable[[str], object]:
    """How argparse reads a value of this type."""

    def reading(text: str) -> object:
        try:
            return read(text, hint)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from None

    return reading
