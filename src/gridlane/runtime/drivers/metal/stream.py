"""Streams: ordered queues of work, recorded one behind the other; see recorder.py."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gridlane.runtime.drivers.metal import transfers
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream

if TYPE_CHECKING:
    from gridlane.runtime.drivers.metal.device import MetalDevice
    from gridlane.runtime.drivers.metal.kernel import MetalBound
    from gridlane.runtime.drivers.metal.recorder import Recorder


class MetalStream(HostDrivenStream):
    """A stream. The default one comes after the work of all others, and they after its work.

    Attributes:
        point: see recorder.Queue.
    """

    def __init__(self, device: MetalDevice, default: bool = False) -> None:
        super().__init__(device, device.context, default)
        self.point = 0

    @property
    def recorder(self) -> Recorder:
        """The device's, which is another one after ``reset``."""
        return self.device.recorder

    # --- work: submitted now, deferred, or recorded for a graph ---

    def _launch(
        self,
        kernel: MetalBound,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        kernel.record(self, params, gx, gy, gz, shared)

    def download(self, target: memoryview, source: int, keep: Any = None) -> None:
        """Append a copy to the host."""
        if self._recorded is None and target.nbytes and not transfers.pinned(self.device, target):
            self.context.enter()
            # The host has to do the last step.
            self._defer(partial(transfers.read, self, target, source, keep))
            return
        super().download(target, source, keep)

    def _upload(self, target: int, source: memoryview, keep: Any) -> None:
        transfers.upload(self, target, source, keep)

    def _download(self, target: memoryview, source: int, keep: Any) -> None:
        transfers.download(self, target, source, keep)

    def _copy(self, target: int, source: int, size: int, keep: Any) -> None:
        transfers.copy(self, target, source, size)

    def _fill(self, target: int, byte: int, size: int, keep: Any) -> None:
        transfers.fill(self, target, byte, size)

    def _write(self, target: int, source: memoryview) -> None:
        transfers.write(self, target, source)

    def _read(self, target: memoryview, source: int) -> None:
        transfers.read(self, target, source)

    # --- waiting ---

    def _finish(self) -> None:
        self.recorder.wait(self.recorder.mark(self))

    def _wait(self) -> None:
        self.recorder.wait(self.recorder.last if self.is_default else self.point)

    def _passed(self) -> bool:
        return self.recorder.passed(self.recorder.last if self.is_default else self.point)
