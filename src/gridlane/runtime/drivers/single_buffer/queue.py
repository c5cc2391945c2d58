"""The ordered software queue that all streams of a device share.

Work is kept in a list. It is submitted when a thread waits, when the list is long, or when host
bytes that may change are copied. Work in the queue follows all earlier work of any stream, so
streams order only deferred work.
"""

from __future__ import annotations

import struct
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any

from gridlane.core.device_errors import INVALID_VALUE, fail, lost_device
from gridlane.core.errors import DeviceError
from gridlane.core.shader_abi import LAUNCH_WORDS
from gridlane.runtime.drivers.single_buffer.engine import (
    FIRST_ALONE,
    Command,
    Dispatch,
    Engine,
    Stamp,
)
from gridlane.runtime.queues.host_driven_context import HostDrivenContext, Ordered
from gridlane.runtime.queues.host_driven_recorder import Mark, Recorder
from gridlane.runtime.queues.reentry import left_a_handler
from gridlane.runtime.reporting import ReportBlock

ARENA = 1 << 17
"""The limit on launch words, parameters and constants of one submission, in bytes."""
LONGEST = 128
"""The largest number of commands in a submission."""

# Base and grid of three words each, the report block, bytes of dynamic shared memory, a zero.
_LAUNCH = struct.Struct(f"<{LAUNCH_WORDS}I")


class Queue(HostDrivenContext, Recorder):
    """The work of a device."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.facts.software)
        self.engine = engine
        self.several_buffers = False
        """Whether memory is several buffers, so that each launch is checked for its code's."""
        self.running: Callable[[], str] = str
        """The names of kernels that may be in flight, for the message of a fault."""
        self._done = 0
        self._submitting = False
        self._commands: list[Command] = []
        self._arena = bytearray(ARENA)
        self._at = 0
        self._fences: deque[tuple[int, Any]] = deque()
        self._step = max(engine.facts.step, 4)
        self._words = -(-_LAUNCH.size // self._step) * self._step
        self._most = engine.facts.dispatch

    # --- appending ---

    def launch(
        self,
        stream: Ordered,
        bound: Any,
        program: Any,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
        block: ReportBlock | None,
        /,
    ) -> None:
        """Append a kernel's launch. Hot."""
        several = self.several_buffers or bound.of_several
        buffers = bound.buffers(params) if several else FIRST_ALONE
        report = 0 if block is None else block.address
        self.dispatch(program, params, grid, report, shared, buffers)
        self.mark(stream)

    def dispatch(
        self,
        program: Any,
        params: bytes,
        grid: tuple[int, int, int],
        report: int,
        shared: int,
        buffers: tuple[int, ...] = FIRST_ALONE,
    ) -> None:
        """Append a launch of a program. Hot.

        Args:
            params: the parameter block.
            grid: blocks along each axis.
            report: address of the report block, in the first buffer, or 0.
            shared: bytes of dynamic shared memory.
            buffers: those that the program binds as memory.
        """
        with self.lock:
            (x, y, z), (mx, my, mz) = grid, self._most
            if x <= mx and y <= my and z <= mz:
                self._dispatch(program, params, (0, 0, 0), grid, grid, report, shared, buffers)
                return
            for bz in range(0, z, mz):
                for by in range(0, y, my):
                    for bx in range(0, x, mx):
                        rest = min(mx, x - bx), min(my, y - by), min(mz, z - bz)
                        base = bx, by, bz
                        self._dispatch(program, params, base, rest, grid, report, shared, buffers)

    def _dispatch(
        self,
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
        room = self._words + -(-max(size, 1) // step) * step
        if self._at + room > ARENA or len(self._commands) >= LONGEST:
            if room > ARENA:
                fail(
                    INVALID_VALUE, f"{size} bytes of parameters; the most is {ARENA - self._words}"
                )
            self.flush()
        position, self._at = self._at, self._at + room
        _LAUNCH.pack_into(self._arena, position, *base, *grid, report, shared, 0)
        place = position + self._words
        self._arena[place : place + size] = params
        self._commands.append(Dispatch(program, position, place, *blocks, buffers))

    def append(self, command: Command) -> None:
        """Append any other command."""
        with self.lock:
            if len(self._commands) >= LONGEST:
                self.flush()
            self._commands.append(command)

    # --- submitting and waiting ---

    def flush(self) -> None:
        """Submit the list."""
        with self.lock:
            commands, used = self._commands, self._at
            if not commands:
                return
            self.progress += 1  # before the list is empty; see ``newest``
            self._commands, self._at = [], 0
            self.raise_fault()
            self._guarded(lambda: self.engine.submit(commands, memoryview(self._arena)[:used]))

    def mark(self, stream: Ordered) -> int:
        """Note the last command as a stream's; its number."""
        with self.lock:
            stream.point = number = self.progress if self._commands else self.progress - 1
            if stream.is_default:
                self.default_point = number
            return number

    def predecessor(self, stream: Ordered) -> int:
        """The number of the work that a stream's next work follows."""
        with self.lock:
            return self.newest(stream)

    def newest(self, stream: Ordered) -> int:
        """The number of the last command that a stream waits for; of the default stream one more
        while another thread submits it. It does not wait for that."""
        if stream.is_default:
            return self.progress if self._commands else self.progress - 1
        return max(stream.point, self.default_point)

    def _set(self, stream: Ordered, mark: Mark) -> None:
        mark.point = self.mark(stream)

    def new_stamp(self, owner: object) -> Any:
        """The engine's storage for a time."""
        with self.lock:
            return self.engine.new_stamp()

    def stamp(self, stream: Ordered, stamp: Any) -> None:
        """Append a time stamp."""
        self.append(Stamp(stamp))

    def between_ms(self, first: Any, second: Any) -> float:
        """Milliseconds from one stamp to another."""
        with self.lock:
            return (self.engine.nanoseconds(second) - self.engine.nanoseconds(first)) / 1e6

    def passed(self, number: int) -> bool:
        """Whether the device has done the work with a number; listed work is submitted. Never
        waits: drivers may wait for work in flight before they accept more, so another thread
        submits, and the result is False meanwhile."""
        if number <= self._done:
            return True
        self.raise_fault()
        if self._submitting or not self.lock.acquire(blocking=False):
            return False
        try:
            fence = self._fence_of(number)
            if fence is None:
                self._submit_apart(number)
                return False
            if not self._guarded(lambda: self.engine.passed(fence[1]), asks=True):
                return False
            self._arrived(fence[0])
            return True
        finally:
            self.lock.release()

    def _submit_apart(self, number: int) -> None:
        """Submit the list up to a number, and a fence, on a separate thread."""

        def submit() -> None:
            try:
                with self.lock, suppress(DeviceError):  # a later call raises a fault
                    self._fence(number)
            finally:
                self._submitting = False

        self._submitting = True
        threading.Thread(target=submit, name="gridlane-submit", daemon=True).start()

    def wait(self, number: int) -> None:
        """Wait until the device has done the work with a number."""
        with self.lock:
            fence = self._fence(number)
        if fence is not None:
            self._guarded(lambda: self.engine.wait(fence[1], self.poll), asks=True)
            with self.lock:
                self._arrived(fence[0])

    def _fence(self, number: int) -> tuple[int, Any] | None:
        """(the number that it covers, a fence) for a number that may not be done, else None."""
        if number >= self.progress:
            self.flush()
        if number <= self._done:
            return None
        if fence := self._fence_of(number):
            return fence
        numbered_fence = self.progress - 1, self._guarded(self.engine.fence)
        self._fences.append(numbered_fence)
        return numbered_fence

    def _fence_of(self, number: int) -> tuple[int, Any] | None:
        """The first existing fence after a number."""
        return next((fence for fence in self._fences if fence[0] >= number), None)

    def _arrived(self, number: int) -> None:
        self._done = max(self._done, number)
        while self._fences and self._fences[0][0] <= self._done:
            self._fences.popleft()

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
                self.fault = self.fault or self._lost(error)
                self._fences.clear()
            raise copy(self.fault) from error

    def _lost(self, error: Exception) -> DeviceError:
        message = " ".join(str(error).split())
        return lost_device(
            f"the device {self.engine.facts.name} is lost ({message})", self.running()
        )
