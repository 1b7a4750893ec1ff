"""Domains of x and of the integrals: measures, written as maps of simple base measures."""

from fredholm.domains.abel import Abel
from fredholm.domains.base import AbstractDistribution, AbstractDomain, Atoms, Base, Nodes, Record
from fredholm.domains.combined import Law, Point, Product
from fredholm.domains.directions import Directions
from fredholm.domains.disc import Disc
from fredholm.domains.discrete import Discrete, Jumps, PoissonCounts
from fredholm.domains.distributions import Exponential, LogNormal, Normal, PowerLaw
from fredholm.domains.flat import Box, Interval, Simplex
from fredholm.domains.mixture import Mixture
from fredholm.domains.normalized_sphere import NormalizedSphere
from fredholm.domains.offline import Given, Offline
from fredholm.domains.round import Ball, Circle, Sphere
from fredholm.domains.singular import AbsPower, LogDistance
from fredholm.domains.split import Split
from fredholm.domains.unbounded import HalfLine, Line
from fredholm.domains.warped import Warped

__all__ = [
    "Abel",
    "AbsPower",
    "AbstractDistribution",
    "AbstractDomain",
    "Atoms",
    "Ball",
    "Base",
    "Box",
    "Circle",
    "Directions",
    "Disc",
    "Discrete",
    "Exponential",
    "Given",
    "HalfLine",
    "Interval",
    "Jumps",
    "Law",
    "Line",
    "LogDistance",
    "LogNormal",
    "Mixture",
    "Nodes",
    "Normal",
    "NormalizedSphere",
    "Offline",
    "Point",
    "PoissonCounts",
    "PowerLaw",
    "Product",
    "Record",
    "Simplex",
    "Sphere",
    "Split",
    "Warped",
]
