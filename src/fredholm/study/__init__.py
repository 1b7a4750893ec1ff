"""Studies: many runs with matched seeds, here or on a cluster, as one table with intervals and paired differences.

```python
from fredholm.study import StudyFolder, make_run, run_study

runs = [make_run(f"width {width}", fr.problems.Volterra(), fr.DelayedTarget(), network=fr.MLP(width), seeds=4) for width in (16, 32)]
results = run_study(StudyFolder.create("runs/width", "Volterra by width", runs))
```
"""

from fredholm.study.execute import run_study
from fredholm.study.folder import StudyFolder, outcomes
from fredholm.study.outcome import Outcome, Paired, paired
from fredholm.study.run import Run, make_run
from fredholm.study.sweeps import grid, name_of, one_at_a_time

__all__ = ["Outcome", "Paired", "Run", "StudyFolder", "grid", "make_run", "name_of", "one_at_a_time", "outcomes", "paired", "run_study"]
