"""SPIR-V for Vulkan: words from structured IR, without a library."""

from gridlane.codegen.spirv.disassembly import disassembled
from gridlane.codegen.spirv.emission import EMITTERS
from gridlane.codegen.spirv.kernel import KernelCode, emit_kernel
from gridlane.ir.op import Op

__all__ = ["KernelCode", "disassembled", "emit_kernel", "emitted"]


def emitted(dialect: str) -> frozenset[type[Op]]:
    """The ops that are emitted for Vulkan."""
    return EMITTERS.ops()
