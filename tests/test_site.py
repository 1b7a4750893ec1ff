"""The built site in a browser: search, formulas, colours, a phone's width. `make site` builds it; .ci/run does so before the tests."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SITE = Path(__file__).parents[1] / "site"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGES = ["index.html", "gallery/volterra.html", "method.html", "reference/domains.html"]
built = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site/ here: `make site` builds it")

# A page that opens the others in frames of a phone's width, and writes down what it finds.
LOOKING = """<body><script>
const open = (url, width) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.src = url;
  frame.onload = () => setTimeout(() => done(frame), 3000);
  document.body.append(frame);
});
const look = async page => {
  const frame = await open(page, 390), document = frame.contentDocument;
  const formulas = document.querySelectorAll(".arithmatex").length, drawn = document.querySelectorAll(".arithmatex mjx-container").length;
  const broken = [...document.images].filter(image => image.loading != "lazy" && !image.naturalWidth).map(image => image.src);
  return {page, wide: document.documentElement.scrollWidth, title: document.title, formulas, drawn, broken};
};
(async () => {
  const found = await Promise.all(PAGES.map(look));
  const searched = (await open("index.html?q=Chebyshev", 1200)).contentDocument.querySelectorAll(".md-search-result__item").length;
  const schemes = (await open("index.html", 1200)).contentDocument, colors = new Set(), scheme = schemes.body;
  for (const input of schemes.querySelectorAll("input[name=__palette]")) {
    input.click();
    colors.add(scheme.dataset.mdColorScheme + " " + getComputedStyle(scheme).backgroundColor);
  }
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = "<<" + JSON.stringify({found, searched, colors: [...colors]}) + ">>";
})();
</script></body>"""


@built
@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine: the site is not tried in a browser")
def test_a_browser_shows_pages_formulas_search_and_both_schemes(tmp_path):
    looking = SITE / "looking.html"
    looking.write_text(LOOKING.replace("PAGES", json.dumps(PAGES)), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    flags += " --disable-sync --allow-file-access-from-files --virtual-time-budget=20000 --enable-logging=stderr --dump-dom"
    try:
        command = [str(BROWSER), *flags.split(), f"--user-data-dir={tmp_path}", looking.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    finally:
        looking.unlink()
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    match = re.search("&lt;&lt;(.*)&gt;&gt;", done.stdout)
    assert match, done.stdout[-500:]
    seen = json.loads(match.group(1).replace("&amp;", "&"))
    for page in seen["found"]:
        assert page["wide"] <= 390, page  # nothing runs off a phone's side
        assert page["drawn"] == page["formulas"], page
        assert not page["broken"], page
    assert sum(page["drawn"] for page in seen["found"]) > 50
    assert seen["searched"] > 0
    assert len(seen["colors"]) == 2


@built
def test_the_site_asks_for_nothing_from_outside():
    fetched = [
        f"{page.relative_to(SITE)}: {found}"
        for page in SITE.rglob("*.html")
        for found in re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', page.read_text(encoding="utf-8"))
        if 'rel="canonical"' not in found
    ]
    assert not fetched
    assert (SITE / "llms.txt").read_text(encoding="utf-8").count("- [") > 40


def test_a_number_typed_by_hand_fails_the_build():
    pytest.importorskip("mkdocs")
    pytest.importorskip("jupytext")
    spec = importlib.util.spec_from_file_location("site_hooks", SITE.parent / "docs" / "site_hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    hooks.typed_numbers("page.md", "Python 3.11, $10^{-3}$, `1e-3` and {{ gallery.volterra.error }} are no measurements.")
    for typed in ("an error of 1.2e-3", "after 14 s", "7 times faster", "12 % of it"):
        with pytest.raises(hooks.PluginError, match="typed by hand"):
            hooks.typed_numbers("page.md", typed)
    with pytest.raises(hooks.PluginError, match="no committed result"):
        hooks.measured("page.md", "gallery.nothing.error")
