"""What host code calls of numba.cuda, but for jit and arrays."""
