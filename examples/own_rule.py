# %% [markdown]
# # A rule of your own
#
# $$\int_0^1 g\,dt \approx \frac1{2n} \sum_i \big(g(z_i) + g(1 - z_i)\big)$$
#
# A rule is one class: how many nodes, and where. This one takes each random node with its mirror image (Hammersley and Morton, 1956),
# and is exact where the integrand is linear. Every domain and method then works with it.

# %%
import jax
import jax.numpy as jnp

import fredholm as fr
from fredholm.domains import Base, Nodes
from fredholm.rules import AbstractRule
from fredholm.rules.base import to_bases


class Mirrored(AbstractRule):
    n: int = 1  # pairs of nodes

    @property
    def is_random(self):
        return True

    def size(self, domain):
        return 2 * self.n

    def nodes(self, domain, key):
        z = jax.random.uniform(key, (self.n, len(domain.bases)))
        z = to_bases(jnp.concatenate([z, 1 - z]), domain.bases, (Base.UNIT,) * len(domain.bases))
        points, weights = jax.vmap(domain.map)(z)
        return Nodes(points, weights / self.size(domain))


for rule in (fr.MonteCarlo(2), Mirrored(1)):
    solution = fr.solve(fr.problems.Volterra(), fr.DelayedTarget(), rule=rule, steps=3000, seeds=2, progress=False)
    print(solution)
solution.plot("picture.png")
