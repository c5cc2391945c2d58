"""What a device is: an allocator, a loader and a launcher. Queues and events stand on these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from gridlane.core.artifact import Artifact


@dataclass(slots=True, eq=False, weakref_slot=True)
class Buffer:
    """Device memory that lives as long as this object. ``address`` is what kernels get."""

    address: int
    size: int
    owner: Any = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a launch may ask for."""

    max_threads: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_shared: int = 48 * 1024
    max_dynamic_shared: int = 227 * 1024
    warp_size: int = 32
    multiprocessors: int = 1


class LoadedKernel(Protocol):
    """A kernel ready to run. It holds its code; ``launch`` is hot."""

    artifact: Artifact

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Run a grid of blocks of ``artifact.block`` threads to the end.

        Args:
            params: the flat parameter block, laid out as ``artifact.params`` says.
            gx, gy, gz: blocks along each axis.
            shared: bytes of dynamic shared memory.

        Raises:
            KernelError: (or its builtin twin) the kernel stopped itself; the first report.
        """
        ...


class Device(Protocol):
    """One device. Its methods may be called from any thread."""

    name: str
    limits: Limits
    host_visible: bool
    """Whether kernels can use the address of host memory as it is, so no copy is needed."""

    def allocate(self, size: int) -> Buffer:
        """Memory of ``size`` bytes, aligned to 256; DeviceError 2 when there is none."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes between addresses of the device or, when host_visible, of the host."""
        ...

    def upload(self, target: int, source: memoryview) -> None:
        """Copy host bytes to the device."""
        ...

    def download(self, target: memoryview, source: int) -> None:
        """Copy device bytes to the host."""
        ...

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes."""
        ...

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Make an artifact executable."""
        ...

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``."""
        ...
