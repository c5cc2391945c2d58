"""The device ``interp``: it interprets the IR, slowly, and checks every memory access.

Its memory is its own. Addresses are far apart, so that an index out of bounds hits no buffer.
"""

from __future__ import annotations

import math
import os
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.core.config import config
from gridlane.core.device_errors import (
    COOPERATIVE_TOO_LARGE,
    INVALID_DEVICE,
    INVALID_IMAGE,
    OUT_OF_MEMORY,
    fail,
    kernel_exception,
    kernel_timeout,
)
from gridlane.core.source import Loc
from gridlane.interp import Memory, run
from gridlane.interp.cooperative import waits_for_grid
from gridlane.interp.memory import POISON
from gridlane.interp.state import Unwanted
from gridlane.ir.parser import parse_module
from gridlane.memory.resource import Buffer
from gridlane.runtime.host_device import HostDevice, HostKernel, machine_uuid
from gridlane.runtime.observing import COPIES, copy_on_caller, launch_on_caller, seam
from gridlane.runtime.protocol import Limits
from gridlane.runtime.queues.reentry import is_reentry, refuse_reentry

MOST_BLOCKS = 1024
"""The largest grid whose blocks can wait for each other: each block takes a thread."""


class CheckedMemory:
    """The device's memory resource: an address space with one user at a time."""

    def __init__(self) -> None:
        self.space = Memory()
        self.lock = threading.RLock()
        # A buffer's lifetime may end at any moment, even inside a kernel; its memory is freed
        # later.
        self._ended: deque[int] = deque()
        os.register_at_fork(after_in_child=self._begin_in_child)

    def _begin_in_child(self) -> None:
        """Replace the lock: the thread that held it at the fork does not exist in the child."""
        self.lock = threading.RLock()

    def allocate(self, size: int) -> Buffer:
        """Allocate ``size`` bytes, filled with 0xFF, which is a NaN in every float."""
        with self.alone():
            try:
                return Buffer(self.space.allocate(size, "the array", POISON), size)
            except (MemoryError, ValueError):  # numpy's sizes have 63 bits
                fail(OUT_OF_MEMORY, f"{size} bytes")

    def deallocate(self, address: int, size: int) -> None:
        """Free memory; see MemoryResource."""
        self._ended.append(address)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Exclude other users of the memory within the with block.

        Raises:
            DeviceError: NOT_PERMITTED, in a signal handler or a finalizer that interrupts it.
        """
        if is_reentry(self.lock):
            refuse_reentry()
        with self.lock:
            while self._ended:
                self.space.free(self._ended.popleft())
            yield


class InterpDevice(HostDevice):
    """One address space; one kernel runs at a time."""

    name = "interp"
    limits = Limits(multiprocessors=1, independent_blocks=True)
    host_visible = False

    def __init__(self) -> None:
        self.checked = CheckedMemory()
        super().__init__(self.checked)
        self.alone = self.checked.alone
        self.unwanted: set[int] = set()
        """Threads whose launch is asked to end early."""

    def _bytes(self, address: int, size: int) -> np.ndarray:
        return self.checked.space.bytes_at(address, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes within the device."""
        with self.alone():
            self._bytes(target, size)[:] = self._bytes(source, size).copy()

    def upload(self, target: int, source: memoryview) -> None:
        """Copy host bytes to the device."""
        with self.alone():
            self._bytes(target, source.nbytes)[:] = np.frombuffer(source, np.uint8)

    def download(self, target: memoryview, source: int) -> None:
        """Copy device bytes to the host."""
        with self.alone():
            np.frombuffer(target, np.uint8)[:] = self._bytes(source, target.nbytes)

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes."""
        with self.alone():
            self._bytes(target, size)[:] = byte

    def stop_thread(self, thread: int, wish: bool) -> None:
        """Request that the launch of a thread ends early, or withdraw the request."""
        (self.unwanted.add if wish else self.unwanted.discard)(thread)

    def load(self, artifact: Artifact) -> InterpKernel:
        """Parse the IR of an artifact."""
        if artifact.format != "ir":
            fail(INVALID_IMAGE, f"the device interp runs IR, not {artifact.format!r}")
        return InterpKernel(self, artifact)

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``."""
        return {
            "name": "gridlane IR interpreter",
            "threads": 1,
            "checked": True,
            "uuid": machine_uuid(),
        }


class InterpKernel(HostKernel):
    """A parsed module."""

    def __init__(self, device: InterpDevice, artifact: Artifact) -> None:
        self.module = parse_module(artifact.code.decode())
        self.cooperative = waits_for_grid(self.module)
        super().__init__(replace(artifact, cooperative=self.cooperative))
        self.device = device
        self._readers = [_reader(slot) for slot in artifact.params]

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Run a grid; see LoadedKernel."""
        values = [read(params) for read in self._readers]
        block = self.artifact.block or (1, 1, 1)
        device = self.device
        if self.cooperative and gx * gy * gz > MOST_BLOCKS:
            fail(COOPERATIVE_TOO_LARGE, f"{gx * gy * gz} blocks; there is room for {MOST_BLOCKS}")
        with device.alone():
            unwanted = _ending(self.artifact.name, device.unwanted)
            grid = (gx, gy, gz)
            result = run(self.module, grid, block, values, device.checked.space, shared, unwanted)
        for line in result.prints:
            sys.stdout.write(line)
        if result.error is not None:
            code, index, thread = result.error
            site = self.artifact.errors[code]
            raise kernel_exception(
                site, thread, index, self.artifact.name, result.numbers, device.name
            )

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Blocks in flight at once, if they wait for each other."""
        return MOST_BLOCKS


seam(InterpKernel, "launch", launch_on_caller)
for _name in ("upload", "download", "copy", "fill"):
    seam(InterpDevice, _name, copy_on_caller(*COPIES[_name]))


def _ending(kernel: str, threads: set[int]) -> Unwanted:
    """Whether a launch that begins now, on this thread, is to end: it is among ``threads``.

    Raises:
        KernelTimeout: in a call, its time is over.
    """
    thread, limit = threading.get_ident(), config().timeout
    end = time.monotonic() + limit if limit else math.inf

    def unwanted(loc: Loc) -> bool:
        if limit and time.monotonic() > end:
            raise kernel_timeout(kernel, loc, limit, "interp")
        return thread in threads

    return unwanted


def _reader(slot: ParamSlot) -> Callable[[bytes], int | float | bool]:
    """A function that reads one parameter from the block."""
    if slot.by_value:  # the interpreter has its own
        return _nothing
    if slot.dtype is None:
        return partial(_pointer, slot.offset)
    return partial(_scalar, slot.dtype.numpy, slot.offset)


def _nothing(params: bytes) -> int:
    return 0


def _pointer(offset: int, params: bytes) -> int:
    return struct.unpack_from("<Q", params, offset)[0]


def _scalar(dtype: np.dtype, offset: int, params: bytes) -> Any:
    return np.frombuffer(params, dtype, 1, offset)[0]


def device_count() -> int:
    """The number of interpreters: one."""
    return 1


def open_device(ordinal: int = 0) -> InterpDevice:
    """Open the device; called once."""
    if ordinal:
        fail(INVALID_DEVICE, f"device {ordinal}; there is device 0 only")
    return InterpDevice()
