"""Where the nodes of integration rules are: weights as sizes, negative ones hollow."""

import os
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.axes3d import Axes3D

from fredholm.domains.base import AbstractDomain
from fredholm.report.plots.style import PALETTE, finish, house_style, new_figure, plain
from fredholm.rules.base import AbstractRule

POSITIVE, NEGATIVE = PALETTE[1], PALETTE[0]


def plot_rules(
    rules: Mapping[str, AbstractRule],
    domain: AbstractDomain,
    path: str | os.PathLike[str] | None = None,
    *,
    key: Key[Array, ""] | None = None,
    columns: int = 4,
) -> Figure:
    """One panel per rule with its nodes on the domain: on a line, in the plane or in space (beyond, the first three coordinates).

    The area of a dot is its share of the weights; a negative weight is a hollow dot, and the title gives the sum of |w|.
    """
    if not rules:
        raise ValueError("plot_rules: got no rule; expected a mapping of names to rules, for instance {'Gauss': Gauss(4)}.")
    key = jax.random.key(0) if key is None else key
    columns = min(columns, len(rules))
    lines = -(-len(rules) // columns)
    flat = domain.dimension < 3
    with house_style():
        figure = new_figure(2.4 * columns, (1.2 if domain.dimension == 1 else 2.8) * lines)
        for index, (name, rule) in enumerate(rules.items()):
            axes = figure.add_subplot(lines, columns, index + 1, **({} if flat else {"projection": "3d"}))
            _draw_nodes(axes, rule, domain, key)
            count, total = rule.size(domain), rule.absolute_weight(domain)
            axes.set_title(f"{plain(name)}\n{count} nodes, Σ|w| = {total:.3g}", fontsize=8.5)
        return finish(figure, path)


def _draw_nodes(axes: Axes, rule: AbstractRule, domain: AbstractDomain, key: Key[Array, ""]) -> None:
    nodes = jax.jit(lambda key: rule.nodes(domain, key))(key)
    points, weights = np.asarray(nodes.points, float), np.asarray(nodes.weights, float)
    share = np.abs(weights) / np.sum(np.abs(weights))
    # A mean dot covers the same area whatever the number of nodes; the floor keeps zero weights in sight.
    sizes = np.maximum(3.0, share * 900 * min(1.0, len(weights) / 20))
    coordinates: list[Any] = [points[:, axis] for axis in range(min(3, domain.dimension))]
    if domain.dimension == 1:
        coordinates.append(np.zeros(len(points)))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    for chosen, color, face in ((weights >= 0, POSITIVE, POSITIVE), (weights < 0, NEGATIVE, "none")):
        axes.scatter(*[one[chosen] for one in coordinates], s=sizes[chosen], facecolors=face, edgecolors=color, linewidths=0.9, alpha=0.75)
    _draw_frame(axes, domain)


def _draw_frame(axes: Axes, domain: AbstractDomain) -> None:
    """Equal scales, and faint independent points that show where the domain is."""
    hint = np.asarray(domain.draws(jax.random.key(1), 600).points, float)[:, :3]
    if hint.shape[1] > 1:
        axes.scatter(*hint.T, s=1.0, c="#C8C8C8", linewidths=0, zorder=0)
        axes.set_aspect("equal")
    if isinstance(axes, Axes3D):
        axes.set_box_aspect((1, 1, 1), zoom=1.35)  # pyright: ignore[reportArgumentType] (the stub says int)
        axes.set_axis_off()  # In space the axes take the room of the points, and their labels run out of the picture.
    axes.locator_params(nbins=3)
    axes.tick_params(labelsize=7)
    axes.grid(False)
