# %% [markdown]
# # Maxwell by Stokes' theorem
#
# $$\oint_{\partial A} \Big(\nabla \times u\Big) \cdot d\ell = \int_A J \cdot n\,dA \quad\text{for random discs } A$$
#
# The second problem of the paper (Saleh et al., 2024): the magnetic potential of a current in a wire. The curl of u along a circle is
# the current through it. u has three components, and only their curl is determined.

# %%
import fredholm as fr

problem = fr.problems.Maxwell()
solution = fr.solve(problem, fr.Standard(), rule=fr.Even(16, fr.Rotation()), steps=1500, seeds=2, progress=False)
print(solution)
solution.plot("picture.png")
