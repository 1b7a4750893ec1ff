"""What adapts a training between chunks of steps: weights of conditions, weights of times, and where x is drawn."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.common.checks import positive_integer
from fredholm.domains.base import AbstractDomain, Base
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import independent_residuals
from fredholm.equation.probe import measures_of
from fredholm.equation.residual import Place
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule

State = TypeVar("State")


class AbstractAdaptation(eqx.Module, Generic[State]):
    """A part of a training that is measured anew every so many steps, and changes the equation of the steps between.

    Everything is a function of the seed and the step, and the state is in the checkpoint: a resumed run equals an uninterrupted one bit for
    bit. No key of a step is used, so that runs with and without an adaptation meet the same networks.

    Examples:
        >>> import fredholm as fr
        >>> isinstance(fr.Balanced(), fr.AbstractAdaptation)
        True

    See also:
        `Balanced`, `ResidualPoints`, `Causal`.
    """

    every: eqx.AbstractVar[int]  # steps between two measurements

    def __check_init__(self):
        positive_integer(f"{type(self).__name__} every", self.every)

    def check(self, problem: Equation, rules: Sequence[AbstractRule]) -> None:
        """Raises `ValueError` where it makes no sense for the problem; `rules` are those of its integrals (`problem.rules(rule)`)."""

    @abstractmethod
    def init(self, problem: Equation) -> State:
        """The state before the first measurement."""

    @abstractmethod
    def measured(
        self, state: State, u: Function, equation: Equation, rules: Sequence[AbstractRule], step: Int[Array, ""], key: Key[Array, ""]
    ) -> State:
        """The state with a measurement of u after `step` steps."""

    @abstractmethod
    def applied(self, equation: Equation, state: State) -> Equation:
        """The equation that is trained until the next measurement."""

    def recorded(self, state: State) -> dict[str, Float[Array, ""]]:
        """The numbers of the state that the history records."""
        return {}


def adapted(parts: Sequence[AbstractAdaptation[Any]], equation: Equation, states: Sequence[Any]) -> Equation:
    """The equation after all adaptations."""
    for part, state in zip(parts, states, strict=True):
        equation = part.applied(equation, state)
    return equation


def squared_residual(equation: Equation, rules: Sequence[AbstractRule], u: Function, x: Place, key: Key[Array, ""]) -> Float[Array, ""]:
    """An unbiased estimate of the squared residual at x: the product of two independent ones, which may be negative.

    The square of one estimate would add its variance, and whatever followed it would follow the noise of the nodes.
    """
    (_, own), *_ = residuals(equation, rules)
    one, other = independent_residuals(equation, u, own, x, key)
    return jnp.sum(one * other)


def check_independent(name: str, problem: Equation) -> None:
    """Refuses integrals of which no two independent estimates can be drawn."""
    if any(measure.samples == 1 for measure in measures_of(problem)):
        raise ValueError(
            f"{name}: it follows an unbiased estimate of the squared residual, the product of two independent ones, and one sample of an "
            "integral is given at each x. Give at least 2 samples at each x, or leave it out."
        )


class AbstractReweighted(AbstractDomain):
    """A domain whose points are drawn or weighted in another way in the mean of a loss. Everything else sees the domain itself."""

    base: eqx.AbstractVar[AbstractDomain]

    @property
    def dimension(self) -> int:
        return self.base.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return self.base.bases

    @property
    def mass(self) -> Any:
        return self.base.mass

    def map(self, z: Float[Array, "k"]) -> tuple[Any, Float[Array, ""]]:
        return self.base.map(z)

    def sample(self, key: Key[Array, ""]) -> Any:
        return self.base.sample(key)


def adaptations(given: object) -> tuple[AbstractAdaptation[Any], ...]:
    """The caller's adaptations, one or several."""
    found = (given,) if isinstance(given, AbstractAdaptation) else given
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, AbstractAdaptation) for one in found):
        raise ValueError(f"adapt: got {given!r}; expected an adaptation such as fr.Balanced(), or a list of them.")
    if len({type(one) for one in found}) < len(found):
        raise ValueError(f"adapt: got {given!r}; expected at most one of each kind.")
    return tuple(found)
