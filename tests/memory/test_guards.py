"""What is written behind the end of an allocation is noted when that is freed."""

import ctypes

import pytest

from gridlane.core import config
from gridlane.memory.guards import BYTES
from gridlane.memory.host import PAGE, HostResource

SIZES = 0, 1, 100, PAGE - 1, PAGE, 3 * PAGE + 5, 5 << 20


def overrun(size, distance):
    """Write a byte at a distance behind an allocation, and free that."""
    buffer = HostResource().allocate(size)
    ctypes.memset(buffer.address + size + distance, 0, 1)
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


def test_quiet(capsys, monkeypatch):
    monkeypatch.setenv("GRIDLANE_QUIET", "1")
    config.config.cache_clear()
    try:
        overrun(100, 0)
    finally:
        config.config.cache_clear()
    assert capsys.readouterr().err == ""
