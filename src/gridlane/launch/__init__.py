"""From a kernel and the bytes of its parameters to a device: loading, variants, the hot path.

It knows no type of numba and no Python function; every frontend's kernels are launched by it.
"""
