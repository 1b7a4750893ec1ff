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


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGES = {
    "cut short": lambda content: content[:100],
    "empty": lambda content: b"",
    "foreign": lambda content: b"something else",
    **{
        f"a bit at {share:.0%}": lambda content, share=share: flipped(content, int(share * (len(content) - 1))) for share in (0.0, 0.3, 0.7)
    },
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_program_is_compiled_again_without_a_word(tmp_path, damage):
    compilation_cache.reset_cache()
    fr.keep_programs(tmp_path)
    x = jnp.asarray(np.linspace(0.0, 1.0, 7))
    expected = program(x)
    entries = [entry for entry in tmp_path.iterdir() if "lambda" in entry.name]
    assert entries
    for entry in entries:
        entry.write_bytes(DAMAGES[damage](entry.read_bytes()))
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
