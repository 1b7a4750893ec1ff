# %% [markdown]
# # Breakage: particles that split
#
# $$\partial_t n(x, t) = -x\,n(x, t) + 2\int_x^\infty n(y, t)\,dy, \qquad n(x, 0) = e^{-x}$$
#
# A particle of size x breaks at the rate x, into two parts of any size (Montroll and Simha, 1940: chains of a polymer). The limit is
# infinite and moves with x: `HalfLine`, with a scale near the length over which n decays. The solution is $(1+t)^2 e^{-x(1+t)}$.

# %%
import jax.numpy as jnp

import fredholm as fr

problem = fr.Equation(
    domain=fr.Product(fr.Exponential(0.0, 1.0), fr.Interval(0.0, 1.0)),
    f=lambda n, p: fr.derivative(n, p, axis=1) + p[0] * n(p),
    integrals=fr.Integral(over=lambda p: fr.HalfLine(p[0], scale=1.0), g=lambda n, p, y: 2 * n(jnp.stack([y[0], p[1]]))),
    conditions=[fr.Condition(at=fr.Product(fr.Exponential(0.0, 1.0), fr.Point(0.0)), value=lambda p: jnp.exp(-p[0]))],
    exact=lambda p: (1 + p[1]) ** 2 * jnp.exp(-p[0] * (1 + p[1])),
    view=fr.View(inputs=("x", "t"), outputs=("n",)),
)
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
