"""Numbers below 400: values and memory, the driver's start, devices, contexts, code."""

from __future__ import annotations

from gridlane.core.error_table.row import Row

ROWS: dict[int, Row] = {
    0: Row("CUDA_SUCCESS", "cudaSuccess", "no error"),
    1: Row(
        "CUDA_ERROR_INVALID_VALUE",
        "cudaErrorInvalidValue",
        "a value passed to the call is out of its range",
        "check sizes, shapes and handles of the call",
    ),
    2: Row(
        "CUDA_ERROR_OUT_OF_MEMORY",
        "cudaErrorMemoryAllocation",
        "not enough memory on the device",
        "free arrays that are no longer used, or work in smaller pieces",
    ),
    3: Row(
        "CUDA_ERROR_NOT_INITIALIZED",
        "cudaErrorInitializationError",
        "the driver is not initialised",
        "use the device before any fork, and not from a child process of it",
    ),
    4: Row(
        "CUDA_ERROR_DEINITIALIZED",
        "cudaErrorCudartUnloading",
        "the driver is shutting down",
        "finish all work on the device before the interpreter exits",
    ),
    5: Row(
        "CUDA_ERROR_PROFILER_DISABLED",
        "cudaErrorProfilerDisabled",
        "no profiler is attached",
        "start the program under the profiler",
    ),
    6: Row(
        "CUDA_ERROR_PROFILER_NOT_INITIALIZED",
        "cudaErrorProfilerNotInitialized",
        "the profiler was not set up before it was started",
        "newer drivers need no set-up; leave the call out",
    ),
    7: Row(
        "CUDA_ERROR_PROFILER_ALREADY_STARTED",
        "cudaErrorProfilerAlreadyStarted",
        "the profiler is running already",
        "leave the second start out",
    ),
    8: Row(
        "CUDA_ERROR_PROFILER_ALREADY_STOPPED",
        "cudaErrorProfilerAlreadyStopped",
        "the profiler is not running",
        "leave the second stop out",
    ),
    34: Row(
        "CUDA_ERROR_STUB_LIBRARY",
        "cudaErrorStubLibrary",
        "the loaded libcuda is a stub for linking",
        "put the driver's own libcuda first in the search path",
    ),
    36: Row(
        "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
        "cudaErrorCallRequiresNewerDriver",
        "the driver is older than the function that was called",
        "update the driver",
    ),
    46: Row(
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "cudaErrorDevicesUnavailable",
        "the device is in use or not available",
        "another process may hold it exclusively",
    ),
    47: Row(
        "CUDA_ERROR_MULTICAST_RESOURCE_FULL",
        "",
        "the fabric has no room for another multicast object",
        "free multicast objects that are no longer used",
    ),
    100: Row(
        "CUDA_ERROR_NO_DEVICE",
        "cudaErrorNoDevice",
        "there is no such device on this machine",
        "`gridlane devices` lists those that there are",
    ),
    101: Row(
        "CUDA_ERROR_INVALID_DEVICE",
        "cudaErrorInvalidDevice",
        "no device has this number",
        "devices count from 0",
    ),
    102: Row(
        "CUDA_ERROR_DEVICE_NOT_LICENSED",
        "cudaErrorDeviceNotLicensed",
        "the device has no licence for this work",
        "virtual GPUs need a licence; ask who runs the machine",
    ),
    200: Row(
        "CUDA_ERROR_INVALID_IMAGE",
        "cudaErrorInvalidKernelImage",
        "the code is not one that this device loads",
        "compile it for this device",
    ),
    201: Row(
        "CUDA_ERROR_INVALID_CONTEXT",
        "cudaErrorDeviceUninitialized",
        "no context is current",
        "use the device from the thread that calls, or select it there first",
    ),
    202: Row(
        "CUDA_ERROR_CONTEXT_ALREADY_CURRENT",
        "",
        "the context is current already",
        "leave the second call out",
    ),
    205: Row("CUDA_ERROR_MAP_FAILED", "cudaErrorMapBufferObjectFailed", "mapping failed"),
    206: Row("CUDA_ERROR_UNMAP_FAILED", "cudaErrorUnmapBufferObjectFailed", "unmapping failed"),
    207: Row(
        "CUDA_ERROR_ARRAY_IS_MAPPED",
        "cudaErrorArrayIsMapped",
        "the array is mapped, so it cannot be destroyed",
        "unmap it first",
    ),
    208: Row(
        "CUDA_ERROR_ALREADY_MAPPED",
        "cudaErrorAlreadyMapped",
        "already mapped",
        "unmap it before it is mapped again",
    ),
    209: Row(
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "cudaErrorNoKernelImageForDevice",
        "the module has no code for this device",
        "compile it for this device's compute capability",
    ),
    210: Row(
        "CUDA_ERROR_ALREADY_ACQUIRED",
        "cudaErrorAlreadyAcquired",
        "already acquired",
        "release it before it is acquired again",
    ),
    211: Row(
        "CUDA_ERROR_NOT_MAPPED", "cudaErrorNotMapped", "not mapped", "map it before it is used"
    ),
    212: Row(
        "CUDA_ERROR_NOT_MAPPED_AS_ARRAY",
        "cudaErrorNotMappedAsArray",
        "not mapped as an array",
        "map it as an array, or ask for its pointer",
    ),
    213: Row(
        "CUDA_ERROR_NOT_MAPPED_AS_POINTER",
        "cudaErrorNotMappedAsPointer",
        "not mapped as a pointer",
        "map it as a pointer, or ask for its array",
    ),
    214: Row(
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "cudaErrorECCUncorrectable",
        "a memory error that could not be corrected",
        "the device's memory may be failing; nvidia-smi -q shows its error counts",
    ),
    215: Row(
        "CUDA_ERROR_UNSUPPORTED_LIMIT",
        "cudaErrorUnsupportedLimit",
        "no such limit",
        "this device cannot set it",
    ),
    216: Row(
        "CUDA_ERROR_CONTEXT_ALREADY_IN_USE",
        "cudaErrorDeviceAlreadyInUse",
        "the context belongs to another thread now",
        "make it current on one thread at a time",
    ),
    217: Row(
        "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        "cudaErrorPeerAccessUnsupported",
        "the devices cannot reach each other's memory",
        "copy through the host",
    ),
    218: Row(
        "CUDA_ERROR_INVALID_PTX",
        "cudaErrorInvalidPtx",
        "the PTX does not assemble",
        "the assembler's log says which line it refuses",
    ),
    219: Row(
        "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT",
        "cudaErrorInvalidGraphicsContext",
        "the graphics context is not valid",
        "make it current on this thread first",
    ),
    220: Row(
        "CUDA_ERROR_NVLINK_UNCORRECTABLE",
        "cudaErrorNvlinkUncorrectable",
        "a link between GPUs had an error that could not be corrected",
        "the link may be failing; nvidia-smi nvlink -e shows its error counts",
    ),
    221: Row(
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        "cudaErrorJitCompilerNotFound",
        "the driver's PTX compiler is missing",
        "reinstall the driver",
    ),
    222: Row(
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "cudaErrorUnsupportedPtxVersion",
        "the PTX is newer than the driver",
        "update the driver, or compile for an older PTX version",
    ),
    223: Row(
        "CUDA_ERROR_JIT_COMPILATION_DISABLED",
        "cudaErrorJitCompilationDisabled",
        "compiling PTX is switched off",
        "unset CUDA_DISABLE_PTX_JIT, or load a cubin for this device",
    ),
    224: Row(
        "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY",
        "cudaErrorUnsupportedExecAffinity",
        "the device cannot restrict a context to so many multiprocessors",
        "ask for another number of them",
    ),
    225: Row(
        "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
        "cudaErrorUnsupportedDevSideSync",
        "the code waits on the device for its own launches, which this device does not do",
        "wait from the host",
    ),
    226: Row(
        "CUDA_ERROR_CONTAINED",
        "cudaErrorContained",
        "an error was contained: the process lost its context, and others did not",
        "start the process again",
    ),
    227: Row(
        "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION",
        "cudaErrorInsufficientLoaderVersion",
        "the loader is older than the driver's code needs",
        "update the driver or the compatibility package",
    ),
    300: Row(
        "CUDA_ERROR_INVALID_SOURCE",
        "cudaErrorInvalidSource",
        "the source is invalid",
        "compile it again; the file may be damaged",
    ),
    301: Row(
        "CUDA_ERROR_FILE_NOT_FOUND", "cudaErrorFileNotFound", "file not found", "check the path"
    ),
    302: Row(
        "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
        "cudaErrorSharedObjectSymbolNotFound",
        "a library lacks a symbol that the code needs",
        "the libraries of the driver may be of different versions; reinstall it",
    ),
    303: Row(
        "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
        "cudaErrorSharedObjectInitFailed",
        "a library did not load",
        "see what the system's loader needs; in a container, start it with the GPUs (--gpus all)",
    ),
    304: Row(
        "CUDA_ERROR_OPERATING_SYSTEM",
        "cudaErrorOperatingSystem",
        "a call of the operating system failed",
        "look in the system's log; locked memory and open files may be limited (ulimit)",
    ),
}
