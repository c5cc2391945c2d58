"""Loops that look whether the host asks them to give up: which do, and that the answer stays."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import assert_same, run_on

from gridlane.core.argtypes import int64
from gridlane.core.options import KernelOptions
from gridlane.cuda import ballot_sync, jit, shared, syncthreads, threadIdx
from gridlane.frontends.python.translation import translate
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.structure import heed_requests as module_of_looks
from gridlane.passes.structure.heed_requests import BETWEEN, heed_requests

ERROR = "it was asked to give up"


@jit(device=True)
def helper(n):
    total = 0
    while n > 0:
        total += n
        n -= 1
    return total


@jit(device=True)
def heeds(word, out, n):
    for i in range(100):  # 1: no look
        out[0] += i
    for i in range(n):  # 2: a look of weight 11, for its inner loop
        for j in range(10):
            out[0] += i * j
        if out[0] & 1:
            continue
    for i in range(BETWEEN + 1):  # 3: ends late
        out[0] ^= i
    for _ in range(64):  # 4: both together end late
        for j in range(65):
            out[0] += j
    while True:  # 5: its first test is not the first that may go on
        n -= 1
        if n & 1:
            continue
        if n < 0:
            break
        out[0] += 1
    out[0] += helper(n + 30)  # 6


def kernel(out, n, word):
    heeds(word, out, n)
    while n > 0:  # the kernel's own: no look
        n -= 1


def module_of(function=kernel) -> Module:
    """The module of a kernel whose function ``heeds`` looks."""
    types = (int64[::1], int64, int64)
    made = translate(function, types, KernelOptions())
    heed_requests(made, "heeds", ERROR)
    verify(made)
    return made


def looks_in(region) -> int:
    return sum(isinstance(op, grid.Fence) for op in region.walk())


def shape_of(region) -> list:
    """The loops of a region: those with looks are in an outer one, whose shape is a tuple."""
    found: list = []
    for op in region.ops:
        inside = [each for inner in op.regions() for each in shape_of(inner)]
        if not isinstance(op, control.Loop):
            found += inside
            continue
        tests = [each for each in op.body.ops if isinstance(each, control.If)]
        looks = any(looks_in(each.then) for each in tests)
        found.append((inside,) if looks else inside)
    return found


def test_which_loops_look():
    made = module_of()
    body = made.functions["heeds"].body
    inner = []  # a loop without loops in it
    looking = ([inner],)
    assert shape_of(body) == [inner, ([[inner]],), looking, ([[inner]],), looking, looking]
    assert shape_of(made.kernel.body) == [inner]  # the kernel's own
    raised = [op for op in body.walk() if isinstance(op, control.Raise)]
    assert [made.errors[op.code].message for op in raised] == [ERROR] * 5
    assert len({made.errors[op.code].loc for op in raised}) == 5


def weights_of(module: Module) -> list[int]:
    """What an iteration of each loop counts."""
    added = []
    for op in module.functions["heeds"].body.walk():
        if isinstance(op, memory.WriteVar) and op.var.name == "iterations":
            by = op.value.op.rhs.op if isinstance(op.value.op, arith.Add) else None
            by = by.rhs.op if isinstance(by, arith.Mul) else by
            added += [int(by.value)] if isinstance(by, arith.Const) else [1] if by else []
    return added


def test_what_an_iteration_counts():
    """Those of the loops in it that do not look, too."""
    assert weights_of(module_of()) == [11, 1, 66, 1, 1]


@jit(device=True)
def ways(word, out, n):
    """Loops in each other, left by all ways, with counters that are used behind them."""
    for i in range(n, 3 * n):
        for j in range(i):
            if (i + j) % 7 == 0:
                continue
            if j > 40:
                break
            out[0] += i * j
            while out[0] % 3:
                out[0] += 1
                if out[0] % 1000 == 998:
                    out[1] = i * 100 + j
                    return
        out[2] += i
    k = n
    for k in range(n, -n - 5000, -1):
        out[3] ^= k
    for k in range(-5, n * 1000):
        out[4] += k
    out[5] = k


def leaves(out, n, word):
    ways(word, out, n)


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 9, 30])
def test_all_ways_out_of_loops(n):
    word = np.array([7], np.uint32)
    flat = (6, 8, n, word.ctypes.data)
    types = (int64[::1], int64, int64)
    before, after = (translate(leaves, types, KernelOptions()) for _ in range(2))
    heed_requests(after, "ways", ERROR)
    verify(after)
    one = (1, 1, 1)
    wanted = run_on("interp", before, one, one, [np.zeros(6, np.int64)], flat)
    got = run_on("cpu", after, one, one, [np.zeros(6, np.int64)], flat)
    assert not got.raised
    assert_same(got.arrays, wanted.arrays, ["out"])


def adds(out, n, word):
    heeds(word, out, n)


@pytest.mark.parametrize("n", [0, 3, 20])
def test_the_answer_stays(n):
    """The word is what it was at the first look, whatever that was: nobody is asked."""
    word, one, out = np.array([7], np.uint32), (1, 1, 1), np.zeros(1, np.int64)
    flat = (1, 8, n, word.ctypes.data)
    before = translate(adds, (int64[::1], int64, int64), KernelOptions())
    wanted = run_on("interp", before, one, one, [out], flat)
    got = run_on("cpu", module_of(adds), one, one, [out], flat)
    assert not got.raised
    assert_same(got.arrays, wanted.arrays, ["out"])
    assert wanted.arrays[0][0]


@jit(device=True)
def slow(word, out, n):
    while n > 0:
        for i in range(BETWEEN - 1):
            out[0] += i
        n -= 1


def slowly(out, n, word):
    slow(word, out, n)


def test_an_iteration_that_counts_as_much_as_is_between_two_looks():
    word, out = np.array([7], np.uint32), np.zeros(1, np.int64)
    made = translate(slowly, (int64[::1], int64, int64), KernelOptions())
    heed_requests(made, "slow", ERROR)
    verify(made)
    got = run_on("cpu", made, (1, 1, 1), (1, 1, 1), [out], (1, 8, 3, word.ctypes.data))
    assert got.arrays[0][0] == 3 * sum(range(BETWEEN - 1))


@jit(device=True)
def meets(word, out, n):
    thread = threadIdx.x
    moved = shared.array(64, int64)
    moved[thread] = k = thread
    while k > 0:  # each thread has another number of iterations
        k -= 1
        out[thread] += 1
    syncthreads()
    k = 0
    while k < n:
        seen = moved[(thread + 1) & 63]
        syncthreads()
        moved[thread] = seen + k
        syncthreads()
        for i in range(thread):
            out[thread] ^= i + k
        k += 1
    for i in range(n):
        k = n
        while k > i:
            moved[thread] += ballot_sync(0xFFFFFFFF, k & thread)
            k -= 2
    out[thread] += moved[thread]


def together(out, n, word):
    meets(word, out, n)


@pytest.mark.parametrize("between", [3, 16])
def test_threads_that_meet_in_a_loop_look_in_the_same_iteration(between, monkeypatch):
    monkeypatch.setattr(module_of_looks, "BETWEEN", between)
    word, types = np.array([7], np.uint32), (int64[::1], int64, int64)
    before, after = (translate(together, types, KernelOptions()) for _ in range(2))
    heed_requests(after, "meets", ERROR)
    verify(after)
    shape = (1, 1, 1), (64, 1, 1), [np.zeros(64, np.int64)], (64, 8, 40, word.ctypes.data)
    wanted, got = run_on("interp", before, *shape), run_on("cpu", after, *shape)
    assert not got.raised
    assert_same(got.arrays, wanted.arrays, ["out"])
