# %% [markdown]
# # Relaxation to a Maxwellian
#
# $$\partial_t f(v, t) = M(v) \int_{-\infty}^\infty f(w, t)\,dw - f(v, t), \qquad f(v, 0) = v^2 M(v)$$
#
# A Boltzmann equation in its simplest form (Bhatnagar, Gross and Krook, 1954): collisions forget the velocity v and draw a new one from
# $M$, the standard normal density. The solution is $M(v)\,(1 + (v^2 - 1)\,e^{-t})$.

# %%
import jax.numpy as jnp

import fredholm as fr


def maxwellian(v):
    return jnp.exp(-(v**2) / 2) / jnp.sqrt(2 * jnp.pi)


problem = fr.Equation(
    domain=fr.Product(fr.Normal(0.0, 1.0), fr.Interval(0.0, 2.0)),
    f=lambda f, p: fr.derivative(f, p, axis=1) + f(p),
    integrals=fr.Integral(over=fr.Line(), g=lambda f, p, w: maxwellian(p[0]) * f(jnp.stack([w[0], p[1]]))),
    conditions=[fr.Condition(at=fr.Product(fr.Normal(0.0, 1.0), fr.Point(0.0)), value=lambda p: p[0] ** 2 * maxwellian(p[0]))],
    exact=lambda p: maxwellian(p[0]) * (1 + (p[0] ** 2 - 1) * jnp.exp(-p[1])),
    view=fr.View(inputs=("v", "t"), outputs=("f",)),
)
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
