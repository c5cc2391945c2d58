"""The fake libcuda as tests see it: what was called, launched and left alive, and how to fail."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MEGABYTE = 1 << 20

ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 * 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 * 1024,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 228 * 1024,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "WARP_SIZE": 32,
    "MULTIPROCESSOR_COUNT": 4,
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MEMORY_POOLS_SUPPORTED": 1,
    "MANAGED_MEMORY": 1,
    "UNIFIED_ADDRESSING": 1,
    "COOPERATIVE_LAUNCH": 1,
    "CLUSTER_LAUNCH": 1,
    "CLOCK_RATE": 1_500_000,
}
"""What every device has unless a test says otherwise; all other attributes are 0."""

KINDS = ("context", "stream", "event", "module", "function", "block", "pool", "graph")
KINDS += ("executable",)
MEMORY = ("device", "pool", "host", "managed", "registered", "global")


class _Launch(ctypes.Structure):
    """``Launch`` of src/fake.h."""

    _fields_ = (
        ("name", ctypes.c_char * 256),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("cluster", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("cooperative", ctypes.c_int),
        ("device", ctypes.c_int),
        ("stream", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("params", ctypes.c_ubyte * 4096),
    )


_HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Launch))


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that has run."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    cooperative: bool
    device: int
    stream: int
    params: bytes
    cluster: tuple[int, ...] = (0, 0, 0)


def _read(raw: _Launch) -> Launch:
    grid, block = tuple(raw.grid), tuple(raw.block)
    params = bytes(raw.params[: raw.size])
    name, cooperative = raw.name.decode(), bool(raw.cooperative)
    place = raw.device, raw.stream
    return Launch(name, grid, block, raw.shared, cooperative, *place, params, tuple(raw.cluster))


class Fake:
    """The library at a path, loaded for the whole process under the driver's name."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        self._library.fake_log.restype = ctypes.c_char_p
        self._library.fake_launch.restype = ctypes.POINTER(_Launch)
        self._hooks: list[Any] = []

    def reset(self, devices: int = 1, memory: int = 64 * MEGABYTE, **attributes: int) -> None:
        """A machine with so many devices, of so many bytes each, and nothing alive."""
        self._library.fake_reset(devices, ctypes.c_size_t(memory))
        self._hooks.clear()
        for device in range(devices):
            self.set_attributes(device, **ATTRIBUTES | attributes)

    def set_attributes(self, device: int, **attributes: int) -> None:
        """Attributes of a device, by the driver's names without CU_DEVICE_ATTRIBUTE_."""
        from cuda.bindings.driver import CUdevice_attribute

        for name, value in attributes.items():
            number = int(getattr(CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"))
            self._library.fake_attribute(device, number, value)

    def set_peer(self, device: int, other: int, capable: bool) -> None:
        """Whether one device can reach the other's memory."""
        self._library.fake_peer(device, other, capable)

    # --- failures ---

    def fail(self, function: str, code: int, nth: int = 1) -> None:
        """Make the nth call from now of a function return a code, and do nothing."""
        self._library.fake_fail(function.encode(), nth, code)

    def unfailed(self) -> int:
        """Planned failures that have not come."""
        return self._library.fake_unfailed()

    def fault(self, code: int, device: int = 0) -> None:
        """Bring a device's context down."""
        self._library.fake_fault(device, code)

    # --- work ---

    def late(self, yes: bool = True) -> None:
        """Keep work waiting in its streams until somebody waits for it."""
        self._library.fake_late(yes)

    def run(self) -> None:
        """Run what waits."""
        self._library.fake_run()

    def on_launch(self, kernel: str, work: Callable[[Launch], int | None]) -> None:
        """What a kernel does when it runs; a number other than 0 is the fault that it brings. A
        name that ends in * is the start of one. Like a host function, it may not use the driver."""

        def call(raw: Any) -> int:
            return work(_read(raw.contents)) or 0

        hook = _HOOK(call)
        self._hooks.append(hook)
        self._library.fake_hook(kernel.encode(), hook)

    @property
    def launches(self) -> list[Launch]:
        """What has run, in order."""
        return [
            _read(self._library.fake_launch(number).contents)
            for number in range(self._library.fake_launches())
        ]

    # --- the log ---

    @property
    def log(self) -> list[str]:
        """The calls since the log was cleared, as ``name(arguments)``."""
        return self._library.fake_log().decode().splitlines()

    @property
    def calls(self) -> list[str]:
        """Their names."""
        return [line.partition("(")[0] for line in self.log]

    def clear_log(self) -> None:
        """Forget the calls."""
        self._library.fake_clear_log()

    # --- what is alive ---

    def alive(self, kind: str) -> int:
        """Living objects of a kind."""
        return self._library.fake_alive(KINDS.index(kind))

    def blocks(self, memory: str) -> int:
        """Allocations of a kind of memory that were not freed."""
        return self._library.fake_blocks(MEMORY.index(memory))

    def retained(self, device: int = 0) -> int:
        """How often a device's primary context was retained and not released."""
        return self._library.fake_retained(device)

    def leaks(self) -> dict[str, int]:
        """What is left of everything that a program makes; {} when nothing is."""
        kinds = ("context", "event", "module", "pool", "graph", "executable")
        found = {kind: self.alive(kind) for kind in kinds}
        found |= {f"{kind} memory": self.blocks(kind) for kind in MEMORY}
        # Two streams belong to each living context.
        found["stream"] = self.alive("stream") - 2 * self.alive("context")
        return {kind: count for kind, count in found.items() if count}
