"""The cpu target: a block's threads as lanes of vectors, chunk by chunk (SPMD on SIMD)."""

from gridlane.codegen.llvm.cpu.dispatch import EMITTERS
from gridlane.codegen.llvm.cpu.kernel import KernelCode, emit_kernel
from gridlane.ir.op import Op

__all__ = ["KernelCode", "emit_kernel", "emitted"]


def emitted(dialect: str) -> frozenset[type[Op]]:
    """The ops that the CPU's code generator emits."""
    return EMITTERS.ops()
