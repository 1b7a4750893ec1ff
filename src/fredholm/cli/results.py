"""The commands that read runs and never execute anything recorded in them: report and predict."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas
import xarray as xr

import fredholm as fr
from fredholm.cli import values
from fredholm.cli.choices import problem_of
from fredholm.cli.folders import CommandError, write_pages
from fredholm.cli.resuming import own_part
from fredholm.cli.studies import study_report
from fredholm.cli.training import print_results
from fredholm.storage.run_folder import RunFolder, write_atomically
from fredholm.study.folder import STUDY, StudyFolder
from fredholm.training.record import RunRecord

SUFFIXES = (".nc", ".csv")


def report(options: Namespace) -> int:
    """`fredholm report`."""
    folder = Path(options.run)
    if (folder / STUDY).is_file() and not StudyFolder.open(folder).is_by_name:
        return study_report(folder)
    solutions = _solutions(folder, options.problem)
    print_results(solutions)
    print(f"{'page':<10}{write_pages(solutions, folder)}")
    return 0


def predict(options: Namespace) -> int:
    """`fredholm predict`."""
    out = Path(options.out)
    if out.suffix not in SUFFIXES:
        raise ValueError(f"--out: got {out}; expected a name that ends in .nc (NetCDF) or .csv.")
    if out.exists():
        raise ValueError(f"--out: {out} exists. Choose another name, or delete it.")
    grid = values.pairs(options.grid, "--grid", axis) if options.grid else None
    solution = loaded(Path(options.run), options.problem)
    predictions = solution.to_dataset(grid)
    content = as_csv(predictions) if out.suffix == ".csv" else bytes(predictions.to_netcdf(None, engine="h5netcdf"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, lambda file: file.write(content))
    except OSError as error:
        raise CommandError(f"cannot write {out}: {error.strerror or error}") from error
    sizes = " × ".join(f"{name} {size}" for name, size in predictions["mean"].sizes.items())
    print(f"{out}: {', '.join(map(str, predictions.data_vars))} on {sizes}")
    return 0


def axis(text: str) -> np.ndarray:
    """`0:1:101` as 101 points from 0 to 1; `0,0.5,2` as these three."""
    try:
        if ":" in text:
            low, high, count = text.split(":")
            return np.linspace(float(low), float(high), values.whole(count))
        return np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise ValueError(f"--grid: got {text!r}; expected low:high:count, for instance x0=0:1:101, or numbers, x0=0,0.5,1.") from None


def as_csv(predictions: xr.Dataset) -> bytes:
    """One row for each point: its coordinates, the mean over seeds, the target network, the truth if known, and every seed."""
    named = {f"seed_{int(seed)}": predictions["members"].sel(seed=seed, drop=True) for seed in predictions["seed"]}
    table: pandas.DataFrame = predictions.drop_vars(["members", "seed"]).assign(named).to_dataframe().reset_index()
    return table.to_csv(index=False).encode()


def _solutions(folder: Path, problem: str | None) -> Mapping[str, fr.Solution]:
    """The run of a folder, or the runs in it."""
    if (folder / "run.json").is_file() or not folder.is_dir():
        solution = loaded(folder, problem)
        return {solution.label: solution}
    found = sorted(place.parent for place in folder.glob("*/run.json"))
    if not found:
        raise ValueError(f"{folder} is not a run folder: it has no run.json, nor has a folder in it. Expected what solve or compare wrote.")
    runs = [loaded(place, problem) for place in found]
    return {_label(solution, place, runs): solution for solution, place in zip(runs, found, strict=True)}


def _label(solution: fr.Solution, place: Path, among: list[fr.Solution]) -> str:
    return solution.label if sum(other.label == solution.label for other in among) == 1 else place.name


def loaded(folder: Path, given: str | None) -> fr.Solution:
    """A run from its folder, with the equation that the user gives again."""
    record = RunRecord.read(RunFolder.open(folder))
    problem = None if given is None else problem_of(given, (record.origin or {}).get("set") or ())
    return fr.load(folder, problem=problem, network=own_part(problem, record.settings, "network"))
