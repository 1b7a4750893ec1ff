"""Random features: a linear class for any number of dimensions."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt32

from fredholm.common.checks import positive_integer, real
from fredholm.functions.frame import Frame
from fredholm.functions.protocol import AbstractNetwork


class RandomFeatures(AbstractNetwork):
    r"""$u(x) = c_0 + c_1 \cdot z + \sum_j c_j \tanh(w_j \cdot z + b_j)$ with $z = (x - m)/s$: a perceptron with one hidden layer, of which
    only the last weights are learnt. The others are random, $w_j \sim \mathcal{N}(0, \sigma^2/d)$ and $b_j \sim U(-\sigma, \sigma)$.

    It is linear in its coefficients c, so a linear equation is solved in one pass over its samples and not trained, in any number of
    dimensions. Every seed has features of its own. m and s are the centre and the radius of the frame, the box where u is evaluated.

    Args:
        features (int): their number; default: 400.
        sharpness (float): σ, how fast the features vary: about the number of bends of u within the frame; default: 2.0.
        center (numbers): m; empty: from the equation; default: ().
        radius (numbers): s; default: ().

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.RandomFeatures(200).features
        200

    See also:
        `Chebyshev`, `MLP`.
    """

    features: int = eqx.field(default=400, converter=lambda n: positive_integer("RandomFeatures features", n))  # their number
    sharpness: float = 2.0  # σ, how fast the features vary: about the number of bends of u within the frame
    center: tuple[float, ...] = ()  # m; empty: from the equation
    radius: tuple[float, ...] = ()  # s

    def __check_init__(self):
        if not real("RandomFeatures sharpness", self.sharpness, low=0.0) > 0:
            raise ValueError(f"RandomFeatures sharpness: got {self.sharpness!r}; expected a number above 0, for instance 2.0.")

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def needs_frame(self) -> bool:
        return not self.center

    def fitted(self, frame: Frame, outputs: int) -> "RandomFeatures":
        return dataclasses.replace(self, center=frame.center, radius=frame.radius) if self.needs_frame else self

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Features":
        center, radius = self.center or (0.0,) * inputs, self.radius or (1.0,) * inputs
        if len(center) != inputs or len(radius) != inputs:
            raise ValueError(
                f"RandomFeatures: got a centre of {len(center)} and a radius of {len(radius)} numbers; expected {inputs} each."
            )
        zeros = jnp.zeros((outputs, 1 + inputs + self.features))
        return Features(zeros, jax.random.key_data(key), self.features, self.sharpness, center, radius)


class Features(eqx.Module):
    """Random features with their coefficients. The features are drawn again from their key wherever they are used, so that the
    coefficients are the only parameters."""

    coefficients: Float[Array, "m p"]
    key: UInt32[Array, "_"]
    n: int = eqx.field(static=True)
    scale: float = eqx.field(static=True)
    center: tuple[float, ...] = eqx.field(static=True)
    radius: tuple[float, ...] = eqx.field(static=True)

    def functions(self, x: Float[Array, "d"]) -> Float[Array, "p"]:
        """The values of all features at x."""
        weights, biases = jax.random.split(jax.random.wrap_key_data(self.key))
        z = (x - jnp.asarray(self.center, x.dtype)) / jnp.asarray(self.radius, x.dtype)
        w = jax.random.normal(weights, (self.n, x.size), x.dtype) * (self.scale / x.size**0.5)
        b = jax.random.uniform(biases, (self.n,), x.dtype, -self.scale, self.scale)
        return jnp.concatenate([jnp.ones(1, x.dtype), z, jnp.tanh(w @ z + b)])

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        return self.coefficients @ self.functions(x)
