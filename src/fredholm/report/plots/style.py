"""One style for all figures: fonts, colours, panels in rows, and how a figure is written."""

import contextlib
import io
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fredholm.storage.files import write_atomically

DPI = 160
# Okabe and Ito's palette, which colour-blind readers can tell apart; black is the truth's.
TRUTH = "#000000"
PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F", "#5B5B5B")
# The paper's families keep their colours from figure to figure; the second of a family takes its second colour.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "standard": ("#D55E00", "#E69F00", "#8C6D1F"),
    "double": ("#0072B2", "#56B4E9"),
    "delayed": ("#009E73", "#56B4E9"),
    "deterministic": ("#CC79A7", "#5B5B5B"),
}
VALUES_MAP, ERROR_MAP, OUTSIDE = "viridis", "RdBu_r", "#EEEEEE"
SETTINGS: Mapping[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "figure.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.6,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "image.cmap": VALUES_MAP,
}

Panel = Callable[[Axes], None]  # draws one panel


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """The style of our figures, while one is made; the caller's own settings of matplotlib come back afterwards."""
    settings: Any = {**matplotlib.rcParamsDefault, **SETTINGS}
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; no window and no global state."""
    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(width, height), dpi=DPI, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def compose(rows: Sequence[Sequence[Panel]], title: str, *, panel: tuple[float, float] = (3.5, 2.7)) -> Figure:
    """Panels in rows; every row fills the width. `panel` is the size of one in the longest row."""
    rows = [row for row in rows if row]
    width = panel[0] * max(2, *(len(row) for row in rows), 2)
    figure = new_figure(width, panel[1] * len(rows) + 0.45)
    grid = figure.add_gridspec(len(rows), 1)
    for index, row in enumerate(rows):
        cells = grid[index].subgridspec(1, len(row))
        for column, draw in enumerate(row):
            axes = figure.add_subplot(cells[column])
            draw(axes)
            axes.set_title(fitting(axes.get_title(), width / len(row), SETTINGS["axes.titlesize"]))
    figure.suptitle(fitting(title, width, SETTINGS["figure.titlesize"]))
    return figure


def fitting(title: str, width: float, size: float) -> str:
    """A title in lines that fit into a width in inches, broken at blanks outside of formulas."""
    most = int(width * 72 / (0.55 * size))  # a letter is about half as wide as its size
    lines: list[str] = []
    for given in title.split("\n"):
        words = re.findall(r"(?:[^\s$]|\$[^$]*\$)+", given.replace(r"\$", "\0"))
        line = ""
        for word in words:
            if line and len(f"{line} {word}") > most:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        lines.append(line)
    return "\n".join(lines).replace("\0", r"\$")


def time_colors(count: int) -> list[str]:
    """Colours of a sequence, dark to bright."""
    return [to_hex(matplotlib.colormaps["viridis"](0.85 * place / max(count - 1, 1))) for place in range(count)]


def png(figure: Figure) -> bytes:
    """The figure as the bytes of a PNG."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def finish(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Writes the figure if there is a path."""
    if path is not None:
        path = Path(path)
        kind = path.suffix.lstrip(".").lower() or "png"
        write_atomically(path, lambda file: figure.savefig(file, format=kind, dpi=DPI))
    return figure


def colors(names: Iterable[str]) -> dict[str, str]:
    """A colour for each method: that of its family, and the next free one of the palette for the rest."""
    names, chosen = list(names), dict[str, str]()
    families = {name: next((own for word, own in FAMILIES.items() if word in name.lower()), ()) for name in names}
    for name in sorted(names, key=lambda name: not families[name]):
        free = [color for color in (*families[name], *PALETTE) if color not in chosen.values()]
        chosen[name] = free[0] if free else PALETTE[len(chosen) % len(PALETTE)]
    return {name: chosen[name] for name in names}


def distinct_colors(names: Iterable[str]) -> dict[str, str]:
    """As `colors` while the palette lasts; where there are more names than that, a colour of a sequence for each."""
    names = list(names)
    chosen = colors(names)
    return chosen if len(set(chosen.values())) == len(names) else {name: _spread(place, len(names)) for place, name in enumerate(names)}


def _spread(place: int, count: int) -> str:
    if count <= 10:
        return to_hex(matplotlib.colormaps["viridis"](0.92 * place / max(count - 1, 1)))
    if count <= 20:  # ten strong colours, then their pale ones
        return to_hex(matplotlib.colormaps["tab20"]((2 * place) % 20 + place // 10))
    return to_hex(matplotlib.colormaps["turbo"](0.04 + 0.92 * place / (count - 1)))


def plain(text: str, width: int | None = None) -> str:
    """A user's text as matplotlib should show it: no mathematics, never hidden for its underscore, wrapped to a width."""
    text = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    if width is not None:
        text = "\n".join(textwrap.wrap(text, width, max_lines=3, placeholder=" …")) or text
    text = text.replace("\\", "\\\\") if "$" in text else text
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def step_axis(axes: Axes) -> None:
    """The axis of training steps, as 0, 5k, 10k."""
    axes.set_xlabel("training step")
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"))
    axes.margins(x=0.01)
    axes.set_xlim(left=0)
