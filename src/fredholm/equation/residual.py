"""One residual: f, integrals and y at one x. The equation is a residual, and so is each of its conditions."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import instance, is_concrete, numbers, shortened
from fredholm.domains.base import AbstractDomain, Place, Record
from fredholm.domains.combined import Point
from fredholm.equation.translation import AbstractTranslation, Value
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule


class Integral(eqx.Module):
    r"""$\int g[u](x, t)\,d\mu(t\,|\,x)$.

    Args:
        over (domain or function): the measure mu: a domain, or a function of x that returns one.
        g (function): g(u, x, t): the integrand at one point t, of shape () or (e,).
        rule (rule): overrides the solver's rule for this integral; default: None.
        at (function): at(x, t): the network's input at the node t; None: t itself.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import jax.numpy as jnp
        >>> import fredholm as fr
        >>> memory = fr.Integral(over=lambda x: fr.Interval(0.0, x[0]), g=lambda u, x, t: jnp.exp(t[0] - x[0]) * u(t))

    See also:
        `Equation`, `IntegralCondition`, `MonteCarlo`, `Gauss`.
    """

    over: AbstractDomain | Callable[..., Any]  # the measure mu: a domain, or a function of x that returns one
    g: Callable[..., Any]  # g(u, x, t): the integrand at one point t, of shape () or (e,)
    rule: AbstractRule | None  # overrides the solver's rule for this integral
    at: Callable[..., Any] | None  # at(x, t): the network's input at the node t; None: t itself

    def __init__(
        self,
        over: AbstractDomain | Callable[..., Any],
        g: Callable[..., Any],
        rule: AbstractRule | None = None,
        *,
        at: Callable[..., Any] | None = None,
    ):
        if not isinstance(over, AbstractDomain) and not callable(over):
            raise ValueError(f"Integral over: got {over!r}; expected a domain, or a function of x that returns one.")
        if not callable(g):
            raise ValueError(f"Integral g: got {g!r}; expected a function g(u, x, t).")
        if rule is not None:
            instance("Integral rule", rule, AbstractRule, "MonteCarlo(8)")
        if at is not None and not callable(at):
            raise ValueError(f"Integral at: got {at!r}; expected a function at(x, t).")
        if isinstance(over, AbstractDomain) and not abs(float(over.mass)) > 0:
            raise ValueError(f"Integral over: {over!r} is empty, its measure is 0; expected limits with low < high.")
        self.over, self.g, self.rule, self.at = over, g, rule, at

    def measure(self, x: Place) -> AbstractDomain:
        """The measure at this x."""
        domain = self.over if isinstance(self.over, AbstractDomain) else self.over(x)
        if not isinstance(domain, AbstractDomain):
            raise ValueError(f"Integral over: at one x it returned {domain!r}; expected a domain, for instance Interval(0.0, x[0]).")
        return domain

    def integrand(self, u: Function, x: Place, t: Place) -> Float[Array, "e"]:
        """g at one node, as a vector over the equations."""
        return as_vector("g", self.g(u, x, t))

    def network_input(self, x: Place, t: Place) -> Any:
        """Where the network is evaluated for this node."""
        return t if self.at is None else self.at(x, t)

    def translated(self, by: AbstractTranslation) -> "Integral":
        """The same integral of a translated equation."""
        over, at = self.over, self.at

        def place(x: Place, t: Place) -> Any:
            return by.place(x, t if at is None else by.called(at, x, t))

        measure = over if isinstance(over, AbstractDomain) else lambda x: by.called(over, x)
        return Integral(measure, by.function(self.g), self.rule, at=place)


class AbstractResidual(eqx.Module):
    r"""$r(x) = f[u](x) - \sum_k \int g_k[u](x, t)\,d\mu_k(t\,|\,x) - y(x)$, or in weak form, without f, $r(x) = \sum_k \int g_k - y(x)$.

    An `Equation` is a residual, and so is each of its conditions. A method handles the integrals of both.
    """

    integrals: eqx.AbstractVar[tuple[Integral, ...]]

    @property
    @abstractmethod
    def law(self) -> AbstractDomain:
        """Where x is drawn."""

    @property
    @abstractmethod
    def is_weak(self) -> bool:
        """True where there is no f: nothing but integrals depends on u."""

    @abstractmethod
    def local_residual(self, u: Function, x: Place) -> Float[Array, "e"]:
        """The residual without its integrals: f[u](x) − y(x)."""

    @property
    def sign(self) -> float:
        """The sign of the integrals in f − Σ∫ − y: minus, and plus in the weak form."""
        return 1.0 if self.is_weak else -1.0


def network_point(x: Place) -> Any:
    """Where the network is evaluated for x: x itself, or its part named `point`; None where a record has none."""
    return vars(x).get("point") if isinstance(x, Record) else x


def as_vector(name: str, value: object) -> Float[Array, "e"]:
    """A user's number, () or (e,), as (e,)."""
    if value is None or isinstance(value, (str, dict)):
        raise ValueError(f"{name}: it returned {shortened(value)}; expected a number. Is there a return?")
    array = jnp.asarray(value)
    if array.ndim > 1:
        raise ValueError(f"{name}: it returned shape {array.shape}; expected () for one equation or (e,) for e of them.")
    if jnp.issubdtype(array.dtype, jnp.bool_):
        raise ValueError(f"{name}: it returned True or False; expected a number: jnp.where(condition, 1.0, 0.0).")
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise ValueError(f"{name}: it returned complex numbers; expected real ones. Give Equation(is_complex=True).")
    return jnp.atleast_1d(array).astype(jnp.result_type(float))


def minus(first: str, left: object, second: str, right: object) -> Float[Array, "e"]:
    """a − b of two of the user's numbers; b may be one number for all equations, but must not have more entries than a."""
    a, b = as_vector(first, left), as_vector(second, right)
    if b.shape not in ((1,), a.shape):
        raise ValueError(
            f"{second}: it returned {b.shape[0]} values where {first} has {a.shape[0]}; expected as many, or one for all. "
            "x is a point of shape (d,), also for d = 1: a number is x[0], not x."
        )
    return a - b


def checked_value(name: str, value: Value) -> Value:
    """A function of x, or finite numbers, () or (e,)."""
    if callable(value):
        return value
    known = np.asarray(value) if isinstance(value, complex) else numbers(name, value)
    if known.ndim > 1 or (is_concrete(known) and not np.all(np.isfinite(np.asarray(known)))):
        raise ValueError(f"{name}: got {shortened(value)}; expected a function of x, or a finite number.")
    return value


def call(value: Value, x: Place) -> object:
    """A user's function of x, or a number that holds at every x."""
    return value(x) if callable(value) else value


class AbstractCondition(AbstractResidual):
    r"""$w\,\mathbb{E}_{x}\left[r(x)^2\right]$: a further residual, with a weight."""

    weight: eqx.AbstractVar[float]  # w
    batch: eqx.AbstractVar[int | None]  # points a step; None: as many as make sense

    @property
    def is_weak(self) -> bool:
        return False

    def translated(self, by: AbstractTranslation) -> "AbstractCondition":
        """The same condition of a translated equation: of a family, or of a complex u."""
        raise ValueError(
            f"Equation conditions: got {type(self).__name__} with parameters= or is_complex=; expected conditions that say how they are "
            "translated. Give it a method translated(by), as fr.Condition has, or write it as a Condition."
        )

    def points(self, batch: int, rules: Sequence[AbstractRule], key: Key[Array, ""]) -> Any:
        """The points of one step, stacked; `rules` are those of the condition's integrals, `batch` is the equation's."""
        # At a single point without random nodes, all copies would be equal.
        once = isinstance(self.law, Point) and not any(rule.is_random for rule in rules)
        n = 1 if once else self.batch or batch
        return jax.vmap(self.law.sample)(jax.random.split(key, n))
