"""The device, its memory, and kernels."""

from __future__ import annotations

from typing import Any

from gridlane.emulation.metal.bridge import Object, require
from gridlane.emulation.metal.commands import MTLCommandQueue
from gridlane.emulation.metal.gpu import Gpu
from gridlane.emulation.metal.machine import FailedCompilationError, Program
from gridlane.emulation.metal.memory import Memory
from gridlane.emulation.metal.options import MTLCompileOptions, MTLResidencySetDescriptor
from gridlane.emulation.metal.sync import MTLFence, MTLResidencySet, MTLSharedEvent
from gridlane.emulation.metal.text import Kernel, RefusedTextError

NAME = "CPU emulation of a Metal device"
FAMILIES = (1007, 5001)
THREADS, THREADGROUP_BYTES = 1024, 32768
LARGEST_BUFFER, WORKING_SET = 1 << 30, 2 << 30
FENCED_VERSION = 0x30002  # the first with fences, which every kernel of gridlane may use


class NSError(Object):
    """What went wrong."""

    def __init__(self, domain: str, code: int, text: str) -> None:
        super().__init__()
        self._domain, self._code, self._text = domain, code, text

    def domain(self) -> str:
        return self._domain

    def code(self) -> int:
        return self._code

    def localizedDescription(self) -> str:
        return self._text


class Bytes:
    """pyobjc's objc.varlist: memory of unknown length."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def as_buffer(self, count: int) -> memoryview:
        """The first so many bytes."""
        require(count <= self._memory.size, f"{count} bytes of a buffer of {self._memory.size}")
        return memoryview(self._memory.host)[:count]


class MTLBuffer(Object):
    """Memory that host and device see."""

    def __init__(self, device: MTLDevice, size: int, tracked: bool) -> None:
        self._memory = memory = Memory(size)
        self._tracked = tracked
        device._allocated[0] += size

        def end(counts: list[int] = device._allocated) -> None:
            counts[0] -= size
            memory.free()

        super().__init__(end)

    def contents(self) -> Bytes:
        return Bytes(self._memory)

    def gpuAddress(self) -> int:
        return self._memory.address

    def length(self) -> int:
        return self._memory.size


class MTLFunction(Object):
    """A kernel of a library."""

    def __init__(self, program: Program, kernel: Kernel) -> None:
        super().__init__()
        self._program, self._kernel = program, kernel

    def name(self) -> str:
        return self._kernel.name


class MTLLibrary(Object):
    """A compiled text."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program

    def newFunctionWithName_(self, name: str) -> MTLFunction | None:
        kernel = self._program.kernels[0].get(name)
        return None if kernel is None else MTLFunction(self._program, kernel)


class MTLComputePipelineState(Object):
    """A kernel, ready to be launched."""

    def __init__(self, function: MTLFunction, threads: int) -> None:
        super().__init__()
        self._program, self._kernel = function._program, function._kernel
        self._sizes = self._program.sizes(self._kernel)
        self._threads = threads

    def maxTotalThreadsPerThreadgroup(self) -> int:
        return self._threads

    def threadExecutionWidth(self) -> int:
        return 32

    def staticThreadgroupMemoryLength(self) -> int:
        return self._program.static_bytes(0)


class MTLDevice(Object):
    """The device.

    Tests set what it is like: ``_families``, ``_residency`` (whether it has residency sets),
    ``_threads`` (of a pipeline, at most), ``_working_set``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._gpu = Gpu()
        self._allocated = [0]
        self._families: tuple[int, ...] = FAMILIES
        self._residency = True
        self._threads = THREADS
        self._working_set = WORKING_SET

    def name(self) -> str:
        return NAME

    def registryID(self) -> int:
        return 0

    def hasUnifiedMemory(self) -> bool:
        return True

    def supportsFamily_(self, family: int) -> bool:
        return family in self._families

    def maxThreadsPerThreadgroup(self) -> tuple[int, int, int]:
        from gridlane.emulation.metal.framework import MTLSize  # which has this class

        return MTLSize(THREADS, THREADS, THREADS)

    def maxThreadgroupMemoryLength(self) -> int:
        return THREADGROUP_BYTES

    def maxBufferLength(self) -> int:
        return min(LARGEST_BUFFER, self._working_set)

    def recommendedMaxWorkingSetSize(self) -> int:
        return self._working_set

    def currentAllocatedSize(self) -> int:
        return self._allocated[0]

    def newBufferWithLength_options_(self, length: int, options: int) -> MTLBuffer | None:
        require(not options & ~0x100, f"options {options:#x}: the stand-in has shared memory only")
        if not length or length > LARGEST_BUFFER:
            return None
        if self._allocated[0] + length > self._working_set:
            return None
        return MTLBuffer(self, length, not options & 0x100)

    def newCommandQueue(self) -> MTLCommandQueue:
        return MTLCommandQueue(self._gpu)

    def newFence(self) -> MTLFence:
        return MTLFence()

    def newSharedEvent(self) -> MTLSharedEvent:
        return MTLSharedEvent()

    def newLibraryWithSource_options_error_(
        self, source: str, options: MTLCompileOptions, error: None
    ) -> tuple[MTLLibrary | None, NSError | None]:
        require(options._mode == "safe", "kernels are to be compiled without fast math")
        require(options._version >= FENCED_VERSION, f"version {options._version:#x} of MSL")
        try:
            return MTLLibrary(Program([source])), None
        except (FailedCompilationError, RefusedTextError) as failed:
            return None, NSError("MTLLibraryErrorDomain", 3, str(failed))

    def newComputePipelineStateWithFunction_error_(
        self, function: MTLFunction, error: None
    ) -> tuple[MTLComputePipelineState | None, NSError | None]:
        return MTLComputePipelineState(function, self._threads), None

    def newResidencySetWithDescriptor_error_(
        self, descriptor: MTLResidencySetDescriptor, error: None
    ) -> tuple[MTLResidencySet | None, NSError | None]:
        if not self._residency:
            return None, NSError("MTLDeviceError", 1, "no residency sets")
        return MTLResidencySet(), None

    def _error(self, code: int, text: str) -> Any:
        return NSError("MTLCommandBufferErrorDomain", code, text)
