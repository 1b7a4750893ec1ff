# %% [markdown]
# # Radiative transfer in a slab
#
# $$\varphi(x) = \frac12 \int_0^L E_1(|x - x'|)\,\big(c\,\varphi(x') + q\big)\,dx'$$
#
# Light or neutrons that a slab of L mean free paths scatters in all directions (Milne, 1921; Peierls, 1939). The kernel is singular at
# x = x'. The problem that comes with the library writes it as a mean over flights, which needs one random sample at each point, and no
# more.

# %%
import fredholm as fr

problem = fr.problems.TransportSlab(thickness=2.0, scattering=0.9)
solution = fr.solve(problem, fr.DelayedTarget(), rule=fr.MonteCarlo(1), steps=3000, seeds=2, progress=False)
print(solution)
solution.plot("picture.png")
