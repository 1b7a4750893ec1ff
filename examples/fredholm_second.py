# %% [markdown]
# # Fredholm, second kind: Love's equation
#
# $$u(x) + \frac1\pi \int_{-1}^{1} \frac{u(t)}{1 + (x - t)^2}\,dt = 1$$
#
# Love (1949) derived it for the field between two equal coaxial discs at a distance of one radius. The integral of u gives the
# capacitance. Nobody knows u in closed form, so the solver estimates its own error.

# %%
import jax.numpy as jnp

import fredholm as fr

plates = fr.Interval(-1.0, 1.0)
problem = fr.Equation(
    domain=plates,
    f=lambda u, x: u(x),
    integrals=fr.Integral(over=plates, g=lambda u, x, t: -u(t) / (jnp.pi * (1 + (x[0] - t[0]) ** 2))),
    y=1.0,
)
solution = fr.solve(problem)
print(solution)
print("u(0), u(1):", solution([[0.0], [1.0]]))
solution.plot("picture.png")
