"""Kernels that run until they are told to end, each on a stream of its own."""

from __future__ import annotations

from typing import Any

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import COOPERATIVE_TOO_LARGE, KernelStop, fail
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.kernel import CudaKernel
from gridlane.runtime.drivers.cuda.stream import CudaStream, own_stream
from gridlane.runtime.protocol import Block


class ResidentKernel:
    """A kernel of one block, loaded for it alone, that does not end by itself.

    While one runs, the context waits for streams by name, and calls of the driver that would wait
    for all work are put off; see ``Context.residents``.

    Raises:
        DeviceError: the device cannot run the code.
    """

    def __init__(self, device: Any, artifact: Artifact, block: Block) -> None:
        self.context: Context = device.context
        self.kernel = CudaKernel(device, artifact)
        self.context.reporting.discard(self.kernel)  # its errors are not those of a launch
        self._bound = self.kernel.bind(block)
        self._stream: CudaStream = own_stream(device, non_blocking=True)
        self.blocks = self.kernel.occupancy(block[0]) * int(device.limits.multiprocessors)
        """As many of these as the device holds at once."""

    @property
    def raised(self) -> int:
        """The address of a word that is not 0 once the kernel has raised an error; 0 if it raises
        none."""
        report: Any = self.kernel.report
        return report.address + abi.ERROR_OFFSET if report is not None else 0

    def start(self, params: bytes, keep: object) -> None:
        """Launch it.

        Raises:
            DeviceError: COOPERATIVE_TOO_LARGE, the device does not hold it besides the others.
        """
        residents = self.context.residents
        used = sum(1 / each.blocks for each in residents)
        if used + 1 / self.blocks > 1 + 1e-9:
            fail(
                COOPERATIVE_TOO_LARGE,
                f"{self.kernel.name}: the device holds {self.blocks} such blocks at once, and "
                f"{len(residents)} kernels that do not end take {used:.0%} of it",
                "end actors that are not needed, or give handlers fewer threads and less memory",
            )
        residents.add(self)
        try:
            self._stream.launch(self._bound, params, 1, 1, 1, 0, keep)
        except BaseException:
            residents.discard(self)
            raise

    def ended(self) -> bool:
        """Whether it has ended, or has never run.

        Raises:
            DeviceError: a kernel has brought the context down.
        """
        if self not in self.context.residents:
            return True
        if not self._stream.query():
            return False
        self.context.residents.discard(self)
        return True

    def lost(self) -> None:
        """Forget it: its context is lost."""
        self.context.residents.discard(self)

    def stop(self) -> KernelStop | None:
        """The error that it has raised since the last call; it has ended."""
        return self.kernel.report.stop() if self.kernel.report is not None else None

    def flush(self) -> None:
        """Write the lines that it has printed; it has ended."""
        if self.kernel.report is not None and self.kernel.artifact.prints:
            self.kernel.report.flush()
