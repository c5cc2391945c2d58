"""A kernel as LLVM IR for a GPU: one thread's program without masks."""
