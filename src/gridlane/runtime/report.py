"""The report block: messages of running kernels to the host, in shared memory, with the layout of
core/gpu_abi.py."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections import Counter

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import KernelStop, kernel_exception
from gridlane.runtime.printing import line

RECORD_BYTES = 1 << 20
TRACE_SLOTS = 1 << 14


def _capacity(artifact: Artifact) -> int:
    return RECORD_BYTES if artifact.prints else 0


def size(artifact: Artifact, traces: int = TRACE_SLOTS) -> int:
    """The size of a kernel's report block, in bytes.

    Args:
        traces: the number of trace slots; 0 for shaders, which record no positions.
    """
    return abi.RECORDS_OFFSET + _capacity(artifact) + 4 * traces


class Report:
    """The report block of one loaded kernel, in ``size(artifact, traces)`` bytes of host memory.

    Args:
        host: that memory. The caller keeps it alive.
        traces: the number of trace slots.
        device: the name of the kernel's device.
    """

    def __init__(
        self,
        artifact: Artifact,
        host: ctypes.Array[ctypes.c_ubyte],
        traces: int = TRACE_SLOTS,
        device: str = "",
    ) -> None:
        self.artifact, self.device = artifact, device
        self.capacity = _capacity(artifact)
        self._bytes = host
        ctypes.memset(host, 0, len(host))
        struct.pack_into("<II", self._bytes, abi.PRINT_CAPACITY_OFFSET, self.capacity, traces)

    def shrink(self, capacity: int) -> None:
        """Keep fewer bytes of records between synchronisations; call before the first launch."""
        self.capacity = capacity
        struct.pack_into("<I", self._bytes, abi.PRINT_CAPACITY_OFFSET, capacity)

    def flush(self) -> None:
        """Write the lines that kernels printed to stdout; call when the kernels are done."""
        (head,) = struct.unpack_from("<I", self._bytes, abi.PRINT_HEAD_OFFSET)
        if not head:
            return
        done = 0
        lines: list[str] = []
        while done + abi.RECORD_HEADER_BYTES <= min(head, self.capacity):
            start = abi.RECORDS_OFFSET + done
            (site,) = struct.unpack_from("<I", self._bytes, start)
            if not site:  # the record that did not fit, and all after it
                break
            sites = self.artifact.prints[site - 1]
            cells = ctypes.addressof(self._bytes) + start + abi.RECORD_HEADER_BYTES
            lines.append(line(sites, cells))
            struct.pack_into("<I", self._bytes, start, 0)
            done += abi.RECORD_HEADER_BYTES + abi.CELL_BYTES * len(sites.dtypes)
        struct.pack_into("<I", self._bytes, abi.PRINT_HEAD_OFFSET, 0)
        sys.stdout.write("".join(lines))
        if head > done:
            print(
                f"gridlane: kernel {self.artifact.name} printed {head - done} bytes more than the "
                f"{self.capacity} that are kept between synchronisations; those lines are lost",
                file=sys.stderr,
            )

    def stop(self, late: bool = False) -> KernelStop | None:
        """The first error that a thread raised since the last call, if it is the device's own or
        ``late`` is false; call when kernels are done."""
        (code,) = struct.unpack_from("<I", self._bytes, abi.ERROR_OFFSET)
        if not code or (late and not self.artifact.errors[code - 1].late):
            return None
        thread = struct.unpack_from("<3I", self._bytes, abi.THREAD_OFFSET)
        block = struct.unpack_from("<3I", self._bytes, abi.BLOCK_OFFSET)
        struct.pack_into("<II", self._bytes, abi.CLAIMED_OFFSET, 0, 0)
        site = self.artifact.errors[code - 1]
        return kernel_exception(site, thread, block, self.artifact.name, device=self.device)

    def places(self) -> list[str]:
        """The lines at which warps stood when the kernel faulted, the most frequent first."""
        offset = abi.RECORDS_OFFSET + self.capacity
        lines = struct.unpack_from(f"<{TRACE_SLOTS}I", self._bytes, offset)
        counts = Counter(number for number in lines if number)
        return [
            f"{self.artifact.name}: {count} warp{'s' if count > 1 else ''} at line {number}"
            for number, count in counts.most_common(4)
        ]
