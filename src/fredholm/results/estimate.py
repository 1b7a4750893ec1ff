"""The estimated error of a solution, where no exact solution is known."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np

from fredholm.equation.equation import Equation
from fredholm.functions.field import Field
from fredholm.solving.collocation import MOST_AXES
from fredholm.solving.correction import Correction, Estimate
from fredholm.solving.correction_by_series import corrected_by_series
from fredholm.solving.correction_by_sums import corrected_by_sums

SHARE, LEAST = 0.2, 10.0  # of the time of a training may go into its estimate, and the seconds that always may
NOTHING = 1e-4  # a smaller share of the residual is not written in per cent


def estimated(
    problem: Equation | None, u: Field, good: np.ndarray, seeds: Sequence[int], seed: int | None, seconds: float
) -> tuple[Estimate, Correction | None]:
    """The estimated error of the mean of the networks u that are good, stacked over the seeds, or of that of one seed; and the correction
    that it comes from. The equation and the networks never make it raise.

    `seconds` is what the training took: a share of it may go into a larger class of functions.
    """
    if seed is not None and seed not in seeds:
        raise ValueError(f"seed: got {seed!r}; expected one of {list(seeds)}.")
    if problem is None:
        return Estimate(math.nan, "this run's problem was made in Python and is not in its folder: give problem="), None
    if not good.any():
        return Estimate(math.nan, "every seed failed"), None
    first = int(np.flatnonzero(good)[0]) if seed is None else list(seeds).index(seed)
    # Each seed may have an equation of its own.
    kept = np.arange(len(good)) == first if problem.is_drawn or seed is not None else good
    try:
        equation = problem.for_seed(seeds[first])  # in the precision of the run: its random parameters depend on that
        members = jax.tree.map(lambda leaf: np.asarray(leaf)[kept] if eqx.is_array(leaf) else leaf, u)
        with jax.enable_x64(True):
            found = _corrected(equation, members, max(LEAST, SHARE * seconds))
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
    return Estimate(found.error, about, found.unknowns, found.intervals), found


def _corrected(equation: Equation, members: Field, seconds: float) -> Correction:
    found = corrected_by_series(equation, members, seconds) if equation.inputs <= MOST_AXES else None
    return corrected_by_sums(equation, members) if found is None else found
