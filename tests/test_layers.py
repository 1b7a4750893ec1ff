"""The layout shows the architecture: imports point one way."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "fredholm"
# From the bottom up. A module may import from its own layer and from those before it.
LAYERS = [
    {
        "activations",
        "apart",
        "caches",
        "checks",
        "compiling",
        "draws",
        "kernels",
        "keys",
        "layer",
        "linear",
        "memory",
        "orthogonal",
        "statistics",
        "view",
    },
    {"domains"},
    {"rules", "operators", "networks", "optimizers"},
    {"metrics"},
    {"residual"},
    {"conditions"},
    {"equation"},
    {"methods"},
    {"validation", "problems", "theory"},
    {"looks"},
    {"inspection"},
    {"recipes", "files", "status", "storage", "progress"},
    {"solution"},
    {"training"},
    {"auto"},
    {"solve"},
    {"plots"},
    {"report"},
    {"zoo", "study"},
    {"reproduce"},
    {"demo", "cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Solution.plot and Solution.report import these when they are called, so that a solution does not need matplotlib.
LAZY = {("solution", "plots"), ("solution", "report"), ("rules", "plots")}


def imports(path):
    """(module, imported at the top of the file) for every import of ours."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fredholm"):
            names = [f"{node.module}.{alias.name}" if node.module == "fredholm" else node.module for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("fredholm")]
        for name in names:
            if id(node) not in typing_only and len(name.split(".")) > 1:
                yield name.split(".")[1], node in tree.body


def test_every_module_has_a_layer():
    found = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert found - {"__init__", "__main__"} == set(LEVEL)


def test_imports_point_one_way():
    wrong = []
    for path in ROOT.rglob("*.py"):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if own in ("__init__", "__main__"):
            continue
        for other, at_top in imports(path):
            if LEVEL[other] > LEVEL[own] and (at_top or (own, other) not in LAZY):
                wrong.append(f"{path.relative_to(ROOT)} imports fredholm.{other}")
    assert not wrong


def test_importing_the_package_loads_nothing_that_only_some_need_and_starts_no_device():
    import subprocess
    import sys

    code = (
        "import sys, fredholm; much = {'matplotlib', 'plotly', 'dask', 'xarray', 'pandas', 'scipy.special', 'scipy.linalg', 'scipy.stats'};"
        "assert not much & set(sys.modules), much & set(sys.modules);"
        "import jax._src.xla_bridge as bridge; assert not bridge._backends, 'JAX was started'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
