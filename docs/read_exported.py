"""Reads what `solution.export("u.npz")` wrote, with NumPy alone: a perceptron or a series, the mean over the seeds.

    u = read("u.npz")
    u(points)  # points (n, d) to values (n,), or (n, m) for m outputs

This file is yours to copy. It needs nothing of fredholm, and nothing in an .npz file can run code.
"""

import numpy as np
from numpy.polynomial.chebyshev import chebvander

ACTIVATIONS = {"silu": lambda z: z / (1 + np.exp(-z)), "tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "sin": np.sin}
ACTIVATIONS["gelu"] = lambda z: 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def read(path):
    """A function of points, from a file."""
    with np.load(path, allow_pickle=False) as file:
        a = dict(file)
    values = perceptron if a["kind"] == "perceptron" else series

    def u(points):
        z = (np.asarray(points, float) - a["center"]) / a["radius"]
        mean = a["shift"] + a["size"] * values(a, z)
        return mean[:, 0] if mean.shape[1] == 1 else mean

    return u


def perceptron(a, z):
    """σ(z W₀ + b₀) W₁ + b₁ ..., as the mean over the seeds, which are the first axis of every array."""
    layers = sum(name.startswith("weights_") for name in a)
    for k in range(layers):
        z = z @ a[f"weights_{k}"] + a[f"biases_{k}"][:, None, :]
        if k < layers - 1:
            z = ACTIVATIONS[str(a["activation"])](z)
    return z.mean(axis=0)


def series(a, x):
    """Σ c_p Π_k φ_{p_k}(x_k), where `products` has the number of the function on each axis."""
    functions = [on_axis(a, k, x[:, k], a["products"][:, k].max()) for k in range(x.shape[1])]
    products = np.prod([functions[k][:, a["products"][:, k]] for k in range(x.shape[1])], axis=0)
    return products @ a["coefficients"].mean(axis=0).T


def on_axis(a, k, x, most):
    """All functions of one axis at x: Chebyshev polynomials of a variable s in [-1, 1], times a factor; or sines and cosines."""
    p = {name.removeprefix(f"axis_{k}_"): value for name, value in a.items() if name.startswith(f"axis_{k}_")}
    kind, factor = str(a[f"axis_{k}"]), np.ones_like(x)
    if kind == "loop":
        angle = 2 * np.pi * (x - p["low"]) / (p["high"] - p["low"])
        waves = [wave(j * angle) for j in range(1, most // 2 + 1) for wave in (np.cos, np.sin)]
        return np.stack([np.ones_like(x), *waves], axis=1)
    if kind == "segment":
        s = ((x - p["low"]) - (p["high"] - x)) / (p["high"] - p["low"])
        if p["clustering"]:
            s = np.arctanh(np.tanh(p["clustering"]) * s) / p["clustering"]
    elif kind == "ray":
        r = np.maximum((x - p["end"]) * (1 if p["to_the_right"] else -1), -0.5 * p["scale"])
        s = 1 - 2 / (1 + r / p["scale"])
        factor = (0.5 * (1 - s)) ** p["decay"]
    else:  # the whole line
        z = (x - p["center"]) / p["scale"]
        s = z / np.sqrt(1 + z**2)
        factor = (1 - s**2) ** p["decay"]
    return chebvander(s, most) * factor[:, None]
