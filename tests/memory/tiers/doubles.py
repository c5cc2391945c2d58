"""Doubles of what tiers use: a store in memory, and a device whose memory is NumPy's."""

from __future__ import annotations

import itertools
import threading

import numpy as np


class StoreFailure(OSError):
    """What the double raises."""


class MemoryStore:
    """A store in a dict.

    Attributes:
        blocks: the bytes by key.
        fails: is called with the number of each call, and whether it returns True decides that the
            call fails.
        calls: the names of the calls so far.
    """

    def __init__(self, fails=lambda number: False):
        self.blocks, self.fails, self.calls = {}, fails, []
        self.flushed = {}
        self.gate = None
        self._lock = threading.Lock()

    def _call(self, name):
        with self._lock:
            number = len(self.calls)
            self.calls.append(name)
        if self.fails(number):
            raise StoreFailure(f"{name} is call {number}")
        if self.gate is not None:
            self.gate(name)

    def put(self, key, data, itemsize=None):
        self._call("put")
        assert data.nbytes % (itemsize or 1) == 0
        self.blocks[key] = bytes(data)

    def read(self, key, into):
        self._call("read")
        into[:] = self.blocks[key]

    def delete(self, key):
        self._call("delete")
        del self.blocks[key]

    def flush(self):
        self._call("flush")
        self.flushed = dict(self.blocks)

    @property
    def nbytes(self):
        return sum(map(len, self.blocks.values()))


class _Buffer:
    def __init__(self, device, address, size):
        self.device, self.address, self.size = device, address, size

    def __del__(self):
        self.device.used -= self.size
        del self.device.memory[self.address]


class _Event:
    """An event that has passed once ``open`` is set."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()

    def record(self, stream):
        if stream.busy is not None:
            self.open = stream.busy

    def query(self):
        return self.open.is_set()

    def synchronize(self):
        assert self.open.wait(60)


class _Stream:
    def __init__(self, device, inline):
        self.device, self.inline, self.busy = device, inline, None

    def upload(self, target, source, keep=None):
        self.device.count("upload")
        self.device.memory[target][:] = np.frombuffer(source, np.uint8)

    def download(self, target, source, keep=None):
        self.device.count("download")
        np.frombuffer(target, np.uint8)[:] = self.device.memory[source]

    def fill(self, target, byte, size, keep=None):
        assert self.device.memory[target].size == size
        self.device.memory[target][:] = byte

    def synchronize(self):
        pass


class Device:
    """A device whose memory is in ``memory``, by address; at most ``limit`` bytes of it."""

    def __init__(self, limit=1 << 30, name="double", inline=True):
        self.name, self.limit, self.used, self.peak = name, limit, 0, 0
        self.memory, self.calls = {}, []
        self.fails = lambda number: False
        self.default_stream = _Stream(self, inline)
        self._addresses = itertools.count(4096, 4096)

    def count(self, name):
        self.calls.append(name)
        if self.fails(len(self.calls) - 1):
            raise StoreFailure(f"{name} is call {len(self.calls) - 1}")

    def allocate(self, size):
        self.count("allocate")
        address = next(self._addresses)
        self.memory[address] = np.full(size, 0xAA, np.uint8)
        self.used += size
        self.peak = max(self.peak, self.used)
        assert self.used <= self.limit
        return _Buffer(self, address, size)

    def new_stream(self):
        return _Stream(self, False)

    def new_event(self, timing=True):
        return _Event()
