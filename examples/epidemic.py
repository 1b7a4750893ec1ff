# %% [markdown]
# # An epidemic with memory: Kermack and McKendrick
#
# $$-S'(t) = S(t)\,\Big(F_0(t) + \int_0^t A(t - s)\,(-S'(s))\,ds\Big), \qquad S(0) = 1$$
#
# S is the share of the susceptible, A(τ) how infectious somebody is a time τ after the infection (1927). With $A = R e^{-\tau}$ this is
# the model with three compartments that everybody knows; the integral takes any other A as well. An ODE solver checks it here.

# %%
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import fredholm as fr

R, FIRST = 2.5, 0.1  # new infections by one person; the infectious at the start
END = 6.0
problem = fr.Equation(
    domain=fr.Interval(0.0, END),
    f=lambda S, t: fr.derivative(S, t) + S(t) * R * FIRST * jnp.exp(-t[0]),
    integrals=fr.Integral(
        over=lambda t: fr.Interval(0.0, t[0]),
        g=lambda S, t, s: S(t) * R * jnp.exp(s[0] - t[0]) * fr.derivative(S, s),
    ),
    conditions=[fr.Condition(at=fr.Point(0.0), value=1.0)],
    view=fr.View(inputs=("t",), outputs=("S",)),
)
solution = fr.solve(problem)
print(solution)
times = np.linspace(0.0, END, 50)
known = solve_ivp(lambda t, y: [-R * y[0] * y[1], R * y[0] * y[1] - y[1]], (0, END), [1.0, FIRST], t_eval=times, rtol=1e-10, atol=1e-12)
error = np.max(np.abs(solution(times[:, None]) - known.y[0]))
print(f"largest difference to the ODE: {error:.1e}")
solution.plot("picture.png")
