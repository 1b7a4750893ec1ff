"""Folders of caches: what others may have written is not used, and what is damaged is made again."""

import os

import numpy as np
import pytest

import fredholm as fr
from fredholm.common.caches import cache, cache_directory, processor_directory
from fredholm.problems.coagulation_table import cached

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are POSIX's")


@pytest.fixture
def wanted(tmp_path, monkeypatch):
    """The folder that FREDHOLM_CACHE names; the user's own is another one."""
    monkeypatch.setenv("FREDHOLM_CACHE", str(tmp_path / "wanted"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "home" / "fredholm")
    return tmp_path / "wanted"


def test_a_folder_that_is_made_belongs_to_its_user_alone(wanted):
    for folder in (cache_directory(), processor_directory("programs")):
        assert folder.is_relative_to(wanted)
        assert folder.stat().st_mode & 0o777 == 0o700
    assert cache().refused == ""


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_used(wanted, mode):
    wanted.mkdir()
    wanted.chmod(mode)
    place = cache()
    assert place.folder == wanted.parent / "home" / "fredholm"
    assert place.refused == f"others may write to {wanted} (chmod go-w would end that)"
    place.folder.chmod(0o777)
    assert cache().folder == wanted.parent / "home" / "fredholm-private"
    with pytest.raises(ValueError, match=r"keep_programs: got .*others may write to .*: its programs would be run as yours"):
        fr.keep_programs(wanted)


def test_the_folder_of_another_user_is_not_used(wanted, monkeypatch):
    wanted.mkdir()
    os.chown(wanted, 4242, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert cache().refused == f"{wanted} belongs to another user"


def test_without_any_folder_nothing_is_kept_and_all_works(wanted, monkeypatch, caplog):
    wanted.write_text("a file in the way")
    (wanted.parent / "home").write_text("and here")
    with pytest.raises(OSError, match=r"there is no folder for caches: .*Set FREDHOLM_CACHE"):
        cache_directory()
    assert cached({"n": 1}, lambda: np.ones(3)).tolist() == [1, 1, 1]
    assert "the reference cannot be kept" in caplog.text


def damage_text(path):
    path.write_text("not an archive")


def damage_flip(path):
    content = bytearray(path.read_bytes())
    content[content.index(np.arange(3.0).tobytes()) + 10] ^= 1
    path.write_bytes(content)


def damage_foreign(path):
    with path.open("wb") as file:
        np.savez(file, settings=np.array('{"n": 1}'), values=np.array(["a", "b"]))


def damage_pipe(path):
    path.unlink()
    os.mkfifo(path)


def damage_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [damage_text, damage_flip, damage_foreign, damage_pipe, damage_folder])
def test_a_damaged_table_is_computed_again(wanted, caplog, damage):
    assert cached({"n": 1}, lambda: np.arange(3.0)).tolist() == [0, 1, 2]
    (path,) = wanted.iterdir()
    assert cached({"n": 1}, lambda: pytest.fail("it was kept")).tolist() == [0, 1, 2]
    damage(path)
    assert cached({"n": 1}, lambda: np.arange(3.0)).tolist() == [0, 1, 2]
    assert "computing it again" in caplog.text
    assert list(wanted.iterdir()) == [path], "no litter"


def test_an_interrupted_write_leaves_no_litter(wanted, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cached({"n": 1}, lambda: np.arange(3.0))
    assert not list(wanted.iterdir())
