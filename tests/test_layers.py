"""The layout shows the architecture: rooms stand above each other, and imports point down. Lazy imports count like the others."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "fredholm"
# From the bottom up. A module may import from its own room and from rooms of lower layers.
LAYERS = [
    {"common"},
    {"domains", "functions", "optimizers"},
    {"rules"},
    {"equation"},
    {"methods"},
    {"problems"},
    {"storage"},
    {"training"},
    {"diagnostics", "report", "solving"},
    {"results"},
    {"api"},
    {"study"},
    {"paper"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
LONGEST = 20  # imports in a chain
METHODS = {"DelayedTarget", "DoubleSampling", "Standard"}
MODULES = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in ROOT.rglob("*.py")}


def imports(name):
    """The modules of ours that a module imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fredholm"):
            found |= {full if (full := f"{node.module}.{alias.name}") in MODULES else node.module for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
    return found - {name}


def room(name):
    return name.split(".")[1] if "." in name else ""


def test_every_room_has_a_layer():
    assert {room(name) for name in MODULES} - {"", "__main__"} == set(LEVEL)


def test_imports_point_down():
    inside = [name for name in MODULES if room(name) in LEVEL]
    wrong = [f"{name} imports {other}" for name in inside for other in imports(name) if LEVEL.get(room(other), 99) > LEVEL[room(name)]]
    assert not wrong


def test_no_cycles_and_no_long_chains_of_imports():
    """Between modules, not only between rooms: whoever follows an import ends soon, and never where the way began."""
    known = {}

    def chain(name, above=()):
        assert name not in above, " → ".join([*above[above.index(name) :], name])
        if name not in known:
            known[name] = [name, *max((chain(other, (*above, name)) for other in sorted(imports(name))), key=len, default=[])]
        return known[name]

    longest = max(map(chain, MODULES), key=len)
    assert len(longest) <= LONGEST, " → ".join(longest)


def test_nobody_outside_of_the_methods_asks_which_method_it_is():
    """What depends on the method is said by the method, so that a new one is one file."""
    asked = [
        f"{name}: {ast.unparse(node)}"
        for name, path in MODULES.items()
        if room(name) != "methods"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "isinstance"
        and METHODS & {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    ]
    assert not asked


@pytest.mark.parametrize("name", ["jax._src", "ctypes"])
def test_no_private_interfaces_and_no_compiled_code_of_our_own(name):
    assert not [module for module, path in MODULES.items() if name in path.read_text(encoding="utf-8")]
    assert not [path for path in ROOT.rglob("*") if path.suffix in (".c", ".cc", ".cpp", ".so")]


def test_importing_the_package_loads_nothing_that_only_some_need_and_starts_no_device():
    code = (
        "import sys, fredholm;"
        "much = {'matplotlib', 'plotly', 'jinja2', 'dask', 'xarray', 'pandas', 'scipy.special', 'scipy.linalg', 'scipy.stats'};"
        "assert not much & set(sys.modules), much & set(sys.modules);"
        "import jax._src.xla_bridge as bridge; assert not bridge._backends, 'JAX was started'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
