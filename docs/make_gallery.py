"""Runs the programs of examples/ and stores what each printed and drew, its error and its CPU time, for the gallery of the site.

`python docs/make_gallery.py` runs all of them, one after another; names run some. Results go to docs/gallery.json after each one.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
EXAMPLES, RESULTS, PICTURES = DOCS.parent / "examples", DOCS / "gallery.json", DOCS / "figures" / "gallery"

# The program itself, and after it what the page needs: a number `error` of its own, or the score of its solution.
RUN = """
import json, runpy, sys
names = runpy.run_path(sys.argv[1], run_name="__main__")
found, solution, error = {}, names.get("solution"), names.get("error")
score = None if solution is None else solution.score()
if score is not None:
    found = {"score": score[0].replace("_", " "), "error": f"{score[1][0]:.2g}"}
elif isinstance(error, float) and error < 1:
    found = {"score": "error", "error": f"{float(error):.2g}"}
elif solution is not None and "estimated_error" in solution.history:
    found = {"score": "estimated error", "error": f"{float(solution.history['estimated_error'].values[:, -1].max()):.2g}"}
json.dump(found, open("found.json", "w"))
"""


def run(name: str) -> dict[str, object]:
    """What an example prints, its error, and the CPU seconds of its process."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", RUN, str(EXAMPLES / f"{name}.py")]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        for picture in Path(folder).glob("*.png"):
            PICTURES.mkdir(exist_ok=True)
            (PICTURES / f"{name}.png").write_bytes(picture.read_bytes())
        output = re.sub(r" in [\d.]+ (s|min|h)$", "", done.stdout.strip(), flags=re.MULTILINE)  # its clock depends on what else runs
        return {"output": output, **json.loads((Path(folder) / "found.json").read_text()), "seconds": f"{seconds:.0f}"}


def main() -> None:
    """Runs the examples that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="examples; default: all")
    for name in parser.parse_args().names or sorted(path.stem for path in EXAMPLES.glob("*.py")):
        try:
            found = run(name)
        except RuntimeError as error:
            print(f"{name}: FAILED\n{error}", flush=True)
            continue
        results = json.loads(RESULTS.read_text(encoding="utf-8")) | {name: found}
        RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{name}: {found.get('score', '')} {found.get('error', '')}, {found['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
