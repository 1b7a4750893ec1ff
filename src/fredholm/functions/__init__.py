"""What u can be: perceptrons, series, constrained forms, the user's own networks; and the field `u` that equations see."""

from fredholm.functions.axes import Loop, Pieces, Ray, Segment, WholeLine
from fredholm.functions.built_in import BuiltIn
from fredholm.functions.chebyshev import Chebyshev, Fourier
from fredholm.functions.constrained import Constrained
from fredholm.functions.field import Field
from fredholm.functions.mlp import ACTIVATIONS, MLP
from fredholm.functions.protocol import AbstractNetwork, OwnNetwork
from fredholm.functions.random_features import RandomFeatures
from fredholm.functions.scaled import Scaled
from fredholm.functions.slabs import Slabs

__all__ = [
    "ACTIVATIONS",
    "MLP",
    "AbstractNetwork",
    "BuiltIn",
    "Chebyshev",
    "Constrained",
    "Field",
    "Fourier",
    "Loop",
    "OwnNetwork",
    "Pieces",
    "RandomFeatures",
    "Ray",
    "Scaled",
    "Segment",
    "Slabs",
    "WholeLine",
]
