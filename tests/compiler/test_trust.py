"""What is executed from disk is the user's own, looked at each time and when it is open."""

from __future__ import annotations

import os
import stat

import pytest

from gridlane.compiler import cache
from gridlane.compiler.cache import DiskCache, encode
from gridlane.core import private_files
from gridlane.core.artifact import Artifact
from gridlane.core.private_files import Folder, NotPrivate
from gridlane.runtime import driver_cache

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="the system has no owners of files"
)

KEY = "a" * 64
WHOLE = Artifact("cpu", "object", b"code" * 99, "k", (), 0)
MAGIC = b"testkept"


class Kernels:
    """The compiler's cache, with one entry."""

    def __init__(self, root):
        self.disk = DiskCache(root)
        self.disk.put(KEY, WHOLE)
        self.root, self.file = root, root / f"{KEY}{cache.SUFFIX}"

    def found(self):
        return self.disk.get(KEY) == WHOLE

    def write(self):
        DiskCache(self.root).put(KEY, WHOLE)


class Kept:
    """A driver's folder, with one file."""

    def __init__(self, root):
        self.root, self.file = root, root / "file"
        self.write()

    def found(self):
        return driver_cache.load(self.file, MAGIC) == b"machine code"

    def write(self):
        driver_cache.store(self.file, MAGIC, b"machine code")


@pytest.fixture(params=[Kernels, Kept])
def made(request, tmp_path):
    found = request.param(tmp_path / "root")
    assert found.found()
    return found


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o722, 0o1777])
def test_a_directory_that_others_can_write_to(made, mode):
    made.root.chmod(mode)
    assert not made.found()
    before = made.file.stat()
    made.write()
    assert made.file.stat().st_mtime_ns == before.st_mtime_ns, "nothing is written there"
    made.root.chmod(0o700)
    assert made.found(), "nothing is remembered"
    made.root.chmod(0o755)
    assert made.found(), "others may read it"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_to(made, mode):
    made.file.chmod(mode)
    assert not made.found()
    made.write()
    assert made.found() and stat.S_IMODE(made.file.stat().st_mode) == 0o600


def test_a_directory_of_someone_else(made, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: made.root.stat().st_uid + 1)
    assert not made.found()
    with pytest.raises(NotPrivate, match="belongs to someone else"):
        Folder(made.root)
    assert "someone else" in DiskCache(made.root).problem()


def test_a_file_of_someone_else(made, monkeypatch):
    plain = os.fstat

    def foreign(handle):
        info = plain(handle)
        owner = info.st_uid + stat.S_ISREG(info.st_mode)
        return os.stat_result((*info[:4], owner, *info[5:]))

    monkeypatch.setattr(private_files.os, "fstat", foreign)
    assert not made.found()


def test_a_file_that_is_a_link(made, tmp_path):
    """To the very bytes, which are the user's own: who made the link is not known."""
    elsewhere = tmp_path / "elsewhere"
    made.file.rename(elsewhere)
    made.file.symlink_to(elsewhere)
    assert not made.found()
    made.write()
    assert made.found() and not made.file.is_symlink() and elsewhere.exists()


def test_a_directory_behind_a_link(made, tmp_path):
    """What the link leads to is looked at."""
    link = tmp_path / "link"
    link.symlink_to(made.root)
    assert DiskCache(link).problem() == ""
    moved = made.root.rename(tmp_path / "moved")
    made.root.symlink_to(moved)
    assert made.found()
    moved.chmod(0o777)
    assert not made.found()
    made.root.unlink()
    made.root.symlink_to(tmp_path / "nowhere")
    assert not made.found()


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_directory_that_appears_later(tmp_path, mode):
    disk = DiskCache(tmp_path / "late")
    assert disk.get(KEY) is None and disk.problem() == ""
    disk.root.mkdir()
    disk.root.chmod(mode)
    (disk.root / f"{KEY}{cache.SUFFIX}").write_bytes(encode(KEY, WHOLE))
    (disk.root / f"{KEY}{cache.SUFFIX}").chmod(0o600)
    assert (disk.get(KEY) is None) == (mode == 0o777)
    assert ("everyone" in disk.problem()) == (mode == 0o777)


def test_a_directory_that_is_exchanged(made, tmp_path):
    made.root.rename(tmp_path / "mine")
    made.root.mkdir(mode=0o700)
    assert not made.found()
    made.root.chmod(0o777)
    made.file.write_bytes((tmp_path / "mine" / made.file.name).read_bytes())
    made.file.chmod(0o600)
    assert not made.found()


def test_no_handle_stays_open(made):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for mode in (0o700, 0o777):
        made.root.chmod(mode)
        for _ in range(5):
            made.found()
            made.write()
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def test_entries_of_older_versions_are_removed(tmp_path):
    root = tmp_path / "kernels"
    root.mkdir(mode=0o700)
    old = [root / name for name in (f"{KEY}.kernel", "b" * 64 + ".kernel", ".swept")]
    for path in old:
        path.write_bytes(b"of another version")
    disk = DiskCache(root)
    assert disk.get(KEY) is None and disk.stats().entries == 0
    assert all(path.exists() for path in old), "reading changes nothing"
    disk.put("c" * 64, WHOLE)
    assert not any(path.exists() for path in old)
    assert disk.get("c" * 64) == WHOLE


def test_a_folder_writes_whole_files_or_none(tmp_path, monkeypatch):
    with Folder(tmp_path / "deep" / "folder", make=True) as folder:
        folder.write("name", b"one")
        monkeypatch.setattr(private_files.os, "replace", _full)
        with pytest.raises(OSError, match="full"):
            folder.write("name", b"two")
        monkeypatch.undo()
        assert folder.read("name", 3)[0] == b"one"
        assert [file.name for file in folder.files()] == ["name"]
        with pytest.raises(ValueError, match="more than 2"):
            folder.read("name", 2)
        folder.remove("name")
        folder.remove("name")
        with pytest.raises(FileNotFoundError):
            folder.read("name", 3)
    with pytest.raises(NotADirectoryError):
        Folder(_file(tmp_path))


def _full(*args, **kwargs):
    raise OSError("full")


def _file(folder):
    (folder / "file").write_bytes(b"")
    return folder / "file"
