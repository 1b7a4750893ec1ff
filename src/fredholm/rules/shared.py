"""One draw of nodes for all x of a step."""

import equinox as eqx
from jaxtyping import Array, Key

from fredholm.domains.base import AbstractDomain, Nodes
from fredholm.rules.base import AbstractRule


class _Around(AbstractRule):
    """A wrapper of a random rule."""

    rule: eqx.AbstractVar[AbstractRule]

    def size(self, domain: AbstractDomain) -> int:
        return self.rule.size(domain)

    @property
    def is_random(self) -> bool:
        return True

    @property
    def is_shared(self) -> bool:
        return True

    def absolute_weight(self, domain: AbstractDomain) -> float:
        return self.rule.absolute_weight(domain)

    def has_negative_weights(self, domain: AbstractDomain) -> bool:
        return self.rule.has_negative_weights(domain)


class Shared(_Around):
    r"""A random rule whose draw is shared by all x of a step. Without it, every x has its own draw.

    Where the integral is over the same domain at every x, $\int k(x, t)\,u(t)\,dt$, the network is then evaluated N times a step, not N
    times for each x of the batch. So N can be as large as the batch for the price of one more evaluation at each x. Where the domain
    depends on x, the x share the random numbers and nothing is saved. Each single estimate is as accurate as before, and the loss of each
    method has the same expectation. But the errors at all x of a step are now correlated, so with equal N the gradient is noisier.

    Args:
        rule (rule): MonteCarlo(n), Even(n, Shift()), .

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Shared(fr.MonteCarlo(64)).is_shared
        True

    See also:
        `MonteCarlo`.
    """

    rule: AbstractRule = eqx.field(converter=lambda rule: _random(rule))  # MonteCarlo(n), Even(n, Shift()), ...

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        return self.rule.nodes(domain, key)

    def in_step(self, key: Key[Array, ""]) -> AbstractRule:
        return _OfStep(self.rule, key)

    def check(self, domain: AbstractDomain) -> None:
        if domain.samples is not None:
            raise ValueError(
                f"{self!r}: {type(domain).__name__} has samples that were given for each x, which no other x can share. Use {self.rule!r}."
            )
        self.rule.check(domain)


class _OfStep(_Around):
    """The rule within one step: its draw comes from the key of the step, the same for every x."""

    rule: AbstractRule
    key: Key[Array, ""]

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        return self.rule.nodes(domain, self.key)

    def pair(self, other: AbstractRule, domain: AbstractDomain, key: Key[Array, ""]) -> tuple[Nodes, Nodes]:
        if isinstance(other, _OfStep):
            return self.rule.pair(other.rule, domain, self.key)
        return self.nodes(domain, key), other.nodes(domain, key)  # the key of the step and that of x are independent


def _random(rule: object) -> AbstractRule:
    if not isinstance(rule, AbstractRule):
        raise ValueError(f"Shared rule: got {rule!r}; expected a rule, for instance Shared(MonteCarlo(16)).")
    if isinstance(rule, Shared):
        raise ValueError(f"Shared({rule!r}): it is shared already; use {rule!r}.")
    if not rule.is_random:
        raise ValueError(f"Shared({rule!r}): its nodes are the same in every draw, so all x share them already; use {rule!r}.")
    return rule
