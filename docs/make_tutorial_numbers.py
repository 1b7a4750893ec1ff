"""Runs the blocks of docs/tutorial.md as they are, and writes what they print into the page: `python docs/make_tutorial_numbers.py`.

A text block that begins with "check" gets the whole report, one that begins with "error" that line of the solution. The sentence about the
standard loss gets the error of the same call with `Standard()`.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import fredholm as fr

PAGE = Path(__file__).resolve().parent / "tutorial.md"
BLOCK = re.compile(r"```(python|text)\n(.*?)```", flags=re.DOTALL)
STANDARD = re.compile(r"(The standard loss with the same single sample ends at )[^\n]*")


def main() -> None:
    """Runs every block once, in order, and those with a sentence about the standard loss once more with it."""
    page, names, printed, calls = PAGE.read_text(encoding="utf-8"), {"__name__": "page"}, "", []
    solve = fr.solve

    def noted(problem: fr.Equation, method: Any = None, **keywords: Any) -> fr.Solution:
        calls.append((problem, keywords))
        return solve(problem, method, progress=False, **keywords)

    fr.use_all_cores()
    fr.solve = noted  # type: ignore[assignment]
    end, parts = 0, []
    for found in BLOCK.finditer(page):
        parts.append(_with_standard(page[end : found.start()], calls, solve))
        kind, text = found.groups()
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, str(PAGE), "exec"), names)
            printed = output.getvalue()
        elif text.startswith("check"):
            text = printed
        elif text.startswith("error"):
            text = next(line + "\n" for line in printed.splitlines() if line.startswith("error"))
            print(text, end="", flush=True)
        parts.append(f"```{kind}\n{text}```")
        end = found.end()
    PAGE.write_text("".join([*parts, page[end:]]), encoding="utf-8")


def _with_standard(text: str, calls: list[Any], solve: Any) -> str:
    """The text between two blocks, with the error of the last call by the standard loss."""
    if not STANDARD.search(text):
        return text
    problem, keywords = calls[-1]
    mean, low, high = solve(problem, fr.Standard(), progress=False, **keywords).summary()["relative_l2"]
    print(f"standard: {mean:.3g}", flush=True)
    return STANDARD.sub(rf"\g<1>{mean:.3g} [{low:.3g}, {high:.3g}].", text)


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    main()
