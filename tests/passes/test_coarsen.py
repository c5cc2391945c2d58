"""One block for four: the same answer on the interpreter, and only for kernels whose threads have
nothing to do with each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.devices import assert_same, run_on

from gridlane import compiler, cuda
from gridlane.backends import backend
from gridlane.backends.record import Fact
from gridlane.compiler import pipeline
from gridlane.core.argtypes import float32, int64
from gridlane.core.compact import COARSE
from gridlane.core.options import KernelOptions
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.verifier import verify

VECTOR = float32[::1]


def add(a, b, n):
    i = cuda.grid(1)
    if i < n:
        b[i] = a[i] + float32(1)


def early_return(a, b, n):
    i = cuda.grid(1)
    if i >= n:
        return
    value = a[i]
    if value < float32(0):
        return
    b[i] = math.sqrt(value)


def both_sides(a, b, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        if a[i] > float32(0):
            value = a[i]
        else:
            value = float32(-2) * a[i]
        b[i] = value
    else:
        b[i % n] = a[i % n]


def asks_for_the_grid(a, b, n):
    i = cuda.grid(1)
    if i < n:
        b[i] = float32(cuda.gridDim.x * 100 + cuda.blockIdx.x)


def in_place(a, b, n):
    i = cuda.grid(1)
    if i < n:
        b[i] = b[i] * float32(3)
        b[i] += a[i]


GOOD = [add, early_return, both_sides, asks_for_the_grid, in_place]


def loops(a, b, n):
    i = cuda.grid(1)
    while i < n:
        b[i] = a[i]
        i += cuda.gridsize(1)


def shares(a, b, n):
    tile = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = a[i % n]
    cuda.syncthreads()
    b[i % n] = tile[31 - cuda.threadIdx.x]


def exchanges(a, b, n):
    i = cuda.grid(1)
    b[i % n] = cuda.shfl_down_sync(0xFFFFFFFF, a[i % n], 1)


def adds_atomically(a, b, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(b, 0, a[i])


def one_block_is_all(a, b, n):
    i = cuda.threadIdx.x
    if i < n:
        b[i] = a[i]


def raises(a, b, n):
    i = cuda.grid(1)
    if i >= n:
        raise ValueError("too far")
    b[i] = a[i]


OTHERS = [loops, shares, exchanges, adds_atomically, one_block_is_all, raises]


def coarse(function, debug=False):
    """The module before and after."""
    module = compiler.translate(function, (VECTOR, VECTOR, int64), KernelOptions(debug=debug))
    after = parse_module(print_module(module))
    given = {Fact.COMPACT, Fact.COARSE, Fact.LIBDEVICE, Fact.ASYNC_COPIES}
    pipeline.run(after, backend("cuda"), given)
    verify(after)
    return module, after


@pytest.mark.parametrize("function", GOOD)
@pytest.mark.parametrize("n", [1, 100, 256, 255, 131, 1000])
def test_the_answer_stays(function, n):
    before, after = coarse(function)
    assert after.coarse == COARSE
    size = max(n, 256)
    rng = np.random.default_rng(n)
    arrays = [rng.standard_normal(size).astype(np.float32), np.full(size, -1, np.float32)]
    # Each array comes with its length and stride.
    scalars = (size, 4, size, 4, n)
    wanted = run_on("interp", before, (8, 1, 1), (32, 1, 1), arrays, scalars).arrays
    got = run_on("interp", after, (8 // COARSE, 1, 1), (32, 1, 1), arrays, scalars).arrays
    assert_same(got, wanted, ["a", "b"])
    assert not np.array_equal(wanted[1], arrays[1])


@pytest.mark.parametrize("function", OTHERS)
def test_what_is_left_as_it_is(function):
    _, after = coarse(function, debug=function is raises)
    assert after.coarse == 1
