"""User objects: what programs keep as long as graphs use it."""

from __future__ import annotations

import ctypes
import threading

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state.handles import Handles

_destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_lock = threading.Lock()


class UserObject:
    """An object of the program's with a count of references.

    Args:
        pointer: that the destructor gets.
        destroy: the address of the destructor, which the release of the last reference calls once.
        count: of references that the program holds.
    """

    def __init__(self, pointer: int, destroy: int, count: int) -> None:
        self._pointer, self._destroy, self._count = pointer, destroy, count
        self.handle = objects.add(self)

    def retain(self, count: int) -> None:
        """Add references."""
        with _lock:
            self._count += count

    def release(self, count: int) -> None:
        """Release references.

        Raises:
            Failure: INVALID_VALUE, there are not so many.
        """
        with _lock:
            if count > self._count:
                fail(INVALID_VALUE, f"{count} references to let go; there are {self._count}")
            self._count -= count
            ends = not self._count
        if ends:
            objects.discard(self.handle)
            _destructor(self._destroy)(self._pointer)


objects = Handles[UserObject]("user object", INVALID_VALUE)
user_object = objects.get
