# %% [markdown]
# # The fractional Laplacian: how long does a jumping particle stay?
#
# $$(-\Delta)^{\alpha/2}\,u = f \text{ in the unit disc}, \qquad u = 0 \text{ outside}, \quad \alpha = 1.5$$
#
# The operator is an integral over jumps of any length in any direction (Getoor, 1961; this solution by Dyda, 2012). The problem that
# comes with the library takes the singular density of the jumps into the measure, so four random jumps at each point are enough, in two
# dimensions as in ten.

# %%
import fredholm as fr

problem = fr.problems.FractionalPoisson(dim=2, order=1.5)
solution = fr.solve(problem, steps=1500, seeds=2, progress=False)
print(solution)
solution.plot("picture.png")
