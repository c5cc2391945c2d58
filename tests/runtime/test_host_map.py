"""The address maps that C has are those of Python, by the compiled module and by ctypes."""

from __future__ import annotations

import gc
import random

import numpy as np
import pytest

from gridlane.memory.addresses import AddressMap
from gridlane.native import text
from gridlane.runtime import host_code, host_map
from gridlane.runtime.host_map import BUFFERS, HostMap
from gridlane.runtime.queues import native_queues
from gridlane.runtime.queues.queues_by_ctypes import Queues

_KEPT: list[host_code.Linked] = []
"""Forks call the code for the rest of the process."""


@pytest.fixture(scope="module")
def by_ctypes():
    """The functions where gridlane has no compiled module."""
    symbols = (*text.SYMBOLS, text.TABLE)
    code = host_code.Linked("gridlane.pool.test", host_code.object_of(text.text()), symbols)
    _KEPT.append(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_code, "code", lambda: code)
        functions = Queues()
        functions.state()
    return functions


@pytest.fixture(params=["module", "ctypes"])
def functions(request, monkeypatch, by_ctypes):
    if request.param == "ctypes":
        monkeypatch.setattr(host_map, "native", by_ctypes)
    elif isinstance(native_queues.native, Queues):
        pytest.skip("gridlane has no compiled module")


@pytest.mark.usefixtures("functions")
def test_against_python_s():
    have, want, choose = HostMap(BUFFERS), AddressMap(), random.Random(5)
    for number in range(3000):
        start, size = choose.randrange(1000) * 64, choose.randint(0, 64)
        piece = want.at(start)
        if piece is not None and choose.random() < 0.5:
            have.discard(start, piece if number % 8 else object())
            want.discard(start, piece if number % 8 else object())
            if not number % 8:
                assert have.size_at(start) == want.size_at(start)
        else:
            piece = object()
            have.add(start, size, piece)
            want.add(start, size, piece)
        address, length = choose.randrange(64_200), choose.choice((0, 1, 8, 64))
        assert have.find(address, length) == want.find(address, length)
        assert have.size_at(address) == want.size_at(address)
        ends = ((max(s, address), min(s + n, address + length)) for s, n in want.ranges())
        assert have.meets(address, length) == any(first < end for first, end in ends)
    assert have.pieces() == want.pieces() and have.ranges() == want.ranges() != []


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize("address", [-1, 1 << 64, 1 << 200, (1 << 64) - 1])
def test_numbers_that_are_no_addresses_are_not_found(address):
    have = HostMap(BUFFERS)
    have.add(4096, 100, "piece")
    assert have.find(address, 1) is None
    assert have.find(4096, 1 << 64) is None and have.find(4096, (1 << 64) - 1) is None
    with pytest.raises(OverflowError):
        have.add((1 << 64) - 8, 64, "behind the last address")


@pytest.mark.usefixtures("functions")
def test_numbers_of_numpy_are_addresses():
    have = HostMap(BUFFERS)
    have.add(np.uint64(4096), np.int64(100), "piece")
    assert have.find(np.int64(4100), np.int32(8)) == ("piece", 4)


@pytest.mark.usefixtures("functions")
def test_a_map_ends_with_its_ranges():
    have, other = HostMap(BUFFERS), HostMap(BUFFERS)
    have.add(4096, 100, "have")
    other.add(4096, 50, "other")
    del have
    gc.collect()
    assert other.ranges() == [(4096, 50)] and other.find(4100, 1) == ("other", 4)


class _Interrupted:
    """The functions, but that something happens during the first ``new_map``, as the handler of a
    signal or another thread may make it happen."""

    def __init__(self, native, happens):
        self._native, self._happens, self.released = native, [happens], []

    def __getattr__(self, name):
        return getattr(self._native, name)

    def new_map(self, of):
        while self._happens:
            self._happens.pop()()
        return self._native.new_map(of)

    def release_map(self, map):
        self.released.append(map)
        self._native.release_map(map)


@pytest.mark.usefixtures("functions")
def test_a_first_range_beside_another(monkeypatch):
    between = _Interrupted(host_map.native, lambda: have.add(8192, 50, "between"))
    monkeypatch.setattr(host_map, "native", between)
    have = HostMap(BUFFERS)
    have.add(4096, 100, "first")
    assert have.ranges() == [(4096, 100), (8192, 50)] and have.find(8200, 1) == ("between", 8)
    assert len(between.released) == 1


def test_an_empty_map_has_no_memory_of_c():
    empty = HostMap(BUFFERS)
    empty.discard(4096, "piece")
    assert (empty.find(0, 0), empty.ranges(), empty.pieces()) == (None, [], [])
    assert empty.size_at(0) == 0 and not empty.meets(0, 1 << 63)
