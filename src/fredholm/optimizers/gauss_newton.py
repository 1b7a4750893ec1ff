"""Gauss–Newton: the recipe, and the damped linear systems of a step."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from fredholm.common.checks import positive_integer, real
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.optimizers.schedules import AbstractSchedule, Cosine

ACCEPTED = 1e-4  # a step is taken where it brings at least this share of the decrease that was predicted
LEAST, MOST = 64.0, 1e6  # the damping stays within these shares of the trace of the curvature; the first is in units of rounding
BENT = 0.75  # a step whose second-order part is longer than this share of it goes too far
NEWEST = 0.1  # the share of the newest sizes of the columns in their running mean
SMALLEST = 1e-3  # a column counts as at least this share of the largest


class GaussNewton(AbstractOptimizer):
    r"""Gauss–Newton with the damping of Levenberg and Marquardt. With the rows (a, b) of the method, the step δ solves

    $$\big(\mathbb{E}[w\,\partial a^\top \partial a] + \lambda D^{-2}\big)\,(\delta - \beta\delta') =
      -\mathbb{E}\big[w\,\partial a^\top (b + \beta\,\partial a\,\delta')\big],$$

    in the space of residuals or of parameters, whichever is smaller. D holds the units of the parameters, from the sizes of their columns,
    and δ' is the step before (SPRING: Goldshlager, Abrahamsen and Lin, 2024).

    With nodes without noise, the step gets a second-order part, $-\tfrac12 (\ldots)^{-1}\,\partial a^\top \partial^2 a[\delta, \delta]$
    (geodesic acceleration: Transtrum and Sethna, 2012): without it λ stays large and the error ends a hundred times higher. λ follows from
    the actual and the predicted decrease of the loss on the points of the step, and a step that does not decrease it is not taken.

    With random nodes such a comparison would select noise. Then the steps are η P times the gradient, where P, the inverse of the damped
    curvature, is measured every so many steps from points and nodes of its own: only a P that is independent of the gradient leaves its
    mean direction unbiased. It keeps p × p numbers for p parameters.

    The default precision is float64; a run in float32 ends at an error of about 1e-4.

    Args:
        damping (float): λ of the first step, as a share of the trace of the curvature; from then on it follows the steps; default: 0.1.
        momentum (float): β, the share of the last step that stays; default: 0.0.
        learning_rate (float): η, the share of the full step that is taken with random nodes; default: 0.1.
        schedule (schedule): how η changes over the run; default: Cosine().
        refresh (int): steps between two measurements of the curvature, with random nodes; default: 10.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.GaussNewton().is_second_order
        True

    See also:
        `Adam`, `Gauss`.
    """

    damping: float = 0.1  # λ of the first step, as a share of the trace of the curvature; from then on it follows the steps
    momentum: float = 0.0  # β, the share of the last step that stays
    learning_rate: float = 0.1  # η, the share of the full step that is taken with random nodes
    schedule: AbstractSchedule = Cosine()  # how η changes over the run
    refresh: int = 10  # steps between two measurements of the curvature, with random nodes

    def __check_init__(self):
        if not real("GaussNewton damping", self.damping, low=0.0) > 0:
            raise ValueError(f"GaussNewton damping: got {self.damping!r}; expected a number above 0, for instance 1e-3.")
        real("GaussNewton momentum", self.momentum, low=0.0, below=1.0)
        real("GaussNewton learning_rate", self.learning_rate, low=0.0, high=1.0)
        positive_integer("GaussNewton refresh", self.refresh)

    def build(self, steps: int) -> optax.GradientTransformation:
        """What moves the parameters along P times the gradient, with random nodes."""
        return optax.sgd(self.schedule.build(self.learning_rate, steps), self.momentum or None)

    @property
    def is_second_order(self) -> bool:
        return True

    def slower(self) -> "GaussNewton":
        return GaussNewton(10 * self.damping, self.momentum, self.learning_rate / 3, Cosine(), self.refresh)


class Damping(NamedTuple):
    """λ, and what it is multiplied with when the next step is refused."""

    value: Float[Array, ""]
    factor: Float[Array, ""]


def scales_of(slopes: Float[Array, "n p"], before: Float[Array, "p"]) -> Float[Array, "p"]:
    """A running mean of the sizes of the columns, one for each parameter: damping acts on each in its own unit (Marquardt, 1963)."""
    now = jnp.linalg.norm(slopes, axis=0)
    return jnp.where(jnp.any(before > 0), before + NEWEST * (now - before), now)


def units(scales: Float[Array, "p"]) -> Float[Array, "p"]:
    """The unit of each parameter; that of one without any effect is bounded."""
    largest = jnp.max(scales)
    return 1 / jnp.where(largest > 0, scales + SMALLEST * largest, 1.0)


def least_squares(matrix: Float[Array, "n p"], damping: Float[Array, ""]) -> Callable[[Float[Array, "n"]], Float[Array, "p"]]:
    r"""$r \mapsto (M^\top M + \lambda)^{-1} M^\top r$, factored once, in the smaller of the two spaces. The result is not finite where the
    system is not positive to working precision."""
    n, p = matrix.shape
    if n < p:
        rows = _inverse(matrix @ matrix.T, damping)
        return lambda right: matrix.T @ rows(right)
    columns = _inverse(matrix.T @ matrix, damping)
    return lambda right: columns(matrix.T @ right)


def inverted(matrix: Float[Array, "p p"], damping: Float[Array, ""]) -> Float[Array, "p p"]:
    r"""$D(DMD + \lambda)^{-1}D$ with the units D of the parameters, and λ as a share of the trace."""
    own = units(jnp.sqrt(jnp.diag(matrix)))
    scaled = own[:, None] * matrix * own[None]
    return own[:, None] * _inverse(scaled, damping * jnp.trace(scaled))(jnp.diag(own))


def _inverse(matrix: Float[Array, "k k"], damping: Float[Array, ""]) -> Callable[[Array], Array]:
    factor = jax.scipy.linalg.cho_factor(matrix + damping * jnp.eye(len(matrix), dtype=matrix.dtype), lower=True)
    return lambda right: jax.scipy.linalg.cho_solve(factor, right)


def judged(
    damping: Damping, trace: Float[Array, ""], actual: Float[Array, ""], predicted: Float[Array, ""]
) -> tuple[Bool[Array, ""], Damping]:
    """Whether a step is taken, and the damping of the next (Nielsen, 1999): it falls to a third where the loss fell as predicted, and
    grows faster and faster while steps are refused."""
    ratio = actual / predicted
    is_taken = (predicted > 0) & (ratio > ACCEPTED)  # False where one of them is not finite
    calmer = Damping(damping.value * jnp.maximum(1 / 3, 1 - (2 * ratio - 1) ** 3), jnp.asarray(2.0, damping.factor.dtype))
    stiffer = Damping(damping.value * damping.factor, 2 * damping.factor)
    after = jax.tree.map(lambda yes, no: jnp.where(is_taken, yes, no), calmer, stiffer)
    least = LEAST * jnp.finfo(trace.dtype).eps
    return is_taken, Damping(jnp.clip(after.value, least * trace, MOST * trace), jnp.minimum(after.factor, 64.0))


def followed(damping: Float[Array, ""], is_lower: Bool[Array, ""]) -> Float[Array, ""]:
    """The damping after some steps with random nodes, by whether the loss at other points and nodes became lower."""
    least = LEAST * jnp.finfo(damping.dtype).eps
    return jnp.clip(jnp.where(is_lower, damping / 2, 2 * damping), least, MOST)


def shortened(along: Float[Array, "p"], squares: Float[Array, "p"]) -> Float[Array, "p"]:
    """A direction of at most length 1 in the units of the parameters, given the squared sizes of their columns: noise along what the rows
    hardly see would otherwise carry the network away between two measurements of P."""
    length = jnp.sqrt(jnp.sum(squares * along**2))
    return along / jnp.maximum(1.0, length)
