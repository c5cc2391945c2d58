"""Estimated operations, against those that the same loops do in Python, and which arrays a kernel
touches."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.profiler.access import accesses
from gridlane.profiler.counting import NotCountable, flops

BLOCK, BLOCKS = (32, 1, 1), (4, 1, 1)
THREADS = 128


def module_of(function, types):
    return cuda.jit(function).compile(types).module


def count(function, types, *values):
    return flops(module_of(function, types), values, BLOCK, BLOCKS)


ARRAY = (None, THREADS, 8)
"""The parameters of an array of float64 in one dimension."""


def nested(x, n):
    i = cuda.grid(1)
    for a in range(n):
        for b in range(2, n, 3):
            x[i] *= 2.0
        x[i] += 1.0


def test_loops_in_loops(counted=None):
    n = 50
    found = count(nested, "(float64[::1], int64)", *ARRAY, n)
    assert found.wide == THREADS * n * (len(range(2, n, 3)) + 1)


def triangle(x, n):
    i = cuda.grid(1)
    for a in range(n):
        for b in range(a):
            x[i] *= 2.0


def test_loops_that_grow():
    found = count(triangle, "(float64[::1], int64)", *ARRAY, 40)
    assert found.wide == pytest.approx(THREADS * 40 * 39 / 2, rel=0.02)


def halving(x, n):
    i = cuda.grid(1)
    while n > 0:
        x[i] *= 2.0
        n //= 2


@pytest.mark.parametrize("n", [0, 1, 3, 64, 1000])
def test_loops_that_halve(n):
    found = count(halving, "(float64[::1], int64)", *ARRAY, n)
    assert found.wide == THREADS * n.bit_length()


def strided(x, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x[i] *= 2.0


def guarded(x, n):
    i = cuda.grid(1)
    if i >= n:
        return
    x[i] *= 2.0


@pytest.mark.parametrize("function", [strided, guarded])
@pytest.mark.parametrize("n", [0, 64, 128])
def test_threads_that_have_work(function, n):
    assert count(function, "(float64[::1], int64)", *ARRAY, n).wide == n


def test_grid_strides_of_any_length():
    found = count(strided, "(float64[::1], int64)", *ARRAY, 10_001)
    assert found.wide == pytest.approx(10_001, rel=0.01)


@cuda.jit(device=True)
def polynomial(x):
    return x * x + np.float32(1)


def calls(x, n):
    i = cuda.grid(1)
    for k in range(n):
        if k % 2 == 0:
            continue
        if k > 11:
            break
        x[i] = polynomial(x[i])


def test_calls_and_ways_out():
    found = count(calls, "(float32[::1], int64)", None, THREADS, 4, 100)
    assert (found.narrow, found.wide) == (THREADS * 6 * 2, 0)  # k of 1, 3, 5, 7, 9, 11


def sides(x, n):
    i = cuda.grid(1)
    if x[i] > 0:
        x[i] = x[i] * 2.0 + 1.0
    else:
        x[i] *= 3.0


def test_the_longer_side_counts():
    assert count(sides, "(float64[::1], int64)", *ARRAY, 0).wide == THREADS * 2


def until(x, n):
    i = cuda.grid(1)
    while x[i] > 0:
        x[i] -= 1.0


def test_what_memory_ends_is_not_counted():
    with pytest.raises(NotCountable, match="what is in memory"):
        count(until, "(float64[::1], int64)", *ARRAY, 0)


def long(x, n):
    i = cuda.grid(1)
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        x[i] *= 2.0


def test_loops_without_a_rule_are_followed():
    assert count(long, "(float64[::1], int64)", *ARRAY, 27).wide == THREADS * 111


# --- which arrays ---


@cuda.jit(device=True)
def put(target, source, i):
    target[i] = source[i]


def through_calls(a, b, c):
    i = cuda.grid(1)
    put(a, b, i)


def chosen(a, b, c):
    i = cuda.grid(1)
    x = a if i > 3 else b
    c[i] = x[i]


def through_shared(a, b, c):
    tile = cuda.shared.array(32, np.float32)
    tile[cuda.threadIdx.x] = a[cuda.grid(1)]
    cuda.syncthreads()
    b[cuda.grid(1)] = tile[0]


def indirect(a, b, c):
    i = cuda.grid(1)
    a[int(b[i])] = 1.0
    cuda.atomic.add(c, 0, 1.0)


@pytest.mark.parametrize(
    ("function", "read", "written"),
    [
        (through_calls, "b", "a"),
        (chosen, "ab", "c"),
        (through_shared, "a", "b"),
        (indirect, "bc", "ac"),
    ],
)
def test_arrays_that_are_read_and_written(function, read, written):
    module = module_of(function, "(float32[::1], float32[::1], float32[::1])")
    found = accesses(module)
    names = [param.value.name for param in module.kernel.params]
    assert {names[n] for n in found.read} == set(read)
    assert {names[n] for n in found.written} == set(written)
