"""Kernels that the tests export for a page. Their types are declared, as the command needs them."""

from __future__ import annotations

import numpy as np

from gridlane import cuda
from gridlane.core import argtypes as t
from gridlane.core.argtypes import SCALARS, TupleType
from gridlane.core.numpy_types import from_numpy

POINT = from_numpy(np.dtype([("tag", np.int16), ("x", np.float32), ("y", np.float32)]))


@cuda.jit("void(float32[:, :], float32[:, ::1], float32)")
def scale(a, out, factor):
    y, x = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        out[y, x] = a[y, x] * factor


def _add(values, out, more):
    i = cuda.grid(1)
    if i < values.size:
        out[i] = values[i] + more


def _adding(scalar):
    kernel = cuda.jit(fp64="exact")(_add)
    kernel.compile((scalar[::1], scalar[::1], scalar))
    return kernel


NUMBERS = [scalar for scalar in SCALARS if scalar is not t.boolean]
globals().update({f"add_{scalar}": _adding(scalar) for scalar in NUMBERS})


@cuda.jit("void(bool_[::1], bool_[::1], bool_)")
def invert(values, out, also):
    i = cuda.grid(1)
    if i < values.size:
        out[i] = (not values[i]) and also


@cuda.jit("void(complex64[::1], complex64)")
def rotate(values, by):
    i = cuda.grid(1)
    if i < values.size:
        values[i] = values[i] * by


@cuda.jit(t.none(TupleType((t.int32[::1], TupleType((t.int32, t.uint64)))), t.none))
def nested(pair, nothing):
    i = cuda.grid(1)
    if i < pair[0].size:
        pair[0][i] = pair[1][0] + t.int32(pair[1][1] >> t.uint64(40))


@cuda.jit(t.none(POINT[::1]))
def mirror(points):
    i = cuda.grid(1)
    if i < points.size:
        x = points[i].x
        points[i].x = points[i].y
        points[i].y = x
        points[i].tag += 1


@cuda.jit("void(int32[::1])", debug=True, opt=False)
def beyond(values):
    i = cuda.grid(1)
    values[i + 3] = i


@cuda.jit("void(int32[::1], int32)", debug=True, opt=False)
def picky(values, limit):
    i = cuda.grid(1)
    if values[i] > limit:
        raise ValueError("too large")
    values[i] += 1


@cuda.jit("void(int64[::1], float32[::1])")
def tell(whole, real):
    i = cuda.grid(1)
    if i < whole.size:
        print("thread", i, whole[i], real[i])


@cuda.jit("void(int32[::1], int32[::1])")
def reverse(values, out):
    tile = cuda.shared.array(0, t.int32)
    i = cuda.threadIdx.x
    tile[i] = values[i]
    cuda.syncthreads()
    out[i] = tile[cuda.blockDim.x - 1 - i]


@cuda.jit("void(int32[:, ::1], int64)")
def thirds(out, number):
    """What the integer's low 32 bits alone do not tell."""
    y, x = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = (number + x) // 3 % 1000


@cuda.jit("void(int32[::1])")
def count_blocks(counter):
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(counter, 0, 1)
        cuda.atomic.max(counter, 1, cuda.blockIdx.x)
        cuda.atomic.max(counter, 2, cuda.gridDim.x)


@cuda.jit("void(int32[::1])")
def warp_sums(values):
    i = cuda.grid(1)
    total = values[i]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, step)
    values[i] = total


@cuda.jit("void(int32[::1], int32)")
def rounds(out, count):
    """More rounds than some software devices run."""
    i = cuda.grid(1)
    total = t.int32(0)
    for _ in range(count):
        for _ in range(count):
            total += t.int32(1)
    out[i] = total


@cuda.jit("void(int32)")
def tell_two(long):
    """Records of 32 bytes, or of 24, of which no whole number fits."""
    i = cuda.grid(1)
    if long:
        print(i, i, i)
    else:
        print(i, i)
