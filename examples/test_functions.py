# %% [markdown]
# # Random test functions: a variational method
#
# $$\int u'(t)\,v'(t)\,dt = \int \pi^2 \sin(\pi t)\,v(t)\,dt \quad\text{for every hat function } v$$
#
# $-u'' = \pi^2 \sin \pi x$ in weak form, as VPINNs have it (Kharazmi et al., 2019): each hat function is a volume with a place and a
# width. The standard loss with one node is far off; the delayed target is not.

# %%
import jax.numpy as jnp

import fredholm as fr

fr.use_all_cores()


def center(hat):
    """Where the hat is: it fits into [0, 1]."""
    return hat.width + (1 - 2 * hat.width) * hat.place


def tested(hat):
    """∫ π² sin(πt) v(t) dt for the hat v of height 1."""
    return 2 * jnp.sin(jnp.pi * center(hat)) * (1 - jnp.cos(jnp.pi * hat.width)) / hat.width


problem = fr.Equation(
    domain=fr.Law(place=fr.Interval(0.0, 1.0), width=fr.Interval(0.05, 0.5)),
    integrals=fr.Integral(
        over=lambda hat: fr.Interval(center(hat) - hat.width, center(hat) + hat.width),
        g=lambda u, hat, t: fr.derivative(u, t) * jnp.sign(center(hat) - t[0]) / hat.width,  # u'(t) v'(t)
    ),
    y=tested,
    exact=lambda x: jnp.sin(jnp.pi * x[0]),
    evaluation=fr.Evaluation(at=fr.Interval(0.0, 1.0)),
    inputs=1,
)

# u(0) = u(1) = 0 by construction.
network = fr.Constrained(fr.MLP(32, 2, "tanh"), lambda n, x: x[0] * (1 - x[0]) * n(x))

if __name__ == "__main__":
    for method in (fr.Standard(), fr.DelayedTarget()):
        print(fr.solve(problem, method, rule=fr.MonteCarlo(1), network=network, steps=4000, batch=200, seeds=2))
