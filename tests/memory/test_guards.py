"""What is written next to an allocation is noted when that is freed."""

import ctypes
import itertools

import pytest

from gridlane.core import config
from gridlane.memory.guards import BYTES
from gridlane.memory.host import PAGE, HostResource

SIZES = 0, 1, 100, PAGE - 1, PAGE, 3 * PAGE + 5, 5 << 20


def overrun(size, distance):
    """Write a byte at a distance behind an allocation, and free that."""
    written(size, size + distance)


def written(size, *places):
    buffer = HostResource().allocate(size)
    for each in places:
        ctypes.memset(buffer.address + each, 0, 1)
    del buffer


@pytest.mark.parametrize(
    "size, distance", [(size, 0) for size in SIZES] + [(100, BYTES - 1), (PAGE, BYTES - 1)]
)
def test_a_byte_behind_the_end(size, distance, capsys):
    overrun(size, distance)
    (line,) = capsys.readouterr().err.splitlines()
    assert f"memory of {size} bytes was written behind its end, at byte {size + distance}:" in line


@pytest.mark.parametrize("size", SIZES)
def test_the_last_byte(size, capsys):
    overrun(size, -1 if size else BYTES)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("place", (-1, -BYTES))
def test_a_byte_in_front(size, place, capsys):
    written(size, place)
    (line,) = capsys.readouterr().err.splitlines()
    assert f"memory of {size} bytes was written in front of its start, at byte {place}:" in line


def test_on_both_sides(capsys):
    """Of several bytes the one that is next to the memory counts."""
    written(100, -7, -3, 101, 110)
    before, behind = capsys.readouterr().err.splitlines()
    assert "in front of its start, at byte -3:" in before
    assert "behind its end, at byte 101:" in behind


@pytest.mark.parametrize("size", SIZES)
def test_memory_is_aligned_and_its_own(size):
    resource = HostResource()
    buffers = [resource.allocate(size) for _ in range(40)]
    for each in buffers:
        start, end = each.extent()
        assert each.address % 256 == 0
        assert start + BYTES <= each.address and each.address + size < end
        ctypes.memset(each.address, 7, size)
    extents = sorted(each.extent() for each in buffers)
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(extents))


def test_quiet(capsys, monkeypatch):
    monkeypatch.setenv("GRIDLANE_QUIET", "1")
    config.config.cache_clear()
    try:
        overrun(100, 0)
    finally:
        config.config.cache_clear()
    assert capsys.readouterr().err == ""
