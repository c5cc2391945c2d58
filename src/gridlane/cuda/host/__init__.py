"""The host functions of numba.cuda, except jit and arrays."""
