# %% [markdown]
# # Nonlinear Fredholm: Chandrasekhar's H function
#
# $$H(\mu) = 1 + \frac\omega2\,\mu\,H(\mu) \int_0^1 \frac{H(t)}{\mu + t}\,dt$$
#
# Light that a deep atmosphere reflects (Chandrasekhar, Radiative Transfer, 1950); ω is the share that is scattered at each event. The
# unknown stands before and inside the integral: g sees both. The exact moment $\int_0^1 H = \frac2\omega(1 - \sqrt{1-\omega})$ checks
# the result.

# %%
import jax.numpy as jnp
import numpy as np

import fredholm as fr

OMEGA = 0.8
problem = fr.Equation(
    domain=fr.Interval(0.0, 1.0),
    f=lambda u, x: u(x),
    integrals=fr.Integral(over=fr.Interval(0.0, 1.0), g=lambda u, x, t: OMEGA / 2 * x[0] * u(x) * u(t) / jnp.maximum(x[0] + t[0], 1e-12)),
    y=1.0,
    view=fr.View(inputs=("μ",), outputs=("H",)),
)
solution = fr.solve(problem)
print(solution)
nodes, weights = np.polynomial.legendre.leggauss(64)
moment = weights @ np.asarray(solution((nodes + 1)[:, None] / 2)) / 2
error = abs(moment * OMEGA / 2 / (1 - np.sqrt(1 - OMEGA)) - 1)
print(f"the integral of H is {moment:.8f}; its relative error is {error:.1e}")
solution.plot("picture.png")
