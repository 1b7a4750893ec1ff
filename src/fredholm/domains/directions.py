"""Random directions: derivatives in many dimensions as expectations."""

import math
from typing import Literal, get_args

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import nearest, positive_integer
from fredholm.domains.base import AbstractDistribution, Atoms, Base, Nodes
from fredholm.domains.round import random_directions
from fredholm.domains.sphere_map import direction_from_unit

Kind = Literal["signs", "normal", "sphere", "axes"]


class Directions(AbstractDistribution):
    r"""Random directions v in d dimensions, with mass 1 and $\mathbb{E}[v v^\top] = I$. A Laplacian is then an integral, and a divergence,

    $$\Delta u(x) = \mathbb{E}_v\big[\partial_v^2 u(x)\big], \qquad \nabla\cdot F(x) = \mathbb{E}_v\big[v\cdot\partial_v F(x)\big],$$

    each node of which costs the same whatever d is (Hutchinson, 1989):
    `Integral(Directions(d), lambda u, x, v: directional(u, x, v, order=2))`. The square of such an estimate is biased as that of any
    integral, so every method and rule applies. With H the Hessian, the variance of one node is

    - `signs`, each coordinate ±1: $2\sum_{i \ne j} H_{ij}^2$;
    - `normal`, standard normals: $2\,\|H\|_F^2$;
    - `sphere`, √d times a uniform unit vector: $\frac{2}{d + 2}\big(d\,\|H\|_F^2 - (\operatorname{tr} H)^2\big)$;
    - `axes`, √d times one of the d axes: $d \sum_i H_{ii}^2 - (\operatorname{tr} H)^2$.

    For a Hessian of random entries `signs` is the least noisy, and it is exact for a diagonal one; `axes` is exact for a multiple of the
    identity. On `axes`, `WithoutReplacement(n)` takes n different axes, and `Even(1)` all of them.

    Args:
        dim (int): d.
        kind (str): signs, normal, sphere or axes; default: 'signs'.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> laplacian = fr.Integral(over=fr.Directions(10), g=lambda u, x, v: fr.directional(u, x, v, order=2))

    See also:
        `directional`, `laplacian`, `WithoutReplacement`.
    """

    dim: int  # d
    kind: Kind  # signs, normal, sphere or axes

    def __init__(self, dim: int, kind: Kind = "signs"):
        self.dim = positive_integer("Directions dim", dim, least=2 if kind == "sphere" else 1)
        if kind not in get_args(Kind):
            raise nearest("kind", str(kind), get_args(Kind))
        self.kind = kind

    @property
    def dimension(self) -> int:
        return self.dim

    @property
    def bases(self) -> tuple[Base, ...]:
        if self.kind == "axes":
            return (Atoms.of(self.dim),)
        axes = self.dim - 1 if self.kind == "sphere" else self.dim
        return (Base.NORMAL if self.kind == "normal" else Base.UNIT,) * axes

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        if self.kind == "signs":
            direction = jnp.where(z < 0.5, -1.0, 1.0)
        elif self.kind == "normal":
            direction = z
        elif self.kind == "sphere":
            direction = math.sqrt(self.dim) * direction_from_unit(z)
        else:
            direction = jnp.where(jnp.arange(self.dim) == z[0].astype(int), math.sqrt(self.dim), 0.0)
        return direction, jnp.ones(())

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        if self.kind != "sphere":
            return super().draws(key, n)
        return Nodes(math.sqrt(self.dim) * random_directions(key, n, self.dim), jnp.full((n,), 1 / n))
