"""Do the peers compute the same mathematics? Loss and gradient of fredholm and of PyTorch, at the same parameters and points.

`python benchmarks/agree.py`; the throughput benchmark asks this before it measures anything.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytorch as peer
import torch
from cases import METHODS, PROBLEMS, Case, case
from harness import say

from fredholm.common.keys import Keys
from fredholm.equation.estimate import draw, draw_pairs
from fredholm.methods.protocol import shares
from fredholm.rules import MonteCarlo
from fredholm.training.settings import RunSettings, settings_of
from fredholm.training.step import Step

TOLERANCE = 2e-4  # of sums of some thousand float32 numbers, relative to the largest


def drawn(own: Case, settings: RunSettings, key: Any) -> peer.Points:
    """The points that a step of fredholm draws from this key, as PyTorch wants them, with an axis for one seed in front."""
    equation = settings.problem
    share, *of_conditions = shares(equation, settings.rules, own.batch, key)
    x, rules = share.points, share.rules
    half = [MonteCarlo(own.n // 2)] * len(equation.integrals) if own.method == "double" else rules

    def nodes(x: Any, key: Any) -> list[Any]:
        if own.method == "double" or (own.is_delayed and equation.is_weak):
            pairs = zip(*draw_pairs(equation, half, half, x, key), strict=True)
            return [jnp.concatenate([a.points, b.points]) for a, b in pairs]
        return [one.points for one in draw(equation, rules, x, key)]

    found = jax.vmap(nodes)(x, share.keys)
    if own.problem == "smoluchowski":
        gain, loss = found
        size = x[:, None, :-1]
        start = of_conditions[0].points[:, :-1]
        return _tensors({"x": size, "t": x[:, None, -1:], "gain": gain / size, "loss": loss, "start": start})
    normal = (found[0] - x.center[:, None]) / x.radius[:, None, None]
    if own.problem == "maxwell":
        first, second = peer.plane_basis(torch.tensor(np.asarray(x.normal)))
        radial = torch.tensor(np.asarray(normal))
        angle = torch.atan2((radial * second[:, None]).sum(-1), (radial * first[:, None]).sum(-1))
        return _tensors({"center": x.center, "normal": x.normal, "radius": x.radius[:, None]}) | {"angle": angle[None]}
    return _tensors({"center": x.center, "radius": x.radius[:, None], "normal": normal})


def _tensors(arrays: dict[str, Any]) -> peer.Points:
    return {name: torch.tensor(np.asarray(array))[None] for name, array in arrays.items()}


def _parameters(field: Any) -> list[np.ndarray]:
    """Weights and biases of a network, or of its gradient, as PyTorch has them."""
    pairs = [(np.asarray(weights)[None], np.asarray(biases)[None, None]) for weights, biases in field.network.layers]
    return [array for pair in pairs for array in pair]


def difference(own: Case, derivatives: Callable[..., list[torch.Tensor]]) -> float:
    """The largest difference of loss and gradient, each relative to its own largest number."""
    equation = own.equation()
    settings = settings_of(equation, steps=1, seeds=1, **own.keywords())
    keys, other = Keys.of(3), Keys.of(4)
    state, elsewhere = (Step.of(settings).init(equation, k.network) for k in (keys, other))
    u, target = state.u, elsewhere.u
    inside = target if own.is_delayed else state.method
    method = settings.known_method
    (loss, _), gradient = method.loss_and_gradient(u, inside, equation, settings.rules, settings.batch, keys.data)
    parameters = [torch.tensor(array).requires_grad_() for array in _parameters(u)]
    delayed = [torch.tensor(array) for array in _parameters(target)] if own.is_delayed else None
    theirs = peer.Step(own, 1, derivatives).losses(parameters, delayed, drawn(own, settings, keys.data)).sum()
    theirs.backward()
    gradients = [np.asarray(p.grad) for p in parameters if p.grad is not None]
    expected = [array for array, p in zip(_parameters(gradient), parameters, strict=True) if p.grad is not None]
    largest = max(np.abs(array).max() for array in expected)
    apart = max(np.abs(a - b).max() for a, b in zip(gradients, expected, strict=True)) / largest
    return max(float(apart), abs(theirs.item() - float(loss)) / abs(float(loss)))


def check(cases: list[Case]) -> None:
    """Stops where a peer computes something else."""
    for own in cases:
        apart = max(difference(own, derivatives) for derivatives in (peer.with_tangents, peer.with_gradients))
        say(f"{own.name}: fredholm and PyTorch agree to {apart:.1e}")
        if not apart < TOLERANCE:
            raise SystemExit(f"{own.name}: the peers differ by {apart:.1e}, more than rounding ({TOLERANCE}): they are not comparable.")


if __name__ == "__main__":
    check([case(problem, method) for problem in PROBLEMS for method in METHODS])
