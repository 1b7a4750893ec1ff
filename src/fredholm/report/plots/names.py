"""What things are called in pictures and tables."""

import inspect

from fredholm.equation.equation import Equation
from fredholm.equation.evaluation import METRICS


def axis_names(problem: Equation | None, inputs: int) -> list[str]:
    """The letters of the inputs: those of the problem's view, else the argument's name in its f, x, or x₀, x₁, …"""
    return _letters(() if problem is None else problem.view.inputs, _written(problem)[1], inputs)


def output_names(problem: Equation | None, outputs: int) -> list[str]:
    """The letters of the outputs: those of the problem's view, else the argument's name in its f, u, or u₀, u₁, …"""
    return _letters(() if problem is None else problem.view.outputs, _written(problem)[0], outputs)


def _written(problem: Equation | None) -> tuple[str, str]:
    """What the equation's own f, or its first g, calls the unknown function and the point: `lambda n, t: ...` is n(t)."""
    functions = [] if problem is None else [problem.f, *(integral.g for integral in problem.integrals)]
    first = next((function for function in functions if function is not None), None)
    names = [] if first is None else [name for name in inspect.signature(first).parameters if len(name) == 1 and name.isalpha()]
    return (names[0], names[1]) if len(names) >= 2 else ("u", "x")


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
