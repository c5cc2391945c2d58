"""Loops that look whether the host asks them to give up: which do, and that the answer stays."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import assert_same, run_on

from gridlane.core.argtypes import int64
from gridlane.core.options import KernelOptions
from gridlane.cuda import jit
from gridlane.frontends.python.translation import translate
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
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


def looks_of(loop: control.Loop) -> list[int]:
    """The weights of the looks of a loop, without those of inner ones."""
    weights: list[int] = []
    for number, op in enumerate(loop.body.ops):
        inside = list(op.then.walk()) if isinstance(op, control.If) else []
        if any(isinstance(each, grid.Fence) for each in inside):
            total = loop.body.ops[number - 3 : number]
            added = next(each for each in total if isinstance(each, memory.WriteVar)).value.op
            assert isinstance(added, arith.Add)
            assert isinstance(added.rhs.op, arith.Const)
            weights.append(int(added.rhs.op.value))
    return weights


def test_which_loops_look():
    made = module_of()
    loops = [op for op in made.functions["heeds"].body.walk() if isinstance(op, control.Loop)]
    found = [looks_of(loop) for loop in loops]
    assert found == [[], [11], [], [1], [66], [], [1], [1]]
    own = [op for op in made.kernel.body.ops if isinstance(op, control.Loop)]
    assert [looks_of(loop) for loop in own] == [[]]
    raised = [op for op in made.functions["heeds"].body.walk() if isinstance(op, control.Raise)]
    assert [made.errors[op.code].message for op in raised] == [ERROR] * 5
    assert len({made.errors[op.code].loc for op in raised}) == 5


def test_a_look_stands_behind_the_test_of_a_counted_loop():
    """Where the passes for loops with a trip count look for that."""
    made = module_of()
    loops = [op for op in made.functions["heeds"].body.walk() if isinstance(op, control.Loop)]
    first = [next(op for op in loop.body.ops if op.REGION_FIELDS) for loop in (loops[3], loops[6])]
    tests = [[type(op) for op in each.then.ops] for each in first if isinstance(each, control.If)]
    assert tests[0] == [control.Break]
    assert tests[1] != [control.Break]  # an iteration that goes on before its test looks, too


def adds(out, n, word):
    heeds(word, out, n)


@pytest.mark.parametrize("n", [0, 3, 20])
def test_the_answer_stays(n):
    """The word is what it was at the first look, whatever that was: nobody is asked."""
    word, grid, out = np.array([7], np.uint32), (1, 1, 1), np.zeros(1, np.int64)
    flat = (1, 8, n, word.ctypes.data)
    before = translate(adds, (int64[::1], int64, int64), KernelOptions())
    wanted = run_on("interp", before, grid, grid, [out], flat)
    got = run_on("cpu", module_of(adds), grid, grid, [out], flat)
    assert not got.raised
    assert_same(got.arrays, wanted.arrays, ["out"])
    assert wanted.arrays[0][0]
