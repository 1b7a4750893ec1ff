# %% [markdown]
# # Jumps on a ring
#
# $$V_t = \tfrac{\sigma^2}{2} V_{xx} + \lambda\,\mathbb{E}\big[V(x + J) - V(x)\big], \qquad J \sim N(0, s^2)$$
#
# The mean of $\cos$ after time t, for a particle that diffuses and jumps on a ring. The start holds by construction, whatever the
# network is.

# %%
import math

import jax.numpy as jnp

import fredholm as fr

fr.use_all_cores()

SIGMA, RATE, JUMP = 0.5, 2.0, 0.5


def jump(u, x, t):
    """V(x + J) − V(x); beyond one end of the ring is the other."""
    landed = jnp.mod(x[0] + t[0] + math.pi, 2 * math.pi) - math.pi
    return u(jnp.stack([landed, x[1]])) - u(x)


problem = fr.Equation(
    domain=fr.Box((-math.pi, 0.0), (math.pi, 1.0)),
    f=lambda u, x: fr.derivative(u, x, axis=1) - SIGMA**2 / 2 * fr.derivative(u, x, axis=0, order=2),
    integrals=[fr.Integral(over=fr.Jumps(RATE, fr.Normal(0.0, JUMP)), g=jump)],
    conditions=[
        fr.Periodic(
            at=fr.Product(fr.Point(-math.pi), fr.Interval(0.0, 1.0)), to=fr.Product(fr.Point(math.pi), fr.Interval(0.0, 1.0)), order=1
        )
    ],
    exact=lambda x: jnp.cos(x[0]) * jnp.exp(-x[1] * (SIGMA**2 / 2 + RATE * (1 - math.exp(-(JUMP**2) / 2)))),
)
# The start V(x, 0) = cos x holds by construction, whatever the network is.
network = fr.Constrained(fr.MLP(64, 3, "tanh"), lambda n, x: jnp.cos(x[0]) + x[1] * n(x))

if __name__ == "__main__":
    solution = fr.solve(problem, fr.DelayedTarget(tau=0.99, regularization=1.0), rule=fr.MonteCarlo(1), network=network, steps=5000)
    print(solution)
    solution.plot("jumps.png")
