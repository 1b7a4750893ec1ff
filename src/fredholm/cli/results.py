"""The commands that read runs and never execute anything recorded in them: report and predict."""

import math
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas
import xarray as xr

from fredholm.cli import values
from fredholm.cli.folders import CommandError
from fredholm.cli.runs import asking_for_problem, loaded
from fredholm.common.checks import positive_integer
from fredholm.storage.files import write_atomically

MOST_POINTS = 10_000_000  # of a grid
SUFFIXES = (".nc", ".csv")


def predict(options: Namespace) -> int:
    """`fredholm predict`."""
    out = Path(options.out)
    if out.suffix not in SUFFIXES:
        raise ValueError(f"--out: got {out}; expected a name that ends in .nc (NetCDF) or .csv.")
    if out.exists():
        raise ValueError(f"--out: {out} exists. Choose another name, or delete it.")
    grid = values.pairs(options.grid, "--grid", axis) if options.grid else None
    if grid is not None and math.prod(map(len, grid.values())) > MOST_POINTS:
        raise ValueError(f"--grid: got {' × '.join(str(len(one)) for one in grid.values())} points; expected at most {MOST_POINTS:,}.")
    solution = loaded(Path(options.run), options.problem)
    if grid is None and solution.problem is None:
        raise asking_for_problem(Path(options.run), solution.record.origin, options.command)
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
            ends = np.array([float(low), float(high)])
            points = (
                np.linspace(ends[0], ends[1], positive_integer("count", values.whole(count), most=MOST_POINTS))
                if np.isfinite(ends).all()
                else ends
            )
        else:
            points = np.array([float(part) for part in text.split(",")])
    except ValueError as error:
        reason = f" ({error})" if "count" in str(error) else ""
        example = "expected low:high:count, for instance x0=0:1:101, or numbers, x0=0,0.5,1"
        raise ValueError(f"--grid: got {text!r}; {example}{reason}.") from None
    if not np.isfinite(points).all():
        raise ValueError(f"--grid: got {text!r}; expected finite numbers.")
    return points


def as_csv(predictions: xr.Dataset) -> bytes:
    """One row for each point: its coordinates, the mean over seeds, the target network, the truth if known, and every seed."""
    named = {f"seed_{int(seed)}": predictions["members"].sel(seed=seed, drop=True) for seed in predictions["seed"]}
    table: pandas.DataFrame = predictions.drop_vars(["members", "seed"]).assign(named).to_dataframe().reset_index()
    return table.to_csv(index=False).encode()
