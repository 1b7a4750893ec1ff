"""The paper's remark on robustness: how the weight of Smoluchowski's initial condition changes the two methods with one sample.

`python studies/initial_weight.py` prints the table.
"""

from rows import print_table

import fredholm as fr

if __name__ == "__main__":
    fr.use_all_cores()
    for weight in (0.1, 1.0, 10.0):
        problem = fr.problems.Smoluchowski(weight=weight)
        rows = {"standard N=1": {"method": fr.Standard()}, "delayed target N=1": {"method": fr.DelayedTarget(tau=0.99, regularization=1.0)}}
        print_table(f"Smoluchowski, d = 1, initial weight {weight:g}", problem, rows, steps=5000, seeds=2, batch=200, rule=fr.MonteCarlo(1))
