# %% [markdown]
# # A population by age: McKendrick and von Foerster
#
# $$\partial_t n + \partial_a n = -\mu\,n, \qquad n(0, t) = \int_0^A \beta\,n(a, t)\,da, \qquad n(a, 0) = n_0(a)$$
#
# Everybody ages, dies at the rate μ and gives birth at the rate β until the age A (McKendrick, 1926). The integral stands in the
# condition at age 0, so it is an `IntegralCondition` for every t. A stable population grows as $e^{\lambda t - (\lambda + \mu)a}$.

# %%
import jax.numpy as jnp

import fredholm as fr

AGE, DEATH, GROWTH = 3.0, 0.7, 0.3
BIRTH = 1 / (1 - jnp.exp(-AGE))  # so that the population is stable, as λ + μ = 1
ages, times = fr.Interval(0.0, AGE), fr.Interval(0.0, 2.0)

problem = fr.Equation(
    domain=fr.Product(ages, times),
    f=lambda n, x: fr.derivative(n, x, axis=1) + fr.derivative(n, x, axis=0) + DEATH * n(x),
    conditions=[
        fr.Condition(at=fr.Product(ages, fr.Point(0.0)), value=lambda x: jnp.exp(-x[0])),
        fr.IntegralCondition(  # births, less the newborn: a mean over [0, 1] of what does not depend on it
            [
                fr.Integral(ages, lambda n, t, a: BIRTH * n(jnp.stack([a[0], t[0]]))),
                fr.Integral(fr.Interval(0.0, 1.0), lambda n, t, _: -n(jnp.stack([0.0, t[0]]))),
            ],
            value=0.0,
            at=times,
        ),
    ],
    exact=lambda x: jnp.exp(GROWTH * x[1] - x[0]),
    view=fr.View(inputs=("age", "t"), outputs=("n",)),
)
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
