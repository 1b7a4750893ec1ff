"""What is wrong or suspicious in an equation, before it is trained."""

from fredholm.inspection.check import Check, Finding, check, describe_undetermined, is_meant
from fredholm.inspection.uniqueness import Undetermined, undetermined

__all__ = ["Check", "Finding", "Undetermined", "check", "describe_undetermined", "is_meant", "undetermined"]
