"""Memory of the host that two processes of one user share, on Linux.

The pages of a buffer become those of a file without a name when its first handle is made; another
process maps them by the file's descriptor in /proc. The system frees them with the last mapping,
however the processes end.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import stat
import struct
import threading
from functools import cache, partial
from typing import Any

from gridlane.core.device_errors import INVALID_VALUE, OUT_OF_MEMORY, fail
from gridlane.core.forks import hold_at_forks
from gridlane.memory.host import PAGE, HostBuffer
from gridlane.memory.resource import Buffer

_NAME = "gridlane-shared"
_LINK = f"/memfd:{_NAME} (deleted)"
_HANDLE = struct.Struct("<8sIIQQQQ16x")
"""A mark, process, descriptor, the file's device and inode, its size, the buffer's place in it."""
_MARK = b"gridlane"
_FIXED = 0x10
"""MAP_FIXED of Linux, for which Python has no name."""
_lock = hold_at_forks(threading.RLock())


@cache
def _map() -> Any:
    """The system's mmap, called with Python's lock."""
    function = ctypes.PyDLL(None, use_errno=True).mmap
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    return function


_RIGHTS = mmap.PROT_READ | mmap.PROT_WRITE
_OWN = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED


class Exported:
    """Owns the memory of a buffer with a handle: at its end the pages are the process's own again,
    before their lender reuses them."""

    def __init__(self, owner: Any, start: int, size: int, descriptor: int) -> None:
        self.owner, self.start, self.size, self.descriptor = owner, start, size, descriptor
        # Modules may end before.
        self._restore = partial(_map(), start, size, _RIGHTS, _OWN, -1, 0)
        self._close = partial(os.close, descriptor)

    def __del__(self) -> None:
        self._restore()
        self._close()


def export(buffer: Buffer) -> bytes:
    """A handle of a buffer's memory, of 64 bytes. The memory must not change during the call.

    Raises:
        DeviceError: INVALID_VALUE, the buffer shares pages with other memory; OUT_OF_MEMORY.
    """
    with _lock:
        shared = buffer.owner
        if not isinstance(shared, Exported):
            shared = buffer.owner = _exported(buffer)
    facts = os.fstat(shared.descriptor)
    return _HANDLE.pack(
        _MARK,
        os.getpid(),
        shared.descriptor,
        facts.st_dev,
        facts.st_ino,
        shared.size,
        buffer.address - shared.start,
    )


def _exported(buffer: Buffer) -> Exported:
    low, high = buffer.extent() if isinstance(buffer, HostBuffer) else (0, 0)
    start = buffer.address // PAGE * PAGE
    end = -(-(buffer.address + buffer.size) // PAGE) * PAGE
    if not buffer.size or start < low or end > high:
        fail(
            INVALID_VALUE,
            f"{buffer.size} bytes at {buffer.address:#x} are not alone in their pages, which "
            "another process would see",
            f"allocate at least {PAGE} bytes by cuda.device_array, or before many small arrays",
        )
    try:
        descriptor = os.memfd_create(_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        fail(OUT_OF_MEMORY, f"a file of memory: {error}")
    try:
        os.ftruncate(descriptor, end - start)
        # Nobody can shorten the file, which would make accesses faults.
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        with mmap.mmap(descriptor, end - start) as copy:
            place = ctypes.addressof(ctypes.c_char.from_buffer(copy))
            ctypes.PyDLL(None).memcpy(
                ctypes.c_void_p(place), ctypes.c_void_p(start), ctypes.c_size_t(end - start)
            )
            kind = mmap.MAP_SHARED | _FIXED
            mapped = _map()(start, end - start, _RIGHTS, kind, descriptor, 0)
            error = 0 if mapped == start else ctypes.get_errno()
    except OSError as failed:
        os.close(descriptor)
        fail(OUT_OF_MEMORY, f"{end - start} bytes of shared memory: {failed}")
    if error:
        os.close(descriptor)
        fail(OUT_OF_MEMORY, f"{end - start} bytes of shared memory: {os.strerror(error)}")
    return Exported(buffer.owner, start, end - start, descriptor)


def opened(handle: bytes, size: int) -> Buffer:
    """Map the memory of another process's handle. The memory outlives that process.

    Raises:
        DeviceError: INVALID_VALUE, it is no handle of this system; of this process; of another
            user; of memory that was freed; or of fewer than ``size`` bytes.
    """
    if len(handle) != _HANDLE.size or not handle.startswith(_MARK):
        fail(INVALID_VALUE, f"{len(handle)} bytes are no handle of memory on this system")
    _, process, descriptor, device, inode, length, place = _HANDLE.unpack(handle)
    if process == os.getpid():
        fail(INVALID_VALUE, "the memory of the handle is this process's", "use the array itself")
    if place + size > length:
        fail(INVALID_VALUE, f"the handle has {length - place} bytes, and {size} are asked for")
    file = _file(process, descriptor, device, inode)
    try:
        memory = mmap.mmap(file, length)
    except (OSError, ValueError) as error:
        fail(OUT_OF_MEMORY, f"{length} bytes of shared memory: {error}")
    finally:
        os.close(file)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return Buffer(start + place, length - place, memory)


def _file(process: int, descriptor: int, device: int, inode: int) -> int:
    """Open the file of a handle."""
    path = f"/proc/{process}/fd/{descriptor}"
    gone = (
        f"the memory of the handle is gone: the process {process} has ended or freed it",
        "keep the array alive until the other process has opened the handle",
    )
    try:
        if os.readlink(path) != _LINK:  # another file has the number now; opening may change it
            fail(INVALID_VALUE, *gone)
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except PermissionError:
        fail(INVALID_VALUE, f"the process {process} of the handle is another user's")
    except OSError:
        fail(INVALID_VALUE, *gone)
    facts = os.fstat(file)
    if (facts.st_dev, facts.st_ino) != (device, inode) or not stat.S_ISREG(facts.st_mode):
        os.close(file)
        fail(INVALID_VALUE, *gone)
    if facts.st_uid != os.geteuid():
        os.close(file)
        fail(INVALID_VALUE, f"the process {process} of the handle is another user's")
    return file
