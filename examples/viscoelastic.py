# %% [markdown]
# # Creep: a material with memory
#
# $$1 = \varepsilon(t) + e^{-t}\,\varepsilon(0) + \int_0^t e^{-(t-s)}\,\varepsilon'(s)\,ds$$
#
# A standard linear solid under constant stress: one spring beside a spring with a dashpot (Boltzmann's superposition, 1874). The strain
# jumps to one half at once and then creeps: $\varepsilon = 1 - \frac12 e^{-t/2}$. The derivative of the unknown stands inside the
# integral.

# %%
import jax.numpy as jnp

import fredholm as fr

problem = fr.Equation(
    domain=fr.Interval(0.0, 8.0),
    f=lambda u, t: u(t) + jnp.exp(-t[0]) * u(jnp.zeros(1)),
    integrals=fr.Integral(over=lambda t: fr.Interval(0.0, t[0]), g=lambda u, t, s: -jnp.exp(s[0] - t[0]) * fr.derivative(u, s)),
    y=1.0,
    exact=lambda t: 1 - jnp.exp(-t[0] / 2) / 2,
    view=fr.View(inputs=("t",), outputs=("ε",)),
)
solution = fr.solve(problem)
print(solution)
solution.plot("picture.png")
