"""The estimated error of a solution, where no exact solution is known."""

import math
import time

import jax

from fredholm.equation.equation import Equation
from fredholm.functions.field import Field
from fredholm.solving.collocation import MOST_AXES
from fredholm.solving.correction import Correction, Estimate
from fredholm.solving.correction_by_series import corrected_by_series
from fredholm.solving.correction_by_sums import corrected_by_sums

SHARE, LEAST = 0.2, 10.0  # of the time of a training may go into its estimate, and the seconds that always may
NOTHING = 1e-4  # a smaller share of the residual is not written in per cent


def estimated(equation: Equation, members: Field, seconds: float) -> tuple[Estimate, Correction | None]:
    """The estimated error of the mean of several networks, stacked, and the correction that it comes from. It never raises.

    `seconds` is what the training took: a share of it may go into a larger class of functions.
    """
    begin = time.perf_counter()
    try:
        with jax.enable_x64(True):
            found = corrected_by_series(equation, members, max(LEAST, SHARE * seconds)) if equation.inputs <= MOST_AXES else None
            found = corrected_by_sums(equation, members) if found is None else found
    except ValueError as error:
        return Estimate(math.nan, str(error)), None
    except Exception as error:  # whatever the user's functions do: an estimate must not end a run
        text = (str(error).strip().splitlines() or ["no message"])[0]
        return Estimate(math.nan, f"{type(error).__name__}: {text[:200]}"), None
    share = f"{100 * found.left:.2g} %" if found.left >= NOTHING else "next to nothing"
    about = f"{found.about} corrects it and leaves {share} of the residual"
    if found.dropped:
        about += f". {found.dropped} directions of u are not determined by the equation, and not part of this"
    if found.intervals:
        about += ". The noise of the data comes on top"
    return Estimate(found.error, about, found.unknowns, found.intervals, time.perf_counter() - begin), found
