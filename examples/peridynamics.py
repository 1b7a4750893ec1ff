# %% [markdown]
# # Peridynamics: a bar without derivatives
#
# $$\frac{2}{\delta^2}\int_{-\delta}^{\delta} \frac{u(x + \xi) - u(x)}{|\xi|}\,d\xi + b(x) = 0, \qquad 0 \le x \le 1$$
#
# Every point is pulled by all within the horizon δ (Silling, 2000), so cracks need no derivative. The integral leaves the domain: there
# u is given, as a layer of thickness δ. The load b belongs to $u = \sin \pi x$.

# %%
import jax.numpy as jnp
import numpy as np

import fredholm as fr

HORIZON = 0.2
nodes, weights = np.polynomial.legendre.leggauss(20)
steps = HORIZON * (nodes + 1) / 2
pull = float(weights @ ((np.cos(np.pi * steps) - 1) / steps)) * HORIZON  # ∫ (cos πξ − 1)/|ξ| over the whole horizon


def bond(u, x, xi):
    neighbour = x + xi
    outside = (neighbour[0] < 0) | (neighbour[0] > 1)
    there = jnp.where(outside, jnp.sin(jnp.pi * neighbour[0]), u(jnp.clip(neighbour, 0.0, 1.0)))
    return 2 / HORIZON**2 * (there - u(x)) / jnp.where(xi[0] == 0, 1.0, jnp.abs(xi[0]))


problem = fr.Equation(
    domain=fr.Interval(0.0, 1.0),
    integrals=fr.Integral(over=lambda x: fr.Split(-HORIZON, HORIZON, at=[-x[0], 0.0, 1 - x[0]]), g=bond),
    y=lambda x: 2 / HORIZON**2 * pull * jnp.sin(jnp.pi * x[0]),
    exact=lambda x: jnp.sin(jnp.pi * x[0]),
)
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
