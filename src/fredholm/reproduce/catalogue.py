"""The figures by name."""

from collections.abc import Callable, Mapping

from fredholm.checks import nearest
from fredholm.reproduce import ablations, figures
from fredholm.reproduce.families import SCALES, Scale
from fredholm.reproduce.panels import Figure

FIGURES: Mapping[str, Callable[[Scale], Figure]] = {
    f"figure-{number}": getattr(figures if number < 8 else ablations, f"figure_{number}") for number in range(1, 22)
}


def figure(name: str, scale: str) -> Figure:
    """A figure at a scale."""
    if name not in FIGURES:
        raise nearest("figure", name, [*FIGURES, "all"])
    if scale not in SCALES:
        raise nearest("scale", scale, SCALES)
    return FIGURES[name](SCALES[scale])
