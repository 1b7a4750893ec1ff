# %% [markdown]
# # Fredholm, first kind: an ill-posed equation
#
# $$\int_0^1 e^{xt}\,u(t)\,dt = \frac{e^{x+1} - 1}{x + 1}, \qquad 0 \le x \le 1$$
#
# u stands only inside the integral, which smooths it: very different u give nearly the same right side. The solution $e^x$ is smooth,
# so a series of few terms finds it, and more terms find others: here the degree keeps the problem well-posed. With noisy data it would
# not; see the inverse problem for that.

# %%
import jax.numpy as jnp

import fredholm as fr

problem = fr.Equation(
    domain=fr.Interval(0.0, 1.0),
    integrals=fr.Integral(over=fr.Interval(0.0, 1.0), g=lambda u, x, t: jnp.exp(x[0] * t[0]) * u(t)),
    y=lambda x: (jnp.exp(x[0] + 1) - 1) / (x[0] + 1),
    exact=lambda x: jnp.exp(x[0]),
)
solution = fr.solve(problem, network=fr.Chebyshev(10))
print(solution)
solution.plot("picture.png")
