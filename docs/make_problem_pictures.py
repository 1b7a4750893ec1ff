"""The pictures of docs/problems.md: the truth of each problem. Run it from anywhere: python docs/make_problem_pictures.py"""

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from fredholm.equation.equation import Equation
from fredholm.problems.ball import PoissonBall
from fredholm.problems.basket import Basket
from fredholm.problems.bellman import Bellman
from fredholm.problems.fractional import FractionalInterval, FractionalPoisson
from fredholm.problems.fredholm import FredholmFirstKind, FredholmNonlinear, FredholmSecondKind
from fredholm.problems.jump_diffusion import JumpDiffusion
from fredholm.problems.maxwell import Maxwell
from fredholm.problems.parabolic import Parabolic
from fredholm.problems.poisson import Poisson, PoissonSeveral
from fredholm.problems.smoluchowski import Smoluchowski
from fredholm.problems.transport import TransportSlab
from fredholm.problems.volterra import Volterra, Volterra2

FIGURES = Path(__file__).parent / "figures"
STYLE = {"figure.dpi": 150, "font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False}


def at(function: Callable, *coordinates: np.ndarray) -> np.ndarray:
    """A function of one point at every point of a grid."""
    grids = np.broadcast_arrays(*coordinates)
    points = jnp.asarray(np.stack([grid.ravel() for grid in grids], axis=-1), jnp.float32)
    values = np.asarray(jax.lax.map(function, points, batch_size=4096))
    return values.reshape(grids[0].shape + values.shape[1:])


def square(n: int, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """The cell centres of a square grid, x along the columns."""
    axis = low + (high - low) * (np.arange(n) + 0.5) / n
    first, second = np.meshgrid(axis, axis)
    return first, second


def poisson() -> plt.Figure:
    """U and the lines of E for three charges in the plane."""
    problem = Poisson(2)
    x, y = square(300, -1, 1)
    figure, axes = plt.subplots(figsize=(4.2, 3.4), layout="constrained")
    image = axes.imshow(at(problem.exact, x, y), extent=(-1, 1, -1, 1), origin="lower", cmap="viridis", vmin=-0.8, vmax=0.1)
    lines = at(problem.charges.field, *square(60, -1, 1))
    axes.streamplot(
        *(grid for grid in square(60, -1, 1)), lines[..., 0], lines[..., 1], color="white", linewidth=0.5, density=1, arrowsize=0.6
    )
    axes.plot(*np.asarray(problem.charges.locations).T, "o", color="tab:red", markersize=4)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", title="Poisson, d = 2: potential U and field lines", xlim=(-1, 1), ylim=(-1, 1))
    figure.colorbar(image, label="U", extend="min")
    return figure


def maxwell() -> plt.Figure:
    """A_z on the plane z = 0 with its mean removed, and the lines of B on the plane x = 0."""
    problem = Maxwell()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.4), layout="constrained")
    x, y = square(200, -1, 1)
    potential = at(problem.exact, x, y, np.zeros_like(x))[..., 2]
    image = left.imshow(potential - potential.mean(), extent=(-1, 1, -1, 1), origin="lower", cmap="RdBu_r", vmin=-0.33, vmax=0.33)
    left.set(xlabel="x", ylabel="y", title="Maxwell: $A_z$ on z = 0, mean removed")
    figure.colorbar(image, ax=left, label="$A_z$")
    y, z = square(120, -1, 1)
    field = at(problem.wires.field, np.zeros_like(y), y, z)
    strength = np.linalg.norm(field, axis=-1)
    image = right.imshow(strength, extent=(-1, 1, -1, 1), origin="lower", cmap="magma", norm=matplotlib.colors.LogNorm(0.03, 3))
    right.streamplot(y, z, field[..., 1], field[..., 2], color="white", linewidth=0.6, density=1.2, arrowsize=0.7)
    # The wires that cross x = 0: the current comes out of the picture (dot) along +x, goes into it (cross) along -x.
    corners = np.asarray(problem.wires.vertices)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if start[0] * end[0] < 0:
            marker = "x" if end[0] < start[0] else "."
            place = 0.5 * (start + end)
            right.plot(place[1], place[2], "o", color="tab:cyan", markersize=9)
            right.plot(place[1], place[2], marker, color="black", markersize=5)
    right.set(xlabel="y", ylabel="z", title="lines of B on x = 0, and |B|", xlim=(-1, 1), ylim=(-1, 1))
    figure.colorbar(image, ax=right, label="|B|", extend="both")
    return figure


def smoluchowski() -> plt.Figure:
    """n(x, t) for one size; for two and three, n at the last time and what has changed, on a plane."""
    figure, axes = plt.subplots(2, 2, figsize=(8.2, 6.4), layout="constrained")
    one, two, three = (Smoluchowski(dim) for dim in (1, 2, 3))
    x = np.linspace(0, 1, 801)
    for t, color in zip(np.linspace(0, 1, 6), plt.get_cmap("viridis")(np.linspace(0, 0.9, 6)), strict=True):
        axes[0, 0].plot(x, at(one.exact, x, np.full_like(x, t)), color=color, label=f"t = {t:.1f}")
    axes[0, 0].set(xlabel="x", ylabel="n(x, t)", title="Smoluchowski, d = 1: cuts at six times", xlim=(0, 1))
    axes[0, 0].legend(frameon=False, fontsize=7)
    first, second = square(200, 0, 1)
    panels = [
        (axes[0, 1], at(one.exact, first, second), "d = 1: n(x, t)", "x", "t"),
        (axes[1, 0], at(two.exact, first, second, np.ones_like(first)), "d = 2: n(x, t = 1)", "$x_1$", "$x_2$"),
        (
            axes[1, 1],
            at(three.exact, first, second, np.full_like(first, 0.05), np.ones_like(first)),
            "d = 3: n(x, t = 1) on $x_3$ = 0.05",
            "$x_1$",
            "$x_2$",
        ),
    ]
    for panel, values, title, along, up in panels:
        image = panel.imshow(values, extent=(0, 1, 0, 1), origin="lower", cmap="viridis")
        panel.set(title=title, xlabel=along, ylabel=up)
        figure.colorbar(image, ax=panel, label="n")
    return figure


def curve(axes: plt.Axes, problem: Equation, low: float, high: float, title: str) -> None:
    """u over an interval."""
    x = np.linspace(low, high, 801)
    axes.plot(x, at(problem.exact, x), color="tab:blue")
    axes.set(xlabel="x", ylabel="u(x)", title=title, xlim=(low, high))


def volterra() -> plt.Figure:
    """The two ordinary Volterra equations."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 2.8), layout="constrained")
    curve(left, Volterra(), 0, 5, "Volterra")
    curve(right, Volterra2(), 0, 1, "Volterra2")
    return figure


def fredholm() -> plt.Figure:
    """The Fredholm equations, of the linear ones with their right-hand sides, and the partial equation."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(8.2, 2.8), layout="constrained")
    first, second = FredholmFirstKind(), FredholmSecondKind()
    curve(left, first, 0, 1, "first and second kind")
    x = np.linspace(0, 1, 201)
    left.plot(x, at(first.y, x), "--", color="tab:orange", label="y, first kind")
    left.plot(x, at(second.y, x), ":", color="tab:green", label="y, second kind")
    left.legend(frameon=False, fontsize=7)
    curve(middle, FredholmNonlinear(), -np.pi / 2, np.pi / 2, "nonlinear")
    places, times = np.meshgrid((np.arange(200) + 0.5) / 200 * np.pi / 2, (np.arange(200) + 0.5) / 200)
    image = right.imshow(at(Parabolic().exact, places, times), extent=(0, np.pi / 2, 0, 1), origin="lower", cmap="viridis", aspect="auto")
    right.set(xlabel="x", ylabel="t", title="Parabolic: u(x, t)")
    figure.colorbar(image, ax=right, label="u")
    return figure


def fractional() -> plt.Figure:
    """u on a diameter of the ball for three orders, on the disc, and on the interval."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(8.2, 2.8), layout="constrained")
    r = np.linspace(-1.2, 1.2, 601)
    for order, color in zip((0.5, 1.0, 1.5), plt.get_cmap("viridis")((0.0, 0.45, 0.8)), strict=True):
        left.plot(r, at(FractionalPoisson(2, order).exact, r, np.zeros_like(r)), color=color, label=f"α = {order}")
    left.legend(frameon=False, fontsize=7)
    left.set(xlabel="$x_1$", ylabel="u", title="FractionalPoisson: a diameter", xlim=(-1.2, 1.2))
    image = middle.imshow(
        at(FractionalPoisson().exact, *square(200, -1.2, 1.2)), extent=(-1.2, 1.2, -1.2, 1.2), origin="lower", cmap="viridis"
    )
    middle.set(xlabel="$x_1$", ylabel="$x_2$", title="d = 2, α = 1.5")
    figure.colorbar(image, ax=middle, label="u")
    curve(right, FractionalInterval(), 0, 1, "FractionalInterval")
    return figure


def bellman() -> plt.Figure:
    """V for two numbers, and the flux in slabs of three thicknesses."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 2.8), layout="constrained")
    image = left.imshow(at(Bellman(2).exact, *square(200, -3, 3)), extent=(-3, 3, -3, 3), origin="lower", cmap="viridis")
    left.set(xlabel="$x_1$", ylabel="$x_2$", title="Bellman, d = 2: the value V")
    figure.colorbar(image, ax=left, label="V")
    for thickness, color in zip((1.0, 2.0, 5.0), plt.get_cmap("viridis")((0.0, 0.45, 0.8)), strict=True):
        x = np.linspace(0, thickness, 801)
        right.plot(x / thickness, at(TransportSlab(thickness).exact, x), color=color, label=f"L = {thickness:g}")
    right.legend(frameon=False, fontsize=7)
    right.set(xlabel="x / L", ylabel="flux", title="TransportSlab, c = 0.9", xlim=(0, 1))
    return figure


def many() -> plt.Figure:
    """What can be seen of u in many dimensions: along one number that decides, or on a plane."""
    figure, axes = plt.subplots(2, 3, figsize=(8.2, 5.4), layout="constrained")
    (jumps, basket, ball), (fractional, where, several) = axes
    problem, keys = JumpDiffusion(), jax.random.split(jax.random.key(0), 4000)
    for law, label in ((problem.evaluation.at, "scored: the cube"), (problem.domain, "x: and after jumps")):
        values = np.asarray(jax.vmap(lambda key, law=law: problem.exact(law.sample(key)))(keys))
        jumps.hist(values, np.linspace(0.2, 1.4, 80), density=True, histtype="stepfilled", alpha=0.6, label=label)
    jumps.set(xlabel="u", ylabel="density", title="JumpDiffusion, d = 100: values of u")
    jumps.legend(frameon=False, fontsize=7)
    level, problem = np.linspace(-0.9, 0.9, 301), Basket()
    for t, color in zip((0.0, 0.5, 0.9, 1.0), plt.get_cmap("viridis")((0.0, 0.35, 0.7, 0.9)), strict=True):
        points = jnp.asarray(np.concatenate([np.tile(level[:, None], 100), np.full((301, 1), t)], axis=1), jnp.float32)
        basket.plot(level, np.asarray(jax.vmap(problem.exact)(points)), color=color, label=f"t = {t:g}")
    basket.set(xlabel="mean of the log-prices", ylabel="u", title="Basket, d = 100: the price")
    basket.legend(frameon=False, fontsize=7)
    _plane(ball, PoissonBall(), 1.0, "PoissonBall, d = 100: two axes")
    r = np.linspace(0, 1, 301)
    points = jnp.asarray(r[:, None] * np.eye(100)[:1], jnp.float32)
    fractional.plot(r, np.asarray(jax.vmap(FractionalPoisson(100).exact)(points)), color="tab:blue")
    fractional.set(xlabel="|x|", ylabel="u", title="FractionalPoisson, d = 100", xlim=(0, 1))
    where.plot(r, 100 * r**99, color="tab:orange", label="uniform in the ball")
    where.plot(r, np.ones_like(r), color="tab:blue", label="uniform radius, as drawn")
    where.set(xlabel="|x|", ylabel="density", title="where x is, d = 100", xlim=(0, 1), ylim=(0, 10))
    where.legend(frameon=False, fontsize=7)
    _plane(several, PoissonSeveral(3), 1.0, "PoissonSeveral, d = 3: $x_3$ = 0", -0.5, 0.5)
    return figure


def _plane(axes: plt.Axes, problem: Equation, reach: float, title: str, low: float | None = None, high: float | None = None) -> None:
    """u on the plane of the first two axes through the origin."""
    x, y = square(200, -reach, reach)
    values = at(problem.exact, x, y, *[np.zeros_like(x)] * (problem.inputs - 2))
    if isinstance(problem, PoissonBall):
        values = np.where(x**2 + y**2 < 1, values, np.nan)
    image = axes.imshow(values, extent=(-reach, reach, -reach, reach), origin="lower", cmap="viridis", vmin=low, vmax=high)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", title=title)
    axes.figure.colorbar(image, ax=axes, label="u", extend="neither" if low is None else "both")


def main() -> None:
    """Draws every picture."""
    FIGURES.mkdir(exist_ok=True)
    with plt.rc_context(STYLE):
        for draw in (poisson, maxwell, smoluchowski, volterra, fredholm, fractional, bellman, many):
            draw().savefig(FIGURES / f"problem-{draw.__name__}.png")


if __name__ == "__main__":
    main()
