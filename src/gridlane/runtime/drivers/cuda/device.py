"""One NVIDIA GPU."""

from __future__ import annotations

import threading
import weakref
from functools import cached_property
from typing import Literal

from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.device_errors import (
    INVALID_HANDLE,
    INVALID_VALUE,
    described,
    device_error,
    fail,
)
from gridlane.core.errors import DeviceError
from gridlane.core.forks import fork_waits
from gridlane.core.options import Target
from gridlane.core.weak import live
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer, HostMemory
from gridlane.runtime.drivers.cuda import foreign, memory, seams
from gridlane.runtime.drivers.cuda.api import answer, bindings, call, waiting
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.kernel import CudaKernel, CudaModule
from gridlane.runtime.drivers.cuda.multiprocessors import Multiprocessors
from gridlane.runtime.drivers.cuda.report import Report
from gridlane.runtime.drivers.cuda.resident import Owner, ResidentKernel
from gridlane.runtime.drivers.cuda.stream import CudaEvent, CudaStream, own_stream
from gridlane.runtime.protocol import Block, Limits, Route


class CudaDevice:
    """A GPU with its primary context."""

    host_visible = False
    route: Route = "native"
    timed_by: Literal["device", "host"] = "device"
    several_buffers: bool | None = None

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.name = f"cuda:{ordinal}" if ordinal else "cuda"
        self.context = Context(ordinal)
        seams.watch_context(self.context)
        self.context.wait_for_others = weakref.WeakMethod(self.wait_for_streams)
        self.context.enter()
        facts = self.attributes()
        self.compute_capability = (
            facts["COMPUTE_CAPABILITY_MAJOR"],
            facts["COMPUTE_CAPABILITY_MINOR"],
        )
        self.limits = _limits(facts)
        self.pool = self._new_pool()
        self.memory = DeviceMemory(self.pool, self)
        self._host_memory = memory.host_memory(self.context, self)
        self.default_stream = CudaStream(self, 0)
        self._foreign: dict[int, CudaStream] = {}
        self._own: weakref.WeakValueDictionary[int, CudaStream] = weakref.WeakValueDictionary()
        self._reports = set[Report]()
        """Those of kernels, and of kernels that are gone and may have launches in flight."""

    def _new_pool(self) -> memory.Pool:
        pools = self.attributes()["MEMORY_POOLS_SUPPORTED"] and not config().cuda_ipc
        return memory.Pool(self.context, bool(pools))

    def beside(self, ordinal: int) -> CudaDevice:
        """Another GPU of this machine."""
        return gpu(ordinal)

    # --- code ---

    def target(self, block: Block) -> Target:
        """Code for this processor and driver, for any block shape."""
        major, minor = self.compute_capability
        return Target("cuda", processor=f"sm_{major}{minor}", identity=self._driver)

    @cached_property
    def _driver(self) -> str:
        return f"driver {int(call('cuDriverGetVersion'))}"

    def load(self, artifact: Artifact, module: CudaModule | None = None) -> CudaKernel:
        """Load PTX or a cubin; or find the kernel in ``module``, whose variables its kernels
        share."""
        return CudaKernel(self, artifact, module)

    def load_module(self, artifact: Artifact) -> CudaModule:
        """Load PTX or a cubin with several kernels."""
        return CudaModule(self.context, artifact)

    # --- memory ---

    def allocate(self, size: int) -> Buffer:
        """Allocate device memory from the pool."""
        if foreign.kept:
            foreign.drop_ended()
        return self.memory.allocate(size)

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Allocate page-locked or managed memory."""
        buffer = self._host_memory[kind].allocate(size)
        return buffer if kind == "pinned" else self.memory.note(buffer)

    def register_host(self, address: int, size: int) -> memory.Registered:
        """Page-lock the caller's memory."""
        return memory.Registered(self.context, address, size)

    def adopt(self, address: int, size: int) -> Buffer:
        """Borrow another library's memory, of this GPU or another one."""
        return memory.adopt(self, address, size)

    def export_memory(self, buffer: Buffer, address: int) -> tuple[bytes, int]:
        """The driver's handle of memory, for another process, and the offset of an address."""
        return memory.export(self.context, address)

    def import_memory(self, handle: bytes, size: int) -> Buffer:
        """Open the memory of another process's handle."""
        return memory.opened(self.context, handle, size)

    def reaches(self, other: object, address: int) -> bool:
        """Whether kernels can access memory: of a peer GPU, managed, or mapped host memory."""
        return isinstance(other, CudaDevice) and memory.is_mapped(self.context, address)

    def dlpack_device(self, address: int) -> tuple[int, int]:
        """DLPack's device of an address, as the driver knows it: a GPU, the host, or managed."""
        return memory.dlpack_device(self.context, address)

    def memory_info(self) -> tuple[int, int]:
        """Bytes (free, total) of the device."""
        free, total = self.context.call("cuMemGetInfo")
        return int(free), int(total)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device, or between devices."""
        self.default_stream.copy(target, source, size)
        self.default_stream.drain()

    def upload(self, target: int, source: memoryview) -> None:
        """Copy to the device."""
        address = memory.host_address(source)
        pointer = bindings().CUdeviceptr(target)
        self.context.call("cuMemcpyHtoD", pointer, address, source.nbytes)

    def download(self, target: memoryview, source: int) -> None:
        """Copy to the host."""
        address = memory.host_address(target)
        pointer = bindings().CUdeviceptr(source)
        self.context.call("cuMemcpyDtoH", address, pointer, target.nbytes)
        self.flush()

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes."""
        self.default_stream.fill(target, byte, size)
        self.default_stream.drain()

    # --- queues ---

    def new_stream(self, non_blocking: bool = False, priority: int = 0) -> CudaStream:
        """A new stream. Unless ``non_blocking``, it and the default stream wait for each other's
        work. A lower number is a higher priority."""
        stream = own_stream(self, non_blocking, priority)
        self._own[stream.handle] = stream
        return stream

    def stream_at(self, handle: int) -> CudaStream:
        """A stream by its number; the objects and errors that it holds stay with the number."""
        if handle in (0, 1):
            return self.default_stream
        if handle < 0:
            fail(INVALID_HANDLE, f"{handle:#x} is no stream")
        known = self._own.get(handle)
        if known is None:
            # It may be another stream than last time.
            fresh = CudaStream(self, handle, foreign=True)
            known = self._foreign.setdefault(handle, fresh)
            known.apart = fresh.apart
        foreign.follow(known)
        return known

    def new_event(self, timing: bool = True) -> CudaEvent:
        """An event."""
        return CudaEvent(self.context, timing)

    def synchronize(self, owner: object = None) -> None:
        """Wait for all work of the context. Hot."""
        context = self.context
        context.enter()
        context.check_capture("cuCtxSynchronize")
        if context.residents:
            self.wait_for_streams()
            code = 0
        else:
            code = waiting()[1]()
        if code:
            raise context.explained(described(code, "cuCtxSynchronize"))
        context.settled()
        if not context.silent:
            self.flush()
            self.check()

    def wait_for_streams(self) -> None:
        """Wait for all work but that of kernels that do not end: for gridlane's streams, and for
        those of other libraries that the default stream waits for."""
        event = CudaEvent(self.context, timing=False)
        event.record(self.default_stream)
        event.synchronize()
        for stream in live(self._own):
            code = waiting()[0](stream.handle)
            if code:
                raise self.context.explained(described(code, "cuStreamSynchronize"))

    def resident(
        self, artifact: Artifact, block: Block, owner: Owner, size: int = 1, shared: int = 0
    ) -> ResidentKernel:
        """Load a kernel that does not end by itself, for itself alone; ``ResidentKernel`` has the
        arguments."""
        return ResidentKernel(self, artifact, block, owner, size, shared)

    @property
    def multiprocessors(self) -> Multiprocessors:
        """The multiprocessors' owners: resident kernels and lattices."""
        return self.context.multiprocessors

    def activate(self) -> None:
        """Make the context current on this thread."""
        self.context.enter()

    def forget_thread(self) -> None:
        """Make the context current on this thread at the next call, in any case."""
        self.context.forget_thread()

    def flush(self) -> None:
        """Write the lines that kernels printed; called when work is done."""
        for report in live(self.context.reporting):
            if report.artifact.prints:
                report.flush()

    def keep_report(self, report: Report) -> None:
        """Read the report of a kernel where work is waited for."""
        self._reports.add(report)
        self.context.reporting[report] = None
        self.context.silent = False

    def give_report(self, report: Report) -> None:
        """Leave reading the report to the caller."""
        self.context.reporting.pop(report, None)
        self._reports.discard(report)

    def forget_if_read(self, *reports: Report) -> None:
        """Free the reports of kernels that no longer exist and whose reports are read; safe at any
        moment, as finalizers run at any moment.

        Args:
            reports: those, of these alone.
        """
        self._reports.difference_update([each for each in reports if each.is_read])

    def check(self, kernel: CudaKernel | None = None) -> None:
        """Raise the first error that any kernel, or the given kernel, reported; called when work is
        done. Launches on the default stream that another thread waits for are checked first."""
        own = () if kernel is None or kernel.report is None else (kernel.report,)
        for each in live(self.context.reporting) if kernel is None else own:
            with self.context.reading:
                stop = each.stop()
            if stop is not None:
                raise (each.explain(stop) if each.explain else stop) from None
        if kernel is None:
            self.forget_if_read(*self._reports.copy())

    def reset(self) -> None:
        """Wait for all work and release unused memory; replace a lost context.

        Errors that earlier kernels raised are dropped, and arrays of a lost context are lost.
        """
        if self.context.fault is not None:
            self._reports.clear()  # their memory goes
            self.context.renew()
            self.context.enter()
            epoch, self.pool = self.pool.epoch, self._new_pool()
            self.pool.epoch = epoch  # streams compare their own epoch with it
            self.memory = self.memory.renewed(self.pool)
            self._host_memory = memory.host_memory(self.context, self)
            self._foreign.clear()
            return
        try:
            self.context.call("cuCtxSynchronize")
        except DeviceError:
            if self.context.fault is None:
                raise
            self.reset()
            return
        self.context.settled()
        for report in live(self.context.reporting):
            report.stop()
        self.flush()
        self.forget_if_read(*self._reports.copy())
        self.pool.trim()

    # --- several devices ---

    def can_reach(self, other: CudaDevice) -> bool:
        """Whether kernels here can use the other device's memory."""
        ours, theirs = self.context.device, other.context.device
        return bool(int(call("cuDeviceCanAccessPeer", ours, theirs)))

    def enable_peer(self, other: CudaDevice) -> None:
        """Enable access of kernels here to the other device's memory; DeviceError 704 if it is
        enabled already, 217 if it is impossible."""
        other.pool.share_with(self.ordinal)  # first: 704 says nothing of pools
        self.context.call("cuCtxEnablePeerAccess", other.context.handle, 0)

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """All attributes that the driver knows."""
        return self._attributes

    @cached_property
    def _attributes(self) -> dict[str, int]:
        prefix = "CU_DEVICE_ATTRIBUTE_"
        values_by_name: dict[str, int] = {}
        for name, number in bindings().CUdevice_attribute.__members__.items():
            if name.endswith("_MAX"):
                continue
            code, *values = answer("cuDeviceGetAttribute", number, self.context.device)
            if code not in (0, INVALID_VALUE):  # an older driver does not know them all
                raise device_error(code, f"cuDeviceGetAttribute: {name}")
            if not code:
                values_by_name[name.removeprefix(prefix)] = int(values[0])
        return values_by_name

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``."""
        facts, device = self.attributes(), self.context.device
        raw = call("cuDeviceGetName", 256, device)
        version = int(call("cuDriverGetVersion"))
        free, total = self.memory_info()
        return {
            "name": raw.split(b"\0")[0].decode(),
            "compute_capability": "{}.{}".format(*self.compute_capability),
            "memory": total,
            "memory_free": free,
            "multiprocessors": facts["MULTIPROCESSOR_COUNT"],
            "clock_mhz": facts["CLOCK_RATE"] // 1000,
            "l2_bytes": facts["L2_CACHE_SIZE"],
            "shared_per_block": facts["MAX_SHARED_MEMORY_PER_BLOCK"],
            "shared_per_block_optin": facts["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"],
            "shared_per_multiprocessor": facts["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"],
            "registers_per_block": facts["MAX_REGISTERS_PER_BLOCK"],
            "warp_size": facts["WARP_SIZE"],
            "ecc": bool(facts["ECC_ENABLED"]),
            "integrated": bool(facts["INTEGRATED"]),
            "unified_addressing": bool(facts["UNIFIED_ADDRESSING"]),
            "concurrent_kernels": bool(facts["CONCURRENT_KERNELS"]),
            "cooperative_launch": bool(facts["COOPERATIVE_LAUNCH"]),
            "managed_memory": bool(facts["MANAGED_MEMORY"]),
            "pci": "{:04x}:{:02x}:{:02x}".format(
                *(facts[f"PCI_{part}_ID"] for part in ("DOMAIN", "BUS", "DEVICE"))
            ),
            "cuda_version": f"{version // 1000}.{version % 1000 // 10}",
            "uuid": _uuid(bytes(call("cuDeviceGetUuid", device).bytes)),
        }


def _limits(facts: dict[str, int]) -> Limits:
    return Limits(
        max_threads=facts["MAX_THREADS_PER_BLOCK"],
        max_block=(facts["MAX_BLOCK_DIM_X"], facts["MAX_BLOCK_DIM_Y"], facts["MAX_BLOCK_DIM_Z"]),
        max_grid=(facts["MAX_GRID_DIM_X"], facts["MAX_GRID_DIM_Y"], facts["MAX_GRID_DIM_Z"]),
        max_shared=facts["MAX_SHARED_MEMORY_PER_BLOCK"],
        max_dynamic_shared=facts["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"],
        warp_size=facts["WARP_SIZE"],
        multiprocessors=facts["MULTIPROCESSOR_COUNT"],
        independent_blocks=True,
    )


def _uuid(raw: bytes) -> str:
    digits = raw.hex()
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]
    return "GPU-" + "-".join(parts)


seams.watch(CudaDevice)

_opened: weakref.WeakValueDictionary[int, CudaDevice] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def gpu(ordinal: int) -> CudaDevice:
    """Open a GPU by its number; return the same object while it is alive."""
    with fork_waits(), _lock:
        cuda_device = _opened.get(ordinal)
        if cuda_device is None:
            cuda_device = _opened[ordinal] = CudaDevice(ordinal)
        return cuda_device
