"""Translations: what the user wrote for one member of a family, or for a complex u, as the equation that is trained."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx

from fredholm.common.checks import Numbers
from fredholm.domains.base import AbstractDomain, Place
from fredholm.functions.field import Function

Value = Callable[..., Any] | Numbers | complex  # a function of x, or numbers that hold at every x


class AbstractTranslation(eqx.Module):
    """How functions that the user wrote become those of the equation that is trained: with other points x, another u, or other values.

    It says where x is drawn, and what the user's functions see and return. The equation and its conditions are then rebuilt.
    """

    @abstractmethod
    def law(self, domain: AbstractDomain) -> AbstractDomain:
        """Where the trained equation draws its points, given where the user's does."""

    @abstractmethod
    def seen(self, u: Function, x: Place) -> tuple[Function, Place]:
        """u and x as the user's functions see them."""

    @abstractmethod
    def called(self, function: Callable[..., Any], x: Place, *others: Any) -> Any:
        """The value of one of the user's functions of x without u."""

    def place(self, x: Place, point: Any) -> Any:
        """Where the network is evaluated, given the point at which the user evaluates u."""
        return point

    def returned(self, value: Any) -> Any:
        """What the user's function returned, as the equation takes it."""
        return value

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of u, x and perhaps t."""

        def translated(u: Function, x: Place, *t: Place) -> Any:
            return self.returned(function(*self.seen(u, x), *t))

        return translated

    def value(self, value: Value) -> Value:
        """A function of x, or a number."""
        return (lambda x: self.returned(self.called(value, x))) if callable(value) else self.returned(value)
