"""Launch a kernel with the bytes of its parameters: loading, variants, the hot path.

This package knows no type of numba and no Python function; it launches every frontend's kernels.
"""
