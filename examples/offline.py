# %% [markdown]
# # Only samples: the value of a policy from a table
#
# $$V(s) = \mathbb{E}[\,r + \gamma\,V(s')\;|\;s\,]$$
#
# A table has a state, a reward and *one* state that followed; nobody can sample another. Squaring the difference prefers a V that is
# flat where the next state is random (Baird, 1995). Delayed targets do not. A fifth of the rows is held out to judge.

# %%
import numpy as np

import fredholm as fr

random, gamma = np.random.default_rng(0), 0.9
state = random.uniform(-1.0, 1.0, (2000, 1))
following = 0.8 * state + 0.2 * random.normal(size=(2000, 1))
reward = 1 - state[:, 0] ** 2

problem = fr.Equation(
    domain=fr.Offline(point=state, next=following[:, None], reward=reward, held_out=0.2),
    f=lambda V, x: V(x.point),
    integrals=fr.Integral(over=lambda x: fr.Given(x.next), g=lambda V, x, t: gamma * V(t)),
    y=lambda x: x.reward,
)
# V = c − a s² solves it: a (1 − 0.64 γ) = 1 and c (1 − γ) = 1 − 0.04 γ a.
a = 1 / (1 - 0.64 * gamma)
c = (1 - 0.04 * gamma * a) / (1 - gamma)
for method in (fr.Standard(), fr.DelayedTarget()):
    solution = fr.solve(problem, method, rule=fr.MonteCarlo(1), batch=200, steps=3000, seeds=2, progress=False)
    points = np.linspace(-1, 1, 101)[:, None]
    truth = c - a * points[:, 0] ** 2
    error = np.linalg.norm(solution(points) - truth) / np.linalg.norm(truth)
    print(f"{type(method).__name__}: relative error {error:.2%}")
solution.plot("picture.png")
