"""Conditions besides the equation: at points, between faces, on data and on integrals."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import Numbers, instance, is_concrete, numbers, positive_integer, real, rows
from fredholm.domains.base import AbstractDistribution, AbstractDomain, Base, Place, Record
from fredholm.domains.combined import Point
from fredholm.domains.offline import Offline
from fredholm.equation.operators import derivative
from fredholm.equation.residual import AbstractCondition, Integral, Value, as_vector, call, checked_value, minus
from fredholm.equation.translation import AbstractTranslation
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule


def _value(u: Function, x: Place) -> Array:
    return u(x)


class Condition(AbstractCondition):
    r"""$w\,\mathbb{E}_{x}\left[\big(B[u](x) - \sum_k \int g_k[u](x, t)\,d\mu_k(t\,|\,x) - b(x)\big)^2\right]$, at a start, a boundary...

    Integrals are seldom needed. In a population the births at time t are a sum over the ages of all parents,
    $u(0, t) = \int b(a)\,u(a, t)\,da$.

    With `exact=True` it is built into u and holds to rounding, whatever the network is: `BuiltIn` has the formula, and says what can be
    built in. A series has conditions as rows of its linear system in any case.

    Args:
        at (domain): where the condition holds: a Point, or a domain whose points are drawn anew every step.
        value (function or number): b(x): a function of the point, or a number.
        of (function): B[u](x), default: the value of u; of=lambda u, x: fr.derivative(u, x) for a slope.
        weight (float): w; default: 1.0.
        batch (int): points a step; None: one for a Point, else as many as the equation has.
        exact (bool): True to build it into u; default: False.
        integrals (Integral or sequence): with g_k and μ_k, as in an equation; default: none.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> start = fr.Condition(at=fr.Point(0.0), value=1.0)
        >>> slope = fr.Condition(at=fr.Point(0.0), value=0.0, of=lambda u, x: fr.derivative(u, x))
        >>> ages, times = fr.Interval(0.0, 1.0), fr.Interval(0.0, 2.0)
        >>> births = fr.Integral(ages, lambda u, x, a: 0.7 * u(jnp.stack([a[0], x[1]])))
        >>> renewed = fr.Condition(fr.Product(fr.Point(0.0), times), value=0.0, integrals=births)

    See also:
        `Periodic`, `Data`, `IntegralCondition`, `BuiltIn`, `Constrained`.
    """

    at: AbstractDomain  # where the condition holds: a Point, or a domain whose points are drawn anew every step
    value: Value  # b(x): a function of the point, or a number
    of: Callable[..., Any]  # B[u](x), default: the value of u; of=lambda u, x: fr.derivative(u, x) for a slope
    weight: float  # w
    batch: int | None  # points a step; None: one for a Point, else as many as the equation has
    integrals: tuple[Integral, ...]  # with g_k and μ_k, as in an equation
    exact: bool = False  # built into u, so that it holds whatever the network is; see BuiltIn

    def __init__(
        self,
        at: AbstractDomain,
        value: Value,
        of: Callable[..., Any] = _value,
        weight: float = 1.0,
        batch: int | None = None,
        exact: bool = False,
        integrals: Integral | Sequence[Integral] = (),
    ):
        self.exact, self.integrals = instance("Condition exact", exact, bool, "True"), _integrals("Condition integrals", integrals)
        if self.exact and self.integrals:
            raise ValueError(
                "Condition exact: got True for a condition with integrals; only values and slopes can be built in. Leave it out."
            )
        self.at, self.value, self.of = _domain("Condition at", at), checked_value("Condition value", value), _function("Condition of", of)
        self.weight, self.batch = _weight_and_batch("Condition", weight, batch)

    @property
    def law(self) -> AbstractDomain:
        return self.at

    def local_residual(self, u: Function, x: Place) -> Float[Array, "e"]:
        return minus("of", self.of(u, x), "value", call(self.value, x))

    def translated(self, by: AbstractTranslation) -> "Condition":
        parts = (by.law(self.at), by.value(self.value), by.function(self.of), tuple(one.translated(by) for one in self.integrals))
        return eqx.tree_at(lambda c: (c.at, c.value, c.of, c.integrals), self, parts)


class Periodic(AbstractCondition):
    r"""$w\,\mathbb{E}_{z}\left[\sum_{k=0}^{K} \big(\partial_a^k B[u](p(z)) - \partial_a^k B[u](q(z))\big)^2\right]$: the same at two faces.

    `Periodic(at=Point(0.0), to=Point(1.0))` on the line; in more dimensions faces of the same shape, whose points p(z) and q(z) belong
    together: `Periodic(at=Product(Point(0.0), Interval(0.0, 1.0)), to=Product(Point(1.0), Interval(0.0, 1.0)), order=1, axis=0)`.

    Args:
        at (domain): p: one face.
        to (domain): q: the other, of the same shape.
        order (int): K: 0 for the values only, 1 for the slopes too; default: 0.
        axis (int): a, the coordinate along which the slopes are taken; default: 0.
        of (function): B[u](x), default: the value of u.
        weight (float): w; default: 1.0.
        batch (int): points a step; None: one for a Point, else as many as the equation has.
        exact (bool): True to build it into u, which is then periodic with all its derivatives; default: False.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> ring = fr.Periodic(at=fr.Point(0.0), to=fr.Point(1.0), order=1)

    See also:
        `Condition`, `Fourier`.
    """

    at: AbstractDomain  # p: one face
    to: AbstractDomain  # q: the other, of the same shape
    order: int  # K: 0 for the values only, 1 for the slopes too, ...
    axis: int  # a, the coordinate along which the slopes are taken
    of: Callable[..., Any]  # B[u](x), default: the value of u
    weight: float  # w
    batch: int | None  # points a step; None: one for a Point, else as many as the equation has
    integrals: tuple[Integral, ...] = ()
    exact: bool = False  # built into u, which is then periodic with all its derivatives

    def __init__(
        self,
        at: AbstractDomain,
        to: AbstractDomain,
        order: int = 0,
        axis: int = 0,
        of: Callable[..., Any] = _value,
        weight: float = 1.0,
        batch: int | None = None,
        exact: bool = False,
    ):
        self.exact = instance("Periodic exact", exact, bool, "True")
        self.at, self.to = _domain("Periodic at", at), _domain("Periodic to", to)
        if type(at) is not type(to) or at.bases != to.bases or at.dimension != to.dimension:
            raise ValueError(f"Periodic: got {at!r} and {to!r}; expected two faces of the same shape, for instance two Points.")
        self.order, self.axis, self.of = positive_integer("Periodic order", order, least=0), axis, _function("Periodic of", of)
        if not -at.dimension <= axis < at.dimension:
            raise ValueError(f"Periodic axis: got {axis}; expected 0 to {at.dimension - 1}, a coordinate of the faces.")
        self.weight, self.batch = _weight_and_batch("Periodic", weight, batch)

    @property
    def law(self) -> AbstractDomain:
        return self.at if isinstance(self.at, Point) else Faces(self.at, self.to)

    def local_residual(self, u: Function, x: Place) -> Float[Array, "e"]:
        p, q = (x.at, x.to) if isinstance(x, Record) else (x, self.to.map(jnp.zeros(0))[0])
        return self._jet(u, p) - self._jet(u, q)

    def translated(self, by: AbstractTranslation) -> "Periodic":
        parts = (by.law(self.at), by.law(self.to), self.axis % self.at.dimension, by.function(self.of))
        return eqx.tree_at(lambda c: (c.at, c.to, c.axis, c.of), self, parts)

    @property
    def is_of_u(self) -> bool:
        """True where u itself is periodic."""
        return self.of is _value

    def _jet(self, u: Function, x: Float[Array, "d"]) -> Float[Array, "e"]:
        """B[u] and its derivatives at one point."""

        def of(point: Float[Array, "d"]) -> Any:
            return self.of(u, point)

        values = [of(x), *(derivative(of, x, self.axis, k) for k in range(1, self.order + 1))]
        return jnp.concatenate([as_vector("of", value) for value in values])


class Faces(AbstractDistribution):
    """Two faces of the same shape: x.at and x.to are the images of the same base node."""

    at: AbstractDomain
    to: AbstractDomain

    @property
    def dimension(self) -> int:
        return self.at.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return self.at.bases

    def map(self, z: Float[Array, "k"]) -> tuple[Record, Float[Array, ""]]:
        return Record(at=self.at.map(z)[0], to=self.to.map(z)[0]), jnp.ones(())


class Data(AbstractCondition):
    r"""$\frac{w}{n}\sum_i (B[u](x_i) - b_i)^2$: a fit to observations $b_i$ at points $x_i$.

    With `sigma`, the standard deviations $\sigma_i$ of the observations, each counts by $\bar\sigma^2/\sigma_i^2$, where
    $1/\bar\sigma^2$ is the mean of $1/\sigma_i^2$: exact observations count more, and one number for all of them changes nothing.

    Args:
        points (array): x_i.
        values (array): b_i, of shape (n,), or (n, e); default: None.
        of (function): B[u](x), the observed quantity, default: the value of u.
        weight (float): w; default: 1.0.
        batch (int): rows a step, drawn at random; None: all of them.
        sigma (number or array): σ: of shape (n,), or (n, e) for e numbers at each point; None: not known.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> observed = fr.Data(points=[[0.5], [1.0]], values=[0.7, 0.6], sigma=0.01)

    See also:
        `Condition`, `Equation`.
    """

    observed: Offline  # the rows x_i, b_i, and with sigma the share of each residual
    of: Callable[..., Any]  # B[u](x), the observed quantity, default: the value of u
    weight: float  # w
    batch: int | None  # rows a step, drawn at random; None: all of them
    sigma: np.ndarray | None  # σ: of shape (n,), or (n, e) for e numbers at each point; None: not known
    integrals: tuple[Integral, ...] = ()

    def __init__(
        self,
        points: Numbers,
        values: Numbers | None = None,
        of: Callable[..., Any] = _value,
        weight: float = 1.0,
        batch: int | None = None,
        sigma: Numbers | None = None,
    ):
        if values is None:
            raise ValueError("Data: got no values; expected the observed numbers, Data(points, values).")
        given, points = numbers("Data values", values), rows("Data points", points)
        if given.ndim not in (1, 2):
            raise ValueError(f"Data values: got shape {given.shape}; expected (n,), or (n, e) for e numbers at each point.")
        if len(given) != len(points):
            raise ValueError(f"Data: got {len(points)} points and {len(given)} values; expected as many of each.")
        if is_concrete(given) and not np.all(np.isfinite(np.asarray(given))):
            raise ValueError("Data values: got a number that is not finite; leave out what was not observed.")
        self.sigma = None if sigma is None else _deviations(sigma, given.shape)
        share = {} if self.sigma is None else {"share": 1 / (self.sigma * np.sqrt(np.mean(1 / self.sigma**2)))}
        self.observed, self.of = Offline(point=points, value=given, **share), _function("Data of", of)
        self.weight, self.batch = _weight_and_batch("Data", weight, batch)

    @property
    def law(self) -> AbstractDomain:
        return self.observed

    @property
    def is_of_u(self) -> bool:
        """True where u itself was observed."""
        return self.of is _value

    def points(self, batch: int, rules: Sequence[AbstractRule], key: Key[Array, ""]) -> Any:
        if self.batch is not None:
            return super().points(batch, rules, key)
        return Record(**{name: jnp.asarray(column, float) for name, column in self.observed.columns.items()})

    def local_residual(self, u: Function, x: Record) -> Float[Array, "e"]:
        off = minus("of", self.of(u, x.point), "values", x.value)
        return off if self.sigma is None else off * x.share

    def translated(self, by: AbstractTranslation) -> "Data":
        """The same data: in a family a point has the parameters after its own coordinates, and complex values have 2m real parts."""
        return self if self.is_of_u else eqx.tree_at(lambda c: c.of, self, by.function(self.of))


class IntegralCondition(AbstractCondition):
    r"""$w\,\mathbb{E}_{x}\left[\big(\sum_k \int g_k[u](x, t)\,d\mu_k(t\,|\,x) - b(x)\big)^2\right]$: a normalisation, a mean, an invariant.

    `IntegralCondition(Integral(Interval(0.0, 1.0), lambda u, x, t: u(t)), value=1.0)` holds once; with `at=Interval(0.0, T)` it holds at
    all times, and x is the time: `g=lambda u, x, t: u(jnp.concatenate([t, x]))`. It is a residual in weak form,
    and its integrals are estimated like those of the equation.

    Args:
        integral (Integral): one integral or several, which are added.
        value (function or number): b(x): a function of x, or a number.
        at (domain): where the condition holds; a space of one point where it holds once; default: None.
        weight (float): w; default: 1.0.
        batch (int): points a step; None: as many as the equation has, or one where nothing in it is random.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> normalised = fr.IntegralCondition(fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)), value=1.0)

    See also:
        `Condition`, `Integral`.
    """

    integrals: tuple[Integral, ...]
    value: Value  # b(x): a function of x, or a number
    at: AbstractDomain  # where the condition holds; a space of one point where it holds once
    weight: float  # w
    batch: int | None  # points a step; None: as many as the equation has, or one where nothing in it is random

    def __init__(
        self,
        integral: Integral | Sequence[Integral],
        value: Value,
        at: AbstractDomain | None = None,
        weight: float = 1.0,
        batch: int | None = None,
    ):
        self.integrals = _integrals("IntegralCondition integral", integral)
        if not self.integrals:
            raise ValueError(f"IntegralCondition integral: got {integral!r}; expected an Integral(over, g), or several.")
        self.value = checked_value("IntegralCondition value", value)
        self.at = Point() if at is None else _domain("IntegralCondition at", at)
        self.weight, self.batch = _weight_and_batch("IntegralCondition", weight, batch)

    @property
    def law(self) -> AbstractDomain:
        return self.at

    @property
    def is_weak(self) -> bool:
        return True

    def local_residual(self, u: Function, x: Place) -> Float[Array, "e"]:
        return -as_vector("value", call(self.value, x))

    def translated(self, by: AbstractTranslation) -> "IntegralCondition":
        parts = (tuple(one.translated(by) for one in self.integrals), by.value(self.value), by.law(self.at))
        return eqx.tree_at(lambda c: (c.integrals, c.value, c.at), self, parts)


def _integrals(name: str, given: Integral | Sequence[Integral]) -> tuple[Integral, ...]:
    """One integral or several."""
    found: tuple[Any, ...] = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if not all(isinstance(one, Integral) for one in found):
        raise ValueError(f"{name}: got {given!r}; expected an Integral(over, g), or several.")
    return found


def _deviations(given: Numbers, shape: tuple[int, ...]) -> np.ndarray:
    """A standard deviation for each observed number."""
    sigma = np.asarray(numbers("Data sigma", given))
    if sigma.ndim == 1 and len(shape) == 2 and sigma.shape == shape[:1]:
        sigma = sigma[:, None]  # one for all numbers at a point
    if sigma.shape not in ((), (shape[0], 1), shape):
        raise ValueError(f"Data sigma: got shape {sigma.shape}; expected one number, or {shape}, one for each of the values.")
    if not np.all(np.isfinite(sigma)) or sigma.min() <= 0:
        raise ValueError(f"Data sigma: got {sigma.min():g}; expected positive, finite numbers, the standard deviations of the values.")
    return np.broadcast_to(sigma, shape).copy()


def _domain(name: str, at: object) -> AbstractDomain:
    if not isinstance(at, AbstractDomain):
        raise ValueError(f"{name}: got {at!r}; expected a domain, for instance Point(0.0).")
    return at


def _function(name: str, of: object) -> Callable[..., Any]:
    if not callable(of):
        raise ValueError(f"{name}: got {of!r}; expected a function of=lambda u, x: ...")
    return of


def _weight_and_batch(name: str, weight: object, batch: object) -> tuple[float, int | None]:
    return real(f"{name} weight", weight, low=0.0), None if batch is None else positive_integer(f"{name} batch", batch)
