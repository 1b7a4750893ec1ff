"""What things are called in pictures and tables."""

from collections.abc import Mapping

from fredholm.equation import Equation

METRICS: Mapping[str, str] = {
    "mse": "MSE",
    "relative_l2": "relative $L^2$ error",
    "mse_mean_free": "MSE, mean removed",
    "mse_linear_free": "MSE, linear part removed",
    "mse_normalized": "MSE, standardised",
}
# What the metric cannot see and pictures therefore leave out.
REMOVED: Mapping[str, str] = {
    "mse_mean_free": "mean removed",
    "mse_linear_free": "mean and linear part removed",
    "mse_normalized": "standardised",
}
LETTERS: Mapping[str, str] = {"Poisson": "U", "Maxwell": "A", "Smoluchowski": "n"}
IN_TIME = ("Smoluchowski",)  # the last input is the time


def axis_names(problem: Equation | None, inputs: int) -> list[str]:
    """The letters of the inputs: x, or x₀, x₁, …; and t where a problem of ours has time."""
    timed = type(problem).__name__ in IN_TIME
    space = inputs - 1 if timed else inputs
    return (["$x$"] if space == 1 else [f"$x_{{{axis}}}$" for axis in range(space)]) + (["$t$"] if timed else [])


def output_names(problem: Equation | None, outputs: int) -> list[str]:
    """The letters of the outputs: u, or u₀, u₁, …"""
    letter = LETTERS.get(type(problem).__name__, "u")
    return [f"${letter}$"] if outputs == 1 else [f"${letter}_{{{index}}}$" for index in range(outputs)]


def metric_name(name: str) -> str:
    """A metric in words."""
    return METRICS.get(name, name)


def number(value: float) -> str:
    """Three digits, as 0.0120 or 1.23e-05."""
    return "–" if value != value else f"{value:#.3g}".rstrip(".")


def with_interval(values: tuple[float, float, float]) -> str:
    """A mean with its interval, if there is one."""
    mean, low, high = values
    return number(mean) if low != low else f"{number(mean)} [{number(low)}, {number(high)}]"
