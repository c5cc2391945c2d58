"""The device and its context, with numba.cuda's interface."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from gridlane.core.config import config
from gridlane.core.device_errors import PEER_UNSUPPORTED, fail, handled
from gridlane.core.errors import DeviceError
from gridlane.core.process_bound import ProcessBound
from gridlane.cuda.arrays import ipc, managers, pointers
from gridlane.cuda.arrays.managers import (
    BaseCUDAMemoryManager,
    MemoryInfo,
    NumbaCUDAMemoryManager,
    PendingDeallocs,
)
from gridlane.cuda.host.streams import (
    default_stream,
    event,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)
from gridlane.cuda.kernels.kernel import Kernel
from gridlane.launch import current, devices
from gridlane.launch.devices import kind_of
from gridlane.runtime.protocol import Device

# numba's names of attributes whose names in CUDA differ.
_OTHER_NAMES = {"MAX_THREADS_PER_MULTI_PROCESSOR": "MAX_THREADS_PER_MULTIPROCESSOR"}


class CudaDevice(ProcessBound):
    """A device with numba's names. CUDA's attributes are its own: ``device.WARP_SIZE``."""

    _instead = "pass its id, and take cuda.gpus[id] there"

    supports_float16 = True
    supports_bfloat16 = True
    supports_fp8 = False

    def __init__(self, native: Device) -> None:
        self.native = native
        self.id = native.ordinal
        self.compute_capability = native.compute_capability
        self.COMPUTE_CAPABILITY = native.compute_capability

    def __getattr__(self, name: str) -> int:
        known = {} if name == "native" else self.native.attributes()
        value = known.get(_OTHER_NAMES.get(name, name))
        if value is None:
            raise AttributeError(f"the device {self!r} has no attribute {name!r}")
        return value

    @property
    def name(self) -> bytes:
        """The device's name, as bytes, as in numba."""
        return str(self.native.describe().get("name", self.native.name)).encode()

    @property
    def uuid(self) -> str:
        """The device's UUID, which differs between machines."""
        return str(self.native.describe()["uuid"])

    def get_primary_context(self) -> Context:
        """The device's one context."""
        return _context(self.id)

    def release_primary_context(self) -> None:
        """Do nothing: the context lives as long as the process."""

    def reset(self) -> None:
        """Wait for all work, and drop errors."""
        self.get_primary_context().reset()

    @property
    def attributes(self) -> dict[str, int]:
        """Every attribute that is a number."""
        return self.native.attributes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CudaDevice) and other.native is self.native

    def __hash__(self) -> int:
        return hash(self.native)

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} {self.name!r}>"


def _ordinal(device: int | Context) -> int:
    return device if isinstance(device, int) else device.id


_thread = threading.local()


def _pushed() -> list[Device | None]:
    """This thread's choices before each ``push``."""
    if not hasattr(_thread, "pushed"):
        _thread.pushed = []
    return _thread.pushed


class Context(ProcessBound):
    """numba's context: memory, streams and the device."""

    _instead = "pass its id, and take cuda.gpus[id] there"

    def __init__(self, device: Any, handle: Any = None) -> None:
        self.device: CudaDevice = device
        if not isinstance(device, CudaDevice):  # a CUdevice
            self.device = _device(int(device))

    @cached_property
    def handle(self) -> Any:
        """The CUcontext of CUDA's own interface: the device's primary one, which it retains."""
        from gridlane.cuda import driver_calls

        driver_calls.cuInit(0)
        return driver_calls.cuDevicePrimaryCtxRetain(self.id)[1]

    @property
    def id(self) -> int:
        """The number of the device."""
        return self.device.id

    # --- other GPUs ---

    def can_access_peer(self, peer_context: int | Context) -> bool:
        """Whether kernels here can use the memory of another device, given by its number or
        context."""
        own, other = current.numbered(self.id), current.numbered(_ordinal(peer_context))
        reach = getattr(own, "can_reach", None)
        return reach is not None and own is not other and reach(other)

    def enable_peer_access(self, peer_context: int | Context, flags: int = 0) -> None:
        """Enable access of kernels here to another device's memory.

        Raises:
            DeviceError: PEER_ACCESS_UNSUPPORTED, they cannot; PEER_ACCESS_ALREADY_ENABLED.
        """
        if flags:
            raise ValueError(f"flags are 0, as CUDA has none; got {flags}")
        own, other = current.numbered(self.id), current.numbered(_ordinal(peer_context))
        enable = getattr(own, "enable_peer", None)
        if enable is None:
            fail(PEER_UNSUPPORTED, f"{own.name} has one memory, the host's")
        enable(other)

    # --- memory ---

    @property
    def memory_manager(self) -> Any:
        """What allocates the memory: the device's own manager, or a plugin."""
        native = self.device.native
        manager = managers.manager_of(native)
        if manager is None:
            manager = NumbaCUDAMemoryManager(context=self)
            managers.install(native, manager)
        return manager

    @memory_manager.setter
    def memory_manager(self, manager: BaseCUDAMemoryManager) -> None:
        managers.install(self.device.native, manager)

    @property
    def deallocations(self) -> PendingDeallocs:
        """The frees that wait: those of a ``defer_cleanup`` section."""
        return PendingDeallocs()

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of the device's memory."""
        return self.memory_manager.get_memory_info()

    def memalloc(self, bytesize: int) -> Any:
        """Allocate device memory; returns a pointer that owns it."""
        return pointers.allocated(self.device.native.allocate(bytesize), self)

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> Any:
        """Allocate managed memory; returns a pointer that owns it."""
        return self.memory_manager.memallocmanaged(bytesize, attach_global)

    def memhostalloc(
        self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False
    ) -> Any:
        """Allocate pinned or mapped memory of the host; returns a pointer that owns it."""
        return self.memory_manager.memhostalloc(bytesize, mapped, portable, wc)

    def mempin(self, owner: Any, pointer: int, size: int, mapped: bool = False) -> Any:
        """Pin or map memory of the host while the returned pointer lives."""
        return self.memory_manager.mempin(owner, pointer, size, mapped)

    def get_ipc_handle(self, memory: Any) -> Any:
        """A handle by which another process opens device memory."""
        return self.memory_manager.get_ipc_handle(memory)

    def open_ipc_handle(self, handle: Any, size: int) -> Any:
        """Open the memory of another process's handle; returns a pointer to it."""
        buffer = ipc.opened(handle, size, self.device.native)
        return pointers.pointer_to(buffer, buffer.address, buffer.size, self)

    def prepare_for_use(self) -> None:
        """Do nothing: the device is ready."""

    def get_active_blocks_per_multiprocessor(
        self, func: Any, blocksize: int, memsize: int, flags: int | None = None
    ) -> int:
        """How many blocks of a kernel a multiprocessor holds at once.

        Args:
            func: a compiled kernel, of ``kernel.overloads``; or a kernel that is compiled for one
                tuple of types.
            blocksize: threads of a block.
            memsize: bytes of dynamic shared memory of a block.
            flags: 0 or None.

        Raises:
            TypeError: ``func`` is neither, or is compiled for several tuples of types.
            ValueError: other flags.
        """
        if flags:
            raise ValueError(f"flags={flags}: only 0 is known")
        overloads = getattr(func, "overloads", None)
        if overloads is not None and len(overloads) == 1:
            (func,) = overloads.values()
        if not isinstance(func, Kernel):
            raise TypeError(
                f"occupancy is of a kernel compiled for one tuple of types, not of {func!r}: take "
                "one of kernel.overloads"
            )
        return func.loaded(self.device.native).occupancy(blocksize, memsize)

    def synchronize(self) -> None:
        """Wait for the work of all streams."""
        synchronize()

    create_stream = staticmethod(stream)
    create_external_stream = staticmethod(external_stream)
    get_default_stream = staticmethod(default_stream)
    get_legacy_default_stream = staticmethod(legacy_default_stream)
    get_per_thread_default_stream = staticmethod(per_thread_default_stream)
    create_event = staticmethod(event)

    def reset(self) -> None:
        """Wait for all work. Arrays free their own memory; a device whose context a kernel's fault
        has lost gets a new one."""
        gc.collect()
        native = self.device.native
        manager, memory = managers.manager_of(native), native.memory
        if manager is not None:
            manager.reset()
        native.reset()
        if manager is not None and native.memory is not memory:
            managers.install(native, manager)

    def push(self) -> None:
        """Make the device this thread's, until ``pop``."""
        _pushed().append(current.choose(self.device.native))

    def pop(self) -> None:
        """Restore the device from before ``push``."""
        if _pushed():
            current.choose(_pushed().pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other.device == self.device

    def __hash__(self) -> int:
        return hash(self.device)

    @contextmanager
    def defer_cleanup(self) -> Generator[None]:
        """Free no memory in the with block, but at its end."""
        with self.memory_manager.defer_cleanup():
            yield

    def __enter__(self) -> Context:
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pop()

    def __repr__(self) -> str:
        return f"<CUDA context of {self.device!r}>"


class DeviceContextManager:
    """An item of ``cuda.gpus``: ``with cuda.gpus[1]: ...`` works on that device."""

    def __init__(self, number: int) -> None:
        self.id = number

    @property
    def _device(self) -> CudaDevice:
        return _device(self.id)

    def __reduce__(self) -> Any:
        return DeviceContextManager, (self.id,)

    def __getattr__(self, name: str) -> Any:
        return getattr(_device(self.id), name)

    def __enter__(self) -> Context:
        return _context(self.id).__enter__()

    def __exit__(self, *exc: object) -> None:
        _context(self.id).pop()

    def __str__(self) -> str:
        return f"<Managed Device {self.id}>"


class DeviceList:
    """``cuda.gpus``: the devices of the current kind."""

    @property
    def lst(self) -> list[DeviceContextManager]:
        """A list with one item for each device."""
        return [_manager(number) for number in range(current.count())]

    def __getitem__(self, number: int) -> DeviceContextManager:
        return self.lst[number]

    def __iter__(self) -> Iterator[DeviceContextManager]:
        return iter(self.lst)

    def __len__(self) -> int:
        return current.count()

    @property
    def current(self) -> DeviceContextManager:
        """This thread's device."""
        return _manager(current.device().ordinal)

    def __str__(self) -> str:
        return ", ".join(map(str, self.lst))

    def __repr__(self) -> str:
        return f"<CUDA devices: {self}>"


gpus = DeviceList()


@cache
def _manager(number: int) -> DeviceContextManager:
    return DeviceContextManager(number)


def _device(number: int) -> CudaDevice:
    here = current.device()
    return _wrapped(here if here.ordinal == number else current.numbered(number))


@cache
def _wrapped(native: Device) -> CudaDevice:
    return CudaDevice(native)


def _context(number: int) -> Context:
    return _context_of(_device(number))


@cache
def _context_of(device: CudaDevice) -> Context:
    return Context(device)


def list_devices() -> DeviceList:
    """The devices."""
    return gpus


def get_current_device() -> CudaDevice:
    """This thread's device."""
    return _wrapped(current.device())


def select_device(device_id: int) -> Context:
    """Make a device this thread's, by number; DeviceError INVALID_DEVICE when there is none."""
    if device_id != current.device().ordinal:
        current.choose(current.numbered(device_id))
    return _context(device_id)


class ActiveContext:
    """The context that is active on this thread, for a with block.

    Attributes:
        context_handle, devnum: its CUcontext and the number of its device; None if none is.
    """

    context_handle: Any = None
    devnum: int | None = None

    def __enter__(self) -> ActiveContext:
        if is_active():
            here = _context(current.device().ordinal)
            self.context_handle, self.devnum = here.handle, here.id
        return self

    def __exit__(self, *error: object) -> None: ...

    def __bool__(self) -> bool:
        return self.context_handle is not None


def is_active() -> bool:
    """Whether a context is active on this thread: a pushed one, or that of ``current_context``."""
    return bool(_pushed()) or getattr(_thread, "taken", False)


def pop_active_context() -> Any:
    """Pop the active context of this thread, and return its CUcontext; None if there is none."""
    if not is_active():
        return None
    here = _context(current.device().ordinal)
    if _pushed():
        here.pop()
    else:
        _thread.taken = False
    return here.handle


def current_context(devnum: int | None = None) -> Context:
    """The context of this thread's device, or of the device with a number."""
    _thread.taken = True
    return _context(current.device().ordinal if devnum is None else devnum)


def require_context(function: Any) -> Any:
    """Decorate a function without effect: the context is always there."""
    return function


def close() -> None:
    """Wait for all work of this thread's device, and drop errors."""
    current_context().reset()


def is_available() -> bool:
    """Whether kernels can run: whether GRIDLANE_DEVICE's device opens."""
    return cuda_error() is None


def is_supported_version() -> bool:
    """Whether the runtime's version is supported."""
    return True


def is_float16_supported() -> bool:
    """Whether kernels can use float16."""
    return True


def is_bfloat16_supported() -> bool:
    """Whether kernels can use bfloat16."""
    return True


def is_fp8_supported() -> bool:
    """Whether kernels can use 8-bit floats."""
    return False


def cuda_error() -> DeviceError | None:
    """The error of opening the device; None if it opens."""
    try:
        current.device()
    except DeviceError as error:
        handled(error)
        return error
    return None


def detect() -> bool:
    """Print the devices; return whether there is one."""
    error = cuda_error()
    if error is not None:
        print(f"CUDA initialization failed: {error}")
        return False
    print(f"Found {current.count()} CUDA devices")
    for number in range(current.count()):
        _print_device(_device(number))
    print(f"Summary:\n\t{current.count()}/{current.count()} devices are supported")
    return True


def _print_device(device: CudaDevice) -> None:
    facts = {
        "Compute Capability": "{}.{}".format(*device.compute_capability),
        "UUID": device.uuid,
        "Multiprocessors": device.MULTIPROCESSOR_COUNT,
        "Device": device.native.name,
    }
    print(f"id {device.id}    {device.name!s:>20} {'[SUPPORTED]':>40}")
    for key, value in facts.items():
        print(f"{key:>40}: {value}")


@contextmanager
def defer_cleanup() -> Generator[None]:
    """Free no memory in the with block, but at its end: frees may wait for the device's work."""
    with current_context().defer_cleanup():
        yield


# --- memory managers ---

_plugin: Any = None


def set_memory_manager(mm_plugin: Any) -> None:
    """Have a class of memory managers allocate the memory of devices: of those that are open, from
    now on, and of those that are opened later.

    Raises:
        RuntimeError: it has another version of the interface.
        DeviceError: NOT_SUPPORTED, an open device's memory is not addresses of the process.
    """
    global _plugin
    managers.check_version(mm_plugin)
    _plugin = mm_plugin
    if _install_plugin not in devices.at_opening:
        devices.at_opening.append(_install_plugin)
    for each in devices.opened():
        if kind_of(each) == current.kind():
            _install_plugin(each)


def _install_plugin(native: Device, plugin: Any = None) -> None:
    managers.install(native, (plugin or _plugin)(context=_context_of(_wrapped(native))))


def install_configured(native: Device) -> None:
    """Install the plugin of the module that NUMBA_CUDA_MEMORY_MANAGER names.

    Raises:
        RuntimeError: it cannot be used.
    """
    name = config().memory_manager
    try:
        plugin = import_module(name)._numba_memory_manager
        managers.check_version(plugin)
        _install_plugin(native, plugin)
    except Exception as error:
        raise RuntimeError(
            f"Failed to use the memory manager of {name}, which NUMBA_CUDA_MEMORY_MANAGER names: "
            f"{error}"
        ) from error
