"""Tiered arrays beside files, processes and larger quotas."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.memory.tiers.doubles import MemoryStore

from gridlane.memory.tiers import TierError, Tiers, tiered


class Slow(io.RawIOBase):
    """A file that returns a few bytes at a time."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def readinto(self, into):
        part = self.data[self.place : self.place + min(37, len(into))]
        into[: len(part)] = part
        self.place += len(part)
        return len(part)


def numbers(count):
    return np.random.default_rng(5).integers(0, 1 << 30, count)


@pytest.mark.parametrize("kind", [io.BytesIO, Slow])
def test_a_file_is_copied_by_blocks(kind):
    array = tiered((40, 10), np.int64, Tiers(600, disk=MemoryStore()), 256)
    data = numbers(400).reshape(40, 10)
    array.copy_from(kind(data.tobytes()))
    assert (array.copy_to_host(np.empty((40, 10), np.int64)) == data).all()
    array[3:30].copy_from(kind(data[:27].tobytes()))
    data[3:30] = data[:27].copy()
    assert (array.copy_to_host(np.empty((40, 10), np.int64)) == data).all()


def test_a_file_that_ends_early_is_an_error():
    array = tiered(100, np.int32, Tiers("1MiB"), 64)
    array[...] = -1
    data = numbers(30).astype(np.int32)
    with pytest.raises(EOFError, match="the file has 120 bytes, and the array 400"):
        array.copy_from(io.BytesIO(data.tobytes()))
    found = np.asarray(array)
    assert (found[:30] == data).all() and (found[30:] == -1).all()
    with pytest.raises(ValueError, match="follow each other"):
        array[::2].copy_from(io.BytesIO(bytes(200)))


def test_arrays_are_copied_from_arrays_of_their_shape():
    tiers = Tiers("1MiB")
    array = tiered((3, 4), np.int32, tiers, 16)
    array.copy_from(np.arange(12).reshape(3, 4))
    other = tiered((4, 3), np.float32, tiers, 8)
    other.copy_from(array.T)
    assert (np.asarray(other) == np.arange(12).reshape(3, 4).T).all()
    for source in (np.zeros(4), array, [1]):
        with pytest.raises(ValueError, match="the source has the shape"):
            other.copy_from(source)
    with pytest.raises(ValueError, match="out has the shape"):
        array.copy_to_host(np.empty(3))
    assert np.asarray(array, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        array.__array__(copy=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_a_forked_child_is_refused():
    """In a process without other threads than the tiers' own."""
    program = """
import gc, os, sys
import numpy as np
from gridlane.memory.tiers import TierError, Tiers, tiered
from tests.memory.tiers.doubles import MemoryStore

store = MemoryStore()
tiers = Tiers(512, disk=store)
array = tiered(2000, np.uint8, tiers, 256)
array[...] = 7
tiers.wait()
with next(array.blocks()).on_host() as elements:
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: np.asarray(array[:5]), lambda: array.__setitem__(0, 1), array.flush,
                    array.close, tiers.close, tiers.wait, tiers.statistics,
                    lambda: next(array.blocks()).prefetch(), lambda: tiered(3, np.uint8, tiers)):
            try:
                use()
            except TierError as error:
                refused += "forked child" in str(error)
        before = len(store.calls)
        del array
        gc.collect()
        fine = refused == 9 and len(store.calls) == before and (elements == 7).all()
        own = tiered(10, np.uint8, Tiers(512))
        own[...] = 3
        os._exit(0 if fine and np.asarray(own).sum() == 30 else refused + 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert int(array.copy_to_host(np.empty(2000, np.uint8)).sum()) == 14000
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the resident bytes")
def test_the_process_stays_within_the_quota(tmp_path):
    """Measured by the system: 64 MiB in 8 MiB of host memory, with files as the disk."""
    program = f"""
import pathlib
import numpy as np
from gridlane.memory.tiers import Tiers, tiered

class Files:
    folder = pathlib.Path({str(tmp_path)!r})
    def put(self, key, data, itemsize=None): (self.folder / key).write_bytes(data)
    def read(self, key, into):
        with open(self.folder / key, "rb") as file:
            assert file.readinto(into) == len(into)
    def delete(self, key): (self.folder / key).unlink()
    def flush(self): pass

def resident(name):
    line = next(each for each in open("/proc/self/status") if each.startswith(name))
    return int(line.split()[1]) << 10

tiers = Tiers("8MiB", disk=Files())
array = tiered((64, 1 << 17), np.int64, tiers)
np.zeros(1 << 17) + 1
before = resident("VmRSS")
for row in range(64):
    array[row] = row
for _ in range(2):
    for block in array.blocks(prefetch=2):
        with block.on_host(write=True) as elements:
            assert (elements == block.index + _).all()
            elements += 1
tiers.wait()
grown = resident("VmHWM") - before
assert grown < 16 << 20, grown
assert tiers.statistics().host_peak <= 8 << 20
del array, block, elements
tiers.wait()
assert resident("VmRSS") - before < 4 << 20
assert not [*Files.folder.iterdir()]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_tiers_of_a_closed_array_are_usable():
    tiers = Tiers(512, disk=MemoryStore())
    first, second = tiered(3, np.uint8, tiers), tiered(3, np.uint8, tiers)
    first.close()
    with pytest.raises(TierError):
        first[0]
    second[1] = 5
    assert second[1] == 5
