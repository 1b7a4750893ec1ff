# %% [markdown]
# # An inverse problem: the strength of a memory, with its interval
#
# $$u'(x) + u(x) = \kappa \int_0^x e^{t-x}\,u(t)\,dt, \qquad u(0) = 1, \qquad \kappa = \;?$$
#
# Thirty measurements of u with a known error; κ is learned with u. The interval follows from the error of the data. For κ = 1 the
# solution is $e^{-x}\cosh x$, which makes the data.

# %%
import jax.numpy as jnp
import numpy as np

import fredholm as fr

random = np.random.default_rng(0)
places, error = np.linspace(0.1, 5.0, 30), 0.01
observed = np.exp(-places) * np.cosh(places) + error * random.normal(size=30)

problem = fr.Equation(
    domain=fr.Interval(0.0, 5.0),
    f=lambda u, x: fr.derivative(u, x) + u(x),
    integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u.kappa * jnp.exp(t[0] - x[0]) * u(t)),
    conditions=[fr.Condition(at=fr.Point(0.0), value=1.0), fr.Data(places[:, None], observed, sigma=error)],
    unknowns={"kappa": 0.5},
)
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
