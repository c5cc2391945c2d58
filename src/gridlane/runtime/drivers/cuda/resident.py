"""Kernels that run until an order to end, each on a stream of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import (
    COOPERATIVE_TOO_LARGE,
    NOT_PERMITTED,
    KernelStop,
    fail,
)
from gridlane.core.forks import fork_waits
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.kernel import CudaKernel
from gridlane.runtime.drivers.cuda.stream import CudaStream, own_stream
from gridlane.runtime.protocol import Block


class Owner(Protocol):
    """The object that orders a resident kernel to leave and to return.

    Attributes:
        name: of the actor, for errors.
    """

    name: str

    def ask_to_leave(self) -> None:
        """Order the kernel to end until ``come_back``."""
        ...

    def leave(self) -> bool:
        """Wait until it has ended; return whether it has."""
        ...

    def come_back(self) -> None:
        """Launch it again at the place where it left."""
        ...


class ResidentKernel:
    """A kernel of one block, or of the blocks of one cluster, loaded for it alone, that does not
    end by itself.

    While one runs, the context waits for streams by name, and kernels like it leave the device for
    calls of the driver that would wait for them; see ``Context.without_residents``.

    Args:
        owner: the object that orders it to leave and to return.
        size: its blocks, a cluster.
        shared: bytes of dynamic shared memory.

    Raises:
        DeviceError: the device cannot run the code; COOPERATIVE_TOO_LARGE, it has no room for such
            a cluster.
    """

    def __init__(
        self,
        device: Any,
        artifact: Artifact,
        block: Block,
        owner: Owner,
        size: int = 1,
        shared: int = 0,
    ) -> None:
        self.size, self._shared = size, shared
        if size > 1:
            artifact = replace(artifact, cluster=(size, 1, 1))
        self.context: Context = device.context
        self._owner = owner
        self.kernel = CudaKernel(device, artifact)
        self.kernel.report_apart()  # its errors are not those of a launch
        self._bound = self.kernel.bind(block)
        self._stream: CudaStream = own_stream(device, non_blocking=True)
        self._count = int(device.limits.multiprocessors)
        self.blocks = self.kernel.occupancy(block[0]) * self._count
        """As many of these as the device holds at once."""
        if size > 1:
            self.blocks = self.kernel.active_clusters(block[0], shared)
            if not self.blocks:
                fail(
                    COOPERATIVE_TOO_LARGE,
                    f"{self.kernel.name}: the device has no room for a cluster of {size} blocks of "
                    f"{block[0]} threads with {shared} bytes of dynamic shared memory",
                    "take fewer actors into the cluster, or give them a smaller capacity",
                )

    @property
    def raised(self) -> int:
        """The address of a word that is not 0 once the kernel has raised an error; 0 if it raises
        none."""
        report = self.kernel.report
        return report.address + abi.ERROR_OFFSET if report is not None else 0

    def start(self, params: bytes, keep: object) -> None:
        """Launch it.

        Raises:
            DeviceError: COOPERATIVE_TOO_LARGE, the device has no room for it beside the others.
        """
        with fork_waits(), self.context.pausing:
            residents = self.context.residents
            others = [each.blocks for each in residents if isinstance(each, ResidentKernel)]
            budget = self.context.multiprocessors
            budget.check(self.kernel.name, self._count, others, self.blocks, self.size)
            self._stream.launch(self._bound, params, self.size, 1, 1, self._shared, keep)
            residents.add(self)

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

    # --- leaving the device for others ---

    def ask_to_leave(self) -> None:
        """Request that it leaves the device."""
        self._owner.ask_to_leave()

    def leave(self) -> None:
        """Wait until it has left.

        Raises:
            DeviceError: NOT_PERMITTED, its handler is still running.
        """
        if not self._owner.leave():
            fail(
                NOT_PERMITTED,
                f"{self._owner.name} runs on, and the driver loads code and frees memory only "
                "while no kernel runs",
                "load kernels and allocate host memory before, or end the actor",
            )

    def come_back(self) -> None:
        """Launch it again after a request to leave."""
        self._owner.come_back()
