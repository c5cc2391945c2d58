"""The base of kernels of host-driven devices; see queues/host_driven_stream.py."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Generic, TypeVar

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import (
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    OUT_OF_RESOURCES,
    fail,
)
from gridlane.memory.suballocator import Suballocation
from gridlane.runtime import report
from gridlane.runtime.protocol import Block, Explain
from gridlane.runtime.queues.host_driven_context import HostDrivenContext
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream
from gridlane.runtime.reporting import Owner, ReportBlock, Unread

LONGEST_GRID = 2**31 - 1
"""The limit of blocks along x; along y and z it is CUDA's 65535."""


Stream = HostDrivenStream[Any]


R = TypeVar("R")


class HostDrivenKernel(Generic[R]):
    """An artifact on a device. Launches with a block shape and a size of dynamic shared memory
    share an R.

    Attributes:
        param_size: bytes of a launch's parameter block.
        reports: whether it may raise or print.
    """

    def __init__(self, device: Any, artifact: Artifact) -> None:
        self.device, self.artifact, self.name = device, artifact, artifact.name
        self.param_size = artifact.param_end
        self.explain: Explain | None = None
        self.reports = bool(artifact.errors or artifact.prints)
        self._blocks: weakref.WeakKeyDictionary[Owner, ReportBlock] = weakref.WeakKeyDictionary()
        self._blocks_lock = threading.RLock()

    def prepare(self, block: Block, shared: int) -> R:
        """What launches share, after a check.

        Args:
            shared: bytes of dynamic shared memory.

        Raises:
            DeviceError: the device cannot run such blocks.
        """
        raise NotImplementedError

    def bind(self, block: Block) -> HostDrivenBound[R]:
        """Bind the kernel to a block shape."""
        if self.artifact.block not in (None, block):
            fail(INVALID_VALUE, f"{self.name} is compiled for blocks of {self.artifact.block}")
        return HostDrivenBound(self, block)

    def _new_block(self) -> ReportBlock:
        """A report block, in memory that the host can read."""
        memory: Suballocation = self.device.stage(report.size(self.artifact, 0))
        return ReportBlock(
            report.Report(self.artifact, memory.host(), 0, self.device.name), memory.address, memory
        )

    def block_of(self, owner: Owner) -> ReportBlock:
        """The report block of an owner's launches. Hot."""
        block = self._blocks.get(owner)
        if block is None:
            with self._blocks_lock:
                block = self._blocks.get(owner)
                if block is None:
                    block = self._blocks[owner] = self._new_block()
        return block

    def check_block(self, block: Block) -> int:
        """Refuse a block shape that exceeds the device's limits; return its number of threads.

        Raises:
            DeviceError: INVALID_VALUE.
        """
        limits, what = self.device.limits, f"kernel {self.name}, block {block}"
        if min(block) < 1 or any(size > most for size, most in zip(block, limits.max_block)):
            fail(INVALID_VALUE, f"{what}; the largest is {limits.max_block}")
        threads = block[0] * block[1] * block[2]
        if threads > limits.max_threads:
            fail(INVALID_VALUE, f"{what}: {threads} threads; the most is {limits.max_threads}")
        return threads

    def check_shared(self, static: int, shared: int, step: int = 1) -> None:
        """Refuse more shared memory than a block has.

        Args:
            step: the granularity of dynamic shared memory, in bytes.

        Raises:
            DeviceError: OUT_OF_RESOURCES.
        """
        most = self.device.limits.max_shared
        if shared < 0 or static + -(-shared // step) * step > most:
            message = f"{static} bytes of static and {shared} of dynamic shared memory"
            fail(OUT_OF_RESOURCES, f"kernel {self.name}: {message}; a block has {most}")

    # --- facts ---

    def figures(self) -> None:
        """Return None: the devices report no registers."""

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Return one block, which every device holds; the devices do not report occupancy."""
        return 1


class HostDrivenBound(Generic[R]):
    """A kernel bound to a block shape, for launches on streams. It is prepared once for each size
    of dynamic shared memory."""

    in_parts = False

    def __init__(self, kernel: HostDrivenKernel[R], block: Block) -> None:
        self.kernel, self.block = kernel, block
        self.artifact: Artifact = kernel.artifact
        self.raises = kernel.artifact.raises
        self.name = kernel.name
        self._coarse, self._size = kernel.artifact.coarse, kernel.param_size
        self._has_constants = bool(kernel.artifact.constants)
        self._context: HostDrivenContext | None = None
        self._prepared: dict[int, R] = {}

    @property
    def explain(self) -> Explain | None:
        """Convert a KernelStop to the user's exception."""
        return self.kernel.explain

    @explain.setter
    def explain(self, value: Explain | None) -> None:
        self.kernel.explain = value

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Launch on the default stream."""
        self.kernel.device.default_stream.launch(self, params, gx, gy, gz, shared)

    def record(self, stream: Stream, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Submit a launch to a stream. Hot."""
        context, kernel = stream.context, self.kernel
        if context is not self._context:
            self._begin_on(stream)
        context.enter()
        prepared = self._prepared.get(shared)
        if prepared is None:
            prepared = self._prepared[shared] = kernel.prepare(self.block, shared)
        if not (0 < gx <= LONGEST_GRID and 0 < gy <= 65535 and 0 < gz <= 65535):
            fail(INVALID_VALUE, f"kernel {self.kernel.name}, grid {(gx, gy, gz)}")
        if len(params) < self._size:
            fail(INVALID_VALUE, f"kernel {self.kernel.name}: {len(params)} bytes of parameters")
        if self._has_constants:
            params = self.artifact.parameter_block(params)
        grid = gx // self._coarse, gy, gz
        if not kernel.reports:
            stream.recorder.launch(stream, prepared, params, grid, shared, None)
            return
        owner = stream.owner
        block = kernel.block_of(owner)
        stream.recorder.launch(stream, prepared, params, grid, shared, block)
        # After the launch, so that it is read after it.
        kernel.device.unread.note(block, Unread(kernel, owner, stream.point))

    def _begin_on(self, stream: Stream) -> None:
        """Prepare again on the device of a stream: at the first launch, or the first since the
        device was lost."""
        if stream.device is not self.kernel.device:
            fail(INVALID_HANDLE, f"kernel {self.kernel.name}: the stream is another device's")
        self._prepared.clear()
        self._context = stream.context


def accept(artifact: Artifact, target: str, form: str, language: str, library: str) -> None:
    """Refuse another device's artifact.

    Args:
        form, language: the format of its code, and the users' name of that.
        library: the users' name of the device's driver.

    Raises:
        DeviceError: INVALID_IMAGE, NOT_SUPPORTED.
    """
    if artifact.target != target:
        fail(INVALID_IMAGE, f"the {target} device runs {language}, not code of {artifact.target}")
    if artifact.format != form:
        fail(
            INVALID_IMAGE,
            f"the {target} device runs {language}, not {artifact.format}",
            f"the last of `formats` in the record of {target} must be {form!r}, as its driver has",
        )
    if artifact.cooperative:
        message = f"{artifact.name}: {library} does not say that all blocks of a grid run at once"
        fail(NOT_SUPPORTED, message)
