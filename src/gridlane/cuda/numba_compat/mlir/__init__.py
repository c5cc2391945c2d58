"""The faces of ``numba_cuda_mlir`` where it differs from ``numba``."""
