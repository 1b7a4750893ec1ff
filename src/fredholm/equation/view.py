"""How a solution is shown: the letters of its axes, and the plane of its heat map."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx

from fredholm.common.checks import numbers, sequence


class View(eqx.Module):
    """The view of a solution in pictures. With one input it is a curve, with two a heat map, whatever the view says. With more inputs it
    is a heat map on the plane of the view; without a plane, curves along lines.

    `View(inputs=("x", "t"), outputs=("n",))` names the axes. `View(through=(0.0, 0.0, 0.5), low=(-1, -1), high=(1, 1))` is the plane
    of the first two inputs at the third's 0.5.

    Args:
        inputs (list): the letters of the inputs, default: x, or x₀, x₁, ….
        outputs (list): the letters of the outputs, default: u, or u₀, u₁, ….
        through (numbers): a point of the plane; empty: no plane; default: ().
        low (numbers): the lower left corner of the shown part of the plane; default: (0.0, 0.0).
        high (numbers): the upper right one; default: (1.0, 1.0).
        along (list): the two inputs that vary on the plane; default: (0, 1).
        output (int): the output on the plane; default: 0.
        lines (function): lines(u, x): a vector whose components along the plane are drawn as field lines, or None; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.View(inputs=("x", "t"), outputs=("n",)).inputs
        ('x', 't')

    See also:
        `Equation`, `Solution`.
    """

    inputs: tuple[str, ...]  # the letters of the inputs, default: x, or x₀, x₁, …
    outputs: tuple[str, ...]  # the letters of the outputs, default: u, or u₀, u₁, …
    through: tuple[float, ...]  # a point of the plane; empty: no plane
    low: tuple[float, ...]  # the lower left corner of the shown part of the plane
    high: tuple[float, ...]  # the upper right one
    along: tuple[int, int]  # the two inputs that vary on the plane
    output: int  # the output on the plane
    lines: Callable[..., Any] | None  # lines(u, x): a vector whose components along the plane are drawn as field lines, or None

    def __init__(
        self,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        *,
        through: Sequence[float] = (),
        low: Sequence[float] = (0.0, 0.0),
        high: Sequence[float] = (1.0, 1.0),
        along: Sequence[int] = (0, 1),
        output: int = 0,
        lines: Callable[..., Any] | None = None,
    ):
        for name, letters in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(letters, Sequence) or not all(isinstance(letter, str) for letter in letters):
                raise ValueError(f"View {name}: got {letters!r}; expected letters, for instance ('x', 't').")
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        points = {"View through": through, "View low": low, "View high": high}
        self.through, self.low, self.high = (tuple(map(float, numbers(name, point).ravel())) for name, point in points.items())
        if len(self.low) != 2 or len(self.high) != 2 or not all(a < b for a, b in zip(self.low, self.high, strict=True)):
            raise ValueError(f"View low, high: got {low!r} and {high!r}; expected two corners of a rectangle, low < high in both axes.")
        if len(along := sequence("View along", along)) != 2:
            raise ValueError(f"View along: got {along!r}; expected two different inputs, counted from 0.")
        first, second = along
        if first == second or (self.through and not all(0 <= axis < len(self.through) for axis in (first, second))):
            raise ValueError(f"View along: got {along!r}; expected two different inputs, counted from 0.")
        self.along, self.output, self.lines = (int(first), int(second)), int(output), lines

    def with_inputs(self, further: Mapping[str, float], before: int) -> "View":
        """The view with further inputs, which have this value on the plane; `before` is how many there are without them."""
        inputs = self.inputs or (("x",) if before == 1 else tuple(f"x_{{{index}}}" for index in range(before)))
        return self._of((*inputs, *further), (*self.through, *further.values()) if self.through else ())

    def without_inputs(self, count: int) -> "View":
        """The view without its last inputs."""
        return self._of(self.inputs[:-count], self.through[:-count])

    def _of(self, inputs: Sequence[str], through: Sequence[float]) -> "View":
        plane = {"low": self.low, "high": self.high, "along": self.along, "output": self.output, "lines": self.lines}
        return View(inputs, self.outputs, through=through, **plane)


def axis_number(name: str, axis: int | str, letters: Sequence[str], inputs: int) -> int:
    """The number of an axis, given by its number or by its letter in the view; `name` is that of the part that asks."""
    if isinstance(axis, int) and not isinstance(axis, bool) and -inputs <= axis < inputs:
        return axis % inputs
    if isinstance(axis, str) and (axis in letters or (inputs == 1 and not letters)):
        return letters.index(axis) if letters else 0
    known = f"one of {', '.join(letters)}, or " if letters else "a letter of Equation(view=View(inputs=('x', 't'))), or "
    raise ValueError(f"{name} axis: got {axis!r}; expected {known}a number from 0 to {inputs - 1}.")
