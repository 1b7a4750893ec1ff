"""The end of a history, from which the methods read their symptoms."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray


def late(history: "xarray.Dataset", name: str) -> float:
    """The mean over the last tenth of the records, and over the seeds that have not failed; NaN where it was not recorded."""
    if name not in history:
        return float("nan")
    values = np.asarray(history[name])
    values = values[:, -max(1, values.shape[1] // 10) :]
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
