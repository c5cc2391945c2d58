"""Numbers that change whenever cached state of the process may be stale.

The C libraries answer calls by state that Python has published, as long as the numbers are those
that Python read before. So a function that changes the state changes the number after that, and
before it returns.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable


class Epoch:
    """A number that never has a value twice. Any thread may change it.

    >>> epoch = Epoch()
    >>> before = epoch.number
    >>> epoch.changed()
    >>> epoch.number == before
    False
    """

    def __init__(self) -> None:
        self._cell = ctypes.c_uint64(0)
        self._numbers = itertools.count(1)
        self._then: list[Callable[[], object]] = []

    def changed(self) -> None:
        """Say that what was noted is old."""
        self._cell.value = next(self._numbers)
        for each in self._then:
            each()

    def then(self, call: Callable[[], object]) -> None:
        """Call a function after each change."""
        self._then.append(call)

    @property
    def number(self) -> int:
        """The number; to be read before the state."""
        return self._cell.value

    def lies_at(self, address: int) -> None:
        """Keep the number in 8 bytes of C's, which live as long as the process."""
        self._cell = ctypes.c_uint64.from_address(address)
        self.changed()


state = Epoch()
"""Of contexts, devices and errors."""
pools = Epoch()
"""Of memory that pools of devices hold."""
code = Epoch()
"""Of kernels: of modules that ended, and of attributes that programs set."""
