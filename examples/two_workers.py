# %% [markdown]
# # A study on two workers
#
# $$\text{error of Volterra's equation, by method and by number of nodes}$$
#
# Runs with matched seeds, spread over processes; what is finished is never trained twice. The same file runs on a Dask cluster when it
# is given the address of a scheduler. `if __name__` is needed, since workers import this file.

# %%
import fredholm as fr
from fredholm.study import StudyFolder, make_run, run_study

if __name__ == "__main__":
    problem, options = fr.problems.Volterra(), {"steps": 1500, "seeds": 2, "network": fr.MLP(32, 2)}
    methods = {"standard": fr.Standard(), "delayed": fr.DelayedTarget()}
    runs = [
        make_run(f"{name}, N={n}", problem, method, rule=fr.MonteCarlo(n), **options) for name, method in methods.items() for n in (1, 4)
    ]
    results = run_study(StudyFolder.create("study", "Methods and nodes", runs), workers=2, progress=False)
    for name, result in results.items():
        print(f"{name:<14} {result.best().mean():.2e}")
