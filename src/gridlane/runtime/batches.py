"""Launches of host devices that are made together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gridlane.core.device_errors import KernelStop
from gridlane.core.frozen import frozen


@frozen
class GridLaunch:
    """A launch.

    Attributes:
        kernel: a ``host_device.HostKernel``.
        params: its parameter block.
        grid: blocks along x, y and z.
        shared: bytes of dynamic shared memory.
        explain: the exception for one that the kernel reports.
    """

    kernel: Any
    params: bytes
    grid: tuple[int, int, int]
    shared: int
    explain: Callable[[KernelStop], Exception]


class Batch(Protocol):
    """Launches that are made together, any number of times."""

    def may_run(self) -> bool:
        """Whether nobody observes launches now."""
        ...

    def run(self) -> None:
        """Launch all, one after the other, to their end, or raise the error of the first one that
        fails."""
        ...
