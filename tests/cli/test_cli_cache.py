"""The cache of compiled programs, which commands and processes share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

import fredholm as fr


def program(x):
    """The same program by a new name each time: JAX has to look for it."""
    return jax.jit(lambda y: 3 * jnp.cos(y) + 1)(x)


@pytest.mark.filterwarnings("error")
def test_a_program_that_was_cut_short_is_compiled_again_without_a_word(tmp_path):
    compilation_cache.reset_cache()
    fr.keep_programs(tmp_path)
    x = jnp.asarray(np.linspace(0.0, 1.0, 7))
    expected = program(x)
    entries = [entry for entry in tmp_path.iterdir() if "lambda" in entry.name]
    assert entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:100])
    np.testing.assert_array_equal(program(x), expected)


def test_programs_are_kept_in_the_users_cache_unless_a_folder_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("FREDHOLM_CACHE", str(tmp_path))
    compilation_cache.reset_cache()
    fr.keep_programs()
    program(jnp.arange(5.0))
    assert any("lambda" in entry.name for entry in (tmp_path / "programs").glob("*/*"))


def test_a_folder_that_cannot_be_made_is_named_and_nothing_is_changed(tmp_path):
    (tmp_path / "file").write_text("in the way")
    before = jax.config.jax_compilation_cache_dir
    with pytest.raises(OSError, match=r"keep_programs: got .*file.*Give another one, or set FREDHOLM_CACHE"):
        fr.keep_programs(tmp_path / "file")
    assert jax.config.jax_compilation_cache_dir == before
