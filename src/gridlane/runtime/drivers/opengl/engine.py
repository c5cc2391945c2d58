"""An OpenGL context as the engine of a single-buffer device."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import LAUNCH_FAILED, OUT_OF_MEMORY, device_error, fail
from gridlane.core.features import Feature
from gridlane.core.shader_abi import heap_binding, located
from gridlane.runtime.driver_workarounds import shader_features
from gridlane.runtime.drivers.opengl import api
from gridlane.runtime.drivers.opengl.contexts import Context
from gridlane.runtime.drivers.opengl.glsl_sources import (
    DESKTOP,
    EMBEDDED,
    MOVE,
    MOVE_BETWEEN,
    with_dynamic,
)
from gridlane.runtime.drivers.opengl.programs import Compiler, Program
from gridlane.runtime.drivers.single_buffer.engine import (
    SPIN_NS,
    Command,
    Dispatch,
    Facts,
    Read,
    Stamp,
    Write,
)
from gridlane.runtime.drivers.single_buffer.recorder import ARENA
from gridlane.runtime.drivers.single_buffer.transfers import move_kernel
from gridlane.runtime.protocol import Limits
from gridlane.runtime.queues.reentry import locked_wait

_SLICE_NS = 20_000_000
"""Of waiting with the context, between checks for signals of the process and other threads."""
_ADDRESSES = 1 << 32
_LONGEST = 400_000
"""The largest text, in lines, for compilers of software devices: llvmpipe of Mesa 22.3 took a
minute and 1 GB for 220,000, more than three minutes and 2 GB for 440,000."""
_SOFTWARE = ("llvmpipe", "softpipe", "swiftshader")


class _Slot:
    """Storage for a time: the device's in a query, or the host's."""

    __slots__ = ("__weakref__", "ns", "query")

    def __init__(self, query: int = 0) -> None:
        self.query, self.ns = query, 0


class _Fence:
    """A point in the submitted work."""

    __slots__ = ("__weakref__", "sync")

    def __init__(self, sync: int) -> None:
        self.sync = sync


class OpenGlEngine:
    """A context, with its limits."""

    target = "opengl"
    format = "glsl"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._gl = gl = api.Functions()
        self._retired: deque[tuple[Callable[[Any], object], int]] = deque()
        """Objects that finalizers release; they may run on any thread."""
        with context:
            self.facts = self._facts()
            self.limits = _limits(gl, (os.cpu_count() or 1) if self.facts.software else 1)
            self._timed = self.facts.clock == "device"
            identity = "\0".join(gl.text(each) for each in (api.VENDOR, api.RENDERER, api.VERSION))
            self._compiler = Compiler(gl, identity, _LONGEST if self.facts.software else None)
            # Each launch sees ARENA bytes from its own on, so as many follow the last launch.
            self._arena = gl.new_buffer(2 * ARENA, api.STREAM_DRAW)
        own = {Feature.ES} if context.es else set[Feature]()
        self.features = shader_features(self.facts.name) | own
        head = EMBEDDED if context.es else DESKTOP
        entry = self.target, self.format, "main"
        self.move = move_kernel(*entry, f"{head}{MOVE}")
        self.move_between = move_kernel(*entry, f"{head}{MOVE_BETWEEN}", between=True)
        self._buffers: dict[int, tuple[int, int]] = {}
        """OpenGL's name and the size of each buffer."""
        self._behind: _Fence | None = None
        """Behind all work so far, where a submission was the last."""

    def _facts(self) -> Facts:
        gl = self._gl
        name, most = gl.text(api.RENDERER), gl.integer(api.MAX_STORAGE)
        software = any(word in name.lower() for word in _SOFTWARE)
        bits = ctypes.c_int()
        if not self._context.es:
            gl.glGetQueryiv(api.TIMESTAMP, api.COUNTER_BITS, bits)
        version = gl.text(api.VERSION)
        return Facts(
            name=name,
            kind="software on the CPU" if software else "GPU",
            driver=version,
            api=f"OpenGL{' ES' if self._context.es else ''} by EGL",
            software=software,
            largest=min(most, _ADDRESSES) // 4 * 4,
            why="GL_MAX_SHADER_STORAGE_BLOCK_SIZE"
            if most < _ADDRESSES
            else "addresses have 32 bits",
            bindings=min(gl.integer(api.MAX_STORAGES), gl.integer(api.MAX_BINDINGS)),
            step=gl.integer(api.STEP),
            dispatch=gl.integers(api.MAX_GROUPS),
            clock="device" if bits.value else "host",
        )

    # --- buffers and programs ---

    def resize(self, number: int, size: int) -> None:
        """Grow a buffer and keep its contents, or create or release it."""
        gl, (old, held) = self._gl, self._buffers.get(number, (0, 0))
        with self._context:
            if not size:
                gl.glDeleteBuffers(1, ctypes.c_uint(old))
                del self._buffers[number]
                return
            buffer = gl.new_buffer(size, api.DYNAMIC_COPY)
            if not buffer:
                fail(OUT_OF_MEMORY, f"a buffer of {size} bytes (GL_OUT_OF_MEMORY)")
            if old:
                gl.glMemoryBarrier(api.ALL_BARRIERS)
                gl.glBindBuffer(api.COPY_READ, old)
                gl.glBindBuffer(api.COPY_WRITE, buffer)
                gl.glCopyBufferSubData(api.COPY_READ, api.COPY_WRITE, 0, 0, held)
                gl.glDeleteBuffers(1, ctypes.c_uint(old))
            self._buffers[number] = buffer, size
            self._behind = None
            self._check("a larger buffer")

    def program(self, artifact: Artifact, dynamic_words: int) -> Program:
        """Compile a program."""
        text = artifact.code.decode()
        if artifact.uses_dynamic_shared:
            text = with_dynamic(text, dynamic_words)
        with self._context:
            new_program = Program(self._compiler.program(text, artifact.name))
        give = self._gl.glDeleteProgram
        weakref.finalize(
            new_program, self._retired.append, (give, new_program.number)
        ).atexit = False
        return new_program

    # --- work ---

    def submit(self, commands: list[Command], arena: memoryview) -> None:
        """Submit commands to the driver. Hot."""
        gl = self._gl
        with self._context:
            while self._retired:
                give, number = self._retired.popleft()
                give(number)
            if len(arena):
                gl.glBindBuffer(api.COPY_WRITE, self._arena)
                # A new store: earlier work may still read the old one.
                gl.glBufferData(api.COPY_WRITE, 2 * ARENA, None, api.STREAM_DRAW)
                gl.glBufferSubData(api.COPY_WRITE, 0, len(arena), _pointer(arena))
            program: Any = None
            buffers: Any = None
            bind, dispatch, barrier = gl.glBindBufferRange, gl.glDispatchCompute, gl.glMemoryBarrier
            storage, own, every = api.STORAGE, self._arena, api.ALL_BARRIERS
            for command in commands:
                if isinstance(command, Dispatch):
                    if command.program is not program:
                        program = command.program
                        gl.glUseProgram(program.number)
                    if command.buffers is not buffers:
                        buffers = command.buffers
                        for place, number in enumerate(buffers):
                            bind(storage, heap_binding(place), *self._whole(number))
                    bind(storage, 1, own, command.params, ARENA)
                    bind(storage, 2, own, command.launch, ARENA)
                    dispatch(command.x, command.y, command.z)
                    barrier(every)
                else:
                    self._other(command)
            gl.glUseProgram(0)
            self._behind = self._new_fence()
            self._check("work")

    def _whole(self, number: int) -> tuple[int, int, int]:
        """(name, offset, size) of a whole buffer."""
        name, size = self._buffers[number]
        return name, 0, size

    def _other(self, command: Command) -> None:
        gl = self._gl
        if isinstance(command, Write):
            number, offset = located(command.target)
            gl.glBindBuffer(api.COPY_WRITE, self._buffers[number][0])
            size = len(command.source)
            gl.glBufferSubData(api.COPY_WRITE, offset, size, _pointer(command.source))
        elif isinstance(command, Read):
            self._read(command)
        elif isinstance(command, Stamp) and self._timed:
            gl.glQueryCounter(command.slot.query, api.TIMESTAMP)
        elif isinstance(command, Stamp):
            gl.glFinish()
            command.slot.ns = time.perf_counter_ns()

    def _read(self, command: Read) -> None:
        gl = self._gl
        number, offset = located(command.source)
        gl.glBindBuffer(api.COPY_READ, self._buffers[number][0])
        mapped = gl.glMapBufferRange(api.COPY_READ, offset, command.size, api.MAP_READ)
        if not mapped:
            self._check("a copy to the host")
            raise device_error(LAUNCH_FAILED, "glMapBufferRange gives no address")
        try:
            octets = (ctypes.c_ubyte * command.size).from_address(mapped)
            view = np.ctypeslib.as_array(octets)
            end = command.skip + len(command.target)
            command.target[:] = view[command.skip : end].data
            del view, octets
        finally:  # an interrupt leaves the buffer usable
            gl.glUnmapBuffer(api.COPY_READ)

    def fence(self) -> _Fence:
        """The fence of the last submission: a new one costs an entry of the context."""
        if self._behind is None:
            with self._context:
                self._behind = self._new_fence()
        return self._behind

    def _new_fence(self) -> _Fence:
        """Insert a fence of OpenGL, and flush."""
        fence = _Fence(self._gl.glFenceSync(api.FENCE, 0))
        self._gl.glFlush()
        give = self._gl.glDeleteSync
        weakref.finalize(fence, self._retired.append, (give, fence.sync)).atexit = False
        return fence

    def poll(self, fence: _Fence, ns: int) -> bool:
        """Whether the driver reports the fence as passed. A wait lends the context to other threads
        from time to time."""
        with locked_wait(), self._context:  # entering costs as much as many polls
            if ns > SPIN_NS:
                return self._wait(fence, min(ns, _SLICE_NS))
            end = time.monotonic_ns() + ns
            while not (passed := self._wait(fence, 0)) and time.monotonic_ns() < end:
                pass
            return passed

    def _wait(self, fence: _Fence, most_ns: int) -> bool:
        state = self._gl.glClientWaitSync(fence.sync, api.FLUSH_FIRST, most_ns)
        if state == api.WAIT_FAILED:
            self._check("waiting")
            raise device_error(LAUNCH_FAILED, "glClientWaitSync failed")
        return state != api.TIMEOUT

    # --- time ---

    def new_stamp(self) -> _Slot:
        """Create a query."""
        if not self._timed:
            return _Slot()
        number = ctypes.c_uint()
        with self._context:
            self._gl.glGenQueries(1, number)
        slot = _Slot(number.value)
        weakref.finalize(slot, self._retired.append, (self._give_query, slot.query)).atexit = False
        return slot

    def _give_query(self, number: int) -> None:
        self._gl.glDeleteQueries(1, ctypes.c_uint(number))

    def nanoseconds(self, stamp: _Slot) -> int:
        """The recorded time."""
        if not stamp.query:
            return stamp.ns
        value = ctypes.c_uint64()
        with self._context:
            self._gl.glGetQueryObjectui64v(stamp.query, api.RESULT, value)
        return value.value

    def _check(self, what: str) -> None:
        """Raise an error that the driver has recorded."""
        error = self._gl.glGetError()
        if error != api.NO_ERROR:
            number = OUT_OF_MEMORY if error == api.OUT_OF_MEMORY else LAUNCH_FAILED
            raise device_error(number, f"{what} ({api.ERRORS.get(error, hex(error))})")

    def end(self) -> None:
        """Destroy the context with all its objects."""
        self._context.end()


def _pointer(octets: memoryview) -> int:
    """The address of bytes that the caller keeps alive."""
    return np.frombuffer(octets, np.uint8).ctypes.data


def _limits(gl: api.Functions, multiprocessors: int) -> Limits:
    """The limits of a launch."""
    shared = gl.integer(api.MAX_SHARED)
    return Limits(
        max_threads=gl.integer(api.MAX_THREADS),
        max_block=gl.integers(api.MAX_BLOCK),
        max_shared=shared,
        max_dynamic_shared=shared,
        multiprocessors=multiprocessors,
    )
