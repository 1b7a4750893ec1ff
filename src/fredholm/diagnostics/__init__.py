"""What is wrong or suspicious in an equation before it is trained, and in a training afterwards."""

from fredholm.diagnostics.certificate import Certificate
from fredholm.diagnostics.check import check

__all__ = ["Certificate", "check"]
