"""Report blocks in device memory that the host reads by commands."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import OUT_OF_MEMORY, handled
from gridlane.core.errors import DeviceError
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.runtime import report
from gridlane.runtime.drivers.single_buffer.engine import Read, Write
from gridlane.runtime.drivers.single_buffer.recorder import WordRecorder
from gridlane.runtime.reporting import ReportBlock

FEWEST = 1 << 12
"""Bytes of records below which a report block is not shrunk."""


class QueuedReport(ReportBlock):
    """A report block.

    Attributes:
        read: the last launch whose report is read.
    """

    def __init__(self, device: Any, artifact: Artifact) -> None:
        self._recorder: WordRecorder = device.recorder
        # Shader kernels record no positions: the block ends with the records.
        self._host = (ctypes.c_ubyte * report.size(artifact, 0))()
        block = report.Report(artifact, self._host, 0, device.name)
        memory = _room_for(device.report_memory, block)
        super().__init__(block, memory.address, memory)
        self._header = bytes(self._host[: abi.RECORDS_OFFSET])
        self.read: object = None
        self._reset(block.capacity)

    def _reset(self, records: int) -> None:
        """Clear the report, which may contain so many bytes of records."""
        recorder = self._recorder
        recorder.append(Write(self.address, memoryview(self._header)))
        if records:
            zeros = memoryview(bytes(records))
            recorder.append(Write(self.address + abi.RECORDS_OFFSET, zeros))

    def collect(self, launch: object) -> None:
        """Read the report of a launch after the work so far, and print its lines. The caller holds
        the recorder's lock, so that no launch is submitted in between."""
        if launch is self.read:
            return
        recorder, host = self._recorder, np.ctypeslib.as_array(self._host).data
        address, first = self.address, bytes(host[: abi.PRINT_HEAD_OFFSET])
        recorder.append(Read(address, abi.RECORDS_OFFSET, host[: abi.RECORDS_OFFSET], 0))
        recorder.flush()
        claimed, _ = struct.unpack_from("<II", self._host, abi.CLAIMED_OFFSET)
        (head,) = struct.unpack_from("<I", self._host, abi.PRINT_HEAD_OFFSET)
        records = min(head, self.report.capacity) // 4 * 4
        if records:
            start, end = abi.RECORDS_OFFSET, abi.RECORDS_OFFSET + records
            recorder.append(Read(address + start, records, host[start:end], 0))
            recorder.flush()
        if claimed or head:
            self._reset(records)
        self.report.flush()
        if any(first[: abi.THREAD_OFFSET]):  # an error that nobody has taken
            host[: abi.PRINT_HEAD_OFFSET] = first
        self.read = launch


def _room_for(memory: DeviceMemory[Buffer], block: report.Report) -> Buffer:
    """Memory for a report block, with fewer records if the first buffer has no room for all."""
    while True:
        try:
            return memory.allocate(abi.RECORDS_OFFSET + block.capacity)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY or block.capacity < FEWEST:
                raise
            handled(error)
        block.shrink(block.capacity // 4)
