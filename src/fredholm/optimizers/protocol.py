"""The base class of optimisers: recipes, since the number of steps is known only when `solve` starts."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class AbstractOptimizer(eqx.Module):
    """A recipe that builds an optax transformation for a run of `steps` steps."""

    @abstractmethod
    def build(self, steps: int) -> optax.GradientTransformation:
        """The transformation."""

    @property
    def is_second_order(self) -> bool:
        """True where a step solves a linear system of the rows of the method, as Gauss–Newton does."""
        return False

    def slower(self) -> "AbstractOptimizer | None":
        """The same with a third of its learning rate, which falls to 0 over the run; None where the rate is not known."""
        return None


class Transformation(AbstractOptimizer):
    """Any optax transformation, as it is."""

    transformation: optax.GradientTransformation

    def __check_init__(self):
        weights = {"weights": jnp.zeros((2, 2))}
        try:
            jax.eval_shape(lambda w: self.transformation.update(w, self.transformation.init(w), w), weights)
        except (TypeError, AttributeError) as error:
            raise ValueError(
                f"optimizer: it cannot make a step of a gradient alone ({error}). A line search, as that of optax.lbfgs, compares losses, "
                "and here every step has points and nodes of its own; give fr.Muon(), fr.Adam(1e-3) or another transformation of gradients."
            ) from error

    def build(self, steps: int) -> optax.GradientTransformation:
        return self.transformation


def as_optimizer(optimizer: object) -> AbstractOptimizer:
    """The user's optimiser as a recipe."""
    if isinstance(optimizer, AbstractOptimizer):
        return optimizer
    if isinstance(optimizer, optax.GradientTransformation):
        return Transformation(optimizer)
    raise ValueError(f"optimizer: got {optimizer!r}; expected fr.Adam(1e-3) or an optax transformation.")
