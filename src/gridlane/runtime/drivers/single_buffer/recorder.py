"""The recorder of a device whose memory is buffers of words: all work is in one order.

A batch is a list of commands. Work follows all earlier work of any stream, so streams order only
deferred work.
"""

from __future__ import annotations

import struct
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from gridlane.core.device_errors import INVALID_VALUE, again, fail, handled, lost_device
from gridlane.core.errors import DeviceError
from gridlane.core.shader_abi import LAUNCH_WORDS, located
from gridlane.core.threads import start_thread
from gridlane.runtime.drivers.single_buffer.engine import (
    FIRST_ALONE,
    SPIN_NS,
    Command,
    Dispatch,
    Engine,
    Stamp,
)
from gridlane.runtime.queues.host_driven_context import HostDrivenContext, Ordered
from gridlane.runtime.queues.host_driven_recorder import Batch, Recorder
from gridlane.runtime.queues.reentry import left_a_handler
from gridlane.runtime.reporting import ReportBlock

ARENA = 1 << 17
"""The limit on launch words, parameters and constants of one submission, in bytes."""
THREADS = 256
"""Threads of a block of ``move``; each handles one word."""

# Base and grid of three words each, the report block, bytes of dynamic shared memory, a zero.
_LAUNCH = struct.Struct(f"<{LAUNCH_WORDS}I")
MOVE = struct.Struct("<4I")


class Prepared(NamedTuple):
    """A program, and what launches need of its kernel.

    Attributes:
        of_several: whether its arrays are in several buffers.
        buffers: see ``SingleBufferKernel.buffers``.
    """

    program: Any
    name: str
    of_several: bool
    buffers: Callable[[bytes], tuple[int, ...]]


class WordBatch(Batch):
    """Commands in a list."""

    __slots__ = ("work",)

    def __init__(self) -> None:
        super().__init__()
        self.work: list[Command] = []


class WordRecorder(Recorder[HostDrivenContext, WordBatch, int, Prepared, Any]):
    """The work of a device.

    Args:
        program: the program of ``move``, between buffers or in one.
    """

    longest, room = 128, ARENA
    spin_ns = SPIN_NS

    def __init__(self, engine: Engine, program: Callable[[bool], Any]) -> None:
        super().__init__(HostDrivenContext(engine.facts.software))
        self.engine, self._program = engine, program
        self.several_buffers = False
        """Whether memory is several buffers, so that each launch is checked for its code's."""
        self._own = Ordered()
        """The stream of commands of no stream."""
        self._submitting = False
        self._arena = bytearray(ARENA)
        self._fences: deque[tuple[int, Any]] = deque()
        """(the last batch that it covers, a fence)."""
        self._step = max(engine.facts.step, 4)
        self._words = -(-_LAUNCH.size // self._step) * self._step
        self._most = engine.facts.dispatch

    # --- recording ---

    def begin(self) -> WordBatch:
        """An empty list."""
        return WordBatch()

    def launch(
        self,
        stream: Ordered,
        prepared: Prepared,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
        block: ReportBlock | None,
        /,
    ) -> None:
        """Append a kernel's launch. Hot."""
        program, name, several, buffers_of = prepared
        buffers = buffers_of(params) if several or self.several_buffers else FIRST_ALONE
        report = 0 if block is None else block.address
        self.suspects.add(name)
        self._launch(stream, program, params, grid, report, shared, buffers)

    def _launch(
        self,
        stream: Ordered,
        program: Any,
        params: bytes,
        grid: tuple[int, int, int],
        report: int,
        shared: int,
        buffers: tuple[int, ...],
    ) -> None:
        """Append a launch of a program. Hot.

        Args:
            report: address of the report block, in the first buffer, or 0.
            buffers: those that the program binds as memory.
        """
        with self.lock:
            (x, y, z), (mx, my, mz) = grid, self._most
            if x <= mx and y <= my and z <= mz:
                self._dispatch(
                    stream, program, params, (0, 0, 0), grid, grid, report, shared, buffers
                )
                return
            for bz in range(0, z, mz):
                for by in range(0, y, my):
                    for bx in range(0, x, mx):
                        part = min(mx, x - bx), min(my, y - by), min(mz, z - bz)
                        rest = program, params, (bx, by, bz), part, grid, report, shared, buffers
                        self._dispatch(stream, *rest)

    def _dispatch(
        self,
        stream: Ordered,
        program: Any,
        params: bytes,
        base: tuple[int, int, int],
        blocks: tuple[int, int, int],
        grid: tuple[int, int, int],
        report: int,
        shared: int,
        buffers: tuple[int, ...],
    ) -> None:
        step, size = self._step, len(params)
        words, arena = self._words, self._arena
        room = words + (size + step - 1) // step * step if size else words + step
        if room > ARENA:
            fail(INVALID_VALUE, f"{size} bytes of parameters; the most is {ARENA - words}")
        batch = self.ordered(stream, room)
        position = batch.at
        batch.at = position + room
        _LAUNCH.pack_into(arena, position, *base, *grid, report, shared, 0)
        place = position + words
        arena[place : place + size] = params
        batch.work.append(Dispatch(program, position, place, *blocks, buffers))

    def copy(
        self, stream: Ordered, target: int, source: int, size: int, keep: object = None
    ) -> None:
        """Append a copy of bytes, by a kernel."""
        self.move(stream, target, source, size)

    def fill(self, stream: Ordered, target: int, size: int, byte: int) -> None:
        """Append a fill, by a kernel."""
        self.move(stream, target, 0, size, byte * 0x01010101)

    def move(self, stream: Ordered, target: int, source: int, size: int, word: int = 0) -> None:
        """Append a launch of ``move``; see transfers.py."""
        count = (target + size + 3) // 4 - target // 4
        (to, target), (of, source) = located(target), located(source)
        apart = source != 0 and to != of
        params, grid = MOVE.pack(target, source, size, word), (-(-count // THREADS), 1, 1)
        buffers = (to, of) if apart else (to,)
        self._launch(stream, self._program(apart), params, grid, 0, 0, buffers)

    def append(self, command: Command, stream: Ordered | None = None) -> None:
        """Append any other command."""
        with self.lock:
            self.ordered(stream or self._own).work.append(command)

    def new_stamp(self, owner: object) -> Any:
        """The engine's storage for a time."""
        with self.lock:
            return self.engine.new_stamp()

    def stamp(self, stream: Ordered, stamp: Any) -> None:
        """Append a time stamp."""
        self.append(Stamp(stamp), stream)

    def between_ms(self, first: Any, second: Any) -> float:
        """Milliseconds from one stamp to another."""
        with self.lock:
            return (self.engine.nanoseconds(second) - self.engine.nanoseconds(first)) / 1e6

    # --- submitting and waiting ---

    def submit(self, batch: WordBatch) -> None:
        """Submit the list."""
        self.context.progress += 1
        self._open = None
        self.context.raise_fault()
        arena = memoryview(self._arena)[: batch.at]
        self._guarded(lambda: self.engine.submit(batch.work, arena))

    def passed(self, number: int, /) -> bool:
        """Whether a batch is done; it is submitted if need be. Never waits: drivers may wait for
        work in flight before they accept more, so another thread submits, and the result is False
        meanwhile."""
        if self.done >= number:
            return True
        self.context.raise_fault()
        if self._submitting or not self.lock.acquire(blocking=False):
            return False
        try:
            if self._fence_of(number) is not None:
                return self.poll(number)
            self._submit_apart(number)
            return False
        finally:
            self.lock.release()

    def _submit_apart(self, number: int) -> None:
        """Submit the list up to a number, and a fence, on a separate thread."""

        def submit() -> None:
            try:
                with self.lock, suppress(DeviceError):  # a later call raises a fault
                    if number >= self.context.progress:
                        self.flush()
                    self._fence(number)
            finally:
                self._submitting = False

        self._submitting = True
        start_thread(threading.Thread(target=submit, name="gridlane-submit", daemon=True))

    def poll(self, number: int, /, ns: int = 0) -> bool:
        """Whether a batch is done, by a fence behind it."""
        if self.done >= number:
            return True
        with self.lock:
            covered, fence = self._fence(number)
        if self._guarded(lambda: self.engine.poll(fence, ns), asks=True):
            with self.lock:
                self.done = max(self.done, covered)
                while self._fences and self._fences[0][0] <= self.done:
                    self._fences.popleft()
        return self.done >= number

    def _fence(self, number: int) -> tuple[int, Any]:
        """The first fence behind a batch; a new one if there is none."""
        numbered = self._fence_of(number)
        if numbered is None:
            numbered = self.context.progress - 1, self._guarded(self.engine.fence)
            self._fences.append(numbered)
        return numbered

    def _fence_of(self, number: int) -> tuple[int, Any] | None:
        return next((fence for fence in self._fences if fence[0] >= number), None)

    def _guarded(self, work: Callable[[], Any], asks: bool = False) -> Any:
        """Use the device; a failure leaves its state unknown, so the device counts as lost from
        then on. ``asks``: the work changes nothing, so what a signal handler raises meanwhile is
        no failure; in the middle of a submission it is."""
        try:
            return work()
        except Exception as error:
            if asks and left_a_handler(error):
                raise
            with self.lock:
                handled(error)  # of the library; the history has that of the device
                fault = self.context.fault = self.context.fault or self.fault(error)
                self._fences.clear()
            raise again(fault, self.context.device_name) from error

    def fault(self, cause: Exception) -> DeviceError:
        """The exception of any failure of the library."""
        message = " ".join(str(cause).split())
        lost = f"the device {self.engine.facts.name} is lost ({message})"
        return lost_device(lost, ", ".join(sorted(self.suspects)), self.context.device_name)
