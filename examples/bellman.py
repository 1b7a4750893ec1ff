# %% [markdown]
# # Bellman: the value of a policy
#
# $$V(x) = \gamma\,\mathbb{E}[V(x')] + R(x), \qquad x' = \rho\,x + \sqrt{1 - \rho^2}\;\xi$$
#
# The value of a state is its reward and the discounted value of what follows (Bellman, 1957). The expectation over ξ is an integral
# over four normal variables. One random sample for each state is what a simulator gives, and here it is enough: delayed targets are
# unbiased.

# %%
import fredholm as fr

problem = fr.problems.Bellman(dim=4, discount=0.9, memory=0.8)
for method in (fr.Standard(), fr.DelayedTarget()):
    solution = fr.solve(problem, method, rule=fr.MonteCarlo(1), steps=3000, seeds=2, progress=False)
    print(solution)
solution.plot("picture.png")
