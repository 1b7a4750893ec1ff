"""The house in numbers: `python tools/house.py`, from the root of the repository.

Lines, files, loose modules, the longest chain of imports (lazy ones and those for type checkers counted), cycles, arguments annotated plain
`Any`, functions over 80 lines, `isinstance` on a method outside of `methods/`, C++ files. The chain itself follows, from the top down.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("src/fredholm")
METHODS = re.compile(r"\b(DelayedTarget|DoubleSampling|Standard)\b")


def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imported(tree: ast.AST, known: dict[str, Path]) -> set[str]:
    """The modules of ours that a module imports, wherever it does."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fredholm"):
            names |= {full if (full := f"{node.module}.{alias.name}") in known else node.module for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name in known}
    return names


def longest_chain(imports: dict[str, set[str]]) -> tuple[list[str], set[str]]:
    """The longest chain of imports, from the top down, and the modules where a cycle closes."""
    chains: dict[str, list[str]] = {}
    cycles: set[str] = set()

    def below(module: str, above: tuple[str, ...] = ()) -> list[str]:
        if module in above:
            cycles.add(module)
            return []
        if module not in chains:
            chains[module] = [module, *max((below(other, (*above, module)) for other in sorted(imports[module])), key=len, default=[])]
        return chains[module]

    return max((below(module) for module in imports), key=len), cycles


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def is_plain_any(argument: ast.arg) -> bool:
    """True for an argument whose annotation says nothing."""
    return argument.annotation is not None and ast.unparse(argument.annotation) == "Any"


def main() -> None:
    """Prints the numbers."""
    known = modules()
    texts = {name: path.read_text(encoding="utf-8") for name, path in known.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    chain, cycles = longest_chain({name: imported(tree, known) - {name} for name, tree in trees.items()})
    arguments = [
        argument
        for tree in trees.values()
        for function in functions(tree)
        for argument in (*function.args.args, *function.args.kwonlyargs, function.args.vararg, function.args.kwarg)
        if argument is not None
    ]
    asked = [
        node
        for name, tree in trees.items()
        if not name.startswith("fredholm.methods")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance" and METHODS.search(ast.unparse(node))
    ]
    long = [one for tree in trees.values() for one in functions(tree) if (one.end_lineno or 0) - one.lineno >= 80]
    loose = [name for name, path in known.items() if name.count(".") == 1 and path.name != "__init__.py"]
    numbers = {
        "lines": sum(text.count("\n") for text in texts.values()),
        "files": len(known),
        "loose modules": len(loose),
        "longest chain of imports": len(chain),
        "cycles": len(cycles),
        "arguments that are plain Any": sum(map(is_plain_any, arguments)),
        "functions over 80 lines": len(long),
        "isinstance on a method outside of methods/": len(asked),
        "C++ files": sum(1 for path in ROOT.rglob("*") if path.suffix in (".cc", ".cpp", ".c")),
    }
    for name, number in numbers.items():
        print(f"{number:>7,}  {name}")
    print("\n" + " → ".join(name.removeprefix("fredholm.") for name in chain))
    if cycles:
        print("cycles through " + ", ".join(sorted(cycles)))


if __name__ == "__main__":
    main()
