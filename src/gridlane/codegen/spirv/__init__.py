"""SPIR-V for Vulkan: lowers structured IR to SPIR-V words, without a library."""

from gridlane.codegen.spirv.disassembly import assembled, disassembled
from gridlane.codegen.spirv.emission import EMITTERS
from gridlane.codegen.spirv.kernel import KernelCode, emit_kernel
from gridlane.ir.op import Op

__all__ = ["KernelCode", "assembled", "disassembled", "emit_kernel", "emitted"]


def emitted(dialect: str) -> frozenset[type[Op]]:
    """The ops that the Vulkan code generator emits."""
    return EMITTERS.ops()
