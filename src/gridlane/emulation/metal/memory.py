"""The memory of a buffer, at two addresses: the host's, and the device's, which kernels can access
only while the buffer is resident."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from contextlib import suppress
from functools import cache

_NONE, _READ_WRITE = 0, mmap.PROT_READ | mmap.PROT_WRITE
_FAILED = ctypes.c_void_p(-1).value


@cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    )  # fmt: skip
    library.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
    library.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return library


class Memory:
    """A block of memory.

    Attributes:
        host: the bytes, for the host.
        address: on the device.
        living: every memory of the process that is not freed.
    """

    living: set[Memory] = set()

    def __init__(self, size: int) -> None:
        self._room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), self._room)
            self.host = mmap.mmap(file.fileno(), self._room)
            address = _libc().mmap(None, self._room, _NONE, mmap.MAP_SHARED, file.fileno(), 0)
        if address == _FAILED:
            raise MemoryError(f"{size} bytes")
        self.address, self.size = int(address), size
        self.open = False
        Memory.living.add(self)

    def set_open(self, to_kernels: bool) -> None:
        """Allow or forbid kernels to access the bytes."""
        if to_kernels != self.open and self in Memory.living:
            _libc().mprotect(self.address, self._room, _READ_WRITE if to_kernels else _NONE)
            self.open = to_kernels

    def free(self) -> None:
        """Unmap the bytes from the device, and from the host if no view of them is alive."""
        Memory.living.discard(self)
        _libc().munmap(self.address, self._room)
        with suppress(BufferError):
            self.host.close()
