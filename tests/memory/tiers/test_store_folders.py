"""Folders of stores: quotas, full disks, folders that vanish or are read only, and processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import until

from gridlane.memory.tiers import BlockStore, StoreFull, StoreUnavailable

BLOCK = os.urandom(10_000)


def run(program: str, *arguments: object) -> str:
    """The output of a program."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_quota_is_an_error_and_other_blocks_go_on(tmp_path):
    with BlockStore((tmp_path, 100_000)) as store:
        count = 0
        with pytest.raises(StoreFull, match=r"quota of 100000 bytes.*compaction"):
            for count in range(20):
                store[str(count)] = BLOCK
        assert count == 9, "a sixteenth is left for compaction"
        size = sum(each.stat().st_size for each in tmp_path.glob("*.blocks"))
        assert size <= 100_000
        with pytest.raises(StoreFull):
            store["0"] = BLOCK * 2
        assert dict(store) == {str(n): BLOCK for n in range(9)}
        del store["3"], store["5"]
        store["new"] = BLOCK
        store["more"] = BLOCK[::-1]
        assert len(store) == 9 and store["more"] == BLOCK[::-1]
    with BlockStore((tmp_path, 100_000)) as store:
        assert len(store) == 9 and store["new"] == BLOCK
        with pytest.raises(StoreFull):
            store["again"] = BLOCK


def test_blocks_go_to_the_folder_that_has_room(tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    with BlockStore([(small, 50_000), large]) as store:
        for n in range(20):
            store[str(n)] = BLOCK
        store.flush()
        assert 30_000 < sum(each.stat().st_size for each in small.glob("*.blocks")) <= 50_000
        assert len(store) == 20
    with BlockStore([large, (small, 50_000)]) as store:
        assert dict(store) == {str(n): BLOCK for n in range(20)}


def test_a_full_disk(tmp_path):
    """The system's limit of the size of files is an error like that of a full disk, also after
    parts of a block were written."""
    program = """
import resource, sys
from gridlane.memory.tiers import BlockStore, StoreFull
resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, 70_000))
store = BlockStore(sys.argv[1], "raw")
for n in range(20):
    try:
        store[str(n)] = bytes([n]) * 10_000
    except StoreFull as error:
        print(n, error)
        break
for n in range(6):
    assert store[str(n)] == bytes([n]) * 10_000
store["small"] = b"1"
store.flush()
del store["0"]
store.close()
"""
    out = run(program, tmp_path)
    assert out.startswith("6 ") and "File too large" in out
    with BlockStore(tmp_path) as store:
        assert sorted(store) == ["1", "2", "3", "4", "5", "small"]
        assert store.statistics().torn == 0 and store["5"] == bytes([5]) * 10_000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not here")
def test_a_disk_without_space(tmp_path, monkeypatch):
    """The device that is always full in the place of a new file."""
    full = os.open("/dev/full", os.O_RDWR)
    write = os.pwritev
    with BlockStore(tmp_path) as store:
        store["a"] = BLOCK
        monkeypatch.setattr(os, "pwritev", lambda file, parts, place: os.writev(full, parts))
        with pytest.raises(StoreFull, match="No space left"):
            store["b"] = BLOCK
        assert dict(store) == {"a": BLOCK}
        monkeypatch.setattr(os, "pwritev", write)
        store["b"] = BLOCK
    os.close(full)
    with BlockStore(tmp_path) as store:
        assert dict(store) == {"a": BLOCK, "b": BLOCK}


def test_short_writes_and_reads_go_on(tmp_path, monkeypatch):
    write, read = os.pwrite, os.pread

    def some(file, parts, place):
        return write(file, parts[0][: max(1, len(parts[0]) // 2)], place)

    def few(file, parts, place):
        data = read(file, max(1, len(parts[0]) // 3), place)
        parts[0][: len(data)] = data
        return len(data)

    monkeypatch.setattr(os, "pwritev", some)
    monkeypatch.setattr(os, "preadv", few)
    with BlockStore(tmp_path) as store:
        store["a"], store["b"] = BLOCK, b"short"
        assert dict(store) == {"a": BLOCK, "b": b"short"}


def test_a_folder_that_vanishes(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    store = BlockStore([first, second], segment_bytes=30_000)
    for n in range(8):
        store[str(n)] = BLOCK
    shutil.rmtree(first)
    for n in range(8):
        assert store[str(n)] == BLOCK, "open files are readable until the end"
    for n in range(8, 12):
        store[str(n)] = BLOCK  # the other folder has room
    with pytest.raises(StoreUnavailable, match=r"first.*was removed"):
        store.flush()
    shutil.rmtree(second)
    with pytest.raises(StoreUnavailable, match=r"(?s)(first.*second|second.*first)"):
        store["more"] = BLOCK
    assert store["11"] == BLOCK
    with pytest.raises(StoreUnavailable):
        store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store["11"]


def test_a_folder_that_is_missing_at_the_start(tmp_path):
    paths = [tmp_path / "first", tmp_path / "second"]
    with BlockStore(paths) as store:
        for n in range(4):
            store[str(n)] = BLOCK
    for each in paths[0].iterdir():
        each.unlink()  # its disk is not mounted
    for mode in "rw":
        with pytest.raises(StoreUnavailable, match=r"has 2 folders.*first.*accept_losses"):
            BlockStore(paths, mode=mode)
        with pytest.raises(StoreUnavailable, match="a path not named"):
            BlockStore(paths[1], mode=mode)
    with BlockStore(paths, accept_losses=True) as store:
        assert sorted(store) in (["0", "2"], ["1", "3"])
    with BlockStore(paths) as store:
        assert len(store) == 2


def test_a_store_is_given_another_folder(tmp_path):
    with BlockStore(tmp_path / "first") as store:
        store["a"] = BLOCK
    with BlockStore([tmp_path / "first", tmp_path / "second"]) as store:
        store["b"] = store["c"] = BLOCK
        assert len(store) == 3
    with pytest.raises(StoreUnavailable, match="a path not named"):
        BlockStore(tmp_path / "first")


def test_folders_of_two_stores(tmp_path):
    for each in "ab":
        BlockStore(tmp_path / each).close()
    with pytest.raises(StoreUnavailable, match="different stores"):
        BlockStore([tmp_path / "a", tmp_path / "b"])


def test_folders_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "none" / "store", Path("/proc/none")):
        with pytest.raises(StoreUnavailable, match=path.name):
            BlockStore(path)


NOBODY = """
import os, sys
import lz4.block
from gridlane.memory.tiers import BlockStore, StoreUnavailable
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
"""
"""A user to whom permissions apply. What it imports may not be readable to that user."""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_read_only_folder(shared):
    """Another user's store can be read, and opening it to write is an error with its path."""
    store = shared / "store"
    with BlockStore(store) as first:
        first["a"] = BLOCK
    for each in (store, *store.iterdir()):
        each.chmod(0o755 if each.is_dir() else 0o644)
    store.chmod(0o555)
    program = NOBODY + (
        "with BlockStore(sys.argv[1], mode='r') as store: print(len(store['a']))\n"
        "try: BlockStore(sys.argv[1])\n"
        "except StoreUnavailable as error: print(error)\n"
    )
    try:
        size, error = run(program, store).splitlines()
    finally:
        store.chmod(0o755)
    assert size == "10000" and str(store) in error and "ermission denied" in error


def test_a_folder_that_becomes_read_only(shared):
    shared.chmod(0o777)
    program = (
        NOBODY
        + """
paths = [sys.argv[1] + "/a", sys.argv[1] + "/b"]
store = BlockStore(paths, "raw", segment_bytes=1000)
store["0"] = bytes(900)
store["1"] = bytes(900)
os.chmod(paths[0], 0o555)
for n in range(2, 6):
    store[str(n)] = bytes(900)
store.flush()
os.chmod(paths[1], 0o555)
try:
    store["6"] = bytes(900)
except StoreUnavailable as error:
    print(error)
for n in range(6):
    assert store[str(n)] == bytes(900)
for each in paths:
    os.chmod(each, 0o755)
store.close()
with BlockStore(paths) as store:
    print(len(store))
"""
    )
    error, count = run(program, shared).splitlines()
    assert count == "6" and error.count("ermission denied") == 2


def test_a_spill_folder_of_several_users(shared):
    shared.chmod(0o1777)
    (shared / "0123456789abcdef.spills").touch(0o600)
    (shared / "0123456789abcdef-0.spill").touch(0o600)
    (shared / "1123456789abcdef-0.spill").touch(0o600)
    program = NOBODY + (
        "with BlockStore(sys.argv[1], temporary=True) as store:\n"
        "    store['a'] = bytes(1000); print(os.geteuid(), len(store['a']))"
    )
    user, size = run(program, shared).split()
    assert size == "1000"
    if int(user) != os.geteuid():
        assert len(list(shared.iterdir())) == 3, "the other user's files stay"
    BlockStore(shared, temporary=True).close()
    assert not list(shared.iterdir())


def test_two_processes_write_and_one_reads(tmp_path):
    program = """
import sys
from gridlane.memory.tiers import BlockStore
folder, name = sys.argv[1:]
with BlockStore(folder, segment_bytes=20_000) as store:
    for n in range(200):
        store[f"{name} {n}"] = (b"%s %d" % (name.encode(), n)) * 100
        store[f"count {name}"] = n.to_bytes(2, "little")
        if n % 3 == 0:
            del store[f"{name} {n}"]
        if n % 50 == 20:
            store.compact()
"""
    BlockStore(tmp_path).close()
    commands = [[sys.executable, "-c", program, str(tmp_path), name] for name in "xy"]
    processes = [subprocess.Popen(each) for each in commands]
    with BlockStore(tmp_path, mode="r") as reader:
        counts = {"x": -1, "y": -1}

        def all_stored() -> bool:
            reader.refresh()
            for name, last in counts.items():
                now = int.from_bytes(reader.get(f"count {name}", b"\0\0"), "little")
                assert now >= last
                counts[name] = now
                for n in range(max(0, now - 30), now):
                    expected = None if n % 3 == 0 else (b"%s %d" % (name.encode(), n)) * 100
                    assert reader.get(f"{name} {n}") == expected, (name, n, now)
            return all(count == 199 for count in counts.values())

        until(all_stored)
    assert [each.wait() for each in processes] == [0, 0]
    with BlockStore(tmp_path) as store:
        assert len(store) == 2 * (200 - 67) + 2
        store.compact()
        assert len(store) == 2 * (200 - 67) + 2


def test_a_fork_refuses_and_the_parent_goes_on(tmp_path):
    program = """
import os, sys
from gridlane.memory.tiers import BlockStore, StoreUnavailable
kept, spilled = BlockStore(sys.argv[1]), BlockStore(sys.argv[1], temporary=True)
kept["a"] = spilled["a"] = b"1"
child = os.fork()
if not child:
    for store in kept, spilled:
        for use in (lambda: store["a"], lambda: store.put("a", b""), store.flush):
            try:
                use()
            except StoreUnavailable as error:
                assert "fork" in str(error)
            else:
                os._exit(1)
        store.close()
    with BlockStore(sys.argv[1]) as store:
        assert dict(store) == {"a": b"1"}
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert kept["a"] == spilled["a"] == b"1"
assert len(list(os.scandir(sys.argv[1]))) == 5, os.listdir(sys.argv[1])
"""
    run(program, tmp_path)
    with BlockStore(tmp_path) as store:
        assert dict(store) == {"a": b"1"}
