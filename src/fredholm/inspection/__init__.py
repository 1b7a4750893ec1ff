"""What is wrong or suspicious in an equation before it is trained, and in a training afterwards."""

from fredholm.inspection.certificate import Certificate, certificates
from fredholm.inspection.check import Check, Finding, check, describe_heavy_tail, describe_undetermined, is_meant
from fredholm.inspection.diagnosis import RunOf, Subject, diagnose, why_failed
from fredholm.inspection.symptoms import Diagnosis, Symptom, seen_in
from fredholm.inspection.tails import HeavyTail, heavy_tails
from fredholm.inspection.uniqueness import Undetermined, undetermined

__all__ = [
    "Certificate",
    "Check",
    "Diagnosis",
    "Finding",
    "HeavyTail",
    "RunOf",
    "Subject",
    "Symptom",
    "Undetermined",
    "certificates",
    "check",
    "describe_heavy_tail",
    "describe_undetermined",
    "diagnose",
    "heavy_tails",
    "is_meant",
    "seen_in",
    "undetermined",
    "why_failed",
]
