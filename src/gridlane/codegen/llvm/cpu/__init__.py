"""The cpu target: a block's threads as lanes of vectors, chunk by chunk (SPMD on SIMD)."""

from gridlane.codegen.llvm.cpu.kernel import KernelCode, emit_kernel

__all__ = ["KernelCode", "emit_kernel"]
