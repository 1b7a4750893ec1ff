# %% [markdown]
# # Smoluchowski: the paper's coagulation
#
# $$\partial_t \rho(x, t) = \tfrac12\int_0^x K(x - y, y)\,\rho(x - y)\,\rho(y)\,dy - \int_0^\infty K(x, y)\,\rho(x)\,\rho(y)\,dy$$
#
# The third problem of the paper (Saleh et al., 2024), with its own kernel and a converged reference in place of an exact solution. One
# random sample of each integral at each point, with delayed targets.

# %%
import fredholm as fr

problem = fr.problems.Smoluchowski(dim=1)
solution = fr.solve(problem, fr.DelayedTarget(), rule=fr.MonteCarlo(1), steps=1500, seeds=2, progress=False)
print(solution)
solution.plot("picture.png")
