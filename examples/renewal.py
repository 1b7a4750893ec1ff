# %% [markdown]
# # Renewal: how often does it fail?
#
# $$u(t) = f(t) + \int_0^t f(t - s)\,u(s)\,ds$$
#
# A part is replaced whenever it fails; f is the density of its life time and u the rate of replacements (Feller, 1941). The same
# equation describes births, with f as fertility. For $f = t e^{-t}$ the rate is $\frac12(1 - e^{-2t})$ and tends to one over the mean
# life.

# %%
import jax.numpy as jnp

import fredholm as fr


def life(t):
    """The density of life times, with mean 2."""
    return t * jnp.exp(-t)


problem = fr.Equation(
    domain=fr.Interval(0.0, 10.0),
    f=lambda u, t: u(t),
    integrals=fr.Integral(over=lambda t: fr.Interval(0.0, t[0]), g=lambda u, t, s: life(t[0] - s[0]) * u(s)),
    y=lambda t: life(t[0]),
    exact=lambda t: (1 - jnp.exp(-2 * t[0])) / 2,
    view=fr.View(inputs=("t",)),
)
solution = fr.solve(problem)
print(solution)
solution.plot("picture.png")
