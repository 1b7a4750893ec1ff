"""Points, products, and laws of named parts: domains made from domains."""

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import Numbers, Vector, vector
from fredholm.domains.base import AbstractDomain, Base, Nodes, Place, Record


class Point(AbstractDomain):
    r"""One point p with mass 1: $\int g\,d\delta_p = g(p)$. `Point(0.0)` is a point of the line, `Point(0.0, 1.0)` one of the plane,
    `Point()` the one point of a space without dimensions: for a condition that holds once and not at every x.

    Args:
        *coordinates (numbers): p, of shape (d,).

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> start = fr.Condition(at=fr.Point(0.0), value=1.0)

    See also:
        `Product`, `Condition`.
    """

    coordinates: Vector  # p, of shape (d,)

    def __init__(self, *coordinates: Numbers):
        if not coordinates:
            self.coordinates = ()
            return
        self.coordinates = vector("Point", coordinates[0] if len(coordinates) == 1 and hasattr(coordinates[0], "__len__") else coordinates)

    @property
    def dimension(self) -> int:
        return len(self.coordinates)

    @property
    def bases(self) -> tuple[Base, ...]:
        return ()

    @property
    def mass(self) -> float:
        return 1.0

    def map(self, z: Float[Array, "0"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        return jnp.asarray(self.coordinates, float), jnp.ones(())


class Product(AbstractDomain):
    r"""$\mu_1 \times \mu_2 \times \cdots$: the points are concatenated, the weights multiplied.

    Args:
        *parts (domains): domains or distributions; their points are concatenated.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Product(fr.Interval(0.0, 1.0), fr.HalfLine()).dimension
        2

    See also:
        `Box`, `Law`.
    """

    parts: tuple[AbstractDomain, ...]

    def __init__(self, *parts: AbstractDomain):
        if not parts or not all(isinstance(part, AbstractDomain) for part in parts):
            raise ValueError(f"Product: got {parts!r}; expected one or more domains, for instance Product(Interval(0, 1), Point(0.0)).")
        _check_drawable("Product", parts)
        self.parts = tuple(parts)

    @property
    def dimension(self) -> int:
        return sum(part.dimension for part in self.parts)

    @property
    def bases(self) -> tuple[Base, ...]:
        return tuple(base for part in self.parts for base in part.bases)

    @property
    def mass(self) -> Float[Array, ""]:
        return jnp.prod(jnp.stack([jnp.asarray(part.mass, float) for part in self.parts]))

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        points, weights = zip(*_map_parts(self.parts, z), strict=True)
        return jnp.concatenate(points), jnp.prod(jnp.stack(weights))

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        if all(type(part).draws is AbstractDomain.draws for part in self.parts):
            return super().draws(key, n)  # random numbers for all parts at once
        # A part with draws of its own has a reason: directions in 100 dimensions are normals, not 99 inverse distribution functions.
        keys = jax.random.split(key, len(self.parts))
        drawn = [part.draws(own, n) for part, own in zip(self.parts, keys, strict=True)]
        weights = jnp.prod(jnp.stack([n * nodes.weights for nodes in drawn]), axis=0) / n
        return Nodes(jnp.concatenate([nodes.points for nodes in drawn], axis=-1), weights)

    @property
    def is_finite(self) -> bool:
        return all(part.is_finite for part in self.parts)

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        ends = [sum(part.dimension for part in self.parts[: i + 1]) for i in range(len(self.parts))]
        return jnp.prod(jnp.stack([part.density(point[end - part.dimension : end]) for part, end in zip(self.parts, ends, strict=True)]))


class Law(AbstractDomain):
    """Named independent parts, for an x that is not a point: `Law(center=Box(...), radius=Interval(...))` gives x.center and x.radius.

    Each part is drawn from its normalised measure. A part that is a number (`Interval`, `PowerLaw`) has shape (), except a part
    named `point`: there the network is evaluated, and its shape is always (d,).

    Args:
        **parts (domains): domains or distributions by name; x then has these attributes.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> volumes = fr.Law(center=fr.Box((0.0, 0.0), (1.0, 1.0)), radius=fr.Interval(0.1, 0.5))  # x.center, x.radius

    See also:
        `Product`, `Offline`.
    """

    parts: dict[str, AbstractDomain]

    def __init__(self, **parts: AbstractDomain):
        if not parts or not all(isinstance(part, AbstractDomain) for part in parts.values()):
            raise ValueError(f"Law: got {parts!r}; expected named domains, for instance Law(center=Box(...), radius=Interval(...)).")
        _check_drawable("Law", parts.values())
        for name, part in parts.items():
            if not part.is_finite:
                raise ValueError(
                    f"Law {name}: got {type(part).__name__}, an infinite measure; expected one that can be drawn from. Use a distribution."
                )
        self.parts = parts

    @property
    def dimension(self) -> int:
        if "point" in self.parts:
            return self.parts["point"].dimension
        raise ValueError("a Law has named parts and no single dimension: give Equation(inputs=...), the size of the network's input.")

    @property
    def bases(self) -> tuple[Base, ...]:
        return tuple(base for part in self.parts.values() for base in part.bases)

    @property
    def mass(self) -> float:
        return 1.0

    def map(self, z: Float[Array, "k"]) -> tuple[Record, Float[Array, ""]]:
        mapped = _map_parts(tuple(self.parts.values()), z)
        return Record(
            **{name: _unpack(name, part, point) for (name, part), (point, _) in zip(self.parts.items(), mapped, strict=True)}
        ), jnp.ones(())

    def sample(self, key: Key[Array, ""]) -> Record:
        if all(type(part).sample is AbstractDomain.sample for part in self.parts.values()):
            return super().sample(key)  # random numbers for all parts at once
        keys = jax.random.split(key, len(self.parts))
        return Record(**{name: _unpack(name, part, part.sample(keys[i])) for i, (name, part) in enumerate(self.parts.items())})


def _map_parts(parts: tuple[AbstractDomain, ...], z: Float[Array, "k"]) -> list[tuple[Any, Any]]:
    """The point and the weight of each part, from its own coordinates of the base node."""
    mapped, start = [], 0
    for part in parts:
        stop = start + len(part.bases)
        mapped.append(part.map(z[start:stop]))
        start = stop
    return mapped


def _unpack(name: str, part: AbstractDomain, point: Place) -> Place:
    return point[0] if name != "point" and isinstance(point, jax.Array) and part.dimension == 1 else point


def _check_drawable(kind: str, parts: Iterable[AbstractDomain]) -> None:
    """Refuses given samples: they belong to one x, and combined at random with other parts they would no longer be independent."""
    if any(part.samples is not None for part in parts):
        raise ValueError(f"{kind}: got Given samples as a part; expected domains that can be drawn from. Put all coordinates into Given.")
