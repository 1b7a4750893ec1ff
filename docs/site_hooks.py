"""Hooks of MkDocs (`make site`): the gallery from examples/, the reference from `fredholm.__all__`, measured numbers, formulas, llms.txt.

A number on a page is one that a program measured and committed: `{{ gallery.volterra.error }}` is read from docs/gallery.json. Whoever
types one by hand fails the build (`typed_numbers`).
"""

import hashlib
import html
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import jupytext
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

import fredholm as fr

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
RESULTS = {name: json.loads((ROOT / "docs" / f"{name}.json").read_text(encoding="utf-8")) for name in ("gallery",)}

# MathJax with its fonts, as it lies in a package of PyPI. The hash says that it is this one.
MATHJAX = ("sphinx-mathjax-offline", "0.0.2", "206418155b2ff2f57496fb8501fdccae3da978e53031ff296c73729ba16062c4")
MATHJAX_FILES = re.compile(r".*/mathjax/(tex-chtml\.js|output/chtml/fonts/woff-v2/.*\.woff)$")

# Pages whose numbers are all macros. Other pages are written by programs (docs/make_*.py, benchmarks/) or describe what was measured.
MEASURED = {"index.md", "getting_started.md", "equations.md", "wrong.md", "faq.md", "comparison.md", "cite.md", "releases.md"}
TYPED = re.compile(r"\d(?:\.\d+)?e[-−]\d+|10\^\{?-\d|\d+(?:\.\d+)?\s?(?:%|ms|s|MB|GB|seconds|minutes|min|hours|times)(?![\w*])|\b0\.0\d+")
ROOMS = {  # a heading for each room of the package, in the order of the reference
    "solving": ("Solving", ("api", "study", "diagnostics")),
    "equations": ("Equations", ("equation",)),
    "domains": ("Domains and measures", ("domains",)),
    "rules": ("Rules for integrals", ("rules",)),
    "methods": ("Methods", ("methods",)),
    "functions": ("Networks and series", ("functions",)),
    "optimizers": ("Optimisers", ("optimizers",)),
    "results": ("Solutions", ("results",)),
    "training": ("Training, callbacks and devices", ("training",)),
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The pages that hooks make get their places in the navigation."""
    groups = config.extra["gallery"]
    gallery = ["gallery/index.md", *({group: [f"gallery/{name}.md" for name in names]} for group, names in groups.items())]
    reference = ["reference/index.md", *(f"reference/{page}.md" for page in reference_pages()), "reference/problems.md"]
    made = {"Gallery": gallery, "Reference": reference}
    config.nav = [{title: made.get(title, part)} for entry in config.nav or [] for title, part in entry.items()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is no file of docs/: the gallery's pages and downloads, the reference, formulas' fonts."""
    for path, content in {**gallery_files(config.extra["gallery"]), **reference_files(), **mathjax_files()}.items():
        files.append(File.generated(config, path, content=content, inclusion=InclusionLevel.INCLUDED))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changes))
    return files


# --- the gallery


def title_of(script: str) -> str:
    """The heading of an example: the first line of its first cell."""
    return re.search(r"^# # (.+)$", script, flags=re.MULTILINE).group(1)  # type: ignore[union-attr]


def gallery_files(groups: dict[str, list[str]]) -> dict[str, str | bytes]:
    """A page, a script and a notebook for each example, the pictures, and a page of cards."""
    made: dict[str, str | bytes] = {}
    cards = [
        "# Gallery",
        "",
        "One file each, at most 60 lines, to copy and to change. Errors and times are those of the stored runs (`make gallery`).",
        "",
    ]
    for group, names in groups.items():
        cards += [f"## {group}", "", '<div class="gallery" markdown="0">']
        for name in names:
            script = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
            found = RESULTS["gallery"].get(name, {})
            made[f"gallery/{name}.md"] = gallery_page(name, script, found)
            made[f"gallery/{name}.py"] = script
            made[f"gallery/{name}.ipynb"] = jupytext.writes(jupytext.reads(script, fmt="py:percent"), fmt="ipynb")
            picture = ROOT / "docs" / "figures" / "gallery" / f"{name}.png"
            image = f'<img src="../figures/gallery/{name}.png" alt="" loading="lazy">' if picture.exists() else ""
            error = f"{found['score']} {found['error']}" if "error" in found else ""
            cards.append(f'<a href="{name}.html">{image}<strong>{html.escape(title_of(script))}</strong><br><small>{error}</small></a>')
        cards += ["</div>", ""]
    made["gallery/index.md"] = "\n".join(cards)
    return made


def gallery_page(name: str, script: str, found: dict[str, object]) -> str:
    """The page of an example: its cells, then what it printed and drew."""
    cells = jupytext.reads(script, fmt="py:percent").cells
    parts = [cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```" for cell in cells]
    for cell in cells:
        if cell.cell_type == "markdown":
            typed_numbers(f"examples/{name}.py", cell.source)
    if found:
        parts.append(f"## What it prints\n\n```text\n{found['output']}\n```")
    if (ROOT / "docs" / "figures" / "gallery" / f"{name}.png").exists():
        parts.append(f"![{title_of(script)}: the picture that the program draws](../figures/gallery/{name}.png)")
    if "seconds" in found:
        error = f"{found['score']} **{found['error']}**, " if "error" in found else ""
        parts.append(f"Measured: {error}{found['seconds']} s of CPU time, compilation included.")
    parts.append(f"[Script]({name}.py){{ .md-button download }} [Notebook]({name}.ipynb){{ .md-button download }}")
    return "\n\n".join(parts)


# --- the reference


def reference_pages() -> dict[str, list[str]]:
    """The public names of each page of the reference, by the room that they live in."""
    homes = {room: page for page, (_, rooms) in ROOMS.items() for room in rooms}
    found: dict[str, list[str]] = {page: [] for page in ROOMS}
    for name in sorted(fr.__all__, key=str.lower):
        if name != "problems":
            room = getattr(fr, name).__module__.split(".")[1]
            if room not in homes:
                raise PluginError(f"docs/site_hooks.py: fr.{name} lives in {room}, which no page of the reference has; add it to ROOMS.")
            found[homes[room]].append(name)
    return found


def reference_files() -> dict[str, str]:
    """The pages of the reference: mkdocstrings writes each name from its docstring."""
    made = {}
    listing = ["# Reference", "", "Everything that `import fredholm as fr` gives, by what it is for.", ""]
    for page, names in reference_pages().items():
        title = ROOMS[page][0]
        made[f"reference/{page}.md"] = "\n\n".join([f"# {title}", *(_entry(f"fredholm.{name}", name) for name in names)])
        listing += [
            f"## [{title}]({page}.md)",
            "",
            *(f"- [`{name}`]({page}.md#fredholm.{name}): {_summary(getattr(fr, name))}" for name in names),
            "",
        ]
    problems = [name for name in fr.problems.__all__ if isinstance(getattr(fr.problems, name), type)]
    made["reference/problems.md"] = "\n\n".join(
        [
            "# Problems",
            "`fr.problems` holds equations of the paper and of the literature.",
            *(_entry(f"fredholm.problems.{name}", name) for name in problems),
        ]
    )
    made["reference/index.md"] = "\n".join([*listing, "## [Problems](problems.md)", "", "Equations of the paper and of the literature."])
    return made


def _entry(path: str, name: str) -> str:
    members = {"Solution": "true", "Equation": "[rules]", "AbstractCallback": "true"}.get(name, "false")
    return f"::: {path}\n    options:\n      members: {members}\n      heading_level: 2"


def _summary(thing: object) -> str:
    first = (thing.__doc__ or "").strip().split("\n\n")[0]
    return re.split(r"(?<=[.:])\s", " ".join(first.split()))[0]


# --- numbers, links, formulas


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Puts measured numbers in, refuses typed ones, and leads links that leave docs/ to their pages."""
    path = page.file.src_uri
    if path in MEASURED:
        typed_numbers(path, markdown)
    markdown = re.sub(r"\{\{ ([\w.-]+) \}\}", lambda match: measured(path, match.group(1)), markdown)
    up = "../" * path.count("/")
    markdown = re.sub(r"\]\((?:\.\./)?examples/(\w+)\.py\)", rf"]({up}gallery/\1.md)", markdown)
    markdown = re.sub(r"\]\((?:\.\./)?docs/", f"]({up}", markdown)
    markdown = re.sub(r"\]\((?:\.\./)?README\.md(#[\w-]*)?\)", f"]({up}index.md)", markdown)
    return re.sub(r"\[([^\]]+)\]\(\.\./(?!figures)[\w./-]+\)", r"\1", markdown) if up == "" else markdown


def measured(path: str, name: str) -> str:
    """The number of this name, `gallery.volterra.error`, from the committed results."""
    value: object = RESULTS
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            raise PluginError(f"{path}: no committed result is called {name}; docs/gallery.json has {', '.join(RESULTS['gallery'])}.")
        value = value[part]
    return str(value)


def typed_numbers(path: str, markdown: str) -> None:
    """Refuses numbers that look measured and were typed; those in code, formulas and macros are none."""
    prose = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\{\{.*?\}\}|\]\([^)]*\)", "", markdown, flags=re.DOTALL)
    typed = [match.group(0) for match in TYPED.finditer(prose)]
    if typed:
        raise PluginError(f"{path}: the numbers {typed} are typed by hand; write {{{{ gallery.NAME.error }}}} or leave them out.")


def mathjax_files() -> dict[str, bytes]:
    """MathJax and its fonts, fetched once from PyPI into .cache/."""
    package, version, expected = MATHJAX
    cache = ROOT / ".cache"
    wheel = cache / f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
    if not wheel.exists():
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
            str(cache),
            f"{package}=={version}",
        ]
        subprocess.run(command, check=True)
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != expected:
        raise PluginError(f"{wheel.name} is not the expected file; remove .cache/ and build again.")
    with zipfile.ZipFile(wheel) as archive:
        wanted = ((name, MATHJAX_FILES.match(name)) for name in archive.namelist())
        return {f"assets/mathjax/{match.group(1)}": archive.read(name) for name, match in wanted if match}


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """`Gauss` and `fr.Gauss(8)` in text lead to the reference."""
    homes = {name: f"reference/{place}.html" for place, names in reference_pages().items() for name in names}
    up, own = "../" * page.file.src_uri.count("/"), page.file.dest_uri

    def linked(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in homes or homes[name] == own:
            return match.group(0)
        return f'<a href="{up}{homes[name]}#fredholm.{name}">{match.group(0)}</a>'

    pieces = re.split(r"(<a [^>]*>.*?</a>|<pre.*?</pre>|<h\d.*?</h\d>)", content, flags=re.DOTALL)  # links, blocks and headings stay
    return "".join(
        piece if index % 2 else re.sub(r"<code>(?:fr\.)?(\w+)(?:\([^<]*\))?</code>", linked, piece) for index, piece in enumerate(pieces)
    )


# --- llms.txt


def on_post_build(config: MkDocsConfig) -> None:
    """llms.txt: what the pages are, for programs that read them."""
    lines = [
        f"# {config.site_name}",
        "",
        f"> {config.site_description}. Python and JAX; `import fredholm as fr`; `fr.solve(fr.Equation(...))`.",
        "",
    ]
    for entry in config.nav or []:
        for section, part in entry.items():
            lines += [f"## {section}", "", *(f"- [{title}]({path.replace('.md', '.html')})" for title, path in _pages(part, section)), ""]
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _pages(part: object, title: str) -> Iterator[tuple[str, str]]:
    if isinstance(part, str):
        yield (title if part.endswith("index.md") else Path(part).stem.replace("_", " "), part)
    elif isinstance(part, list):
        for entry in part:
            yield from _pages(entry, title)
    elif isinstance(part, dict):
        for name, inner in part.items():
            yield from ([(name, inner)] if isinstance(inner, str) else _pages(inner, name))
