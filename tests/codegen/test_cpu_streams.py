"""Short loops in strides of the grid, whose chunks have many vectors: atomics of each lane."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane
from gridlane import compiler, cuda
from gridlane.backends import backend
from gridlane.codegen.llvm.cpu.layout import choose
from gridlane.compiler import generation, pipeline
from gridlane.core.argtypes import int32
from gridlane.core.options import KernelOptions
from gridlane.launch.devices import get_device

SHAPES = [(3, 256), (2, 100), (5, 33)]


@cuda.jit
def counting(values, counts):
    local = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    for k in range(t, 64, cuda.blockDim.x):
        local[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(local, values[i] & 63, 1)
    cuda.syncthreads()
    for k in range(t, 64, cuda.blockDim.x):
        cuda.atomic.add(counts, k, local[k])


@cuda.jit
def by_values(values, totals):
    local = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    for k in range(t, 64, cuda.blockDim.x):
        local[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(local, values[i] & 63, np.int64(values[i]))
    cuda.syncthreads()
    for k in range(t, 64, cuda.blockDim.x):
        cuda.atomic.add(totals, k, local[k])


@cuda.jit
def mirrored(values, out):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.max(out, values.size - 1 - i, values[i])


@cuda.jit
def tickets(values, taken, seen):
    """Each element takes a number, which is seen once."""
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        number = cuda.atomic.add(taken, values[i] & 3, 1)
        seen[values[i] & 3, number] = 1


@cuda.jit
def exchanged(values, slots):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        values[i] = cuda.atomic.exch(slots, i % slots.size, values[i])


@pytest.mark.parametrize("shape", SHAPES)
def test_atomics(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(-(2**31), 2**31, 5003).astype(np.int32)
    with gridlane.device("cpu"):
        counts, totals = np.zeros(64, np.int32), np.zeros(64, np.int64)
        counting[shape](values, counts)
        by_values[shape](values, totals)
        out = np.full(values.size, -(2**31), np.int32)
        mirrored[shape](values, out)
        taken, seen = np.zeros(4, np.int32), np.zeros((4, values.size), np.int8)
        tickets[shape](values, taken, seen)
        slots, held = np.arange(7, dtype=np.int32), values.copy()
        exchanged[shape](held, slots)
    bins = values & 63
    np.testing.assert_array_equal(counts, np.bincount(bins, minlength=64))
    wanted = np.zeros(64, np.int64)
    np.add.at(wanted, bins, values.astype(np.int64))
    np.testing.assert_array_equal(totals, wanted)
    np.testing.assert_array_equal(out, values[::-1])
    quarters = np.bincount(values & 3, minlength=4)
    np.testing.assert_array_equal(taken, quarters)
    assert all(seen[k, :n].all() and not seen[k, n:].any() for k, n in enumerate(quarters))
    both = np.sort(np.concatenate([values, np.arange(7, dtype=np.int32)]))
    np.testing.assert_array_equal(np.sort(np.concatenate([held, slots])), both)


@cuda.jit
def largest(values, out):
    found = np.int32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        found = max(found, values[i])
    out[cuda.grid(1)] = found


@cuda.jit
def unrolled(values, out):
    """As compilers leave a loop in strides of the grid: steps in its body."""
    i, found = cuda.grid(1), np.int32(0)
    while i + cuda.gridsize(1) < values.size:
        found = max(found, values[i])
        i += cuda.gridsize(1)
        found = max(found, values[i])
        i += cuda.gridsize(1)
    out[cuda.grid(1)] = found


@cuda.jit
def once(values, out):
    i, found = cuda.grid(1), np.int32(0)
    while i < values.size:
        found = max(found, values[i])
        i += 256
    out[cuda.grid(1)] = found


def code(kernel, threads: int = 256):
    """The artifact of a kernel of two arrays on the CPU, and its LLVM IR."""
    options, target = KernelOptions(), get_device("cpu").target((threads, 1, 1))
    module = compiler.translate(kernel.py_func, (int32[::1], int32[::1]), options)
    return compiler.generate(module, target), generation.text(module, target, "llvm")


def test_the_next_iteration_is_fetched_where_lanes_run_scalar_code() -> None:
    assert "llvm.prefetch" in code(counting)[1]
    assert "llvm.prefetch" not in code(largest)[1]


def test_lanes_of_atomics_are_work() -> None:
    """A grid of little work runs on one thread; the scalar code of lanes is not little, and a chunk
    of many vectors is more than one of a vector."""
    assert code(counting)[0].work > 2 * code(largest)[0].work
    assert code(largest)[0].work >= 8 * code(largest, 16)[0].work


def test_a_loop_that_steps_in_its_body_has_chunks_of_many_vectors() -> None:
    for kernel, vectors in ((unrolled, 16), (largest, 16), (once, 1)):
        module = compiler.translate(kernel.py_func, (int32[::1], int32[::1]), KernelOptions())
        pipeline.run(module, backend("cpu"))
        assert choose(module.kernel, (256, 1, 1), 64).lanes == 16 * vectors
