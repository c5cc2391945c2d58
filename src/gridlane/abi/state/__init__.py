"""What CUDA's interface remembers: contexts, the threads' choice of one, and handles."""
