"""The program that pages name as the reader's own: two kernels, launched."""

import numpy as np
from numba import cuda, float32


@cuda.jit("void(float32[::1], int32)")
def kernel(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += float32(1)


@cuda.jit("void(float32[::1], float32)")
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


if __name__ == "__main__":
    x = np.ones(100, np.float32)
    kernel[4, 32](x, 50)
    scale[4, 32](x, 3)
    cuda.synchronize()
    assert x.sum() == 450
