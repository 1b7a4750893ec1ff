# %% [markdown]
# # Poisson by the divergence theorem
#
# $$\oint_{\partial \Omega} \nabla u \cdot n\,dS = \int_\Omega f\,dV \quad\text{for random spheres } \Omega$$
#
# The first problem of the paper (Saleh et al., 2024): point charges have no smooth right side, but the flux through a sphere is the
# charge inside. x is a random volume, and the equation is a weak form without f.

# %%
import fredholm as fr

problem = fr.problems.Poisson(dim=2)
solution = fr.solve(problem, fr.DelayedTarget(), rule=fr.MonteCarlo(1), steps=1500, seeds=2, progress=False)
print(solution)
solution.plot("picture.png")
