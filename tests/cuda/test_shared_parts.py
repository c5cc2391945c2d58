"""Shared arrays whose shape a kernel learns when it runs: parts of the launch's shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane.core.errors import ConstantError, UnsupportedError
from gridlane.cuda.numba_compat.mlir import cuda


@cuda.jit
def parts(out, n):
    i = cuda.threadIdx.x
    rows = cuda.shared.array((n, 2), np.float32)
    small = cuda.shared.array(shape=n, dtype=np.int16)
    rest = cuda.shared.array(0, np.float32)
    rows[i, 0], rows[i, 1], small[i], rest[i] = i, 10 * i, 100 + i, 1000 + i
    cuda.syncthreads()
    j = n - 1 - i
    out[i] = rows[j, 0] + rows[j, 1] + small[j] + rest[j]
    if i == 0:
        out[n] = rest.size + rows.size * 1000


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_parts(name):
    with gridlane.device(name):
        for n, size in ((4, 128), (7, 256)):
            out = np.zeros(n + 1, np.float32)
            parts[1, n, 0, size](out, n)
            j = np.arange(n)[::-1]
            # Each part begins at a multiple of 16 bytes.
            behind = -(-8 * n // 16) * 16
            behind = -(-(behind + 2 * n) // 16) * 16
            assert out.tolist() == [*(1100 + 13 * j), (size - behind) // 4 + 2000 * n]


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_too_little_memory(name):
    with gridlane.device(name), pytest.raises(ValueError, match="need more dynamic shared memory"):
        parts[1, 4, 0, 32](np.zeros(5, np.float32), 4)
        cuda.synchronize()


def test_each_iteration_takes_a_part():
    @cuda.jit
    def kernel(out, n):
        for i in range(n):
            part = cuda.shared.array(n, np.int32)
            part[0] = i
            if i == 0:
                first = part
        out[0] = first[0]
        out[1] = part[0]

    out = np.zeros(2)
    with gridlane.device("cpu"):
        kernel[1, 1, 0, 64](out, 3)
    assert out.tolist() == [0, 2]


def test_functions_of_kernels_are_refused():
    @cuda.jit(device=True)
    def inner(n):
        return cuda.shared.array(n + 1, np.int32)[0]

    @cuda.jit
    def kernel(out, n):
        out[0] = inner(n)

    with pytest.raises(ConstantError, match="the shape of the array must be a constant integer"):
        kernel.compile("void(float32[:], int64)")


def test_functions_have_no_memory_behind_the_parts():
    @cuda.jit(device=True)
    def rest():
        return cuda.shared.array(0, np.int32)[0]

    @cuda.jit
    def kernel(out, n):
        out[0] = rest()
        out[1] = cuda.shared.array(n, np.int32)[0]

    with pytest.raises(UnsupportedError, match="have no shared memory sized at launch"):
        kernel.compile("void(float32[:], int64)")


def test_numba_has_none():
    with pytest.raises(ConstantError, match="the shape of the array must be a constant integer"):
        gridlane.cuda.jit(parts.py_func).compile("void(float32[:], int64)")
