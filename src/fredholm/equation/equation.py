"""The equation as the user writes it, for one point at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import instance, positive_integer, real, shortened
from fredholm.common.compiling import filter_compiled
from fredholm.common.keys import Keys
from fredholm.domains.base import AbstractDomain, Place
from fredholm.domains.combined import Law
from fredholm.domains.discrete import Discrete
from fredholm.domains.offline import Offline
from fredholm.equation.complex_valued import ComplexParts
from fredholm.equation.evaluation import AbstractEvaluation, Evaluation
from fredholm.equation.family import Family, Fixed, checked_parameters, checked_values, spread
from fredholm.equation.residual import (
    AbstractCondition,
    AbstractResidual,
    Integral,
    Value,
    as_vector,
    call,
    checked_value,
    minus,
)
from fredholm.equation.translation import AbstractTranslation
from fredholm.equation.view import View
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule

Kind = TypeVar("Kind")
TAKEN = ("network", "unknowns", "inputs", "outputs", "slope")  # names that u has for itself


class Defaults(eqx.Module):
    """The defaults of `solve` for this equation; `None` means the general default.

    Args:
        method (method): a method; default: None.
        rule (rule): a rule; default: None.
        network (network): a network; default: None.
        optimizer (optimiser): an optimiser; default: None.
        steps (int): optimiser steps, 1e4 too; default: None.
        batch (int): points a step; default: None.
        average (float): see solve; None: 0.999; 0: the answer is the network itself.

    Examples:
        >>> import fredholm as fr
        >>> fr.Defaults(steps=2000, batch=200).steps
        2000

    See also:
        `Equation`, `solve`.
    """

    method: Any = None
    rule: AbstractRule | None = None
    network: Any = None
    optimizer: Any = None
    steps: int | float | None = None  # 1e4 too
    batch: int | None = None
    average: float | None = None  # see solve; None: 0.999; 0: the answer is the network itself


class Equation(AbstractResidual):
    r"""An integro-differential equation, given by its residual at one x,

    $$r(x) = f[u](x) - \sum_k \int g_k[u](x, t)\,d\mu_k(t\,|\,x) - y(x),$$

    or, without f, in weak form, $r(x) = \sum_k \int g_k[u](x, t)\,d\mu_k(t\,|\,x) - y(x)$.

    `u` is the unknown function. It takes one point of shape (d,) and returns shape () for one output, (m,) for more. `f`, `g` and `y`
    return shape () for one equation, (e,) for e of them.

    A family has parameters besides x: `parameters={"kappa": Interval(0.5, 2.0)}`. They are inputs of u after those of x, drawn with x, and
    one solve serves all of their values. f, g and `of` read `u.kappa`; functions without u (y, limits, values, exact) take it by its name:

        family = fr.Equation(
            domain=fr.Interval(0.0, 1.0),
            f=lambda u, x: fr.derivative(u, x) + u.kappa * u(x),
            conditions=[fr.Condition(fr.Point(0.0), 1.0)],
            exact=lambda x, kappa: jnp.exp(-kappa * x[0]),
            parameters={"kappa": fr.Interval(0.5, 2.0)},
        )
        solution = fr.solve(family)
        solution(np.linspace(0.0, 1.0, 11), kappa=1.3)
        single = family.at(kappa=1.3)  # one member, an equation of its own

    With `is_complex=True` u is complex, and f, g, y, values and exact may be. `outputs` counts complex functions. The network, data and
    predictions have twice as many numbers: first all real parts, then all imaginary ones.

    Args:
        domain (domain): the law of x: every measure is normalised.
        f (function): f(u, x); default: None.
        integrals (Integral or list): an `Integral`, or several; default: ().
        y (function or number): y(x), or a number; default: 0.
        conditions (condition or list): a condition, or several; default: ().
        exact (function): the true solution at one point, if it is known; default: None.
        evaluation (Evaluation): where and how a solution is scored against `exact`; default: None.
        inputs (int): d, the size of the network's input; default: None.
        outputs (int): m, the number of unknown functions; default: 1.
        unknowns (dict): learned scalars and their first values, read as u.name; default: None.
        defaults (Defaults): the defaults of `solve` for this equation; default: None.
        published (Defaults): the settings of a published run, where there is one; default: None.
        view (View): what pictures show; default: None.
        sigma (float): the standard deviation of the errors of y, where it is measured. A series of an equation of the first kind is
            regularised so that its residual is as large as they are. Default: None, y is exact.
        drawn (function): makes the equation of one seed, where parameters are random; default: None.
        parameters (dict): of a family: the law of each parameter, a domain of one number, by name; default: None.
        is_complex (bool): u is complex; default: False.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> problem = fr.Equation(
        ...     domain=fr.Interval(0.0, 1.0),
        ...     f=lambda u, x: u(x),
        ...     integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 0.5 * x[0] * t[0] * u(t)),
        ...     y=1.0,
        ... )
        >>> problem.inputs, problem.outputs
        (1, 1)

    See also:
        `Integral`, `Condition`, `solve`, `check`.
    """

    domain: AbstractDomain  # the law of x: every measure is normalised
    f: Callable[..., Any] | None  # f(u, x)
    integrals: tuple[Integral, ...]
    y: Value  # y(x), or a number
    conditions: tuple[AbstractCondition, ...]
    exact: Callable[..., Any] | None  # the true solution at one point, if it is known
    evaluation: AbstractEvaluation | None  # where and how a solution is scored against `exact`
    inputs: int  # d, the size of the network's input
    outputs: int  # m, the number of unknown functions
    unknowns: dict[str, float]  # learned scalars and their first values, read as u.name
    defaults: Defaults
    published: Defaults | None  # the settings of a published run, where there is one
    view: View  # what pictures show
    sigma: float | None  # the standard deviation of the errors of y; None: y is exact
    drawn: "Callable[[Equation, Key[Array, '']], Equation] | None"  # makes the equation of one seed, where parameters are random
    parameters: dict[str, AbstractDomain]  # of a family: the laws of the last inputs, by name

    def __init__(
        self,
        domain: AbstractDomain,
        f: Callable[..., Any] | None = None,
        integrals: Integral | Sequence[Integral] = (),
        y: Value = 0,
        conditions: AbstractCondition | Sequence[AbstractCondition] = (),
        exact: Callable[..., Any] | None = None,
        evaluation: AbstractEvaluation | None = None,
        inputs: int | None = None,
        outputs: int = 1,
        unknowns: Mapping[str, float] | None = None,
        *,
        defaults: Defaults | None = None,
        published: Defaults | None = None,
        view: View | None = None,
        sigma: float | None = None,
        drawn: "Callable[[Equation, Key[Array, '']], Equation] | None" = None,
        parameters: Mapping[str, AbstractDomain] | None = None,
        is_complex: bool = False,
    ):
        if not isinstance(domain, AbstractDomain):
            raise ValueError(f"Equation domain: got {domain!r}; expected a domain, for instance Interval(0.0, 1.0).")
        if not float(domain.mass) > 0:
            raise ValueError(f"Equation domain: {domain!r} is empty, its measure is 0; expected limits with low < high.")
        for name, function in (("f", f), ("exact", exact), ("drawn", drawn)):
            if function is not None and not callable(function):
                raise ValueError(f"Equation {name}: got {shortened(function)}; expected a function.")
        self.domain, self.f, self.y, self.exact, self.drawn = domain, f, checked_value("Equation y", y), exact, drawn
        self.integrals = _tuple("integrals", integrals, Integral)
        self.conditions = _tuple("conditions", conditions, AbstractCondition)
        if f is None and not self.integrals:
            raise ValueError("Equation: got neither f nor integrals; expected at least one of them.")
        if inputs is None and isinstance(domain, Law) and "point" not in domain.parts:
            raise ValueError("Equation: x is a Law, not a point; give inputs=, the size of the network's input.")
        self.inputs = domain.dimension if inputs is None else positive_integer("Equation inputs", inputs)
        self.outputs = positive_integer("Equation outputs", outputs)
        self.unknowns = _scalars({} if unknowns is None else unknowns)
        self.evaluation = _evaluation(domain) if evaluation is None else evaluation
        self.defaults, self.published, self.view = Defaults() if defaults is None else defaults, published, View() if view is None else view
        self.sigma = None if sigma is None else real("Equation sigma", sigma, low=0.0) or None
        instance("Equation evaluation", self.evaluation, (AbstractEvaluation, NoneType), "fr.Evaluation(fr.Interval(0.0, 1.0))")
        instance("Equation defaults", self.defaults, Defaults, "fr.Defaults(steps=5000)")
        instance("Equation view", self.view, View, "fr.View(inputs=('x',))")
        for kind, letters, size in (("inputs", self.view.inputs, self.inputs), ("outputs", self.view.outputs, self.outputs)):
            if letters and len(letters) != size:
                raise ValueError(f"View {kind}: got {letters}; expected {size} letters, as the equation has {size} {kind}.")
        if self.view.through and (len(self.view.through) != self.inputs or not 0 <= self.view.output < self.outputs):
            raise ValueError(f"View through, output: expected a point of {self.inputs} inputs and an output below {self.outputs}.")
        self.parameters = checked_parameters({} if parameters is None else parameters)
        _check_names("parameters", self.parameters)
        if both := sorted(self.parameters.keys() & self.unknowns.keys()):
            raise ValueError(f"Equation parameters: got {both} among the unknowns too; expected different names.")
        if self.parameters:
            self._become(Family(self.parameters))
            self.inputs += len(self.parameters)
            middles = {name: float(spread(law, [0.5])[0]) for name, law in self.parameters.items()}
            self.view = self.view.with_inputs(middles, self.inputs - len(middles))
        if instance("Equation is_complex", is_complex, bool, "True"):
            self._become(ComplexParts())
            self.outputs *= 2

    def _become(self, by: AbstractTranslation) -> None:
        """Takes what the user wrote into the form that is trained."""
        for name, part in _translated(self, by).items():
            setattr(self, name, part)

    def at(self, **values: float) -> "Equation":
        """One member of a family, as an equation of its own.

        Args:
            values: a number for every parameter.

        Returns:
            The equation with these parameters: `fr.solve(family.at(kappa=1.3))`.
        """
        if not self.parameters:
            raise ValueError(f"at: got {sorted(values)}; expected none, as this equation has no parameters. Give Equation(parameters=...).")
        count, translated = len(self.parameters), _translated(self, Fixed(checked_values(self.parameters, values)))
        inputs, view = self.inputs - count, self.view.without_inputs(count)
        kept = {"outputs": self.outputs, "unknowns": self.unknowns, "defaults": self.defaults, "published": self.published}
        return Equation(**translated, inputs=inputs, view=view, **kept)

    @property
    def law(self) -> AbstractDomain:
        return self.domain

    @property
    def is_weak(self) -> bool:
        return self.f is None

    def rules(self, rule: AbstractRule) -> tuple[AbstractRule, ...]:
        """The rule of every integral, first of the equation and then of its conditions: the integral's own rule, default: this one."""
        return tuple(integral.rule or rule for residual in (self, *self.conditions) for integral in residual.integrals)

    def with_parts(
        self, integrals: Sequence[Integral], conditions: Sequence[AbstractCondition], domain: AbstractDomain | None = None
    ) -> "Equation":
        """The same equation with other integrals and conditions, and on another domain if one is given."""
        leaves, tree = jax.tree.flatten(self)  # `copy.copy` would stay in a list of Equinox for ever, with the user's functions
        other = jax.tree.unflatten(tree, leaves)
        object.__setattr__(other, "integrals", tuple(integrals))
        object.__setattr__(other, "conditions", tuple(conditions))
        object.__setattr__(other, "domain", domain or self.domain)
        return other

    def local_residual(self, u: Function, x: Place) -> Float[Array, "e"]:
        y = call(self.y, x)
        return -as_vector("y", y) if self.f is None else minus("f", self.f(u, x), "y", y)

    def squared_terms(self, u: Function, x: Place, inside: Float[Array, "_"]) -> Float[Array, ""]:
        """The sum of the squares of f, y and the integrals (`inside`) at one x: the scale that a residual is compared with."""
        y = as_vector("y", call(self.y, x))
        f = self.local_residual(u, x) + y
        return jnp.sum(f**2) + jnp.sum(y**2) + jnp.sum(inside**2)

    def truth(self, points: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """The exact solution at points, stacked."""
        if self.exact is None:
            raise ValueError("this equation has no exact solution: give Equation(exact=...) to compare with one.")
        return _at_points(self.exact, points)

    def as_published(self) -> "Equation":
        """The same equation, with the settings of the published run as its defaults."""
        if self.published is None:
            raise ValueError(f"{type(self).__name__} has no settings of a published run; use its own, solve(problem).")
        return eqx.tree_at(lambda equation: equation.defaults, self, self.published)

    def recipe(self) -> dict[str, Any] | None:
        """The arguments that make this equation again, for a problem of the library; None for the user's own."""
        return None

    def realize(self, key: Key[Array, ""]) -> "Equation":
        """The equation of one seed. It differs from this one only where parameters are random."""
        return self if self.drawn is None else self.drawn(self, key)

    def for_seed(self, seed: int) -> "Equation":
        """The equation that this seed trains on."""
        return self if self.drawn is None else self.realize(Keys.of(seed).problem)

    @property
    def is_drawn(self) -> bool:
        """True where every seed has its own equation."""
        return self.drawn is not None


def residuals(equation: Equation, rules: Sequence[AbstractRule]) -> Iterator[tuple[AbstractResidual, Sequence[AbstractRule]]]:
    """The equation and its conditions, each with the rules of its own integrals."""
    start = 0
    for residual in (equation, *equation.conditions):
        yield residual, rules[start : start + len(residual.integrals)]
        start += len(residual.integrals)


@filter_compiled
def _at_points(exact: Callable[..., Any], points: Float[Array, "n d"]) -> Float[Array, "n m"]:
    return jax.vmap(lambda x: as_vector("exact", exact(x)))(points)


def _evaluation(domain: AbstractDomain) -> AbstractEvaluation | None:
    """The default evaluation points of a solution: in the domain, or at the points of the data."""
    if isinstance(domain, Law):
        return Evaluation(at=domain.parts["point"]) if "point" in domain.parts else None
    return Evaluation(at=Discrete(domain.columns["point"]) if isinstance(domain, Offline) else domain)


def _tuple(name: str, value: Kind | Sequence[Kind], kind: type[Kind]) -> tuple[Kind, ...]:
    items: Any = (value,) if isinstance(value, kind) or not isinstance(value, Iterable) else tuple(value)
    for item in items:
        if not isinstance(item, kind):
            raise ValueError(f"Equation {name}: got {shortened(item)}; expected {kind.__name__.removeprefix('Abstract')} objects.")
    return items


def _translated(equation: Equation, by: AbstractTranslation) -> dict[str, Any]:
    """What the user wrote, in another form."""
    f, exact, evaluation = equation.f, equation.exact, equation.evaluation
    if isinstance(evaluation, Evaluation):
        evaluation = eqx.tree_at(lambda one: one.at, evaluation, by.law(evaluation.at))
    return {
        "domain": by.law(equation.domain),
        "f": None if f is None else by.function(f),
        "integrals": tuple(one.translated(by) for one in equation.integrals),
        "y": by.value(equation.y),
        "conditions": tuple(condition.translated(by) for condition in equation.conditions),
        "exact": None if exact is None else by.value(exact),
        "evaluation": evaluation,
    }


def _scalars(unknowns: Mapping[str, float]) -> dict[str, float]:
    """The learned scalars: names that can be read as u.name, and numbers."""
    if not isinstance(unknowns, Mapping):
        raise ValueError(f"Equation unknowns: got {shortened(unknowns)}; expected names and first values, for instance {{'kappa': 1.0}}.")
    _check_names("unknowns", unknowns)
    return {name: real(f"Equation unknowns[{name!r}]", value) for name, value in unknowns.items()}


def _check_names(kind: str, names: Iterable[object]) -> None:
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__") or name in TAKEN:
            raise ValueError(f"Equation {kind}: got {shortened(name)} as a name; expected one that can be read as u.name, as 'kappa'.")
