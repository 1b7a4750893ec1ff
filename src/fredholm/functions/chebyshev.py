"""u as a series: Chebyshev polynomials on intervals, rational ones on infinite axes, sines and cosines on periodic ones."""

import itertools
import math
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import positive_integer, sequence
from fredholm.functions.axes import AbstractAxis, Loop, Ray, Segment, WholeLine
from fredholm.functions.frame import Frame
from fredholm.functions.protocol import AbstractNetwork

TENSOR_AXES = 2  # up to here every product of polynomials; beyond, those whose degrees, as shares of each axis' own, sum to at most 1
FIRST = {1: 32, 2: 12, 3: 8}  # the degree on each axis where it is not given and nothing has grown it
MOST_COEFFICIENTS = 20_000  # of one output: the normal matrix of more does not fit into the memory of a workstation


class Chebyshev(AbstractNetwork):
    r"""$u(x) = \sum_k c_k T_k(s(x))$ with products of Chebyshev polynomials, on the box where the equation evaluates u.

    It is linear in its coefficients, so a linear equation is solved in one step and not trained. Smooth solutions in up to three dimensions
    reach rounding error with a few dozen coefficients on each axis. `degree=None` takes as many as the solution needs. On infinite axes
    the polynomials are rational Chebyshev functions (Boyd, Chebyshev and Fourier Spectral Methods, 2001, chapter 17).

    Args:
        degree (int or list): the degree on each axis; None: grows until the series is resolved.
        axes (axes): how each coordinate becomes a variable in [-1, 1]; empty: from the equation; default: ().

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.solve(fr.problems.Volterra(), network=fr.Chebyshev(8), seeds=1, progress=False).steps
        1

    See also:
        `Fourier`, `RandomFeatures`, `MLP`.
    """

    degree: int | tuple[int, ...] | None = None  # the degree on each axis; None: grows until the series is resolved
    axes: tuple[AbstractAxis, ...] = ()  # how each coordinate becomes a variable in [-1, 1]; empty: from the equation

    def __init__(self, degree: int | Sequence[int] | None = None, axes: Sequence[AbstractAxis] = ()):
        if degree is None or isinstance(degree, (int, np.integer)):
            self.degree = None if degree is None else positive_integer("Chebyshev degree", degree, least=0)
        else:
            self.degree = tuple(positive_integer("Chebyshev degree", one, least=0) for one in sequence("Chebyshev degree", degree))
        self.axes = sequence("Chebyshev axes", axes)
        if self.axes and isinstance(self.degree, tuple) and len(self.degree) != len(self.axes):
            raise ValueError(f"Chebyshev degree: got {len(self.degree)} degrees for {len(self.axes)} axes; expected one for each.")

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def is_series(self) -> bool:
        return True

    @property
    def needs_frame(self) -> bool:
        return not self.axes

    def fitted(self, frame: Frame, outputs: int) -> "Chebyshev":
        return self if self.axes else Chebyshev(self.degree, self.axes_on(frame))

    def axes_on(self, frame: Frame) -> tuple[AbstractAxis, ...]:
        """The axes of a series on this frame."""
        return tuple(axis_on(frame, index) for index in range(len(frame.low)))

    def with_degree(self, degree: Sequence[int]) -> "Chebyshev":
        """The same series with these degrees."""
        return Chebyshev(tuple(degree), self.axes)

    def on(self, axes: Sequence[AbstractAxis]) -> "Chebyshev":
        """The same series on other axes."""
        return Chebyshev(self.degree, axes)

    def degrees(self, inputs: int) -> tuple[int, ...]:
        """The degree on each axis."""
        if isinstance(self.degree, tuple):
            return self.degree
        return (FIRST.get(inputs, 4) if self.degree is None else self.degree,) * inputs

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Series":
        axes = self.axes or (Segment(-1.0, 1.0),) * inputs
        degrees = self.degrees(inputs)
        if len(axes) != inputs or len(degrees) != inputs:
            raise ValueError(
                f"{type(self).__name__}: got {len(degrees)} degrees and {len(axes)} axes; expected {inputs}, one for each input."
            )
        count = count_of(degrees, axes)
        if count > MOST_COEFFICIENTS:
            raise ValueError(
                f"{type(self).__name__} degree: {degrees} on {inputs} axes needs {count:,} coefficients; expected at most "
                f"{MOST_COEFFICIENTS:,}. Give a lower degree, or a network: fr.MLP(), fr.RandomFeatures(...)."
            )
        return Series(jnp.zeros((outputs, count)), axes, degrees)


class Fourier(Chebyshev):
    """A series that is periodic on the axes in `periodic`, with the width of the frame as its period: sines and cosines there, Chebyshev
    polynomials on the others.

    Args:
        degree (int or list): the degree on each axis; None: grows until the series is resolved.
        axes (axes): how each coordinate becomes a variable in [-1, 1]; empty: from the equation; default: ().
        periodic (list): the periodic axes, counted from 0; None: all.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Fourier(16).periodic is None  # every axis
        True

    See also:
        `Chebyshev`, `Periodic`.
    """

    periodic: tuple[int, ...] | None = None  # the periodic axes, counted from 0; None: all

    def __init__(self, degree: int | Sequence[int] | None = None, axes: Sequence[AbstractAxis] = (), periodic: Sequence[int] | None = None):
        super().__init__(degree, axes)
        counted = () if periodic is None else sequence("Fourier periodic", periodic)
        self.periodic = None if periodic is None else tuple(positive_integer("Fourier periodic", one, least=0) for one in counted)

    def fitted(self, frame: Frame, outputs: int) -> "Fourier":
        return self if self.axes else Fourier(self.degree, self.axes_on(frame), self.periodic)

    def axes_on(self, frame: Frame) -> tuple[AbstractAxis, ...]:
        own = range(len(frame.low)) if self.periodic is None else self.periodic
        found = list(super().axes_on(frame))
        for index in own:
            if frame.below[index] or frame.above[index]:
                raise ValueError(f"Fourier: axis {index} has no end in this equation; expected a period, a bounded axis. Use Chebyshev().")
            found[index] = Loop(frame.domain_low[index], frame.domain_high[index])
        return tuple(found)

    def with_degree(self, degree: Sequence[int]) -> "Fourier":
        return Fourier(tuple(degree), self.axes, self.periodic)

    def on(self, axes: Sequence[AbstractAxis]) -> "Fourier":
        return Fourier(self.degree, axes, self.periodic)


def axis_on(frame: Frame, index: int) -> AbstractAxis:
    """The axis of a series on a frame: a segment, a half-line or the line."""
    low, high = frame.low[index], frame.high[index]
    width = high - low or 1.0
    if frame.below[index] and frame.above[index]:
        return WholeLine(0.5 * (low + high), 0.5 * width)
    if frame.above[index]:
        return Ray(low, width / 2)
    if frame.below[index]:
        return Ray(high, width / 2, to_the_right=False)
    return Segment(low, low + width)


def orders_of(degrees: Sequence[int], axes: Sequence[AbstractAxis]) -> list[np.ndarray]:
    """The degree of each function, on each axis."""
    return [axis.orders(degree) for degree, axis in zip(degrees, axes, strict=True)]


def sizes_of(degrees: Sequence[int], axes: Sequence[AbstractAxis]) -> tuple[int, ...]:
    """The number of functions on each axis."""
    return tuple(map(len, orders_of(degrees, axes)))


def count_of(degrees: Sequence[int], axes: Sequence[AbstractAxis]) -> int:
    """The number of coefficients of one output."""
    if len(axes) <= TENSOR_AXES:
        return math.prod(sizes_of(degrees, axes))
    return len(kept_products(orders_of(degrees, axes)))


def kept_products(orders: Sequence[np.ndarray]) -> np.ndarray:
    """The functions on each axis of every product that a series in many dimensions keeps: (p, d)."""
    rows: list[tuple[int, ...]] = []

    def grow(row: tuple[int, ...], left: float) -> None:
        if len(row) == len(orders):
            rows.append(row)
            return
        own = orders[len(row)]
        for function, order in enumerate(own):
            share = order / max(own.max(), 1)
            if len(rows) > MOST_COEFFICIENTS:
                break
            if share <= left + 1e-12:
                grow((*row, function), left - share)

    grow((), 1.0)
    return np.array(rows, int).reshape(len(rows), len(orders))


class Series(eqx.Module):
    """A series with its coefficients."""

    coefficients: Float[Array, "m p"]
    axes: tuple[AbstractAxis, ...] = eqx.field(static=True)
    degrees: tuple[int, ...] = eqx.field(static=True)

    def functions(self, x: Float[Array, "d"]) -> list[Float[Array, "_"]]:
        """The values of the functions of each axis."""
        return [axis.functions(coordinate, degree) for axis, degree, coordinate in zip(self.axes, self.degrees, x, strict=True)]

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        values = self.functions(x)
        if len(values) <= TENSOR_AXES:
            result = self.coefficients.reshape(-1, *sizes_of(self.degrees, self.axes))
            for value in reversed(values):
                result = result @ value
            return result
        products = jnp.asarray(kept_products(orders_of(self.degrees, self.axes)))
        product = values[0][products[:, 0]]
        for index, value in enumerate(values[1:], start=1):
            product = product * value[products[:, index]]
        return self.coefficients @ product

    def tails(self) -> list[float]:
        """For each axis the size of the coefficients in its last twelfth, as a share of the largest."""
        c = np.abs(np.asarray(self.coefficients))
        largest = max(float(c.max()), np.finfo(float).tiny)
        return [float(c[:, own].max(initial=0.0)) / largest for own in self._last()]

    def last(self, before: int = 0) -> "Series":
        """The part of the series with the coefficients in the last twelfth of any axis, or with `before=1` in the twelfth before that: they
        show what is left out."""
        kept = np.any(self._last(before), axis=0)
        return Series(jnp.where(kept, self.coefficients, 0.0), self.axes, self.degrees)

    def spectrum(self) -> np.ndarray:
        """The largest coefficient of each degree, from 0 on: the largest degree of a product of functions is its degree."""
        order = self.orders()
        largest = np.max(np.abs(np.asarray(self.coefficients)), axis=0)
        highest = order.max(axis=1, initial=0)
        return np.array([largest[highest == degree].max(initial=0.0) for degree in range(int(highest.max()) + 1)])

    def products(self) -> np.ndarray:
        """The functions on each axis of every product, (p, d)."""
        sizes = sizes_of(self.degrees, self.axes)
        is_tensor = len(sizes) <= TENSOR_AXES
        return np.array(list(itertools.product(*map(range, sizes)))) if is_tensor else kept_products(orders_of(self.degrees, self.axes))

    def orders(self) -> np.ndarray:
        """The degree on each axis of every product, (p, d)."""
        own = zip(orders_of(self.degrees, self.axes), self.products().T, strict=True)
        return np.stack([orders[functions] for orders, functions in own], axis=1)

    def labels(self) -> list[tuple[tuple[int, int], ...]]:
        """For every product, the degree on each axis and which function of that degree it is: the same in a longer series."""
        own = []
        for orders in orders_of(self.degrees, self.axes):
            seen: dict[int, int] = {}
            found = []
            for order in orders.tolist():
                found.append((order, seen.get(order, 0)))
                seen[order] = seen.get(order, 0) + 1
            own.append(found)
        return [tuple(labels[function] for labels, function in zip(own, row, strict=True)) for row in self.products().tolist()]

    def _last(self, before: int = 0) -> list[np.ndarray]:
        """For each axis, which products are in its last twelfth. At least two of its degrees: of an odd u every other one is 0."""
        found = []
        for order in self.orders().T:
            count = int(order.max(initial=0)) + 1
            width = max(2, count // 12)
            found.append((order >= count - (1 + before) * width) & (order < count - before * width))
        return found
