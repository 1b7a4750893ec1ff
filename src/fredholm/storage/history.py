"""The history of a run as NetCDF: written plainly, and read only where it holds plain arrays of its own."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray

LARGEST = 1 << 30  # bytes of a history


def history_bytes(history: "xarray.Dataset") -> bytes:
    """The content of `history.nc`."""
    return bytes(history.to_netcdf(engine="h5netcdf"))


def history_in(path: Path, content: bytes) -> "xarray.Dataset":
    """The history in the content of a file. Nothing outside of the file is read, and nothing is allocated that it does not hold."""
    import xarray  # imported on first use: it would take a sixth of the library's import time

    try:
        _check_plain(content)
        with xarray.open_dataset(io.BytesIO(content), engine="h5netcdf", decode_times=False) as opened:
            history = opened.load()
        _check_form(history)
    except Exception as error:  # whatever the parsers raise, the cause is the file
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path} is damaged: {' '.join(reason.split())[:300]}.") from error
    return history


def _check_plain(content: bytes) -> None:
    """Refuses links to other files, data kept in other files, and data of which the file does not hold every byte."""
    import h5py  # on first use, as xarray

    with h5py.File(io.BytesIO(content), "r") as file:
        for name in file:
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{name!r} is a link to another place, which is not followed")
            data = file[name]
            if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual or data.dtype.kind not in "iufb":
                raise ValueError(f"{name!r} is not an array of numbers in this file")
            if data.nbytes > len(content) or data.id.get_storage_size() != data.nbytes:
                raise ValueError(f"{name!r} is not an array of which the file holds every number")


def _check_form(history: "xarray.Dataset") -> None:
    """Every variable is over (seed, step), and the steps increase."""
    steps = history["step"].values
    if history["seed"].ndim != 1 or steps.ndim != 1 or (len(steps) and steps.dtype.kind not in "iu") or (steps[1:] <= steps[:-1]).any():
        raise ValueError("it is not over seeds and increasing steps")
    wrong = [name for name, values in history.items() if values.dims != ("seed", "step") or values.dtype.kind not in "fiu"]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not a number for each seed and step")
