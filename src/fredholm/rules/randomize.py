"""Random moves of fixed nodes: they make a deterministic rule unbiased and keep its accuracy."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt32

from fredholm.domains.base import AbstractDomain, Base
from fredholm.rules.base import AbstractNodeRule, AbstractRandomization


class Shift(AbstractRandomization):
    r"""$z \mapsto (z + u) \bmod 1$ with one uniform u for all nodes (Cranley and Patterson, 1976).

    Every moved node is uniform, so any weights that sum to 1 give an unbiased rule. Exactness for polynomials is lost,
    exactness for periodic functions is kept: it suits even grids and lattices, not Gauss.

    Args:
        fixed (bool): one shift for the whole training, or a new one for every x and step; default: False.

    Examples:
        >>> import fredholm as fr
        >>> fr.Even(8, randomize=fr.Shift()).is_random
        True

    See also:
        `Rotation`, `Scramble`, `Even`.
    """

    fixed: bool = False  # one shift for the whole training, or a new one for every x and step

    def move_base(self, nodes: Float[Array, "k b"], key: Key[Array, ""]) -> Float[Array, "k b"]:
        return (nodes + jax.random.uniform(key, (1, nodes.shape[1]))) % 1.0

    def move_points(self, domain: AbstractDomain, points: Float[Array, "k d"], key: Key[Array, ""]) -> Float[Array, "k d"]:
        return points

    def check(self, rule: AbstractNodeRule, domain: AbstractDomain) -> None:
        unbounded = [base.value for base in domain.bases if rule.axis_measure(base) != Base.UNIT]
        if unbounded:
            raise ValueError(
                f"Shift() moves nodes round the unit interval, and {rule!r} has its nodes on {type(domain).__name__} in {unbounded[0]}. "
                "Use a rule of the unit cube, for instance QuasiMonteCarlo(n, randomize=Shift()), or randomize=None."
            )


class Rotation(AbstractRandomization):
    r"""$t \mapsto c + Q(t - c)$ with Q from the Haar measure on O(d): for spheres and circles.

    Every turned node is uniform on the sphere, so any weights that sum to 1 give an unbiased rule.

    Args:
        fixed (bool): one rotation for the whole training, or a new one for every x and step; default: False.

    Examples:
        >>> import fredholm as fr
        >>> fr.Even(8, randomize=fr.Rotation()).is_random
        True

    See also:
        `Shift`, `Scramble`, `Even`.
    """

    fixed: bool = False  # one rotation for the whole training, or a new one for every x and step

    def move_base(self, nodes: Float[Array, "k b"], key: Key[Array, ""]) -> Float[Array, "k b"]:
        return nodes

    def move_points(self, domain: AbstractDomain, points: Float[Array, "k d"], key: Key[Array, ""]) -> Float[Array, "k d"]:
        return domain.rotate(key, points)

    def check(self, rule: AbstractNodeRule, domain: AbstractDomain) -> None:
        if type(domain).rotate is AbstractDomain.rotate:
            domain.rotate(jax.random.key(0), jnp.zeros((1, 1)))  # Raises, with what to use instead.


class Scramble(AbstractRandomization):
    r"""Owen's nested uniform scrambling of a digital net in base 2: each binary digit of z is flipped or not, by a random bit that
    depends only on the digits before it.

    The net stays a net, every node becomes uniform, and the error of a smooth integrand falls like $n^{-3/2}$ (Owen, 1997).
    The random bits come from a hash, which costs a few integer operations inside the compiled step. It works on the reversed bits,
    where a digit depends only on the digits before it (Laine and Karras, 2011; Burley, JCGT 2020). Adding a uniform 32-bit
    number makes each node exactly uniform on the grid, whatever the quality of the hash: unbiasedness does not depend on it.

    Args:
        fixed (bool): one scrambling for the whole training, or a new one for every x and step; default: False.

    Examples:
        >>> import fredholm as fr
        >>> fr.QuasiMonteCarlo(32, fr.Sobol(), fr.Scramble()).is_random
        True

    See also:
        `Sobol`, `Shift`.
    """

    fixed: bool = False  # one scrambling for the whole training, or a new one for every x and step

    def move_base(self, nodes: Float[Array, "k b"], key: Key[Array, ""]) -> Float[Array, "k b"]:
        held = 23 if nodes.dtype == jnp.float32 else 32  # Digits that the number's mantissa holds, with one to spare.
        digits = jnp.floor(nodes * 2**held).astype(jnp.uint32) << (32 - held)
        shift, odd = jax.random.bits(key, (2, 1, nodes.shape[1]), jnp.uint32)
        moved = _reverse(_permute(_reverse(digits), shift, odd)) >> (32 - held)
        return (moved.astype(nodes.dtype) + 0.5) * 2.0**-held  # The middle of the cell: never 0 and never 1.

    def move_points(self, domain: AbstractDomain, points: Float[Array, "k d"], key: Key[Array, ""]) -> Float[Array, "k d"]:
        return points

    def check(self, rule: AbstractNodeRule, domain: AbstractDomain) -> None:
        if not rule.is_digital:
            raise ValueError(
                f"Scramble() permutes binary digits, which only a digital net in base 2 survives; got {rule!r}. "
                "Use QuasiMonteCarlo(n, sequence=Sobol(), randomize=Scramble()), or randomize=Shift()."
            )


def _permute(x: UInt32[Array, "k b"], shift: UInt32[Array, "1 b"], odd: UInt32[Array, "1 b"]) -> UInt32[Array, "k b"]:
    """A bijection of 32-bit numbers in which a bit depends on the bits below it only (constants: Vegdahl, 2021)."""
    x = x ^ (x * jnp.uint32(0x3D20ADEA))
    x = (x + shift) * (odd | jnp.uint32(1))
    x = x ^ (x * jnp.uint32(0x05526C56))
    return x ^ (x * jnp.uint32(0x53A22864))


def _reverse(x: UInt32[Array, "k b"]) -> UInt32[Array, "k b"]:
    """The 32 bits in the opposite order."""
    for width, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
        kept = jnp.uint32(mask)
        x = ((x >> width) & kept) | ((x & kept) << width)
    return x
