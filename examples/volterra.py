# %% [markdown]
# # Volterra: a memory with a moving limit
#
# $$u'(x) + u(x) = \int_0^x e^{t-x}\,u(t)\,dt, \qquad u(0) = 1$$
#
# The example of DeepXDE for integro-differential equations (Lu et al., 2021). The solution is $e^{-x}\cosh x$. Here with one random
# sample of the integral at each point, which delayed targets make enough of; plain `fr.solve(problem)` takes a series.

# %%
import jax.numpy as jnp

import fredholm as fr

fr.use_all_cores()

problem = fr.Equation(
    domain=fr.Interval(0.0, 5.0),
    f=lambda u, x: fr.derivative(u, x) + u(x),
    integrals=[
        fr.Integral(
            over=lambda x: fr.Interval(0.0, x[0]),
            g=lambda u, x, t: jnp.exp(t[0] - x[0]) * u(t),
        )
    ],
    conditions=[fr.Condition(at=fr.Point(0.0), value=1.0)],
    exact=lambda x: jnp.exp(-x[0]) * jnp.cosh(x[0]),  # optional: only to see the error
)

if __name__ == "__main__":
    solution = fr.solve(problem, fr.DelayedTarget(tau=0.99, regularization=1.0), rule=fr.MonteCarlo(1))
    print(solution)
    print(solution([[1.0], [2.0]]))
    solution.plot("volterra.png")
