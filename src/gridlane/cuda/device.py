"""The device and its context as numba.cuda shows them."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from gridlane.cuda import active
from gridlane.cuda.streams import (
    DefaultStream,
    Event,
    Stream,
    default_stream,
    event,
    external_stream,
    stream,
    synchronize,
)
from gridlane.runtime.errors import INVALID_DEVICE, fail

# What kernels may count on: the instructions of a device of this generation are all here.
COMPUTE_CAPABILITY = (8, 0)


class MemoryInfo(NamedTuple):
    """Bytes free and in all."""

    free: int
    total: int


class CudaDevice:
    """The device of this process, by the names of numba and of CUDA's attributes."""

    id = 0
    compute_capability = COMPUTE_CAPABILITY
    COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = COMPUTE_CAPABILITY
    COMPUTE_CAPABILITY = COMPUTE_CAPABILITY
    supports_float16 = True
    supports_bfloat16 = True
    supports_fp8 = False
    PCI_BUS_ID = PCI_DEVICE_ID = PCI_DOMAIN_ID = 0
    CAN_MAP_HOST_MEMORY = UNIFIED_ADDRESSING = MANAGED_MEMORY = 1
    CONCURRENT_KERNELS = INTEGRATED = 1
    CONCURRENT_MANAGED_ACCESS = PAGEABLE_MEMORY_ACCESS = 1
    ASYNC_ENGINE_COUNT = 1
    COOPERATIVE_LAUNCH = 0
    KERNEL_EXEC_TIMEOUT = TCC_DRIVER = ECC_ENABLED = COMPUTE_MODE = 0
    TOTAL_CONSTANT_MEMORY = 64 * 1024
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 2
    GLOBAL_L1_CACHE_SUPPORTED = LOCAL_L1_CACHE_SUPPORTED = 1

    def __init__(self) -> None:
        limits = active.device().limits
        self.WARP_SIZE = limits.warp_size
        self.MULTIPROCESSOR_COUNT = limits.multiprocessors
        self.MAX_THREADS_PER_BLOCK = limits.max_threads
        self.MAX_THREADS_PER_MULTI_PROCESSOR = self.MAX_THREADS_PER_MULTIPROCESSOR = 2048
        self.MAX_BLOCK_DIM_X, self.MAX_BLOCK_DIM_Y, self.MAX_BLOCK_DIM_Z = limits.max_block
        self.MAX_GRID_DIM_X, self.MAX_GRID_DIM_Y, self.MAX_GRID_DIM_Z = limits.max_grid
        self.MAX_SHARED_MEMORY_PER_BLOCK = limits.max_shared
        self.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = limits.max_dynamic_shared
        self.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = limits.max_dynamic_shared
        self.MAX_REGISTERS_PER_BLOCK = self.MAX_REGISTERS_PER_MULTIPROCESSOR = 65536

    @property
    def name(self) -> bytes:
        """The device's name, as bytes, as numba has it."""
        facts = active.device().describe()
        return str(facts.get("name", active.device().name)).encode()

    @property
    def uuid(self) -> str:
        """A name of this device that differs between machines."""
        import uuid

        digits = f"{uuid.getnode():032x}"
        parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
        return "GPU-" + "-".join(parts)

    def get_primary_context(self) -> Context:
        """The one context."""
        return current_context()

    def release_primary_context(self) -> None:
        """Nothing is held."""

    def reset(self) -> None:
        """Wait for all work."""
        current_context().reset()

    @property
    def attributes(self) -> dict[str, Any]:
        """Every attribute that is a number."""
        names = [name for name in dir(self) if name.isupper()]
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CudaDevice)

    def __hash__(self) -> int:
        return hash(CudaDevice)

    def __repr__(self) -> str:
        return f"<CUDA device 0 {self.name!r}>"


class Context:
    """What numba calls the context: memory, streams and the device."""

    @property
    def device(self) -> CudaDevice:
        """The device."""
        return _device()

    @property
    def id(self) -> int:
        """The number of the device."""
        return 0

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes: of the machine's memory, as the device has no other."""
        page, total = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        return MemoryInfo(os.sysconf("SC_AVPHYS_PAGES") * page, total * page)

    def memalloc(self, bytesize: int) -> Any:
        """Device memory; it lives as long as the object."""
        return active.allocate(bytesize)

    def synchronize(self) -> None:
        """Wait for the work of all streams."""
        synchronize()

    def create_stream(self) -> Stream:
        """A new stream."""
        return stream()

    def create_external_stream(self, ptr: int) -> Any:
        """The stream of a number."""
        return external_stream(ptr)

    def get_default_stream(self) -> DefaultStream:
        """The default stream."""
        return default_stream()

    def create_event(self, timing: bool = True) -> Event:
        """A new event."""
        return event(timing)

    def reset(self) -> None:
        """Wait for all work. Memory goes with the arrays that hold it."""
        synchronize()
        gc.collect()

    def push(self) -> None:
        """There is one context, and it is current."""

    pop = push

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Memory is freed with its arrays and needs no cleaning up later."""
        yield

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<CUDA context of {_device()!r}>"


class DeviceContextManager:
    """An item of ``cuda.gpus``: ``with cuda.gpus[0]: ...`` works on the device."""

    @property
    def _device(self) -> CudaDevice:
        return _device()

    def __getattr__(self, name: str) -> Any:
        return getattr(_device(), name)

    def __enter__(self) -> Context:
        return current_context()

    def __exit__(self, *exc: object) -> None:
        pass

    def __str__(self) -> str:
        return f"<Managed Device {self.id}>"


class DeviceList:
    """``cuda.gpus``: the devices; there is one."""

    lst = property(lambda self: [_manager()])

    def __getitem__(self, number: int) -> Any:
        return [_manager()][number]

    def __iter__(self) -> Iterator[Any]:
        return iter([_manager()])

    def __len__(self) -> int:
        return 1

    @property
    def current(self) -> Any:
        """The current device."""
        return _manager()

    def __str__(self) -> str:
        return str(self[0])


gpus = DeviceList()


@cache
def _manager() -> DeviceContextManager:
    return DeviceContextManager()


@cache
def _device() -> CudaDevice:
    return CudaDevice()


@cache
def _context() -> Context:
    return Context()


def list_devices() -> DeviceList:
    """The devices."""
    return gpus


def get_current_device() -> CudaDevice:
    """The device."""
    return _device()


def select_device(device_id: int) -> Context:
    """Use a device by number; DeviceError INVALID_DEVICE when there is none."""
    if device_id != 0:
        fail(INVALID_DEVICE, f"device {device_id}; there is device 0 only")
    return _context()


def current_context(devnum: int | None = None) -> Context:
    """The context."""
    return select_device(devnum or 0)


def require_context(function: Any) -> Any:
    """A decorator that needs to do nothing: the context is always there."""
    return function


def close() -> None:
    """Wait for all work."""
    _context().reset()


def is_available() -> bool:
    """Whether kernels can run: always."""
    return True


def is_supported_version() -> bool:
    """Whether the runtime is one that is supported."""
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


def cuda_error() -> None:
    """What went wrong with the driver's start: nothing."""


def detect() -> bool:
    """Print the device; True because there is one."""
    device = _device()
    facts = {
        "Compute Capability": "{}.{}".format(*device.compute_capability),
        "UUID": device.uuid,
        "Multiprocessors": device.MULTIPROCESSOR_COUNT,
        "Device": active.device().name,
    }
    print("Found 1 CUDA devices")
    print(f"id 0    {device.name!s:>20} {'[SUPPORTED]':>40}")
    for key, value in facts.items():
        print(f"{key:>40}: {value}")
    print("Summary:\n\t1/1 devices are supported")
    return True


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Memory is freed with its arrays and needs no cleaning up later."""
    yield


def profile_start() -> None:
    """Nothing to start: GRIDLANE_TRACE=1 traces launches."""


profile_stop = profile_start


@contextmanager
def profiling() -> Iterator[None]:
    """A region to profile."""
    yield
