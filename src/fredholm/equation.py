"""The equation: what the user writes, for one point at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.checks import positive_integer, real
from fredholm.domains import AbstractDomain, Law, Point
from fredholm.metrics import AbstractEvaluation, Evaluation
from fredholm.networks import Field
from fredholm.rules import AbstractRule


class Integral(eqx.Module):
    r"""$\int g[u](x, t)\,d\mu(t\,|\,x)$."""

    over: Any  # the measure mu: a domain, or a function of x that returns one
    g: Callable[..., Any]  # g(u, x, t): the integrand at one point t, of shape () or (e,)
    rule: AbstractRule | None  # overrides the solver's rule for this integral
    at: Callable[..., Any] | None  # at(x, t): the network's input that belongs to the node t, where that is not t itself

    def __init__(self, over: Any, g: Callable[..., Any], rule: AbstractRule | None = None, *, at: Callable[..., Any] | None = None):
        if not isinstance(over, AbstractDomain) and not callable(over):
            raise ValueError(f"Integral over: got {over!r}; expected a domain, or a function of x that returns one.")
        if not callable(g):
            raise ValueError(f"Integral g: got {g!r}; expected a function g(u, x, t).")
        if rule is not None and not isinstance(rule, AbstractRule):
            raise ValueError(f"Integral rule: got {rule!r}; expected a rule, for instance MonteCarlo(8).")
        if isinstance(over, AbstractDomain) and not float(over.mass) > 0:
            raise ValueError(f"Integral over: {over!r} is empty, its measure is 0; expected limits with low < high.")
        self.over, self.g, self.rule, self.at = over, g, rule, at

    def measure(self, x: Any) -> AbstractDomain:
        """The measure at this x."""
        domain = self.over if isinstance(self.over, AbstractDomain) else self.over(x)
        if not isinstance(domain, AbstractDomain):
            raise ValueError(f"Integral over: at one x it returned {domain!r}; expected a domain, for instance Interval(0.0, x[0]).")
        return domain

    def integrand(self, u: Field, x: Any, t: Any) -> Float[Array, "e"]:
        """g at one node, as a vector over the equations."""
        return as_vector("g", self.g(u, x, t))

    def network_input(self, x: Any, t: Any) -> Any:
        """Where the network is looked at for this node."""
        return t if self.at is None else self.at(x, t)


class Condition(eqx.Module):
    r"""$w\,\mathbb{E}_{x}\left[(B[u](x) - b(x))^2\right]$: an initial, boundary or any other pointwise condition."""

    at: AbstractDomain  # where the condition holds: a Point, or a domain whose points are drawn anew every step
    value: Any  # b(x): a function of the point, or a number
    of: Callable[..., Any]  # B[u](x), the value of u unless given: of=lambda u, x: fr.derivative(u, x) for a slope
    weight: float  # w
    batch: int | None  # points a step; None: one for a Point, else as many as the equation has

    def __init__(
        self,
        at: AbstractDomain,
        value: Any,
        of: Callable[..., Any] = lambda u, x: u(x),
        weight: float = 1.0,
        batch: int | None = None,
    ):
        if not isinstance(at, AbstractDomain):
            raise ValueError(f"Condition at: got {at!r}; expected a domain, for instance Point(0.0).")
        self.at, self.value, self.of = at, value, of
        self.weight = real("Condition weight", weight, low=0.0)
        self.batch = None if batch is None else positive_integer("Condition batch", batch)

    def points(self, batch: int, key: Key[Array, ""]) -> Any:
        """The points of one step, stacked."""
        n = 1 if isinstance(self.at, Point) else self.batch or batch
        return jax.vmap(self.at.sample)(jax.random.split(key, n))

    def error(self, u: Field, x: Any) -> Float[Array, "e"]:
        """B[u](x) − b(x) at one point."""
        return as_vector("of", self.of(u, x)) - as_vector("value", _call(self.value, x))


class Defaults(eqx.Module):
    """What `solve` uses where the caller says nothing; `None` leaves it to the general recipe."""

    method: Any = None
    rule: AbstractRule | None = None
    network: Any = None
    optimizer: Any = None
    steps: int | None = None
    batch: int | None = None
    average: float | None = None  # see solve; None: the last fiftieth of the run, at most 0.999; 0: the answer is the network itself


class Equation(eqx.Module):
    r"""An integro-differential equation, given by its residual at one x,

    $$r(x) = f[u](x) - \sum_k \int g_k[u](x, t)\,d\mu_k(t\,|\,x) - y(x),$$

    or, without f, in weak form, $r(x) = \sum_k \int g_k[u](x, t)\,d\mu_k(t\,|\,x) - y(x)$.

    `u` is the unknown function: one point of shape (d,) in, one value out, of shape () for one output and (m,) for more. `f`, `g` and `y`
    return shape () for one equation, (e,) for e of them.
    """

    domain: AbstractDomain  # the law of x: every measure is normalised
    f: Callable[..., Any] | None  # f(u, x)
    integrals: tuple[Integral, ...]
    y: Any  # y(x), or a number
    conditions: tuple[Condition, ...]
    exact: Callable[..., Any] | None  # the true solution at one point, if it is known
    evaluation: AbstractEvaluation | None  # where and how a solution is scored against `exact`
    inputs: int  # d, the size of the network's input
    outputs: int  # m, the number of unknown functions
    unknowns: dict[str, float]  # learned scalars and their first values, read as u.name
    defaults: Defaults

    def __init__(
        self,
        domain: AbstractDomain,
        f: Callable[..., Any] | None = None,
        integrals: Integral | Sequence[Integral] = (),
        y: Any = 0,
        conditions: Condition | Sequence[Condition] = (),
        exact: Callable[..., Any] | None = None,
        evaluation: AbstractEvaluation | None = None,
        inputs: int | None = None,
        outputs: int = 1,
        unknowns: Mapping[str, float] | None = None,
        *,
        defaults: Defaults | None = None,
    ):
        if not isinstance(domain, AbstractDomain):
            raise ValueError(f"Equation domain: got {domain!r}; expected a domain, for instance Interval(0.0, 1.0).")
        if not float(domain.mass) > 0:
            raise ValueError(f"Equation domain: {domain!r} is empty, its measure is 0; expected limits with low < high.")
        self.domain, self.f, self.y, self.exact = domain, f, y, exact
        self.integrals = _tuple("integrals", integrals, Integral)
        self.conditions = _tuple("conditions", conditions, Condition)
        if f is None and not self.integrals:
            raise ValueError("Equation: got neither f nor integrals; expected at least one of them.")
        if inputs is None and isinstance(domain, Law):
            raise ValueError("Equation: x is a Law, not a point; give inputs=, the size of the network's input.")
        self.inputs = domain.dimension if inputs is None else positive_integer("Equation inputs", inputs)
        self.outputs = positive_integer("Equation outputs", outputs)
        self.unknowns = {name: real(f"Equation unknowns[{name!r}]", value) for name, value in (unknowns or {}).items()}
        self.evaluation = evaluation or (None if isinstance(domain, Law) else Evaluation(at=domain))
        self.defaults = defaults or Defaults()

    @property
    def sign(self) -> float:
        """The sign of the integrals in f − Σ∫ − y: minus, and plus in the weak form."""
        return 1.0 if self.f is None else -1.0

    def left(self, u: Field, x: Any) -> Float[Array, "e"]:
        """What the residual holds besides the integrals: f[u](x) − y(x)."""
        known = -as_vector("y", _call(self.y, x))
        return known if self.f is None else as_vector("f", self.f(u, x)) + known

    def truth(self, points: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """The exact solution at points, stacked."""
        if self.exact is None:
            raise ValueError("this equation has no exact solution: give Equation(exact=...) to compare with one.")
        return _at_points(self.exact, points)

    def recipe(self) -> dict[str, Any] | None:
        """The arguments that make this equation again, for a problem of the library; None for the user's own."""
        return None

    def realize(self, key: Key[Array, ""]) -> "Equation":
        """The equation of one seed: itself, unless the problem draws parameters per seed."""
        return self

    @property
    def is_drawn(self) -> bool:
        """True where every seed has an equation of its own."""
        return False


@eqx.filter_jit
def _at_points(exact: Callable[..., Any], points: Float[Array, "n d"]) -> Float[Array, "n m"]:
    return jax.vmap(lambda x: as_vector("exact", exact(x)))(points)


def as_vector(name: str, value: Any) -> Float[Array, "e"]:
    """A user's number, () or (e,), as (e,)."""
    value = jnp.asarray(value)
    if value.ndim > 1:
        raise ValueError(f"{name}: it returned shape {value.shape}; expected () for one equation or (e,) for e of them.")
    return jnp.atleast_1d(value).astype(jnp.result_type(float))


def _call(value: Any, x: Any) -> Any:
    return value(x) if callable(value) else value


def _tuple(name: str, value: Any, kind: type) -> tuple:
    items = (value,) if isinstance(value, kind) else tuple(value)
    for item in items:
        if not isinstance(item, kind):
            raise ValueError(f"Equation {name}: got {item!r}; expected {kind.__name__} objects.")
    return items
