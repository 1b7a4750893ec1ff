"""Products of matrices and layers of a network for CPUs, in C++, where there is a compiler for them."""

from fredholm.kernels.library import Kernels as Kernels
from fredholm.kernels.library import kernels as kernels
