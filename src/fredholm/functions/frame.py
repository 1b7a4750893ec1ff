"""The frame: the box in which an equation evaluates u. Inputs are scaled by it, and series are built on it."""

import equinox as eqx

OUTSIDE = 0.05  # what lies within this share of the width of the domain is not outside: boxes of round domains are known by samples


class Frame(eqx.Module):
    """The box in which an equation evaluates u: in f, inside the integrals and in the conditions."""

    low: tuple[float, ...]  # on an axis without end, as far as three scales of its measure
    high: tuple[float, ...]
    below: tuple[bool, ...]  # True where u is evaluated down to minus infinity
    above: tuple[bool, ...]  # True where u is evaluated up to infinity
    domain_low: tuple[float, ...]  # the box of the points x themselves
    domain_high: tuple[float, ...]
    shift: tuple[float, ...] = ()  # the constant about which each output of the innermost network varies; empty: 0
    size: tuple[float, ...] = ()  # how much it varies, from y, conditions and data; empty: nothing is known
    units: tuple[tuple[float, ...], ...] = ()  # the size of each residual, of the equation and its conditions; empty: all are near 1

    @property
    def center(self) -> tuple[float, ...]:
        """The middle of the box."""
        return tuple((a + b) / 2 for a, b in zip(self.low, self.high, strict=True))

    @property
    def radius(self) -> tuple[float, ...]:
        """Half of the box's width on each axis; 1 where it has none."""
        return tuple((b - a) / 2 or 1.0 for a, b in zip(self.low, self.high, strict=True))

    @property
    def is_bounded(self) -> bool:
        """True where no axis is without end."""
        return not any((*self.below, *self.above))

    @property
    def reaches_outside(self) -> bool:
        """True where integrals or conditions evaluate u outside of the domain of x."""
        axes = zip(self.low, self.high, self.domain_low, self.domain_high, strict=True)
        return any(a < c - OUTSIDE * (d - c) or b > d + OUTSIDE * (d - c) for a, b, c, d in axes)
