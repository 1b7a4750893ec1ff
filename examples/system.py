# %% [markdown]
# # A system: two functions that drive each other
#
# $$u_1(x) = \int_0^x u_2(t)\,dt, \qquad u_2(x) = 1 - \int_0^x u_1(t)\,dt$$
#
# The smallest system of Volterra equations: a pendulum, written by its history and not by its derivatives. With `outputs=2`, f, g and y
# return two numbers. The solution is $(\sin x, \cos x)$.

# %%
import jax.numpy as jnp

import fredholm as fr

problem = fr.Equation(
    domain=fr.Interval(0.0, 6.0),
    f=lambda u, x: u(x),
    integrals=fr.Integral(over=lambda x: fr.Interval(0.0, x[0]), g=lambda u, x, t: jnp.stack([u(t)[1], -u(t)[0]])),
    y=lambda x: jnp.array([0.0, 1.0]),
    outputs=2,
    exact=lambda x: jnp.stack([jnp.sin(x[0]), jnp.cos(x[0])]),
)
solution = fr.solve(problem)
print(solution)
solution.plot("picture.png")
