"""`fredholm study`, `reproduce` and `status`: many runs with matched seeds."""

import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fredholm.cli.folders import Paused, ended
from fredholm.cli.names import kebab
from fredholm.cli.output import write_pages
from fredholm.cli.runs import loaded
from fredholm.common.statistics import bootstrap_interval
from fredholm.report.plots.names import with_interval
from fredholm.report.terminal import print_results, print_table
from fredholm.results.errors import Interrupted
from fredholm.results.solution import Solution
from fredholm.study.estimate import estimated
from fredholm.study.execute import run_study
from fredholm.study.folder import STUDY, StudyFolder, outcomes
from fredholm.study.outcome import Outcome
from fredholm.study.run import Run
from fredholm.study.tables import write_rows

COLORS = {"holds": "green", "does not hold": "red"}


def study(options: Namespace) -> int:
    """`fredholm study`."""
    title, runs = options.read_study(Path(options.study))
    folder = StudyFolder.create(options.out or Path("runs") / kebab(Path(options.study).stem), title, runs)
    return ended(_finish(folder, run_here(folder, options)))


def reproduce(options: Namespace) -> int:
    """`fredholm reproduce`: one figure, or all of them in order."""
    from fredholm.paper.reproduction.catalogue import figures

    names = figures(options.scale) if options.figure == "all" else [options.figure]
    folders = {name: _figure_folder(name, options) for name in names}
    if len(names) > 1 or options.estimate:
        _print_plans(folders)
    if options.estimate:
        return 0
    return ended([failed for folder in folders.values() for failed in _reproduced(folder, options)])


def _reproduced(folder: StudyFolder, options: Namespace) -> list[str]:
    """Runs a figure and draws it. What is finished goes to the records, also where the rest is interrupted."""
    from fredholm.paper.reproduction.records import write_record

    try:
        return _finish(folder, run_here(folder, options))
    finally:
        if options.records:
            for name, one in outcomes(folder).items():
                if name not in folder.known:
                    write_record(Path(options.records) / options.scale, one)


def _figure_folder(name: str, options: Namespace) -> StudyFolder:
    """The study of a figure; the figures of one scale share the pool of their runs."""
    from fredholm.paper.reproduction.catalogue import figure
    from fredholm.paper.reproduction.records import read_records

    chosen = figure(name, options.scale)
    title = f"Figure {chosen.number} at {options.scale} scale: {chosen.title}"
    place = Path(options.out or Path("runs") / f"reproduce-{options.scale}") / name
    folder = StudyFolder.create(place, title, chosen.runs, pool="../runs", about={"figure": name, "scale": options.scale})
    if options.records:
        folder.known = read_records(Path(options.records) / options.scale, chosen.runs)
    return folder


def _print_plans(folders: Mapping[str, StudyFolder]) -> None:
    """What is to be done for each figure, and for all of them, where a run that figures share counts once."""
    seen: dict[str, Run] = {}
    for name, folder in folders.items():
        missing = [run for run in folder.missing() if run.key not in seen]
        seen |= {run.key: run for run in missing}
        print(f"{name:<12}{_plan(missing, len(folder.runs))}", flush=True)
    if len(folders) > 1:
        print(f"{'all':<12}{len(seen)} runs: about {estimated(seen.values())} on 2 cores", flush=True)


def _plan(missing: list[Run], runs: int) -> str:
    """What is to be done, and how long it will take."""
    unique = {run.key: run for run in missing}
    steps = sorted({run.settings.steps for run in missing})
    seeds = sorted({len(run.settings.seeds) for run in missing})
    if not unique:
        return f"all {runs} runs are finished"
    return f"{len(unique)} of {runs} runs to do, {_range(steps)} steps, {_range(seeds)} seeds: about {estimated(missing)} on 2 cores"


def _range(values: list[int]) -> str:
    return f"{values[0]:,}" if len(values) == 1 else f"{values[0]:,} to {values[-1]:,}"


def run_here(folder: StudyFolder, options: Namespace) -> dict[str, Outcome]:
    """Says what is to be done, and runs it: here, in several processes or on a cluster."""
    print(f"{folder.title}\n{_plan(folder.missing(), len(folder.runs))}", flush=True)
    again = shlex.join(["fredholm", *options.command])
    try:
        where: Any = {name: getattr(options, name, None) for name in ("workers", "scheduler", "cores", "checkpoint_every")}
        where["one_device"] = bool(getattr(options, "one_device", False))
        return run_study(folder, **where)
    except Interrupted as error:
        raise Paused(f"interrupted at step {error.solution.steps} of a run; it is saved. Continue with: {again}") from error
    except KeyboardInterrupt:
        raise Paused(f"interrupted; what is finished is kept. Continue with: {again}") from None


def study_report(path: Path) -> int:
    """`fredholm report` on a study."""
    folder = StudyFolder.open(path)
    _finish(folder, outcomes(folder))
    return 0


def _finish(folder: StudyFolder, found: Mapping[str, Outcome]) -> list[str]:
    """Prints the results, makes the page, and says where things are; returns the names of the runs that failed."""
    from fredholm.study.page import Judged, write_study_page

    _print_results(folder, found)
    judged, pictures, note, published = [], {}, "", []
    if "figure" in folder.about and "scale" in folder.about:
        from fredholm.paper.reproduction.catalogue import figure
        from fredholm.paper.reproduction.draw import draw
        from fredholm.paper.reproduction.tables import Beside, beside
        from fredholm.study.outcome import Results

        chosen = figure(str(folder.about["figure"]), str(folder.about["scale"]))
        findings = [(claim.text, claim.assess(Results(found))) for claim in chosen.claims]
        judged = [Judged(text, finding.verdict.value, finding.evidence) for text, finding in findings]
        pictures = {f"Figure {chosen.number}, ours": draw(chosen, folder, found, folder.path / "figure.png")}
        note, rows = chosen.note, beside(chosen, found)
        write_rows(folder.path / "claims.csv", Judged._fields, judged)
        write_rows(folder.path / "published.csv", Beside._fields, rows)
        published = [(one.panel, one.series, one.x, (one.ours, one.low, one.high), one.published) for one in rows]
        for claim in judged:
            verdict = Text(f"{claim.verdict:>26}", COLORS.get(claim.verdict, "yellow"))
            Console().print(verdict + Text(f"  {claim.claim}", "default"), highlight=False)
    page = write_study_page(folder, found, claims=judged, pictures=pictures, note=note, published=published)
    print(f"{'tables':<10}{folder.path / 'table.csv'}, summary.csv, paired.csv\n{'page':<10}{page}", flush=True)
    return [run.name for run in folder.runs if folder.failure(run)]


def _print_results(folder: StudyFolder, found: Mapping[str, Outcome]) -> None:
    rows = []
    for run in folder.runs:
        one = found.get(run.name)
        if one is None:
            rows.append([run.name, folder.state(run).word])
            continue
        cells = [with_interval(bootstrap_interval(values[one.kept()], least=0.0)) for values in (one.best(), one.last())]
        rows.append([run.name, one.metric, *cells, f"{int(one.good.sum())} of {len(one.good)}"])
    heads = ("run", "metric", "best error", "error at the end", "succeeded")
    print_table(heads, rows, caption="errors: mean over the seeds [95 % interval]", left=2)


def status(options: Namespace) -> int:
    """`fredholm status`: a study, or a folder of several."""
    path = Path(options.study)
    places = [path] if (path / STUDY).is_file() else sorted(place.parent for place in path.glob(f"*/{STUDY}"))
    if not places:
        raise ValueError(f"{path} is not the folder of a study: it has no {STUDY}. Expected what fredholm study or reproduce wrote.")
    for place in places:
        folder = StudyFolder.open(place)
        states = [folder.state(run) for run in folder.runs]
        counts = Counter(state.word for state in states)
        print(f"{folder.title}: {', '.join(f'{count} {word}' for word, count in counts.items())}")
        if len(places) == 1:
            for run, state in zip(folder.runs, states, strict=True):
                reason = f"  {state.reason}" if state.reason else ""
                print(f"  {state.word:<10} step {state.done} of {run.settings.steps}  {run.name}  {run.key}{reason}")
        size = sum(file.stat().st_size for run in {r.key: r for r in folder.runs}.values() for file in folder.place(run).glob("*"))
        print(f"  {size / 2**20:.1f} MiB of runs, about {estimated(folder.missing())} left on 2 cores", flush=True)
    return 0


def report(options: Namespace) -> int:
    """`fredholm report`."""
    folder = Path(options.run)
    if (folder / STUDY).is_file() and not StudyFolder.open(folder).is_by_name:
        return study_report(folder)
    solutions = _solutions(folder, options.problem)
    print_results(solutions)
    print(f"{'page':<10}{write_pages(solutions, folder)}")
    return 0


def _solutions(folder: Path, problem: str | None) -> Mapping[str, Solution]:
    """The run of a folder, or the runs in it."""
    if (folder / "run.json").is_file() or not folder.is_dir():
        solution = loaded(folder, problem)
        return {solution.label: solution}
    found = sorted(place.parent for place in folder.glob("*/run.json"))
    if not found:
        raise ValueError(f"{folder} is not a run folder: it has no run.json, nor has a folder in it. Expected what solve or compare wrote.")
    runs = [loaded(place, problem) for place in found]
    return {_label(solution, place, runs): solution for solution, place in zip(runs, found, strict=True)}


def _label(solution: Solution, place: Path, among: list[Solution]) -> str:
    return solution.label if sum(other.label == solution.label for other in among) == 1 else place.name
