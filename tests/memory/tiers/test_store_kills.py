"""Processes that are killed while they store: nothing flushed is lost, nothing is left over."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gridlane.memory.tiers import BlockStore

PROGRAM = """
import os, sys
import numpy as np
from gridlane.memory.tiers import BlockStore

folder, first, temporary = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "temporary"
store = BlockStore([folder + "/a", folder + "/b"], temporary=temporary, segment_bytes=60_000)
for n in range(first, first + 1_000_000):
    key = n % 23
    data = np.random.default_rng(n).bytes(n * 7919 % 9000) + bytes(n % 50 * 40)
    if n % 11 == 5:
        store.pop(str(key), None)
    else:
        store.put(str(key), n.to_bytes(8, "little") + data)
    if n % 5 == 0:
        store.flush()
        os.write(1, b"%d\\n" % n)
"""
"""Puts and deletes numbered blocks under 23 names, and writes the number up to which it flushed."""


def block(n: int) -> bytes | None:
    """What the program stores at a number."""
    import numpy as np

    if n % 11 == 5:
        return None
    data = np.random.default_rng(n).bytes(n * 7919 % 9000) + bytes(n % 50 * 40)
    return n.to_bytes(8, "little") + data


def killed(folder: Path, first: int, temporary: bool, lines: int) -> int:
    """Run the program, and kill it after it has written some lines; the last number it wrote."""
    kind = "temporary" if temporary else "kept"
    command = [sys.executable, "-c", PROGRAM, str(folder), str(first), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        read = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        read += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return int(read[-1])


def numbers(store: BlockStore, flushed: int) -> list[int]:
    """The numbers of all blocks of a store. Each name must have what it had at the last flush that
    was written, or what the program has stored since, which is five numbers at most."""
    found = []
    for key in range(23):
        at_flush = max(n for n in range(flushed - 22, flushed + 1) if n % 23 == key)
        since = [n for n in range(flushed + 1, flushed + 6) if n % 23 == key]
        data = store.get(str(key))
        fitting = [n for n in (at_flush, *since) if block(n) == data]
        assert fitting, (key, at_flush, since)
        found += [] if data is None else fitting
    return found


@pytest.mark.parametrize("seed", range(20))
def test_kills(tmp_path, seed):
    kill_often(tmp_path, seed, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20, 30))
def test_many_kills_of_one_store(tmp_path, seed):
    kill_often(tmp_path, seed, 100)


def kill_often(folder: Path, seed: int, times: int) -> None:
    choose = random.Random(seed)
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    first, paths = 1000, [folder / "a", folder / "b"]
    for _ in range(times):
        flushed = killed(folder, first, False, choose.randint(6, 60))
        with BlockStore(paths, mode="r") as store:
            found = numbers(store, flushed)
        with BlockStore(paths) as store:
            assert numbers(store, flushed) == found
            assert store.statistics().lost == 0
            assert len(list(folder.glob("*/*.keeps"))) == 2, "only its own locks are there"
        with BlockStore(paths) as store:
            assert store.statistics().torn == 0
            store.compact()
            facts = store.statistics()
            assert facts.dead < 5000 + 110 * facts.blocks
            assert numbers(store, flushed) == found
        files = [each.name for each in folder.glob("*/*")]
        assert all(each.endswith((".blocks", "store.json")) for each in files)
        first = flushed + 30


def test_spills_of_killed_processes_are_removed(tmp_path):
    for each in ("a", "b"):
        (tmp_path / each).mkdir()
    for seed in range(4):
        killed(tmp_path, 1000, True, 5 + 10 * seed)
        assert list(tmp_path.glob("*/*.spill"))
        with BlockStore([tmp_path / "a", tmp_path / "b"], temporary=True):
            assert not list(tmp_path.glob("*/*.spill"))
            assert len(list(tmp_path.glob("*/*"))) == 2, "its own locks"
        assert not list(tmp_path.glob("*/*"))


def test_spills_of_living_processes_stay(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), "1000", "temporary"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        before = set(tmp_path.glob("*/*.spills"))
        with BlockStore([tmp_path / "a", tmp_path / "b"], temporary=True) as store:
            store["a"] = b"1"
            assert before < set(tmp_path.glob("*/*.spills"))
            assert store["a"] == b"1" and len(store) == 1
        assert process.stdout.readline(), "it goes on"
        assert set(tmp_path.glob("*/*.spills")) == before
        process.kill()


def test_a_process_that_ends_removes_its_spills(tmp_path):
    program = (
        "import sys; from gridlane.memory.tiers import BlockStore\n"
        "store = BlockStore(sys.argv[1], temporary=True); store['a'] = bytes(1000)\n"
        "import pathlib; print(len(list(pathlib.Path(sys.argv[1]).iterdir())))"
    )
    command = [sys.executable, "-c", program, tmp_path / "spill"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2" and done.stderr == ""
    assert not list((tmp_path / "spill").iterdir())
