"""The device ``cpu``: kernels are machine code on host memory; a thread pool runs the blocks."""

from __future__ import annotations

import ctypes
import itertools
import math
import platform
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.cpu_abi import ASK, FAULTED, NO_MEMORY, REPORT, STOPPED, TIMED_OUT
from gridlane.core.device_errors import (
    ILLEGAL_ACCESS,
    INVALID_CLUSTER_SIZE,
    INVALID_DEVICE,
    INVALID_IMAGE,
    OUT_OF_MEMORY,
    fail,
    kernel_access,
    kernel_exception,
    kernel_fault,
    kernel_timeout,
)
from gridlane.core.errors import KernelError
from gridlane.core.processors import available_processors
from gridlane.core.source import UNKNOWN
from gridlane.memory import shared_pages
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.host import HostResource, address_of
from gridlane.memory.resource import Buffer
from gridlane.runtime.drivers.cpu_debug_lines import code_range, place_at, place_near
from gridlane.runtime.drivers.cpu_native import pool
from gridlane.runtime.drivers.cpu_ranges import Allocations, access_text
from gridlane.runtime.host_code import Linked, missing
from gridlane.runtime.host_device import HostDevice, HostKernel, MachineCode, machine_uuid
from gridlane.runtime.observing import COPIES, copy_on_caller, launch_on_caller, seam
from gridlane.runtime.printing import line
from gridlane.runtime.protocol import Limits
from gridlane.runtime.queues.host_stream import together

if TYPE_CHECKING:
    from gridlane.runtime.batches import Batch, GridLaunch
    from gridlane.runtime.tensor_maps import TensorMaps

_names = itertools.count()
_Report = ctypes.c_int64 * REPORT
_restore = ctypes.pythonapi.PyErr_Restore  # raises, as ctypes looks for an exception behind it
_restore.argtypes = [ctypes.c_void_p] * 3
_restore.restype = None


def _tensor_maps(artifact: Artifact) -> TensorMaps:
    from gridlane.runtime.tensor_maps import TensorMaps  # few kernels have any

    return TensorMaps(artifact)


class CpuKernel(HostKernel):
    """Linked code and its plan for the pool."""

    def __init__(self, artifact: Artifact, allocations: Allocations) -> None:
        if artifact.format != "object" or artifact.target != "cpu" or artifact.block is None:
            fail(INVALID_IMAGE, f"the cpu device runs cpu object code, not {artifact.format}")
        absent = missing(artifact.needs)
        if absent:
            fail(
                INVALID_IMAGE,
                f"{artifact.name} is compiled for another processor: this one lacks "
                f"{', '.join(absent)}",
                "choose with GRIDLANE_CPU a processor that has no more than this one, or leave it "
                "out; `gridlane compile` writes code for any",
            )
        blocks = math.prod(artifact.cluster)
        if blocks > 1 and not artifact.requires_cluster:
            fail(INVALID_IMAGE, f"{artifact.name} is not compiled for clusters of {blocks} blocks")
        super().__init__(artifact)
        self._blocks = blocks
        self.code = Linked(f"kernel.{next(_names)}", artifact.code, (artifact.entry,))
        self._pool, self._allocations = pool(), allocations
        self._print = partial(
            _serve, artifact, allocations
        )  # kept alive, as the plan has its address
        plan = np.zeros(8, np.int64)
        plan[0] = self.code[artifact.entry]
        plan[1] = self._pool.address
        plan[2] = artifact.scratch + artifact.static_shared
        plan[3] = artifact.work * blocks
        plan[7] = blocks
        plan[4] = id(self._print)
        offset, size = code_range(artifact.code, artifact.entry)
        if size:  # a fault is the kernel's if the instruction is there
            plan[5] = plan[0] - offset
            plan[6] = plan[5] + size
        self._plan = plan
        self._plan_address = plan.ctypes.data
        self._run = self._pool.launch
        self._maps = _tensor_maps(artifact) if artifact.tensor_maps else None
        is_quick = blocks == 1 and self._maps is None
        self._quick = (self._pool.address_of_launch, self._plan_address) if is_quick else None

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Run a grid to its end; hot."""
        if self._blocks > 1:
            self._require_clusters(gx, gy, gz)
        report = _Report()
        if self._maps is not None:
            params = self._maps.filled(params)
        code = self._run(self._plan_address, params, gx, gy, gz, shared, ctypes.addressof(report))
        if code:
            self._fail(code, report, gx, gy)

    def _require_clusters(self, *grid: int) -> None:
        """Raise for a grid that no clusters make, of which the pool would leave blocks out."""
        sizes = self.artifact.cluster
        if any(count % size for count, size in zip(grid, sizes, strict=True)):
            fail(
                INVALID_CLUSTER_SIZE,
                f"{self.artifact.name}: a grid of {grid} blocks in clusters of {sizes}",
            )

    @property
    def machine_code(self) -> MachineCode | None:
        """The addresses by which C launches the kernel; None in clusters, of which C does not check
        that the grid consists."""
        if self._blocks > 1:
            return None
        return MachineCode(self._pool.address_of_launch, self._plan_address, self._fail_in_c)

    @property
    def quick(self) -> tuple[int, int] | None:
        """See HostKernel. Hot."""
        return self._quick if CpuKernel.launch is _own_launch else None

    @property
    def is_batched(self) -> bool:
        """Whether one call of C may make its launches among others."""
        return self._maps is None

    def _fail_in_c(self, code: int, report: int, gx: int, gy: int) -> NoReturn:
        self._fail(code, _Report.from_address(report), gx, gy)

    def _fail(self, code: int, report: ctypes.Array[ctypes.c_int64], gx: int, gy: int) -> NoReturn:
        """Raise the error that the kernel reported, or the exception that stopped it."""
        if code == STOPPED:
            if report[2]:
                _restore(report[2] or None, report[3] or None, report[4] or None)
            raise KernelError(
                f"{self.artifact.name} was stopped before its end, by an exception in a thread "
                "that waited for it"
            )
        if code == FAULTED:
            # LLVM gives no place to what it moves out of loops; all accesses have places otherwise.
            number, locations = place_at(self.artifact.code, report[2]), self.artifact.places
            locations = (
                locations[number - 1 : number] if number else locations[: self.artifact.accesses]
            )
            raise kernel_fault(self.artifact.name, locations, report[3] & (1 << 64) - 1, "cpu")
        if code == TIMED_OUT:
            number = place_near(self.artifact.code, report[2] - 1) if report[2] else 0
            loc = self.artifact.places[number - 1] if number else UNKNOWN
            raise kernel_timeout(self.artifact.name, loc, config().timeout, "cpu")
        if code == NO_MEMORY:
            size = self.artifact.scratch + self.artifact.static_shared
            fail(OUT_OF_MEMORY, f"{size} bytes that each worker needs for {self.artifact.name}")
        assert self.artifact.block is not None
        x, y, _ = self.artifact.block
        thread, block = report[0] & 0xFFFFFFFF, report[1]
        site = self.artifact.errors[code - 1]
        where = (
            (thread % x, thread // x % y, thread // (x * y)),
            (block % gx, block // gx % gy, block // (gx * gy)),
        )
        if site.exception == ILLEGAL_ACCESS:
            text = access_text(site, report[5:], self._allocations)
            raise kernel_access(site, *where, self.artifact.name, text, "cpu")
        numbers = tuple(report[5 : 5 + site.detail.count("{}")])
        raise kernel_exception(site, *where, self.artifact.name, numbers, "cpu")


def _serve(artifact: Artifact, allocations: Allocations, site: int, cells: int) -> None:
    """Print one lane's line, or return the range of an address; a running kernel calls this, and an
    exception stops the kernel."""
    if site == ASK:
        allocations.answer(cells)
        return
    sys.stdout.write(line(artifact.prints[site], cells))


class CpuDevice(HostDevice):
    """The processor that Python runs on."""

    name = "cpu"
    host_visible = True
    is_plain = True

    def __init__(self) -> None:
        super().__init__(HostResource())
        self._registered = DeviceMemory(self.memory.resource)
        self._allocations = Allocations(self.memory, self._pinned, self._registered)
        self.limits = Limits(multiprocessors=available_processors(), independent_blocks=True)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes; the ranges may overlap."""
        ctypes.memmove(target, source, size)

    def upload(self, target: int, source: memoryview) -> None:
        """Copy host bytes to device memory."""
        data = np.frombuffer(source, np.uint8)
        ctypes.memmove(target, address_of(data), data.size)

    def download(self, target: memoryview, source: int) -> None:
        """Copy device memory to host bytes."""
        data = np.frombuffer(target, np.uint8)
        ctypes.memmove(address_of(data), source, data.size)

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes."""
        ctypes.memset(target, byte, size)

    def export_memory(self, buffer: Buffer, address: int) -> tuple[bytes, int]:
        """A handle by which another process opens the memory of a buffer, and the offset of an
        address in it; all work so far is done before."""
        self.synchronize()
        with together(inline=True):
            return shared_pages.export(buffer), address - buffer.address

    def import_memory(self, handle: bytes, size: int) -> Buffer:
        """Open the memory of another process's handle."""
        return shared_pages.opened(handle, size)

    def register_host(self, address: int, size: int) -> Buffer | None:
        """Note that kernels share the memory, as long as the result lives where they check it."""
        super().register_host(address, size)
        return self._registered.note(Buffer(address, size)) if config().check else None

    def load(self, artifact: Artifact) -> CpuKernel:
        """Link an artifact's object code."""
        return CpuKernel(artifact, self._allocations)

    def batch(self, launches: Sequence[GridLaunch]) -> Batch | None:
        """Launches that one call of C makes, if it can."""
        from gridlane.runtime.drivers.cpu_batch import CpuBatch  # few programs repeat launches

        kernels = [each.kernel for each in launches]
        if not all(isinstance(each, CpuKernel) and each.is_batched for each in kernels):
            return None
        return CpuBatch(launches, lambda: CpuKernel.launch is _own_launch)

    def stop_thread(self, thread: int, wish: bool) -> None:
        """Request that the launch of a thread ends early, or withdraw the request."""
        pool().stop(thread, wish)

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``."""
        return {
            "processor": platform.processor() or platform.machine(),
            "threads": pool().workers + 1,
            "uuid": machine_uuid(),
        }


_own_launch = CpuKernel.launch
seam(CpuKernel, "launch", launch_on_caller)
for _name in ("upload", "download", "copy", "fill"):
    seam(CpuDevice, _name, copy_on_caller(*COPIES[_name]))


def device_count() -> int:
    """The number of CPU devices: one."""
    return 1


def open_device(ordinal: int = 0) -> CpuDevice:
    """Open the device; called once."""
    if ordinal:
        fail(INVALID_DEVICE, f"device {ordinal}; there is device 0 only")
    return CpuDevice()
