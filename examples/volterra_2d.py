# %% [markdown]
# # Volterra in the plane: two moving limits
#
# $$u(x, y) = 1 + \int_0^x\!\int_0^y u(s, t)\,dt\,ds$$
#
# Goursat's problem $u_{xy} = u$ as an integral equation: its solution $I_0(2\sqrt{xy})$ is Riemann's function of the telegraph
# equation. The box that is integrated over depends on the point p.

# %%
import jax
import jax.numpy as jnp

import fredholm as fr

problem = fr.Equation(
    domain=fr.Box((0.0, 0.0), (1.0, 1.0)),
    f=lambda u, p: u(p),
    integrals=fr.Integral(over=lambda p: fr.Box((0.0, 0.0), (p[0], p[1])), g=lambda u, p, q: u(q)),
    y=1.0,
    exact=lambda p: jax.scipy.special.i0(2 * jnp.sqrt(p[0] * p[1])),
    view=fr.View(inputs=("x", "y")),
)
solution = fr.solve(problem)
print(solution)
solution.plot("picture.png")
