"""The standard method: the squared residual with estimated integrals."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Key

from fredholm.methods.base import AbstractMethod, Info, draw, estimate
from fredholm.networks import Field
from fredholm.residual import AbstractResidual
from fredholm.rules import AbstractRule


class Standard(AbstractMethod):
    r"""The N-sample mean squared residual,

    $$\hat L(x) = \Big(f[u](x) - \frac1N \sum_i g[u](x, t_i) - y(x)\Big)^2, \qquad
      \mathbb{E}\,\hat L = L + \tfrac1N \operatorname{Var}[g].$$

    With independent nodes the last term depends on u: the solution comes out too smooth. With a deterministic rule this is the
    deterministic approach: no variance, but the error of the rule (Saleh et al., ICML 2024, equations 14 and 16).
    """

    def residual_loss(
        self, u: Field, state: Any, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Info:
        r = residual.left(u, x) + residual.sign * estimate(residual, u, x, draw(residual, rules, x, key))
        return {"residual": jnp.sum(r**2)}
