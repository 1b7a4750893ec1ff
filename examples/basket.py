# %% [markdown]
# # An option on ten prices at once
#
# $$\partial_t V + \tfrac{\sigma^2}{2} \sum_i \partial_i^2 V + \ldots = 0 \quad\text{in } d = 10$$
#
# A call on the geometric mean of ten prices. No grid fits into ten dimensions. The second derivatives are a mean over random
# directions, so a step costs the same in any dimension, and an unbiased loss lets a few directions do. The exact price of this basket
# is known.

# %%
import fredholm as fr

problem = fr.problems.Basket(dim=10)
solution = fr.solve(problem, steps=1000, seeds=2, progress=False)
print(solution)
solution.plot("picture.png")
