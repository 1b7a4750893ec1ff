"""Do the conditions hold? Where the equation holds and a condition does not, u is another solution of the equation."""

from fredholm.common.findings import Finding
from fredholm.diagnostics.quality import Quality
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation

VIOLATED = 0.1  # a condition does not hold where it is off by more than this share of its terms


def violated(equation: Equation, quality: Quality | None) -> list[Finding]:
    """A finding for each condition that does not hold. `Data` has noise, and is left out."""
    if quality is None:
        return []
    conditions = [(index, one) for index, one in enumerate(equation.conditions) if not isinstance(one, Data)]
    found = []
    for (index, condition), off in zip(conditions, quality.conditions, strict=True):
        if off > VIOLATED:
            wanted = max(1.0, 10 * condition.weight)
            text = (
                f"the equation holds, but condition {index + 1} is off by {off:.0%} of its terms: u is another solution "
                f"of the equation. Give it more weight than {condition.weight:g}: {type(condition).__name__}(..., weight={wanted:g})."
            )
            found.append(Finding("warning", "conditions", text))
    return found
