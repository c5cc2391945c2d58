"""Loops that ptxas must not unroll."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import compiler, cuda, device
from gridlane.core.argtypes import int32, int64
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.ops.control import Loop
from gridlane.ir.values import Module
from gridlane.passes.legalise.keep_rolled import keep_rolled


def counted(keys, out, count):
    """As the counts of a radix sort: of each thread's own keys, then of those before each."""
    columns = cuda.shared.array((16, 32), np.int32)
    t = cuda.threadIdx.x
    for d in range(16):
        columns[d, t] = 0
    for i in range(t * 8, min(t * 8 + 8, count)):
        columns[keys[i], t] += 1
    cuda.syncthreads()
    for d in range(16):
        out[d * 32 + t] = columns[d, t]


def dynamic(keys, out, count):
    columns = cuda.shared.array(0, np.int32)
    for i in range(count):
        columns[keys[i]] += 1
    out[0] = columns[0]


def read_only(keys, out, count):
    tile = cuda.shared.array(32, np.int32)
    tile[cuda.threadIdx.x] = keys[cuda.threadIdx.x]
    cuda.syncthreads()
    total = 0
    for i in range(count):
        total += tile[keys[i]]
    out[0] = total


def with_barriers(keys, out, count):
    tile = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    tile[t] = keys[t]
    for i in range(count):
        tile[t] = tile[31 - t] + 1
        cuda.syncthreads()
    out[t] = tile[t]


def in_global_memory(keys, out, count):
    for i in range(count):
        out[keys[i]] += 1


TYPES = int32[::1], int32[::1], int64
ROLLED = {counted: 1, dynamic: 1, read_only: 0, with_barriers: 0, in_global_memory: 0}


def loops_of(module: Module) -> list[int]:
    """The unroll factors of a kernel's loops."""
    return [op.unroll for op in module.kernel.body.walk() if isinstance(op, Loop)]


@pytest.mark.parametrize("kernel", ROLLED)
def test_which_loops_stay_rolled(kernel):
    module = compiler.translate(kernel, TYPES, KernelOptions())
    keep_rolled(module)
    assert loops_of(module).count(1) == ROLLED[kernel]


def test_ptxas_is_told():
    module = compiler.translate(counted, TYPES, KernelOptions())
    target = Target("cuda", processor="sm_90")
    text = compiler.generate(module, target, KernelOptions()).code.decode()
    assert text.count('.pragma "nounroll"') == 1


def test_a_wish_of_the_program_stays():
    module = compiler.translate(counted, TYPES, KernelOptions())
    loops = [op for op in module.kernel.body.walk() if isinstance(op, Loop)]
    loops[1].unroll = 4
    keep_rolled(module)
    assert loops[1].unroll == 4


@pytest.mark.parametrize("name", DEVICES)
def test_each_count(name):
    """Of every number of keys of the last thread."""
    kernel = cuda.jit(counted)
    for count in range(1, 60):
        keys = np.random.default_rng(count).integers(0, 16, count, np.int32)
        out = np.zeros(512, np.int32)
        with device(name):
            kernel[1, 32](keys, out, np.int64(count))
        expected = np.zeros((16, 32), np.int32)
        np.add.at(expected, (keys, np.arange(count) // 8), 1)
        assert np.array_equal(out.reshape(16, 32), expected)
