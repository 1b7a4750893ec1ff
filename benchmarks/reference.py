"""A plain JAX loop, written by hand for three cases: what fredholm's general machinery is measured against in `quick.py`.

An MLP as x @ W, directional derivatives by `jax.jvp`, Adam by its formulas, `jax.lax.scan` over steps, seeds vmapped and sharded over the
devices. It depends on nothing of fredholm, so that its time moves with the machine alone.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from cases import Case
from jax.sharding import Mesh, PartitionSpec

CHARGES = ((-0.5, -0.5), (0.0, 0.0), (0.5, 0.5))
Tree = Any


def network(parameters: Tree, x: jax.Array) -> jax.Array:
    """u at points (p, d), of shape (p,)."""
    for weight, bias in parameters[:-1]:
        x = jax.nn.silu(x @ weight + bias)
    weight, bias = parameters[-1]
    return (x @ weight + bias)[:, 0]


def initial(case: Case, key: jax.Array) -> Tree:
    """Every number from U(±1/√fan_in)."""
    keys = jax.random.split(key, 2 * len(case.layers))
    bounds = [1 / math.sqrt(a) for a, _ in case.layers]
    return [
        (jax.random.uniform(keys[2 * i], (a, b), minval=-m, maxval=m), jax.random.uniform(keys[2 * i + 1], (b,), minval=-m, maxval=m))
        for i, ((a, b), m) in enumerate(zip(case.layers, bounds, strict=True))
    ]


def poisson(case: Case, parameters: Tree, target: Tree, key: jax.Array) -> jax.Array:
    """The loss of 2D Poisson, standard or with delayed targets."""
    key_center, key_radius, key_angle = jax.random.split(key, 3)
    center = jax.random.uniform(key_center, (case.batch, 2), minval=-1.0, maxval=1.0)
    radius = jax.random.uniform(key_radius, (case.batch,), minval=0.1, maxval=1.5)
    y = jnp.sum(jnp.sum((jnp.asarray(CHARGES)[None] - center[:, None]) ** 2, -1) < radius[:, None] ** 2, -1)
    angle = 2 * jnp.pi * jax.random.uniform(key_angle, (2 if case.is_delayed else 1, case.batch, case.n))
    normal = jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)
    at = center[:, None] + radius[:, None, None] * normal
    area = 2 * jnp.pi * radius

    def flux(parameters: Tree, index: int) -> tuple[jax.Array, jax.Array]:
        points, directions = at[index].reshape(-1, 2), normal[index].reshape(-1, 2)
        u, du = jax.jvp(lambda x: network(parameters, x), (points,), (directions,))
        return u, jnp.mean(du.reshape(case.batch, case.n), -1)

    if not case.is_delayed:
        return jnp.mean((area * flux(parameters, 0)[1] - y) ** 2)
    share = 1 / case.split
    u, main = flux(parameters, 1)
    r = area * ((1 - share) * flux(target, 0)[1] + share * main) - y
    return jnp.mean(r**2) + case.regularization * jnp.mean((u - network(target, at[1].reshape(-1, 2))) ** 2)


def smoluchowski(case: Case, parameters: Tree, target: Tree, key: jax.Array) -> jax.Array:
    """The loss of Smoluchowski's equation with delayed targets."""
    v, n = case.batch, case.n
    keys = jax.random.split(key, 4)
    here = jax.random.uniform(keys[0], (v, 2))
    x, t = here[:, :1], jnp.broadcast_to(here[:, 1:], (v, n))
    smaller, other = x * jax.random.uniform(keys[1], (v, n)), jax.random.uniform(keys[2], (v, n))
    u, rate = jax.jvp(lambda p: network(parameters, p), (here,), (jnp.zeros_like(here).at[:, 1].set(1.0),))
    inside = network(target, jnp.stack([jnp.stack([place, t], -1) for place in (x - smaller, smaller, other)]).reshape(-1, 2))
    first, second, third = inside.reshape(3, v, n)
    copy = network(target, here)
    gain = 0.5 * x * kernel(x - smaller, smaller) * first * second
    r = rate - jnp.mean(gain - kernel(x, other) * copy[:, None] * third, -1)
    start = jax.random.uniform(keys[3], (v, 1))
    begun = network(parameters, jnp.concatenate([start, jnp.zeros_like(start)], -1))
    return jnp.mean(r**2) + jnp.mean((begun - (3 - start[:, 0])) ** 2) + case.regularization * jnp.mean((u - copy) ** 2)


def kernel(x: jax.Array, y: jax.Array) -> jax.Array:
    """The published kernel of coagulation of one size, with its hard cut-off."""
    s = (jnp.sqrt(x) + jnp.sqrt(y)) ** 2
    return jnp.where(s < 1.14, 1.23 * s**1.5, 0.0)


def adam(gradient: Tree, moments: Tree, parameters: Tree, step: jax.Array) -> tuple[Tree, Tree]:
    """Kingma and Ba's formulas with their own constants and the rate 1e-3."""
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree.map(lambda m, g: 0.999 * m + 0.001 * g * g, moments[1], gradient)
    k = step + 1.0
    scale, unbias = 1e-3 / (1 - 0.9**k), 1 / (1 - 0.999**k)
    moved = jax.tree.map(lambda p, a, b: p - scale * a / (jnp.sqrt(b * unbias) + 1e-8), parameters, first, second)
    return moved, (first, second)


class Reference:
    """So many steps of all seeds at a time; the counts are those of one compiled chunk and its multiples."""

    def __init__(self, case: Case, seeds: int, chunk: int = 50):
        self.chunk, self.done = chunk, 0
        loss = smoluchowski if case.problem == "smoluchowski" else poisson

        def one_seed(state: Tree, key: jax.Array, start: jax.Array) -> Tree:
            def body(state: Tree, step: jax.Array) -> tuple[Tree, None]:
                parameters, moments, target = state
                gradient = jax.grad(lambda p: loss(case, p, target, jax.random.fold_in(key, step)))(parameters)
                parameters, moments = adam(gradient, moments, parameters, step)
                if case.is_delayed:
                    target = jax.tree.map(lambda old, new: case.tau * old + (1 - case.tau) * new, target, parameters)
                return (parameters, moments, target), None

            return jax.lax.scan(body, state, start + jnp.arange(chunk))[0]

        self.keys = jax.random.split(jax.random.key(0), seeds)
        parameters = jax.vmap(lambda key: initial(case, key))(self.keys)
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        self.state = (parameters, (zeros, zeros), parameters if case.is_delayed else None)
        devices = jax.local_devices()
        count = max(n for n in range(1, len(devices) + 1) if seeds % n == 0)
        mesh, spec = Mesh(np.array(devices[:count]), ("seeds",)), PartitionSpec("seeds")
        run = jax.vmap(one_seed, in_axes=(0, 0, None))
        self.run = jax.jit(jax.shard_map(run, mesh=mesh, in_specs=(spec, spec, PartitionSpec()), out_specs=spec, check_vma=False))

    def __call__(self, steps: int) -> None:
        for _ in range(max(1, round(steps / self.chunk))):
            self.state = self.run(self.state, self.keys, jnp.asarray(self.done))
            self.done += self.chunk
        jax.block_until_ready(self.state)
