"""The owners of launches whose kernels report, on host-driven devices, and the unread reports.

Each report block is of one kernel and one owner: a stream, or a thread on the default stream. So an
error is raised at a wait for its launch, whatever other threads and streams do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import KernelStop
from gridlane.core.frozen import frozen
from gridlane.runtime.protocol import Explain
from gridlane.runtime.report import Report


class Owner:
    """Whose launches these are.

    Attributes:
        handle: of the stream; 0 for those of a thread on the default stream.
        waits: how many launches its thread waits for now. Their errors are raised there alone.
    """

    __slots__ = ("__weakref__", "handle", "waits")

    def __init__(self, handle: int) -> None:
        self.handle, self.waits = handle, 0


class Owners:
    """The owners of launches on the default stream: the threads."""

    def __init__(self) -> None:
        self._local = threading.local()

    def here(self) -> Owner:
        """This thread, or the one on whose behalf it runs."""
        try:
            return self._local.owner
        except AttributeError:
            owner = self._local.owner = Owner(0)
            return owner

    @contextmanager
    def standing_for(self, owner: Owner) -> Generator[None]:
        """Launch for another thread."""
        before, self._local.owner = self.here(), owner
        try:
            yield
        finally:
            self._local.owner = before

    def is_due(self, owner: Owner, handle: int | None) -> bool:
        """Whether a wait of this thread raises the errors of an owner.

        Args:
            handle: of the stream that is waited for; None for all streams.
        """
        if handle is not None and owner.handle != handle:
            return False
        return not owner.waits or owner is self.here()


@dataclass(eq=False, slots=True)
class ReportBlock:
    """A report block.

    Attributes:
        address: in device memory.
        memory: kept as long.
    """

    report: Report
    address: int
    memory: object

    def collect(self, launch: object) -> None:
        """Fetch the report of a launch that is done, where the host cannot read it in place."""


class Reporter(Protocol):
    """The interface of a kernel that reports."""

    artifact: Artifact
    explain: Explain | None


K = TypeVar("K", bound=Reporter)


@frozen
class Unread(Generic[K]):
    """A launch whose report may be unread. It keeps the kernel alive.

    Attributes:
        point: the number of the work that it is part of.
    """

    kernel: K
    owner: Owner
    point: int


class Unreads:
    """The report blocks that launches have used since they were read, in the order of their first
    launches since.

    Args:
        owners: of the device.
        is_past: whether the work with a number is done.
        lock: held while a report is read.

    Attributes:
        launches: of each block the last one.
    """

    def __init__(
        self, owners: Owners, is_past: Callable[[int], bool], lock: threading.RLock | None = None
    ) -> None:
        self._owners, self._is_past = owners, is_past
        self.launches: dict[ReportBlock, Unread[Any]] = {}
        self._lock = lock or threading.RLock()

    def __len__(self) -> int:
        return len(self.launches)

    def note(self, block: ReportBlock, launch: Unread[Any]) -> None:
        """Note a launch that is submitted. Hot."""
        with self._lock:
            self.launches[block] = launch

    def flush(self) -> None:
        """Write the lines that kernels printed whose work is done."""
        for block, launch in tuple(self.launches.items()):
            if launch.kernel.artifact.prints and self._is_past(launch.point):
                with self._lock:
                    block.report.flush()

    def check(self, handle: int | None, late: bool, owner: Owner | None) -> None:
        """Raise the first error that is due; see ``HostDrivenDevice.check``."""
        for block, launch in tuple(self.launches.items()):
            if owner is not None:
                if launch.owner is not owner:
                    continue
            elif not self._owners.is_due(launch.owner, handle):
                continue
            with self._lock:
                # Asked before the report is read: what is past by then is in it.
                past = not late and self._is_past(launch.point)
                if past:
                    block.collect(launch)
                stop = block.report.stop(late)
                if past and stop is None and self.launches.get(block) is launch:
                    if launch.kernel.artifact.prints:
                        block.report.flush()
                    del self.launches[block]
            raise_stop(launch.kernel, stop)

    def forget(self) -> None:
        """Drop all errors."""
        with self._lock:
            for block in self.launches:
                block.report.stop()
            self.launches.clear()


def raise_stop(kernel: Reporter, stop: KernelStop | None) -> None:
    """Raise the user's exception for what a kernel reported."""
    if stop is not None:
        raise (kernel.explain(stop) if kernel.explain else stop) from None
