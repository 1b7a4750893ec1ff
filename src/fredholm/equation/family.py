"""Families: an equation whose parameters are inputs of u, solved once for all of their values; and one of its members."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from fredholm.common.checks import real, shortened
from fredholm.domains.base import AbstractDomain, Place, Record
from fredholm.domains.combined import Law, Product
from fredholm.domains.offline import Offline
from fredholm.equation.translation import AbstractTranslation
from fredholm.functions.field import Function

Number = Float[Array, ""]


class Family(AbstractTranslation):
    r"""The equation for all parameters at once: u takes the point $(x, \kappa)$, and κ is drawn with x.

    The user's functions see one member: the point x, and a u of x with the parameters as attributes, `u.kappa`. Functions of x without u
    take a parameter by its name: `y=lambda x, kappa: ...`.
    """

    parameters: dict[str, AbstractDomain]  # the law of each, in the order of the inputs after those of x

    def law(self, domain: AbstractDomain) -> AbstractDomain:
        if isinstance(domain, Offline):
            raise ValueError("Equation parameters: got Offline rows as the domain of x; expected a domain that is drawn beside them.")
        if not isinstance(domain, Law):
            return Product(domain, *self.parameters.values())
        if "point" in domain.parts:
            return Law(**{**domain.parts, "point": Product(domain.parts["point"], *self.parameters.values())})
        return Law(**domain.parts, **self.parameters)

    def seen(self, u: Function, x: Place) -> tuple[Function, Place]:
        own, values = split(x, tuple(self.parameters))
        return Member(u, values), own

    def called(self, function: Callable[..., Any], x: Place, *others: Any) -> Any:
        own, values = split(x, tuple(self.parameters))
        wanted = _names(function)
        return function(own, *others, **{name: value for name, value in values.items() if name in wanted})

    def place(self, x: Place, point: Any) -> Any:
        return point if isinstance(point, Record) else joined(point, split(x, tuple(self.parameters))[1])


class OfMember(eqx.Module):
    """A function of u and x, for u of the points (x, parameters)."""

    function: Callable[..., Any]
    names: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, u: Function, x: Place) -> Any:
        own, values = split(x, self.names)
        return self.function(Member(u, values), own)


class Member(eqx.Module):
    """u at fixed parameters: a function of x alone, with the parameters as attributes."""

    family: Function  # u of (x, parameters)
    values: dict[str, Number]

    def __call__(self, x: ArrayLike, *others: object) -> Array:
        x = jnp.asarray(x)
        inputs = getattr(self.family, "inputs", None)
        if others or x.ndim != 1 or (inputs is not None and len(x) + len(self.values) != inputs):
            expected = "one" if inputs is None else f"({inputs - len(self.values)},)"
            raise ValueError(f"u: got a point of shape {x.shape}; expected {expected}: x without the parameters, which u has already.")
        return self.family(joined(x, self.values))

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        return values[name] if name in values else getattr(self.family, name)  # a learned scalar


class Fixed(AbstractTranslation):
    """One member of a family, as an equation of its own: the family's functions see the fixed parameters beside x."""

    values: dict[str, float]

    def law(self, domain: AbstractDomain) -> AbstractDomain:
        if isinstance(domain, Product):
            parts = domain.parts[: -len(self.values)]
            return parts[0] if len(parts) == 1 else Product(*parts)
        if isinstance(domain, Law) and "point" in domain.parts:
            return Law(**{**domain.parts, "point": self.law(domain.parts["point"])})
        if isinstance(domain, Law):
            return Law(**{name: part for name, part in domain.parts.items() if name not in self.values})
        raise ValueError("at: observations at several parameters are no part of one equation; give the equation without Data.")

    def seen(self, u: Function, x: Place) -> tuple[Function, Place]:
        return Everywhere(u, len(self.values)), self._joined(x)

    def called(self, function: Callable[..., Any], x: Place, *others: Any) -> Any:
        return function(self._joined(x), *others)

    def place(self, x: Place, point: Any) -> Any:
        return point if isinstance(point, Record) else point[: -len(self.values)]

    def _joined(self, x: Place) -> Place:
        if not isinstance(x, Record):
            return joined(x, self.values)
        if "point" in vars(x):
            return Record(**{**vars(x), "point": joined(x.point, self.values)})
        return Record(**vars(x), **{name: jnp.asarray(value, float) for name, value in self.values.items()})


class Everywhere(eqx.Module):
    """A function of x as one of (x, parameters), on which the parameters have no effect."""

    member: Any  # u of x
    count: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, "d"]) -> Array:
        return self.member(x[: -self.count])

    @property
    def inputs(self) -> int:
        """The coordinates of (x, parameters)."""
        return self.member.inputs + self.count

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["member"], name)


def split(x: Place, names: Sequence[str]) -> tuple[Place, dict[str, Number]]:
    """x as the user knows it, and the parameters."""
    if not isinstance(x, Record):
        return x[: -len(names)], dict(zip(names, x[-len(names) :], strict=True))
    parts = dict(vars(x))
    if "point" in parts:
        parts["point"], values = split(parts["point"], names)
    else:
        values = {name: parts.pop(name) for name in names}
    return Record(**parts), values


def joined(x: Any, values: Mapping[str, ArrayLike]) -> Float[Array, "d"]:
    """The point (x, parameters)."""
    x = jnp.asarray(x)
    return jnp.concatenate([x, jnp.stack([jnp.asarray(value, x.dtype) for value in values.values()])])


def checked_parameters(parameters: object) -> dict[str, AbstractDomain]:
    """Names, and laws of one number each."""
    if not isinstance(parameters, Mapping):
        raise ValueError(f"Equation parameters: got {shortened(parameters)}; expected names and domains, {{'kappa': Interval(0.5, 2.0)}}.")
    for name, law in parameters.items():
        if not isinstance(law, AbstractDomain) or law.dimension != 1 or not law.is_finite or law.samples is not None:
            raise ValueError(
                f"Equation parameters[{name!r}]: got {shortened(law)}; expected a domain of one number to draw it from, Interval(0.5, 2.0)."
            )
    return dict(parameters)


def checked_values(names: Mapping[str, AbstractDomain], given: Mapping[str, object]) -> dict[str, float]:
    """A number for each parameter, in their order."""
    if set(names) != set(given):
        raise ValueError(f"parameters: got {sorted(given)}; expected a value for each of {list(names)}.")
    return {name: real(name, given[name]) for name in names}


def _names(function: Callable[..., Any]) -> set[str]:
    """The names of the arguments of a function; none where it does not tell."""
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def spread(law: AbstractDomain, shares: Sequence[float] | np.ndarray) -> np.ndarray:
    """The quantiles of a law of one number, by a large sample where it has no simple one."""
    if len(law.bases) != 1:
        drawn = jax.vmap(law.sample)(jax.random.split(jax.random.key(0), 4096))
        return np.quantile(np.asarray(drawn), shares)
    z = law.bases[0].from_unit(jnp.asarray(shares, float))
    return np.asarray(jax.vmap(lambda one: law.map(one[None])[0][0])(z), float)
