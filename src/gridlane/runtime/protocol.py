"""The device protocol: an allocator, a loader, queues and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from gridlane.core.artifact import Artifact
from gridlane.core.frozen import frozen
from gridlane.core.options import Target
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer, HostMemory

Block = tuple[int, int, int]
Route = Literal["inline", "queued", "native"]
"""How launches on the default stream run: on the caller (inline); appended by Python to a queue
(queued); or by the driver's function without Python, see NativeLaunch (native)."""


@frozen
class Limits:
    """The limits of a launch.

    Attributes:
        independent_blocks: whether a block that has begun goes on while others wait for it, so that
            a block may wait for one that began before it.
    """

    max_threads: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_shared: int = 48 * 1024
    max_dynamic_shared: int = 227 * 1024
    warp_size: int = 32
    multiprocessors: int = 1
    independent_blocks: bool = False


@frozen
class Figures:
    """The resources of a kernel's code, as far as the device reports them."""

    registers: int
    local_bytes: int
    shared_bytes: int
    constant_bytes: int
    max_threads: int


@frozen
class NativeLaunch:
    """The addresses that a launch by the driver's own function uses.

    Attributes:
        address: of cuLaunchKernel.
        pointer_attribute: of cuPointerGetAttribute.
        function, stream: the CUfunction and CUstream.
        param_size: bytes of the parameter block.
        flag: of a byte to set at each launch.
        sound: of a byte that is 1 while this object is valid.
        keep: the owner of the memory at these addresses.
        encode: of cuTensorMapEncodeTiled, for a kernel with tensor maps.
        capture_query: of cuStreamIsCapturing.
    """

    address: int
    pointer_attribute: int
    function: int
    stream: int
    param_size: int
    flag: int
    sound: int
    keep: Any
    encode: int = 0
    capture_query: int = 0


Explain = Callable[[Any], BaseException]
"""Converts a KernelStop to the user's exception."""


class BoundKernel(Protocol):
    """A kernel with its block shape, ready to run. It holds its code; ``launch`` is hot."""

    artifact: Artifact
    explain: Explain | None
    """Converts a KernelStop to the user's exception; set by the launch path."""

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Run a grid on the default stream. It is finished on return if that stream is inline, or
        if the kernel can raise.

        Args:
            params: the flat parameter block, in the layout of ``artifact.params``.
            gx, gy, gz: blocks along each axis.
            shared: bytes of dynamic shared memory.

        Raises:
            KernelError: (or its builtin twin) the kernel stopped itself; the first report.
        """
        ...


class LoadedKernel(Protocol):
    """An artifact that is loaded into a device."""

    artifact: Artifact

    def bind(self, block: Block) -> BoundKernel:
        """Bind the kernel to a block shape; an artifact for one shape is bound to that one."""
        ...

    def figures(self) -> Figures | None:
        """Registers, memory and the largest block; None if the device does not report them."""
        ...

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Blocks of ``threads`` threads that a multiprocessor holds at once."""
        ...


class Executable(Protocol):
    """Recorded work that can be launched any number of times. It owns the objects of the work."""

    def launch(self, stream: Any) -> None:
        """Append the work to a stream of the same device."""
        ...


class Graph(Protocol):
    """Recorded work of a stream. It owns the objects of the work."""

    size: int
    """The number of launches, copies, fills and host functions in it."""

    def instantiate(self) -> Executable:
        """Instantiate the work for launches; the result outlives the graph."""
        ...


class Stream(Protocol):
    """An ordered queue of work. ``keep`` is kept alive until the work is done."""

    device: Any
    """The device of the queue."""
    handle: int
    """CUDA's number of the stream: 0 for the default one."""
    inline: bool
    """Whether work runs on the caller and is done on return."""

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not executed; see ``begin_capture``."""
        ...

    def launch(
        self,
        kernel: BoundKernel,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        """Append a launch; see BoundKernel."""
        ...

    def upload(self, target: int, source: memoryview, keep: Any = None) -> None:
        """Append a copy of host bytes to the device. They must not change until it is done."""
        ...

    def download(self, target: memoryview, source: int, keep: Any = None) -> None:
        """Append a copy of device bytes to the host."""
        ...

    def write(self, target: int, source: memoryview) -> None:
        """Copy host bytes to the device, after the work so far; they may change on return."""
        ...

    def read(self, target: memoryview, source: int) -> None:
        """Copy device bytes to the host, after the work so far; finished on return."""
        ...

    def copy(self, target: int, source: int, size: int, keep: Any = None) -> None:
        """Append a copy within the device."""
        ...

    def fill(self, target: int, byte: int, size: int, keep: Any = None) -> None:
        """Append a fill."""
        ...

    def submit(self, work: Callable[[], object], always: bool = False) -> None:
        """Append a host function; ``always`` runs it after an error as well."""
        ...

    @property
    def failure(self) -> BaseException | None:
        """The first error that the work so far is known to have met, which ``synchronize`` will
        raise."""
        ...

    def synchronize(self) -> None:
        """Wait for the work so far; raise the first error of it."""
        ...

    def drain(self) -> None:
        """Wait for the work so far; leave its error for ``synchronize``."""
        ...

    def query(self) -> bool:
        """Whether all work is done."""
        ...

    def begin_capture(self) -> None:
        """Record later work in a graph; it does not execute.

        Raises:
            DeviceError: NOT_CAPTURED, the default stream cannot be captured; until the end,
                operations that need the work done raise it, and on a GPU those that wait for all
                streams. STREAM_CAPTURE_IMPLICIT, until then, for work of the default stream on this
                thread. ILLEGAL_STATE, the stream is captured already.
        """
        ...

    def end_capture(self) -> Graph:
        """End the recording and return it; DeviceError ILLEGAL_STATE if nothing is recorded."""
        ...


class Event(Protocol):
    """A point that streams record and wait for."""

    handle: int
    timing: bool

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded."""
        ...

    def record(self, stream: Any) -> None:
        """Record the event after the work that is in ``stream`` now."""
        ...

    def query(self) -> bool:
        """Whether the recorded work is done; True for an event that was never recorded."""
        ...

    def synchronize(self) -> None:
        """Wait until the stream has passed the event."""
        ...

    def wait(self, stream: Any) -> None:
        """Make the later work of ``stream`` wait for this event."""
        ...

    def elapsed_ms(self, end: Any) -> float:
        """Milliseconds from this event to ``end``; DeviceError INVALID_HANDLE or NOT_READY."""
        ...


class LoadedModule(Protocol):
    """A module of several kernels on a device.

    Attributes:
        artifact: its code.
    """

    artifact: Artifact

    def variable(self, name: str) -> tuple[int, int]:
        """The address and the bytes of a variable.

        Raises:
            DeviceError: NOT_FOUND, there is no such variable.
        """
        ...


class Device(Protocol):
    """One device. Its methods may be called from any thread."""

    name: str
    ordinal: int
    limits: Limits
    host_visible: bool
    """Whether kernels can use the address of host memory directly, so no copy is needed."""
    compute_capability: tuple[int, int]
    """The generation of NVIDIA device whose instructions kernels may use."""
    route: Route
    """How a launch without preparation runs."""
    timed_by: Literal["device", "host"]
    """Whose clock the times of events are of."""
    several_buffers: bool | None
    """Whether arrays are in several buffers, so that code is for pointers in certain ones
    (``core.compact.Variant``); it may become true. None: addresses tell code all."""

    # --- code ---

    def target(self, block: Block) -> Target:
        """The compilation target, given the block shape of a launch."""
        ...

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Load an artifact for launches."""
        ...

    # --- memory; copies come after all work of the default stream and are finished on return ---

    memory: DeviceMemory[Any]
    """The device's own memory: its resource, and its live buffers."""

    def allocate(self, size: int) -> Buffer:
        """Allocate ``size`` bytes, aligned to 256; DeviceError 2 when there is none."""
        ...

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Allocate host memory: ``pinned`` for asynchronous copies, ``mapped`` and ``managed`` with
        an address that kernels may use as well. DeviceError 801 if the kind is unsupported."""
        ...

    def register_host(self, address: int, size: int) -> Any:
        """Pin the caller's memory for the lifetime of the returned object."""
        ...

    def adopt(self, address: int, size: int) -> Buffer:
        """Borrow memory of this device that another library allocated; the buffer names another GPU
        if it is the owner.

        Raises:
            DeviceError: INVALID_VALUE, the address is not this device's.
        """
        ...

    def reaches(self, other: Device, address: int) -> bool:
        """Whether kernels here can use memory of another device."""
        ...

    def dlpack_device(self, address: int) -> tuple[int, int] | None:
        """DLPack's (kind, number) of memory at an address, 0 for none; None if DLPack has no kind
        for the device's memory."""
        ...

    def memory_info(self) -> tuple[int, int]:
        """Bytes (free, total)."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes between addresses of the device or, if host_visible, of the host."""
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

    # --- queues ---

    default_stream: Stream

    def new_stream(self) -> Stream:
        """Create a stream; it lives as long as the object."""
        ...

    def stream_at(self, handle: int) -> Stream:
        """The stream with this number, of any owner; DeviceError INVALID_HANDLE if none is known to
        have it. 0 and 1 are the default stream, 2 the calling thread's default."""
        ...

    def new_event(self, timing: bool = True) -> Event:
        """Create an event; ``timing=False`` for one that only orders work."""
        ...

    def synchronize(self, owner: object = None) -> None:
        """Wait for the work of all streams; raise the first error among it.

        Args:
            owner: raise no error of a stream that is known to have another one.
        """
        ...

    def reset(self) -> None:
        """Wait for all work and drop errors; replace a lost context."""
        ...

    def activate(self) -> None:
        """Make the device the calling thread's current one, if the driver has such a state."""
        ...

    def forget_thread(self) -> None:
        """Assume nothing about the calling thread's state in this device's driver."""
        ...

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """CUDA's device attributes by their names, without CU_DEVICE_ATTRIBUTE_ in front."""
        ...

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``: ``name``, ``uuid`` and others."""
        ...


class ModuleDevice(Device, Protocol):
    """A device whose driver loads modules of several kernels."""

    def load_module(self, artifact: Artifact) -> LoadedModule:
        """Load all kernels and variables of an artifact."""
        ...

    def load(self, artifact: Artifact, module: LoadedModule | None = None) -> LoadedKernel:
        """Load an artifact for launches, or find its entry in ``module``."""
        ...
