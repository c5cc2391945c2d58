"""The report block of a kernel, in host memory that the device can write."""

from __future__ import annotations

import ctypes
import struct
import weakref
from typing import Protocol

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.memory.device_memory import DeviceMemory
from gridlane.runtime import report
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.memory import PageLocked, as_array
from gridlane.runtime.protocol import Explain


class Kernel(Protocol):
    """What a report uses of its kernel.

    Attributes:
        flag: 1 after a launch; see Context.
    """

    flag: ctypes.Array[ctypes.c_ubyte]
    explain: Explain | None


class Report(report.Report):
    """The report block of one loaded kernel, which it outlives while a launch may be in flight.

    Attributes:
        dropped: whether the kernel no longer exists.
        ended: whether its launches are known to be done, once it is.
    """

    def __init__(self, context: Context, artifact: Artifact, kernel: Kernel) -> None:
        self._flag = kernel.flag
        self._kernel = weakref.ref(kernel)
        self._explain: Explain | None = None
        self.dropped = self.ended = False
        size = report.size(artifact)
        self.buffer = DeviceMemory(PageLocked(context, mapped=True)).allocate(size)
        self.address = self.buffer.address
        super().__init__(artifact, as_array(self.address, size), device=context.name)

    @property
    def explain(self) -> Explain | None:
        """Converts the error that the kernel raised to the user's exception."""
        kernel = self._kernel()
        return self._explain if kernel is None else kernel.explain

    def drop(self, explain: Explain | None) -> None:
        """Note that the kernel no longer exists; ``explain`` explains its errors from now on."""
        self.dropped, self._explain = True, explain

    @property
    def launched(self) -> bool:
        """Whether the kernel may be in flight."""
        return bool(self._flag[0]) and not self.ended

    @property
    def is_read(self) -> bool:
        """Whether the host has read all that the kernel may have written."""
        if not self.dropped or self.launched:
            return False
        (head,) = struct.unpack_from("<I", self._bytes, abi.PRINT_HEAD_OFFSET)
        (code,) = struct.unpack_from("<I", self._bytes, abi.ERROR_OFFSET)
        return not head and not code
