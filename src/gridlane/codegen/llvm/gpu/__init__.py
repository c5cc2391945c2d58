"""Lowers a kernel to LLVM IR for a GPU: one thread's program without masks."""
