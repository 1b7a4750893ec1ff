# %% [markdown]
# # Nonlocal diffusion on a ring
#
# $$u_t = u_{xx} + \frac1{2\pi}\int_0^{2\pi} \cos(x - s)\,u(s, t)\,ds, \qquad u(x, 0) = \cos x$$
#
# Diffusion that feels the whole ring: x is a place and a time, and the integral runs over the place only. The solution is $e^{-t/2}\cos
# x$.

# %%
import math

import jax.numpy as jnp

import fredholm as fr

fr.use_all_cores()

RING, TIME = fr.Interval(0.0, 2 * math.pi), fr.Interval(0.0, 1.0)


def feels(u, x, s):
    """cos(x − s) u(s, t) / 2π, at the time of x."""
    return jnp.cos(x[0] - s[0]) * u(jnp.stack([s[0], x[1]])) / (2 * math.pi)


problem = fr.Equation(
    domain=fr.Product(RING, TIME),
    f=lambda u, x: fr.derivative(u, x, axis=1) - fr.derivative(u, x, axis=0, order=2),
    integrals=[fr.Integral(over=RING, g=feels)],
    conditions=[
        fr.Condition(at=fr.Product(RING, fr.Point(0.0)), value=lambda x: jnp.cos(x[0]), weight=10.0),
        fr.Periodic(at=fr.Product(fr.Point(0.0), TIME), to=fr.Product(fr.Point(2 * math.pi), TIME), order=1, axis=0),
    ],
    exact=lambda x: jnp.exp(-x[1] / 2) * jnp.cos(x[0]),
)

if __name__ == "__main__":
    solution = fr.solve(problem, fr.DelayedTarget(tau=0.99, regularization=1.0), rule=fr.MonteCarlo(1), steps=5000)
    print(solution)
    solution.plot("nonlocal.png")
