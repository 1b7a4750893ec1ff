"""For every test of the command line: a folder with the user's file in it, and a cache of compiled programs."""

from pathlib import Path

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

from commands import FILE


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """One cache of compiled programs for all commands here; JAX has its devices already, and gets its settings back."""
    jax.devices()
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FREDHOLM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test in a folder of its own, with the user's file in it."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(FILE)
    return tmp_path


@pytest.fixture
def no_pages(monkeypatch):
    """Pictures take most of the time of a tiny run; they have tests of their own."""

    def write(solutions, folder):
        (folder / "report.html").write_text(" ".join(solutions))
        return folder / "report.html"

    monkeypatch.setattr("fredholm.cli.output.write_pages", write)
    monkeypatch.setattr("fredholm.cli.studies.write_pages", write)
