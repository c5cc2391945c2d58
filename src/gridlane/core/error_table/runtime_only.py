"""Numbers of the runtime that the driver does not have."""

from __future__ import annotations

from gridlane.core.error_table.row import Row

ROWS: dict[int, Row] = {
    9: Row(
        "",
        "cudaErrorInvalidConfiguration",
        "the launch asks for a grid or block that the device does not have",
        "a block has at most 1024 threads, and its z axis at most 64",
    ),
    10: Row(
        "",
        "cudaErrorVersionTranslation",
        "the driver cannot turn this call of an older runtime into one of its own",
        "use a runtime of the driver's CUDA version",
    ),
    12: Row(
        "",
        "cudaErrorInvalidPitchValue",
        "a pitch is out of range",
        "a pitch is at least a row's bytes and at most the device's MAX_PITCH",
    ),
    13: Row(
        "", "cudaErrorInvalidSymbol", "no such symbol", "check the name; C++ names are mangled"
    ),
    16: Row(
        "",
        "cudaErrorInvalidHostPointer",
        "the pointer is not one to host memory",
        "pass the address of a host array",
    ),
    17: Row(
        "",
        "cudaErrorInvalidDevicePointer",
        "the pointer is not one to device memory",
        "copy the data to the device first",
    ),
    18: Row("", "cudaErrorInvalidTexture", "the texture is not valid"),
    19: Row(
        "", "cudaErrorInvalidTextureBinding", "no texture is bound in the way that the call needs"
    ),
    20: Row(
        "",
        "cudaErrorInvalidChannelDescriptor",
        "the description of a texture's channels is not valid",
    ),
    21: Row(
        "",
        "cudaErrorInvalidMemcpyDirection",
        "a copy between these kinds of memory does not exist",
        "say which side of the copy is the host's and which the device's",
    ),
    22: Row("", "cudaErrorAddressOfConstant", "the address of a constant may not be taken here"),
    23: Row("", "cudaErrorTextureFetchFailed", "reading a texture failed"),
    24: Row("", "cudaErrorTextureNotBound", "no texture is bound"),
    25: Row("", "cudaErrorSynchronizationError", "waiting for other threads failed"),
    26: Row(
        "",
        "cudaErrorInvalidFilterSetting",
        "a texture of this type cannot be read with linear filtering",
        "read it unfiltered, or as normalised floats",
    ),
    27: Row(
        "",
        "cudaErrorInvalidNormSetting",
        "a texture of this type cannot be read as normalised floats",
        "read it as its own type; only 8-bit and 16-bit integers are normalised",
    ),
    28: Row("", "cudaErrorMixedDeviceExecution", "device code and emulated device code were mixed"),
    31: Row(
        "",
        "cudaErrorNotYetImplemented",
        "this version has the call by name only",
        "a later version of CUDA may have it",
    ),
    32: Row("", "cudaErrorMemoryValueTooLarge", "an emulated pointer left its range"),
    35: Row(
        "",
        "cudaErrorInsufficientDriver",
        "the driver is older than the runtime",
        "update the driver",
    ),
    37: Row("", "cudaErrorInvalidSurface", "the surface is not valid"),
    43: Row(
        "",
        "cudaErrorDuplicateVariableName",
        "two variables of the program's modules have one name",
        "rename one of them",
    ),
    44: Row(
        "",
        "cudaErrorDuplicateTextureName",
        "two textures of the program's modules have one name",
        "rename one of them",
    ),
    45: Row(
        "",
        "cudaErrorDuplicateSurfaceName",
        "two surfaces of the program's modules have one name",
        "rename one of them",
    ),
    49: Row(
        "",
        "cudaErrorIncompatibleDriverContext",
        "the current context is one that the runtime cannot use",
        "use the device's primary context",
    ),
    52: Row(
        "",
        "cudaErrorMissingConfiguration",
        "no launch was configured",
        "give grid and block at the launch",
    ),
    53: Row(
        "",
        "cudaErrorPriorLaunchFailure",
        "a launch before this one failed",
        "synchronise after each launch to find which",
    ),
    65: Row(
        "",
        "cudaErrorLaunchMaxDepthExceeded",
        "kernels that launch kernels are nested too deeply",
        "launch from the host, or nest less deeply",
    ),
    66: Row(
        "",
        "cudaErrorLaunchFileScopedTex",
        "a kernel launched by a kernel reads a texture of file scope",
        "pass a texture object",
    ),
    67: Row(
        "",
        "cudaErrorLaunchFileScopedSurf",
        "a kernel launched by a kernel uses a surface of file scope",
        "pass a surface object",
    ),
    68: Row(
        "",
        "cudaErrorSyncDepthExceeded",
        "a kernel waits for its own launches at too deep a level",
        "wait from the host, or nest less deeply",
    ),
    69: Row(
        "",
        "cudaErrorLaunchPendingCountExceeded",
        "kernels have launched more than the device keeps waiting",
        "launch fewer from kernels, or raise the limit of pending launches",
    ),
    98: Row(
        "",
        "cudaErrorInvalidDeviceFunction",
        "the kernel does not exist on this device",
        "compile it for this device",
    ),
    103: Row(
        "",
        "cudaErrorSoftwareValidityNotEstablished",
        "the device's software has not been checked for safety yet",
    ),
    127: Row(
        "",
        "cudaErrorStartupFailure",
        "the runtime did not start",
        "see whether nvidia-smi works on this machine",
    ),
    10000: Row(
        "", "cudaErrorApiFailureBase", "an error of the driver that the runtime has no number for"
    ),
}
