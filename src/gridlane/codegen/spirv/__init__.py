"""SPIR-V for Vulkan: words from structured IR, without a library."""

from gridlane.codegen.spirv.disassembly import disassembled
from gridlane.codegen.spirv.kernel import KernelCode, emit_kernel

__all__ = ["KernelCode", "disassembled", "emit_kernel"]
