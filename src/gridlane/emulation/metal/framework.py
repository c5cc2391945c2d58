"""The part of ``import Metal`` that gridlane uses; numbers as in Apple's headers."""

# pyright: reportPrivateUsage=false
# The objects hide from callers what Metal hides, and not from each other.

from __future__ import annotations

from gridlane.emulation.metal import bridge
from gridlane.emulation.metal.bridge import Object
from gridlane.emulation.metal.device import MTLDevice
from gridlane.emulation.metal.machine import compile_ahead, compiler
from gridlane.emulation.metal.options import (
    MTLBinaryArchiveDescriptor,
    MTLCompileOptions,
    MTLComputePipelineDescriptor,
    MTLResidencySetDescriptor,
)
from gridlane.emulation.metal.resources import MTLSize

__all__ = [
    "MTLBinaryArchiveDescriptor", "MTLCompileOptions", "MTLComputePipelineDescriptor",
    "MTLCopyAllDevices", "MTLResidencySetDescriptor", "MTLSize", "compile_ahead",
]  # fmt: skip

MTLResourceStorageModeShared = 0
MTLResourceHazardTrackingModeUntracked = 0x100
MTLResourceUsageRead = 1
MTLResourceUsageWrite = 2
MTLLanguageVersion3_2 = 0x30002
MTLMathModeSafe = 0
MTLGPUFamilyApple7 = 1007
MTLGPUFamilyMetal3 = 5001
MTLCommandBufferStatusCompleted = 4
MTLCommandBufferStatusError = 5
MTLPipelineOptionNone = 0
MTLPipelineOptionFailOnBinaryArchiveMiss = 4
MTLCommandBufferErrorDomain = "MTLCommandBufferErrorDomain"

MACOS = (15, 0)
"""The version of macOS that this emulates."""


devices: list[MTLDevice] = []


def MTLCopyAllDevices() -> list[Object]:  # Metal's name
    """The devices: one, if there is a g++ to compile with."""
    if not devices and compiler() is not None:
        devices.append(MTLDevice())
    for device in devices:
        bridge.autorelease(device._ownership)
    return list(devices)
