"""The standard method: the squared residual with estimated integrals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxtyping import Array, Key

from fredholm.common.findings import Finding
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimated
from fredholm.equation.residual import AbstractResidual, Place
from fredholm.functions.field import Function
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.history import late
from fredholm.methods.protocol import AbstractMethod, Rows, Trained
from fredholm.rules.base import AbstractRule

if TYPE_CHECKING:
    import xarray

BIASED = 0.3  # above this share of excess variance, a standard loss mostly minimises noise


class Standard(AbstractMethod[None]):
    r"""The N-sample mean squared residual,

    $$\hat L(x) = \Big(f[u](x) - \frac1N \sum_i g[u](x, t_i) - y(x)\Big)^2, \qquad
      \mathbb{E}\,\hat L = L + \tfrac1N \operatorname{Var}[g].$$

    With independent nodes the last term depends on u, and the solution becomes too smooth. With a deterministic rule this is the
    deterministic approach: it has no variance, but the error of the rule (Saleh et al., ICML 2024, equations 14 and 16).

    Examples:
        >>> import fredholm as fr
        >>> fr.Standard()
        Standard()

    See also:
        `DoubleSampling`, `DelayedTarget`, `Gauss`.
    """

    def rows(
        self, u: Function, state: None, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]
    ) -> dict[str, Rows]:
        r = estimated(residual, u, x, draw(residual, rules, x, key))
        return {"residual": Rows(r, r)}

    @property
    def is_biased(self) -> bool:
        return True

    def is_least_squares(self, equation: Equation) -> bool:
        return True

    def symptoms(self, history: "xarray.Dataset", steps: int, trained: Trained | None = None) -> list[Finding]:
        share = late(history, "excess_variance") / late(history, "loss")
        if not share > BIASED:
            return []
        text = (
            f"{share:.0%} of the loss is excess variance, the noise of the estimated integrals: what is minimised is not the equation. "
            "Use DelayedTarget() or DoubleSampling(), or a rule with more or better nodes."
        )
        return [Finding("warning", "bias", text, {"method": DelayedTarget()})]

    def why_failed(self, ends: str, trained: Trained) -> Finding:
        return Finding("error", "failed", f"{ends}. Use DelayedTarget(), or a smaller learning rate.", {"method": DelayedTarget()})
