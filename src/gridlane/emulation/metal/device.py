"""The stand-in's device, and libraries of kernels."""

# pyright: reportPrivateUsage=false
# The objects hide from callers what Metal hides, and not from each other.

from __future__ import annotations

from gridlane.emulation.metal import archive
from gridlane.emulation.metal.archive import MTLBinaryArchive
from gridlane.emulation.metal.bridge import Object, require
from gridlane.emulation.metal.commands import MTLCommandQueue
from gridlane.emulation.metal.foundation import NSError
from gridlane.emulation.metal.gpu import Gpu
from gridlane.emulation.metal.machine import (
    FailedCompilationError,
    Program,
    folder,
    kernels_of,
)
from gridlane.emulation.metal.options import (
    MTLBinaryArchiveDescriptor,
    MTLCompileOptions,
    MTLComputePipelineDescriptor,
    MTLFunction,
    MTLResidencySetDescriptor,
)
from gridlane.emulation.metal.resources import MTLBuffer, MTLComputePipelineState, MTLSize
from gridlane.emulation.metal.sync import MTLFence, MTLResidencySet, MTLSharedEvent
from gridlane.emulation.metal.text import RefusedTextError

NAME = "CPU emulation of a Metal device"
FAMILIES = (1007, 5001)
THREADS, THREADGROUP_BYTES = 1024, 32768
LARGEST_BUFFER, WORKING_SET = 1 << 30, 2 << 30
FAIL_ON_MISS = 4  # MTLPipelineOptionFailOnBinaryArchiveMiss
FENCED_VERSION = 0x30002  # the first with fences, which every kernel of gridlane may use


class MTLLibrary(Object):
    """A text that the compiler accepts. Creating a pipeline compiles it to machine code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text, self._kernels = text, kernels_of(text)

    def newFunctionWithName_(self, name: str) -> MTLFunction | None:
        kernel = self._kernels.get(name)
        return None if kernel is None else MTLFunction(self._text, kernel)


class MTLDevice(Object):
    """The stand-in's device.

    Tests set its properties: ``_families``, ``_residency`` (whether it has residency sets),
    ``_threads`` (the limit of a pipeline), ``_working_set``.
    """

    def __init__(self) -> None:
        super().__init__()
        # The folder is deleted at exit, after the objects that write to it are closed.
        folder()
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
        return MTLBuffer(self._allocated, length, not options & 0x100)

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
            return MTLLibrary(source), None
        except (FailedCompilationError, RefusedTextError) as failed:
            return None, NSError("MTLLibraryErrorDomain", 3, str(failed))

    def newBinaryArchiveWithDescriptor_error_(
        self, descriptor: MTLBinaryArchiveDescriptor, error: None
    ) -> tuple[MTLBinaryArchive | None, NSError | None]:
        return archive.opened(descriptor._url)

    def newComputePipelineStateWithDescriptor_options_reflection_error_(
        self, descriptor: MTLComputePipelineDescriptor, options: int, reflection: None, error: None
    ) -> tuple[MTLComputePipelineState | None, NSError | None]:
        function = descriptor._function
        require(function is not None, "a pipeline without a function")
        require(options in (0, FAIL_ON_MISS), f"pipeline options {options}")
        assert function is not None
        programs = (each._program(function) for each in descriptor._archives)
        program = next(filter(None, programs), None)
        if program is None and options == FAIL_ON_MISS:
            return None, NSError("CompilerError", 2, "the function is in no archive")
        try:
            program = program or Program([function._text])
        except FailedCompilationError as failed:
            return None, NSError("CompilerError", 2, str(failed))
        return MTLComputePipelineState(program, function.name(), self._threads), None

    def newResidencySetWithDescriptor_error_(
        self, descriptor: MTLResidencySetDescriptor, error: None
    ) -> tuple[MTLResidencySet | None, NSError | None]:
        if not self._residency:
            return None, NSError("MTLDeviceError", 1, "no residency sets")
        return MTLResidencySet(), None
