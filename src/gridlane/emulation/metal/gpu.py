"""The device's own thread. It runs encoders in a seeded random order that fences and tracked
buffers allow, so that missing order shows.

GRIDLANE_METAL_SEED is the seed, also for the threads of a threadgroup.
"""

# pyright: reportPrivateUsage=false
# The objects hide from callers what Metal hides, and not from each other.

from __future__ import annotations

import ctypes
import random
import threading
import time

from gridlane.core.config import config
from gridlane.emulation.metal.bridge import autorelease_pool
from gridlane.emulation.metal.commands import (
    Dispatch,
    MTLCommandBuffer,
    MTLComputeCommandEncoder,
)
from gridlane.emulation.metal.foundation import NSError
from gridlane.emulation.metal.machine import FailedRunError
from gridlane.emulation.metal.memory import Memory

INTERNAL, PAGE_FAULT = 1, 3  # MTLCommandBufferError
COMPLETED, ERROR = 4, 5
LONGEST_STEP = 10.0
"""Seconds that a thread gets for its present dispatch; an endless one is abandoned."""


class Gpu:
    """Runs command buffers.

    Attributes:
        fails: (code, text) of the error that the next command buffer ends with, for tests.
        launches: their number so far.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[MTLCommandBuffer] = []
        self._done: set[int] = set()
        self._held = self._ended = False
        self._thread: threading.Thread | None = None
        self._random = random.Random(config().metal_seed)
        self.fails: tuple[int, str] | None = None
        self.launches = 0

    def take(self, command: MTLCommandBuffer) -> None:
        """Append a committed command buffer."""
        with self._changed:
            self._queue.append(command)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="gridlane-metal-emulation", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def wait(self, command: MTLCommandBuffer) -> None:
        """Wait until a command buffer is done."""
        with self._changed:
            self._changed.wait_for(lambda: command._status >= COMPLETED)

    def hold(self, held: bool) -> None:
        """Pause until released."""
        with self._changed:
            self._held = held
            self._changed.notify_all()

    def end(self) -> None:
        """End the thread and wait for it, as it holds the last command buffer until then. Later
        commits are never done."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LONGEST_STEP)

    # --- its thread ---

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or (self._queue and not self._held))
                if self._ended:
                    return
                command, encoder = self._choose()
            with autorelease_pool():
                self._step(command, encoder)
            del command, encoder

    def _choose(self) -> tuple[MTLCommandBuffer, MTLComputeCommandEncoder | None]:
        """Choose an encoder whose predecessors are done."""
        before: list[MTLComputeCommandEncoder] = []
        able: list[tuple[MTLCommandBuffer, MTLComputeCommandEncoder | None]] = []
        for number, command in enumerate(self._queue):
            left = [each for each in command._encoders if id(each) not in self._done]
            if not left and not number:
                return command, None  # only its end is left
            for encoder in left:
                if not any(_depends(encoder, earlier) for earlier in before):
                    able.append((command, encoder))
                before.append(encoder)
        return self._random.choice(able)

    def _step(self, command: MTLCommandBuffer, encoder: MTLComputeCommandEncoder | None) -> None:
        if not command._times[0]:
            command._times[0] = time.monotonic()
        if encoder is not None and command._error is None:
            failed = self.fails
            self.fails = None
            try:
                if failed is None:
                    self._execute(command, encoder)
            except Exception as error:  # any exception: a thread waits for the end
                touched = isinstance(error, FailedRunError) and error.address
                failed = PAGE_FAULT if touched else INTERNAL, str(error)
            if failed is not None:
                command._error = NSError("MTLCommandBufferErrorDomain", *failed)
        with self._changed:
            if encoder is not None:
                self._done.add(id(encoder))
                return
            self._end(command)

    def _end(self, command: MTLCommandBuffer) -> None:
        self._queue.remove(command)
        self._done -= {id(each) for each in command._encoders}
        command._times[1] = time.monotonic()
        if command._error is None:
            for event, value in command._signals:
                event._signal(value)
        command._status = COMPLETED if command._error is None else ERROR
        self._changed.notify_all()

    def _execute(self, command: MTLCommandBuffer, encoder: MTLComputeCommandEncoder) -> None:
        there = {buffer._memory for each in command._queue._sets for buffer in each._now}
        there |= {buffer._memory for buffer in encoder._used}
        for dispatch in encoder._work:
            bound = [each for each, _ in dispatch.buffers.values() if not isinstance(each, bytes)]
            resident = there | {buffer._memory for buffer in bound}
            for memory in tuple(Memory.living):
                memory.set_open(memory in resident)
            self._launch(dispatch)

    def _launch(self, dispatch: Dispatch) -> None:
        addresses: dict[int, int] = {}
        kept = []
        for slot, (source, offset) in dispatch.buffers.items():
            if isinstance(source, bytes):
                copy = ctypes.create_string_buffer(source, len(source))
                kept.append(copy)
                addresses[slot] = ctypes.addressof(copy)
            else:
                addresses[slot] = source._memory.address + offset
        self.launches += 1
        pipeline = dispatch.pipeline
        pipeline._program.run(
            pipeline._kernel,
            addresses,
            dispatch.grid,
            dispatch.block,
            dispatch.groups,
            seed=self._random.randrange(1, 2**32),
        )


def _depends(later: MTLComputeCommandEncoder, earlier: MTLComputeCommandEncoder) -> bool:
    """Whether an encoder has to wait for a predecessor."""
    if any(fence in earlier._updates for fence in later._waits):
        return True
    return any(
        buffer._tracked and (usage | later._used[buffer]) & 2
        for buffer, usage in earlier._used.items()
        if buffer in later._used
    )
