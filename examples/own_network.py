# %% [markdown]
# # A network of your own
#
# $$u(x) = \tfrac12\int_0^{2\pi} \cos(x - t)\,\frac{u(t)}{\pi}\,dt + \cos 2x$$
#
# The solution is periodic, so the network should be: it sees $\cos x$ and $\sin x$ in place of x. Any Equinox module, or a function
# from a key to one, stands wherever `network=` does. The solution is $\cos 2x$.

# %%
import equinox as eqx
import jax.numpy as jnp

import fredholm as fr


class Periodic(eqx.Module):
    inner: eqx.nn.MLP

    def __init__(self, key):
        self.inner = eqx.nn.MLP(2, "scalar", width_size=32, depth=2, activation=jnp.tanh, key=key)

    def __call__(self, x):
        return self.inner(jnp.concatenate([jnp.cos(x), jnp.sin(x)]))


problem = fr.Equation(
    domain=fr.Interval(0.0, 2 * jnp.pi),
    f=lambda u, x: u(x),
    integrals=fr.Integral(fr.Interval(0.0, 2 * jnp.pi), lambda u, x, t: jnp.cos(x[0] - t[0]) * u(t) / (2 * jnp.pi)),
    y=lambda x: jnp.cos(2 * x[0]),
    exact=lambda x: jnp.cos(2 * x[0]),
)
solution = fr.solve(problem, fr.Standard(), rule=fr.Even(16), network=Periodic, steps=3000, seeds=2, progress=False)
print(solution)
solution.plot("picture.png")
