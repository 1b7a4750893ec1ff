"""An installed fredholm, away from its sources: types, data, a solve, a folder, a page. `make package` runs it in an empty environment."""

import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import fredholm as fr
from fredholm.paper.reproduction.published import published

assert "site-packages" in fr.__file__, f"not the installed one: {fr.__file__}"
assert version("fredholm") == fr.__version__
assert files("fredholm").joinpath("py.typed").is_file()
assert published(1, "poisson", "mse") is not None
solution = fr.solve(fr.problems.Volterra(), progress=False)
error = solution.summary()["relative_l2"][0]
assert error < 1e-10, f"a smooth equation ended at an error of {error}"
with tempfile.TemporaryDirectory() as folder:
    loaded = fr.load(solution.save(Path(folder) / "run"))
    assert abs(loaded([[1.0]]) - solution([[1.0]])).max() == 0
    assert loaded.report(Path(folder) / "report.html").stat().st_size > 1000
print(f"fredholm {fr.__version__} from its wheel: solved to {error:.1e}, saved, loaded, reported")
