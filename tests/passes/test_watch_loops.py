"""Loops that need fewer rounds and say when they were not finished: the answer stays, on random
kernels and on loops of every shape."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.passes.legalizing import check, copied
from tests.property.random_ir import random_program

from gridlane import compiler, cuda
from gridlane.core.argtypes import int64
from gridlane.core.options import KernelOptions
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.optimise.promote import promote_variables
from gridlane.passes.structure import watch_loops
from gridlane.passes.structure.inline import inline_calls
from gridlane.passes.structure.watch_loops import MESSAGE


def counts(out, n):
    i = cuda.grid(1)
    total = 0
    for k in range(n + i):
        total += k ^ i
    out[i] = total


def asks_while(out, n):
    i = cuda.grid(1)
    k = n + i
    while k > 0:
        k -= 3
        out[i] += k
    out[i] += k


def breaks_and_continues(out, n):
    i = cuda.grid(1)
    total = 0
    for k in range(2 * n):
        if k % 7 == i % 7:
            continue
        if k > n + i:
            break
        total += k
    out[i] = total + k


def returns_from_loops(out, n):
    i = cuda.grid(1)
    total = 0
    while True:
        for k in range(n + i + 1):
            total += k & 1
            if total > 3 * n + 1:
                out[i] = total
                return
        total += 1


def counts_to_a_constant(out, n):
    i = cuda.grid(1)
    total = 0
    for j in range(n):
        for k in range(96):
            total += k ^ i
        for k in range(97):
            total += k ^ j
    out[i] = total


def nested(out, n):
    i = cuda.grid(1)
    total = 0
    for j in range(n):
        for k in range(j):
            total += k ^ i
        if total > 100 * n:
            break
    out[i] = total


def looks_at_memory(out, n):
    i = cuda.grid(1)
    while out[i] < n:
        out[i] += 3


def leaves_a_function(out, n):
    i = cuda.grid(1)
    out[i] = first_above(n, i) + first_above(i, n)


@cuda.jit(device=True)
def first_above(n, i):
    for k in range(n):
        for j in range(3):
            if k * j > i:
                return k
    return -1


def meets(out, n):
    tile = cuda.shared.array(64, int64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = i
    for k in range(n):
        cuda.syncthreads()
        other = tile[(t + k) % 64]
        cuda.syncthreads()
        tile[t] = other + 1
    out[i] = tile[t]


KERNELS = [counts, asks_while, breaks_and_continues, returns_from_loops, nested, looks_at_memory]
KERNELS += [counts_to_a_constant, leaves_a_function, meets]


def watched(module: Module) -> None:
    inline_calls(module)
    promote_variables(module)
    watch_loops.watch_loops(module)
    promote_variables(module)


@pytest.mark.parametrize("function", KERNELS)
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 50])
def test_the_answer_stays(function, n):
    before = compiler.translate(function, (int64[::1], int64), KernelOptions())
    after = copied(before)
    watched(after)
    verify(after)
    assert after.errors[-1].message == MESSAGE
    launch = (2, 1, 1), (64, 1, 1), [np.zeros(128, np.int64)], (128, 8, n)
    wanted, got = (run_on("interp", module, *launch) for module in (before, after))
    assert not got.raised
    assert_same(got.arrays, wanted.arrays, ["out"])


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels(seed, monkeypatch):
    monkeypatch.setattr(watch_loops, "MOST_ROUNDS", 0)
    check(random_program(seed, 30), watched)
