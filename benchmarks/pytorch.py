"""The peer: the same training steps in PyTorch, all seeds in one batched matrix product, eager or under torch.compile.

Parameters have a leading axis of seeds and one Adam serves all: its formulas act on single numbers. A directional derivative is a tangent
that is carried along with the value by hand, the fastest of three ways on 2D Poisson, or comes from the gradient that
`torch.autograd.grad` gives, as PINNs are usually written; that torch.compile cannot differentiate. Points are drawn afresh in every step,
from the same laws as fredholm's.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from cases import Case
from torch import Tensor

CHARGES = ((-0.5, -0.5), (0.0, 0.0), (0.5, 0.5))
CORNER = 3**-0.5
WIRES = ((CORNER, -CORNER, -CORNER), (CORNER, CORNER, CORNER), (-CORNER, CORNER, CORNER), (-CORNER, -CORNER, -CORNER))

Parameters = list[Tensor]  # weights (s, in, out) and biases (s, 1, out), in turns
Points = dict[str, Tensor]  # what a step draws; the first two axes are seeds and x, the third, where there is one, nodes


def initial(layers: Sequence[tuple[int, int]], seeds: int) -> Parameters:
    """Every number from U(±1/√fan_in)."""
    parameters = []
    for a, b in layers:
        parameters += [(2 * torch.rand(seeds, a, b) - 1) / math.sqrt(a), (2 * torch.rand(seeds, 1, b) - 1) / math.sqrt(a)]
    return parameters


def activate(name: str, z: Tensor) -> tuple[Tensor, Tensor]:
    """The activation and its derivative."""
    if name == "tanh":
        h = torch.tanh(z)
        return h, 1 - h * h
    gate = torch.sigmoid(z)
    h = z * gate
    return h, gate + h * (1 - gate)


def value(parameters: Parameters, activation: str, x: Tensor) -> Tensor:
    """u at points (s, p, d), of shape (s, p, m)."""
    h = x
    for index in range(0, len(parameters) - 2, 2):
        z = torch.baddbmm(parameters[index + 1], h, parameters[index])
        h = torch.tanh(z) if activation == "tanh" else torch.nn.functional.silu(z)
    return torch.baddbmm(parameters[-1], h, parameters[-2])


def with_tangents(parameters: Parameters, activation: str, x: Tensor, *directions: Tensor) -> list[Tensor]:
    """u and its directional derivatives at points (s, p, d), each of shape (s, p, m): one product for all of them in every layer."""
    p, count = x.shape[1], 1 + len(directions)
    h = torch.cat([x, *directions], dim=1)
    for index in range(0, len(parameters) - 2, 2):
        z, *tangents = torch.bmm(h, parameters[index]).split(p, dim=1)
        h0, slope = activate(activation, z + parameters[index + 1])
        h = torch.cat([h0, *(slope * tangent for tangent in tangents)], dim=1)
    last = torch.bmm(h, parameters[-2]).split(p, dim=1)
    return [last[0] + parameters[-1], *last[1:count]]


def with_gradients(parameters: Parameters, activation: str, x: Tensor, *directions: Tensor) -> list[Tensor]:
    """As `with_tangents`, from a gradient with respect to x for each output, as most people write it."""
    trained = torch.is_grad_enabled()
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        u = value(parameters, activation, x)
        outputs = range(u.shape[-1])
        slopes = [torch.autograd.grad(u[..., k].sum(), x, create_graph=trained, retain_graph=True)[0] for k in outputs]
    return [u, *(torch.stack([(slope * direction).sum(-1) for slope in slopes], -1) for direction in directions)]


@dataclass
class Step:
    """The loss of one case, for all seeds at once."""

    case: Case
    seeds: int
    derivatives: Callable[..., list[Tensor]] = with_tangents

    def __post_init__(self) -> None:
        self.charges = torch.tensor(CHARGES) if self.case.dim == 2 else torch.zeros(1, self.case.dim)
        self.wires = torch.tensor(WIRES)

    def draw(self) -> Points:
        """Fresh points of one step."""
        s, v, n, d = self.seeds, self.case.batch, self.case.n, self.case.dim
        if self.case.problem == "smoluchowski":
            return {
                "x": torch.rand(s, v, 1, d),
                "t": torch.rand(s, v, 1, 1),
                "gain": torch.rand(s, v, n, d),
                "loss": torch.rand(s, v, n, d),
                "start": torch.rand(s, v, d),
            }
        nodes = n * (2 if self.case.is_delayed else 1)  # target nodes first, then the main ones
        if self.case.problem == "maxwell":
            center = directions(s, v, 3) * torch.rand(s, v, 1) ** (1 / 3)
            return {
                "center": center,
                "normal": directions(s, v, 3),
                "radius": torch.rand(s, v, 1) ** (1 / 3),
                "angle": 2 * math.pi * torch.rand(s, v, nodes),
            }
        if d == 2:
            angle = 2 * math.pi * torch.rand(s, v, nodes)
            return {
                "center": 2 * torch.rand(s, v, 2) - 1,
                "radius": 0.1 + 1.4 * torch.rand(s, v, 1),
                "normal": torch.stack([torch.cos(angle), torch.sin(angle)], dim=-1),
            }
        center = directions(s, v, d) * torch.rand(s, v, 1) ** (1 / d)
        return {"center": center, "radius": torch.rand(s, v, 1) ** (1 / d), "normal": directions(s, v, nodes, d)}

    def losses(self, parameters: Parameters, target: Parameters | None, points: Points) -> Tensor:
        """The loss of every seed, (s,)."""
        return {"smoluchowski": self.smoluchowski, "maxwell": self.maxwell}.get(self.case.problem, self.poisson)(parameters, target, points)

    def poisson(self, parameters: Parameters, target: Parameters | None, points: Points) -> Tensor:
        """The flux through random spheres."""
        center, radius, normal = points["center"], points["radius"], points["normal"]
        d = self.case.dim
        y = ((self.charges - center[:, :, None]).square().sum(-1) < radius**2).float().sum(-1)
        area = 2 * math.pi ** (d / 2) / math.gamma(d / 2) * radius[..., 0] ** (d - 1)
        at = center[:, :, None] + radius[..., None] * normal

        def flux(network: Parameters, chosen: slice) -> tuple[Tensor, Tensor]:
            shape = normal[:, :, chosen].shape[:3]
            u, du = self.derivatives(network, self.case.activation, at[:, :, chosen].flatten(1, 2), normal[:, :, chosen].flatten(1, 2))
            return u.view(shape), du.view(shape)

        return self.weak(flux, parameters, target, area, y, lambda chosen: at[:, :, chosen])

    def maxwell(self, parameters: Parameters, target: Parameters | None, points: Points) -> Tensor:
        """The circulation of curl A round random discs, as two directional derivatives in the frame of the circle."""
        center, radius, normal, angle = points["center"], points["radius"], points["normal"], points["angle"]
        first, second = plane_basis(normal)
        radial = torch.cos(angle)[..., None] * first[:, :, None] + torch.sin(angle)[..., None] * second[:, :, None]
        at = center[:, :, None] + radius[..., None] * radial
        axis = normal[:, :, None].expand_as(radial)

        def circulation(network: Parameters, chosen: slice) -> tuple[Tensor, Tensor]:
            shape = radial[:, :, chosen].shape
            r, n = radial[:, :, chosen].flatten(1, 2), axis[:, :, chosen].flatten(1, 2)
            u, along_normal, along_radius = self.derivatives(network, self.case.activation, at[:, :, chosen].flatten(1, 2), n, r)
            return u.view(shape), ((along_normal * r).sum(-1) - (along_radius * n).sum(-1)).view(shape[:3])

        length = 2 * math.pi * radius[..., 0]
        return self.weak(
            circulation, parameters, target, length, through(self.wires, center, radius, normal), lambda chosen: at[:, :, chosen]
        )

    def weak(
        self,
        integrand: Callable[[Parameters, slice], tuple[Tensor, Tensor]],
        parameters: Parameters,
        target: Parameters | None,
        measure: Tensor,
        y: Tensor,
        places: Callable[[slice], Tensor],
    ) -> Tensor:
        """The loss of a weak form: the residual's square, the product of two, or delayed targets with the split M."""
        n = self.case.n
        if target is not None:
            with torch.no_grad():
                _, delayed = integrand(target, slice(0, n))
                at = places(slice(n, 2 * n))
                copy = value(target, self.case.activation, at.flatten(1, 2))
            u, main = integrand(parameters, slice(n, 2 * n))
            share = 1 / self.case.split
            r = measure * ((1 - share) * delayed.mean(-1) + share * main.mean(-1)) - y
            penalty = (u.reshape(copy.shape) - copy).square().mean((1, 2))
            return r.square().mean(-1) + self.case.regularization * penalty
        _, e = integrand(parameters, slice(0, n))
        if self.case.method == "double":
            one, other = e[..., : n // 2].mean(-1), e[..., n // 2 :].mean(-1)
            return ((measure * one - y) * (measure * other - y)).mean(-1)
        return (measure * e.mean(-1) - y).square().mean(-1)

    def smoluchowski(self, parameters: Parameters, target: Parameters | None, points: Points) -> Tensor:
        """∂n/∂t against gain and loss, and the initial condition on points of its own."""
        x, t, other, start = points["x"], points["t"], points["loss"], points["start"]
        s, v, n = other.shape[:3]
        smaller = points["gain"] * x
        activation = self.case.activation
        here = torch.cat([x, t], -1)[:, :, 0]
        later = torch.zeros_like(here)
        later[..., -1] = 1
        u, rate = (part[..., 0] for part in self.derivatives(parameters, activation, here, later))
        times = t.expand(s, v, n, 1)
        nodes = torch.cat([torch.cat([place, times], -1) for place in (x - smaller, smaller, other)], 2).flatten(1, 2)
        with torch.set_grad_enabled(target is None and torch.is_grad_enabled()):
            inside = value(target or parameters, activation, nodes).view(s, v, 3, n)
            at_x = u if target is None else value(target, activation, here)[..., 0]
            gain = 0.5 * x[:, :, 0].prod(-1)[..., None] * kernel(x - smaller, smaller) * inside[:, :, 0] * inside[:, :, 1]
            g = gain - kernel(x, other) * at_x[..., None] * inside[:, :, 2]
        begun = value(parameters, activation, torch.cat([start, torch.zeros_like(start[..., :1])], -1))[..., 0]
        conditions = (begun - (3 - start.mean(-1))).square().mean(-1)
        if self.case.method == "double":
            one, two = rate - g[..., : n // 2].mean(-1), rate - g[..., n // 2 :].mean(-1)
            return (one * two).mean(-1) + conditions
        loss = (rate - g.mean(-1)).square().mean(-1) + conditions
        return loss if target is None else loss + self.case.regularization * (u - at_x).square().mean(-1)


class Trainer:
    """Steps of all seeds; `compiled` puts loss and gradient, and the points with them, through torch.compile."""

    def __init__(self, case: Case, seeds: int, *, compiled: bool = False, derivatives: Callable[..., list[Tensor]] = with_tangents):
        self.step = Step(case, seeds, derivatives)
        self.parameters = [p.requires_grad_() for p in initial(case.layers, seeds)]
        self.target = [p.detach().clone() for p in self.parameters] if case.is_delayed else None
        self.optimizer = torch.optim.Adam(self.parameters, lr=1e-3, fused=True)

        def loss() -> Tensor:
            return self.step.losses(self.parameters, self.target, self.step.draw()).sum()

        self.loss: Any = torch.compile(loss, dynamic=False) if compiled else loss

    def __call__(self, steps: int) -> None:
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss().backward()
            self.optimizer.step()
            if self.target is not None:
                torch._foreach_lerp_(self.target, [p.detach() for p in self.parameters], 1 - self.step.case.tau)


def directions(*shape: int) -> Tensor:
    """Uniform unit vectors."""
    z = torch.randn(*shape)
    return z / z.norm(dim=-1, keepdim=True)


def plane_basis(normal: Tensor) -> tuple[Tensor, Tensor]:
    """Two unit vectors that make a right-handed frame with the normal (Duff et al., JCGT 2017)."""
    x, y, z = normal.unbind(-1)
    sign = torch.where(z >= 0, 1.0, -1.0)
    a = -1 / (sign + z)
    b = x * y * a
    return torch.stack([1 + sign * x * x * a, sign * b, -sign * x], -1), torch.stack([b, sign + y * y * a, -y], -1)


def through(start: Tensor, center: Tensor, radius: Tensor, normal: Tensor) -> Tensor:
    """The current through every disc, of a polygon of wires that start at these corners."""
    end = start.roll(-1, 0)
    height_start = ((start - center[:, :, None]) * normal[:, :, None]).sum(-1)
    height_end = ((end - center[:, :, None]) * normal[:, :, None]).sum(-1)
    crosses = (height_start > 0) != (height_end > 0)
    share = height_start / torch.where(crosses, height_start - height_end, 1.0)
    inside = (start + share[..., None] * (end - start) - center[:, :, None]).square().sum(-1) < radius**2
    return (inside * ((height_end > 0).float() - (height_start > 0).float())).sum(-1)


def kernel(x: Tensor, y: Tensor) -> Tensor:
    """The published kernel of coagulation, with its hard cut-off."""
    s = (x.sqrt() + y.sqrt()).square().sum(-1)
    return torch.where(s < 1.14, 1.23 * s**1.5, 0.0)
