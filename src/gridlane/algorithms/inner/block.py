"""What the threads of a block do together."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from gridlane import cuda
from gridlane.cuda.kernels.decorators import jit


@jit(device=True)
def block_sum(tile, t, value):
    """The sum of the threads' values, for all of them; ``tile`` has an item for each of them, and
    they are a power of two."""
    tile[t] = value
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    total = tile[0]
    cuda.syncthreads()
    return total


@jit(device=True)
def block_scan(sums, t):
    """Replace each item by the sum of those up to it, as W. D. Hillis and G. L. Steele do. Each
    thread has written its own item."""
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        value = sums[t]
        if t >= step:
            value += sums[t - step]
        cuda.syncthreads()
        sums[t] = value
        cuda.syncthreads()
        step *= 2
