"""NVIDIA: a kernel as LLVM IR for the NVPTX target, one thread's program without masks."""

from gridlane.codegen.llvm.nvptx.kernel import KernelCode, emit_kernel

__all__ = ["KernelCode", "emit_kernel"]
