# %% [markdown]
# # An option on a price that jumps: Merton
#
# $$\partial_\tau V = \tfrac{\sigma^2}{2} V_{xx} + b\,V_x - r V + \lambda\,\mathbb{E}\big[V(x + J) - V(x)\big], \qquad J \sim N(m, s^2)$$
#
# x is the logarithm of price over strike, τ the time to maturity (Merton, 1976). A call has a kink at τ = 0, so time starts at half a
# year, from Merton's own series, and ends at one. Beyond the domain that series also says what V is.

# %%
import math

import jax.numpy as jnp
from jax.scipy.stats import norm

import fredholm as fr

VOL, RATE, JUMPS, MEAN, SPREAD = 0.25, 0.03, 0.8, -0.1, 0.2
K = math.exp(MEAN + SPREAD**2 / 2) - 1  # the mean relative jump
REACH, START, END = 1.5, 0.5, 1.0


def merton(p):
    """Merton's series: a Black–Scholes price for each number of jumps."""
    x, time, price = p[0], p[1], 0.0
    for n in range(16):
        deviation = jnp.sqrt(VOL**2 * time + n * SPREAD**2)
        drift = (RATE - JUMPS * K) * time + n * (MEAN + SPREAD**2 / 2)
        upper = (x + drift + deviation**2 / 2) / deviation
        mean_rate = JUMPS * time
        chance = jnp.exp(-mean_rate) * mean_rate**n / math.factorial(n)
        price += chance * jnp.exp(-RATE * time) * (jnp.exp(x + drift) * norm.cdf(upper) - norm.cdf(upper - deviation))
    return price


def jump(V, p, t):
    landed = p + jnp.stack([t[0], 0.0])
    outside = jnp.abs(landed[0]) > REACH
    inside = jnp.clip(landed, jnp.array([-REACH, START]), jnp.array([REACH, END]))
    return JUMPS * (jnp.where(outside, merton(landed), V(inside)) - V(p))


def local(V, p):
    slope, bend = fr.derivative(V, p), fr.derivative(V, p, order=2)
    return fr.derivative(V, p, axis=1) - VOL**2 / 2 * bend - (RATE - VOL**2 / 2 - JUMPS * K) * slope + RATE * V(p)


prices, times = fr.Interval(-REACH, REACH), fr.Interval(START, END)
faces = [fr.Product(prices, fr.Point(START)), fr.Product(fr.Point(-REACH), times), fr.Product(fr.Point(REACH), times)]
integral = fr.Integral(over=fr.Normal(MEAN, SPREAD), g=jump, rule=fr.Gauss(32))
conditions = [fr.Condition(at=face, value=merton) for face in faces]
problem = fr.Equation(fr.Product(prices, times), local, [integral], conditions=conditions, exact=merton, view=fr.View(("x", "τ"), ("V",)))
solution = fr.solve(problem, network=fr.Chebyshev())
print(solution)
solution.plot("picture.png")
