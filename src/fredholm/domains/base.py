"""The base class of all domains: a measure that maps the nodes of a simple base measure to points and weights."""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree


@dataclass(frozen=True)
class Base:
    """One axis of a base measure: where the nodes of a rule live before a domain maps them."""

    value: str  # its name in messages

    UNIT: ClassVar["Base"]
    NORMAL: ClassVar["Base"]
    HALF_LINE: ClassVar["Base"]

    @property
    def has_end(self) -> bool:
        """False where numbers of this measure are unbounded."""
        return self is not Base.NORMAL and self is not Base.HALF_LINE

    def from_unit(self, z: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The inverse cumulative distribution: a uniform number becomes one of this measure."""
        if self is Base.NORMAL:
            # Half a grain from the ends: a shifted node may be exactly 0, where the quantile is infinite.
            grain = 0.5 * jnp.finfo(z.dtype).eps
            return jax.scipy.special.ndtri(jnp.clip(z, grain, 1 - grain))
        if self is Base.HALF_LINE:
            return -jnp.log1p(-z)
        return z

    def decay(self, z: np.ndarray) -> np.ndarray:
        """How far the logarithm of the density has fallen at z."""
        if self is Base.NORMAL:
            return 0.5 * z**2
        return z if self is Base.HALF_LINE else np.zeros_like(z)

    def draw(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        """n independent numbers of this measure."""
        if self is Base.NORMAL:
            return jax.random.normal(key, (n,))
        if self is Base.HALF_LINE:
            return -jnp.log1p(-jax.random.uniform(key, (n,)))
        return jax.random.uniform(key, (n,))


Base.UNIT, Base.NORMAL, Base.HALF_LINE = map(Base, ("the unit interval", "the standard normal", "the half-line with density exp(-z)"))


@dataclass(frozen=True)
class Atoms(Base):
    """One of finitely many atoms, by its number: z is 0.0, 1.0, ..., count - 1. Rules on one axis take all atoms, which is exact."""

    count: int
    shares: tuple[float, ...] | None = None  # the probability of each atom; None: all alike

    @classmethod
    def of(cls, count: int, shares: tuple[float, ...] | None = None) -> "Atoms":
        """An axis of this many atoms."""
        return cls("the numbers of the atoms", count, shares)

    def from_unit(self, z: Float[Array, "*n"]) -> Float[Array, "*n"]:
        if self.shares is None:
            return jnp.minimum(jnp.floor(z * self.count), self.count - 1)
        # The last edge is left out: rounding must not lead beyond the last atom.
        edges = jnp.asarray(np.cumsum(self.shares)[:-1], z.dtype)
        return jnp.searchsorted(edges, z, side="right").astype(z.dtype)

    def draw(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        return self.from_unit(jax.random.uniform(key, (n,)))

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Every atom, and its share."""
        return np.arange(float(self.count)), np.full(self.count, 1 / self.count) if self.shares is None else np.asarray(self.shares)


@dataclass(frozen=True)
class Power(Base):
    """Numbers in [0, 1] with the density q z^(q − 1): of a distance to a singularity. Gauss has Jacobi's nodes there."""

    exponent: float  # q > 0

    @classmethod
    def of(cls, exponent: float) -> "Power":
        """An axis with this exponent."""
        return cls("the unit interval with a power as its density", exponent)

    def from_unit(self, z: Float[Array, "*n"]) -> Float[Array, "*n"]:
        return z ** (1 / self.exponent)

    def draw(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        return self.from_unit(jax.random.uniform(key, (n,)))


class Nodes(eqx.Module):
    r"""Points $t_i$ and weights $w_i$ such that $\int g\,d\mu \approx \sum_i w_i\, g(t_i)$."""

    points: PyTree  # k points, stacked along the first axis of every leaf
    weights: Float[Array, "k"]


class AbstractDomain(eqx.Module):
    r"""A measure $\mu$ on a set of points, as the image of a base measure $\beta$ on $z \in \mathbb{R}^k$:

    $$\int g\,d\mu = \mathbb{E}_{z\sim\beta}\left[\omega(z)\, g(t(z))\right], \qquad (t, \omega) = \texttt{map}(z).$$

    Every domain is written this way, so every node rule works on every domain.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """d, the number of coordinates of a point."""

    @property
    @abstractmethod
    def bases(self) -> tuple[Base, ...]:
        """The base measure of each of the k axes of z."""

    @property
    @abstractmethod
    def mass(self) -> Float[Array, ""] | float:
        """The total measure: length, area, volume; 1 for a distribution."""

    @abstractmethod
    def map(self, z: Float[Array, "k"]) -> tuple[Any, Float[Array, ""]]:
        """The point and the weight of one base node."""

    @property
    def is_finite(self) -> bool:
        """False where the total measure is infinite: it can be integrated over but not sampled from."""
        return True

    @property
    def samples(self) -> int | None:
        """The number of independent samples of a measure that is known only by given samples; None where there is no limit."""
        return None

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        r"""The density of the measure at a point of $\mathbb{R}^d$, for importance sampling: Lebesgue measure has 1 inside, 0 outside."""
        raise ValueError(
            f"{type(self).__name__} has no density in space, so Importance(rule, proposal) with a proposal in space does not apply. "
            "Use fit_importance(...), which works in the base variables of every domain."
        )

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        """n independent nodes; their weighted mean is an unbiased estimate of the integral."""
        points, weights = jax.vmap(self.map)(base_nodes(self.bases, key, n))
        return Nodes(points, weights / n)

    def sample(self, key: Key[Array, ""]) -> Any:
        """One point of the normalised measure."""
        if not self.is_finite:
            raise ValueError(
                f"{type(self).__name__} has infinite measure, so no point can be drawn from it as a domain= of x. "
                "Use a distribution (Exponential, LogNormal, Normal), or a bounded Interval or Box."
            )
        return jax.tree.map(lambda leaf: leaf[0], self.draws(key, 1).points)

    def weighted_sample(self, key: Key[Array, ""]) -> tuple[Any, Float[Array, ""] | None]:
        """One point, and its weight in a mean over such points; None where points come from the normalised measure itself."""
        return self.sample(key), None

    def rotate(self, key: Key[Array, ""], points: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The points after one random rotation, which leaves the measure unchanged."""
        raise ValueError(
            f"{type(self).__name__} has no rotation that makes every single node uniform on it; got randomize=Rotation(). "
            "Use randomize=Shift(), or a Sphere or Circle."
        )


def base_nodes(bases: tuple[Base, ...], key: Key[Array, ""], n: int) -> Float[Array, "n k"]:
    """n independent nodes of the base measure. Equal neighbours share one call of the generator, since every call has to be compiled."""
    groups = [(base, len(list(equal))) for base, equal in groupby(bases)]
    if len(groups) <= 1:
        return bases[0].draw(key, n * len(bases)).reshape(n, len(bases)) if bases else jnp.zeros((n, 0))
    keys = jax.random.split(key, len(groups))
    drawn = [base.draw(keys[index], n * axes).reshape(n, axes) for index, (base, axes) in enumerate(groups)]
    return jnp.concatenate(drawn, axis=-1)


class AbstractDistribution(AbstractDomain):
    """A measure of mass 1."""

    @property
    def mass(self) -> float:
        return 1.0


@jax.tree_util.register_pytree_node_class
class Record:
    """One draw of a `Law`: its parts by name, as attributes."""

    def __init__(self, **parts: object):
        self.__dict__.update(parts)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def tree_flatten(self) -> tuple[tuple[object, ...], tuple[str, ...]]:
        return tuple(self.__dict__.values()), tuple(self.__dict__)

    @classmethod
    def tree_unflatten(cls, names: tuple[str, ...], values: tuple[object, ...]) -> "Record":
        return cls(**dict(zip(names, values, strict=True)))

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


Place = Array | Record  # a point of a domain, or a record of named parts (a volume)
