"""The decision picture of docs/choosing.md, with the thresholds that `Auto` uses: `python docs/make_choosing_picture.py`."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from fredholm.methods import Auto
from fredholm.report.plots.style import FAMILIES, finish, house_style, new_figure

FIGURE = Path(__file__).parent / "figures" / "choosing.png"
QUESTION, ANSWER = "#F2F2F2", "white"
# (x, y) of the middle, the text, and for an answer its family's colour.
QUESTIONS = {
    "given": (2.0, 5.2, "Can g be evaluated wherever a rule\nwants it (not only at given samples)?"),
    "smooth": (
        2.0,
        3.8,
        f"Is the squared error of affordable nodes at most\n{Auto().bias:g} of the equation's squared terms\n"
        f"(random nodes: with a size to spare;\nnodes that never move: {Auto().bias ** 2:g})?",
    ),
    "f": (2.0, 2.3, "Does f hold u at x?\n(not a weak form)"),
    "noise": (2.0, 0.8, "Is the estimates' variance\nbelow the squared terms?"),
    "given f": (6.1, 5.2, "Does f hold u at x?"),
}
ANSWERS = {
    "standard": (6.1, 3.8, "Standard() with that rule\nGauss(n), Even(n, Rotation()), all atoms", "deterministic"),
    "delayed": (6.1, 2.3, "DelayedTarget()\none node can be enough", "delayed"),
    "double": (6.1, 0.8, "DoubleSampling()\ntwo draws of a randomised rule", "double"),
    "delayed weak": (2.0, -0.6, "DelayedTarget()\nthe target averages the noise", "delayed"),
    "offline": (9.8, 5.2, "DelayedTarget()\none sample at each x is enough", "delayed"),
    "offline weak": (9.8, 3.8, "DoubleSampling()\nneeds two samples at each x", "double"),
}
ARROWS = [
    ("given", "smooth", "yes"),
    ("given", "given f", "no"),
    ("smooth", "standard", "yes"),
    ("smooth", "f", "no"),
    ("f", "delayed", "yes"),
    ("f", "noise", "no"),
    ("noise", "double", "yes"),
    ("noise", "delayed weak", "no"),
    ("given f", "offline", "yes"),
    ("given f", "offline weak", "no"),
]
WIDTH, HEIGHT = {"question": 3.3, "answer": 2.7}, 0.8


def box(axes: Axes, x: float, y: float, text: str, kind: str, edge: str) -> None:
    """A box with text in it."""
    width = WIDTH[kind]
    fill = QUESTION if kind == "question" else ANSWER
    shape = "round,pad=0.02,rounding_size=0.3" if kind == "question" else "square,pad=0.02"
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - HEIGHT / 2),
            width,
            HEIGHT,
            boxstyle=shape,
            facecolor=fill,
            edgecolor=edge,
            linewidth=1.0 if edge == "#888888" else 2.0,
        )
    )
    axes.text(x, y, text, ha="center", va="center", fontsize=8, weight="normal")


def arrow(axes: Axes, start: str, end: str, word: str) -> None:
    """From one box to the next, to the right or down."""
    places = {
        **{name: (*value[:2], "question") for name, value in QUESTIONS.items()},
        **{n: (*v[:2], "answer") for n, v in ANSWERS.items()},
    }
    (x0, y0, kind0), (x1, y1, kind1) = places[start], places[end]
    if y0 == y1:
        begin, stop = (x0 + WIDTH[kind0] / 2 + 0.04, y0), (x1 - WIDTH[kind1] / 2 - 0.06, y1)
        label, align = ((begin[0] + stop[0]) / 2, y0 + 0.12), "center"
    elif x0 == x1:
        begin, stop = (x0, y0 - HEIGHT / 2 - 0.04), (x1, y1 + HEIGHT / 2 + 0.06)
        label, align = (x0 + 0.1, (begin[1] + stop[1]) / 2), "left"
    else:
        begin, stop = (x0 + WIDTH[kind0] / 2 - 0.3, y0 - HEIGHT / 2 - 0.04), (x1 - WIDTH[kind1] / 2 - 0.06, y1 + 0.2)
        label, align = ((begin[0] + stop[0]) / 2 + 0.1, (begin[1] + stop[1]) / 2 + 0.05), "left"
    axes.annotate("", stop, begin, arrowprops={"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.0})
    axes.text(*label, word, fontsize=8, ha=align, va="center", color="#444444")


if __name__ == "__main__":
    with house_style():
        figure = new_figure(9.6, 6.2)
        axes = figure.add_subplot()
        for x, y, text in QUESTIONS.values():
            box(axes, x, y, text, "question", "#888888")
        for x, y, text, family in ANSWERS.values():
            box(axes, x, y, text, "answer", FAMILIES[family][0])
        for ends in ARROWS:
            arrow(axes, *ends)
        axes.set(xlim=(0.2, 11.3), ylim=(-1.1, 5.7))
        axes.set_axis_off()
        finish(figure, FIGURE)
