# %% [markdown]
# # Caputo's derivative: relaxation that slows down
#
# $$\frac{1}{\Gamma(1-\alpha)} \int_0^t (t - s)^{-\alpha}\,u'(s)\,ds = -u(t), \qquad u(0) = 1, \quad \alpha = \tfrac12$$
#
# A fractional derivative is a memory with a singular kernel (Caputo, 1967): the kernel is the measure, `AbsPower`, and g is the smooth
# rest. The solution is $e^t\,\mathrm{erfc}\sqrt t$, a function of $\sqrt t$. In $s = \sqrt t$ it is smooth, so the equation is written
# in s.

# %%
import math

import jax.numpy as jnp
from jax.scipy.special import erfc

import fredholm as fr

# With t = x² and s = r²: (t − s)^(−1/2) = (x − r)^(−1/2) (x + r)^(−1/2), and u'(s) ds = v'(r) dr for v(r) = u(r²).
problem = fr.Equation(
    domain=fr.Interval(0.0, 2.0),
    f=lambda v, x: v(x),
    integrals=fr.Integral(
        over=lambda x: fr.AbsPower(0.0, x[0], at=x[0], power=-0.5),
        g=lambda v, x, r: -fr.derivative(v, r) / jnp.sqrt(jnp.maximum(x[0] + r[0], 1e-12)) / math.gamma(0.5),
    ),
    conditions=[fr.Condition(at=fr.Point(0.0), value=1.0)],
    exact=lambda x: jnp.exp(x[0] ** 2) * erfc(x[0]),
    view=fr.View(inputs=("√t",)),
)
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
