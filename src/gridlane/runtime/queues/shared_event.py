"""An event that the streams of several processes record and wait for."""

from __future__ import annotations

import ctypes
import time
from functools import partial
from typing import Any

from gridlane.core import endings
from gridlane.core.device_errors import INVALID_HANDLE, INVALID_VALUE, fail
from gridlane.memory.resource import Buffer

SIZE = 4096
"""The bytes of its memory, which are pages of their own."""
_MARK = 0x746E657665
_SPINS, _SHORTEST, _LONGEST = 100, 20e-6, 1e-3
"""A wait looks so often at once, then after pauses of these seconds, each twice the one before."""


class SharedEvent:
    """An event of a host device in memory that processes share: a mark, the number of its last
    recording, and that of the last one that a stream has passed."""

    timing = False
    handle = 0

    def __init__(self, memory: Buffer, is_new: bool) -> None:
        self.memory = memory
        self._words = (ctypes.c_uint64 * 3).from_address(memory.address)
        if is_new:
            self._words[:] = (_MARK, 0, 0)
        elif self._words[0] != _MARK:
            fail(INVALID_VALUE, "the handle is that of memory, not of an event")

    def record(self, stream: Any) -> None:
        """Record it after the work that is in a stream now."""
        self._words[1] += 1
        stream.submit(partial(self._pass, self._words[1]), always=True)

    def _pass(self, number: int) -> None:
        self._words[2] = max(self._words[2], number)

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded, in whichever process."""
        return self._words[1] > 0

    def query(self) -> bool:
        """Whether the recorded work is done, in whichever process."""
        return self._words[2] >= self._words[1]

    def synchronize(self) -> None:
        """Wait for the recorded work."""
        self._wait(self._words[1])

    def wait(self, stream: Any) -> None:
        """Order the later work of a stream behind the recorded work."""
        stream.submit(partial(self._wait, self._words[1]), always=True)

    def _wait(self, number: int) -> None:
        spins, pause = _SPINS, _SHORTEST
        while self._words[2] < number and not endings.over():
            if spins:
                spins -= 1
                continue
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    def elapsed_ms(self, end: Any) -> float:
        """Refuse: events that processes share have no times."""
        fail(INVALID_HANDLE, "an event of several processes tells no time")
