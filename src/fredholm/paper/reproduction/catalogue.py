"""The figures by name."""

from collections.abc import Callable, Mapping

from fredholm.common.checks import nearest
from fredholm.paper.reproduction import architecture, laws, main_text, sampling, targets
from fredholm.paper.reproduction.families import SCALES, Scale
from fredholm.paper.reproduction.panels import Figure

_PARTS = (main_text, sampling, architecture, laws, targets)
_MADE = {name.replace("_", "-"): make for part in _PARTS for name, make in vars(part).items() if name.startswith("figure_")}
FIGURES: Mapping[str, Callable[[Scale], Figure]] = {name: _MADE[name] for name in (f"figure-{number}" for number in range(1, 22))}


def figures(scale: str) -> list[str]:
    """The figures that `all` is at a scale, in order."""
    return list((SCALES[scale].figures if scale in SCALES else None) or FIGURES)


def figure(name: str, scale: str) -> Figure:
    """A figure at a scale."""
    if name not in FIGURES:
        raise nearest("figure", name, [*FIGURES, "all"])
    if scale not in SCALES:
        raise nearest("scale", scale, SCALES)
    return FIGURES[name](SCALES[scale])
