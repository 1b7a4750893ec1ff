"""What things are called in pictures and tables."""

from fredholm.equation.equation import Equation
from fredholm.equation.evaluation import METRICS


def axis_names(problem: Equation | None, inputs: int) -> list[str]:
    """The letters of the inputs: those of the problem's view, else x, or x₀, x₁, …"""
    return _letters(() if problem is None else problem.view.inputs, "x", inputs)


def output_names(problem: Equation | None, outputs: int) -> list[str]:
    """The letters of the outputs: those of the problem's view, else u, or u₀, u₁, …"""
    return _letters(() if problem is None else problem.view.outputs, "u", outputs)


def _letters(given: tuple[str, ...], letter: str, count: int) -> list[str]:
    letters = given or ((letter,) if count == 1 else tuple(f"{letter}_{{{index}}}" for index in range(count)))
    return [_name(one) for one in letters]


def _name(letters: str) -> str:
    """A letter in italics, or LaTeX; a word as it is."""
    is_word = len(letters) > 2 and not any(sign in letters for sign in "\\_^{$")
    return letters if is_word or "$" in letters else f"${letters}$"


def metric_name(name: str) -> str:
    """A metric in words; a quantity that is none, as the loss, by its own name."""
    return METRICS[name].words if name in METRICS else name


def number(value: float) -> str:
    """Three digits, as 0.0120 or 1.23e-05."""
    return "–" if value != value else f"{value:#.3g}".rstrip(".")


def with_interval(values: tuple[float, float, float]) -> str:
    """A mean with its interval, if there is one."""
    mean, low, high = values
    return number(mean) if low != low else f"{number(mean)} [{number(low)}, {number(high)}]"
