"""Metrics of the error, and the points at which a problem is scored."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import instance, nearest, positive_integer, sequence
from fredholm.common.compiling import filter_compiled
from fredholm.common.linear_algebra import orthonormal_columns
from fredholm.domains.base import AbstractDomain

Values = Float[Array, "n m"]
Points = Float[Array, "n d"]


def mse(prediction: Values, truth: Values, points: Points) -> Float[Array, ""]:
    r"""$\frac1n \sum_i |p_i - t_i|^2$, the squares summed over the outputs."""
    return jnp.mean(jnp.sum((prediction - truth) ** 2, axis=-1))


def relative_l2(prediction: Values, truth: Values, points: Points) -> Float[Array, ""]:
    r"""$\|p - t\|_2 / \|t\|_2$."""
    return jnp.linalg.norm(prediction - truth) / jnp.linalg.norm(truth)


def mse_mean_free(prediction: Values, truth: Values, points: Points) -> Float[Array, ""]:
    """The mean of each output is removed from prediction and truth, then `mse`: for equations that cannot see a constant."""
    difference = prediction - truth
    return mse(difference - jnp.mean(difference, axis=0, keepdims=True), jnp.zeros_like(truth), points)


def mse_linear_free(prediction: Values, truth: Values, points: Points) -> Float[Array, ""]:
    """Mean and best linear function of the point are removed from prediction and truth, then `mse`.

    The weak form of Poisson's equation cannot see harmonic functions, and linear functions are harmonic.
    """
    design = jnp.concatenate([jnp.ones((points.shape[0], 1), points.dtype), points], axis=1)
    basis = orthonormal_columns(design)
    difference = prediction - truth
    return mse(difference - basis @ (basis.T @ difference), jnp.zeros_like(truth), points)


def mse_normalized(prediction: Values, truth: Values, points: Points) -> Float[Array, ""]:
    r"""Both are brought to mean 0 and variance 1, then `mse`: $2(1 - \text{correlation})$ for one output (the paper's Algorithm 2)."""

    def standardized(values: Values) -> Values:
        return (values - jnp.mean(values, axis=0, keepdims=True)) / jnp.std(values, axis=0, keepdims=True)

    return mse(standardized(prediction), standardized(truth), points)


@dataclass(frozen=True)
class Metric:
    """A metric and its descriptions. Calling it returns the number."""

    name: str  # in settings, tables and `evaluate`
    function: Callable[[Values, Values, Points], Float[Array, ""]]
    words: str  # in pictures and pages
    blind_to: str = ""  # the part of a solution that it cannot see. A problem scored by it thereby declares that its solution is not unique
    removed: str = ""  # the note in pictures, which leave out the part that the metric cannot see

    def __call__(self, prediction: Values, truth: Values, points: Points) -> Float[Array, ""]:
        return self.function(prediction, truth, points)


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("mse", mse, "MSE"),
        Metric("relative_l2", relative_l2, "relative L² error"),
        Metric("mse_mean_free", mse_mean_free, "MSE, mean removed", "a constant", "mean removed"),
        Metric("mse_linear_free", mse_linear_free, "MSE, linear part removed", "a linear function", "mean and linear part removed"),
        Metric("mse_normalized", mse_normalized, "MSE, standardised", "a constant and a factor", "standardised"),
    )
}


class AbstractEvaluation(eqx.Module):
    """At which points, and by which metrics, a solution is scored; the points are the same for every method and seed."""

    score: eqx.AbstractVar[str]  # the metric that is shown first
    metrics: eqx.AbstractVar[tuple[str, ...]]  # every metric that makes sense here

    def __check_init__(self):
        for name in (self.score, *sequence("metrics", self.metrics)):
            if name not in METRICS:
                raise nearest("metric", name, METRICS)

    @abstractmethod
    def points(self, n: int | None = None) -> Float[Array, "n d"]:
        """The evaluation points; at most about n of them where few are enough."""

    def __call__(self, prediction: Values, truth: Values, points: Points) -> dict[str, Float[Array, ""]]:
        """Every metric, by name."""
        return {name: METRICS[name](prediction, truth, points) for name in dict.fromkeys((self.score, *self.metrics))}


class Evaluation(AbstractEvaluation):
    """Independent points of a domain, drawn once from a fixed key.

    Args:
        at (domain): where the points are drawn, from the normalised measure.
        n (int): how many; default: 5000.
        score (str): the metric that counts; default: 'relative_l2'.
        metrics (tuple): all metrics that are computed; default: ('mse', 'relative_l2').

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Evaluation(at=fr.Interval(0.0, 1.0), n=1000).score
        'relative_l2'

    See also:
        `Equation`, `View`.
    """

    at: AbstractDomain  # where the points are drawn, from the normalised measure
    n: int = eqx.field(default=5000, converter=lambda n: positive_integer("Evaluation n", n))  # how many
    score: str = "relative_l2"
    metrics: tuple[str, ...] = ("mse", "relative_l2")

    def __check_init__(self):
        instance("Evaluation at", self.at, AbstractDomain, "fr.Interval(0.0, 1.0)")

    def points(self, n: int | None = None) -> Float[Array, "n d"]:
        return _drawn(self.at, min(n or self.n, self.n))


@filter_compiled
def _drawn(at: AbstractDomain, n: int) -> Float[Array, "n d"]:
    return jax.vmap(at.sample)(jax.random.split(jax.random.key(2024), n))
