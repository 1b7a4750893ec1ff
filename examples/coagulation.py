# %% [markdown]
# # Coagulation: Smoluchowski with a constant kernel
#
# $$\partial_t n(x, t) = \tfrac12\int_0^x n(x - y, t)\,n(y, t)\,dy - n(x, t)\int_0^\infty n(y, t)\,dy, \qquad n(x, 0) = e^{-x}$$
#
# Any two particles may meet and stick (Smoluchowski, 1916). The first integral has a moving limit, the second an infinite one, and both
# are nonlinear. The solution is $\big(\frac{2}{2+t}\big)^2 e^{-2x/(2+t)}$.

# %%
import jax.numpy as jnp

import fredholm as fr


def at(size, p):
    """The point of this size at the time of p."""
    return jnp.stack([size, p[1]])


problem = fr.Equation(
    domain=fr.Product(fr.Exponential(0.0, 1.0), fr.Interval(0.0, 1.0)),
    f=lambda n, p: fr.derivative(n, p, axis=1),
    integrals=[
        fr.Integral(lambda p: fr.Interval(0.0, p[0]), lambda n, p, y: 0.5 * n(at(p[0] - y[0], p)) * n(at(y[0], p))),
        fr.Integral(fr.HalfLine(0.0, scale=1.0), lambda n, p, y: -n(p) * n(at(y[0], p))),
    ],
    conditions=[fr.Condition(at=fr.Product(fr.Exponential(0.0, 1.0), fr.Point(0.0)), value=lambda p: jnp.exp(-p[0]))],
    exact=lambda p: (2 / (2 + p[1])) ** 2 * jnp.exp(-2 * p[0] / (2 + p[1])),
    view=fr.View(inputs=("x", "t"), outputs=("n",)),
)
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
