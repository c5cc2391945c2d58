"""NVIDIA: a kernel as LLVM IR for the NVPTX target, one thread's program without masks."""

from gridlane.codegen.llvm.gpu.nvptx.emission import EMITTERS
from gridlane.codegen.llvm.gpu.nvptx.kernel import KernelCode, emit_kernel
from gridlane.ir.op import Op

__all__ = ["KernelCode", "emit_kernel", "emitted"]


def emitted(dialect: str) -> frozenset[type[Op]]:
    """The ops that are emitted for NVIDIA GPUs."""
    return EMITTERS.ops()
