"""The report block of a kernel, in host memory that the device can write."""

from __future__ import annotations

from gridlane.core.artifact import Artifact
from gridlane.memory.device_memory import DeviceMemory
from gridlane.runtime import report
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.memory import PageLocked, as_array


class Report(report.Report):
    """The report block of one loaded kernel."""

    def __init__(self, context: Context, artifact: Artifact) -> None:
        size = report.size(artifact)
        self.buffer = DeviceMemory(PageLocked(context, mapped=True)).allocate(size)
        self.address = self.buffer.address
        super().__init__(artifact, as_array(self.address, size))
