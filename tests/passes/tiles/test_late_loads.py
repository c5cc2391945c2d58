"""Loads behind reductions and in loops: of what stores overwrite, and where threads meet."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES, run_on
from tests.passes.tiles.test_products import by_threads, by_turns, program

from gridlane import tiles
from gridlane.backends import backend
from gridlane.compiler.programs import block_of
from gridlane.ir.op import Op
from gridlane.ir.ops import control, grid, memory

jit, tl = tiles.jit, tiles.language
SIZE, WARPS = 1024, 4


@jit
def scaled(x, scale, shift, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=0)
    total = tl.sum(values, axis=0)
    largest = tl.max(values + total, axis=0)
    moved = tl.load(scale + i, mask=i < n, other=1) * (values + largest)
    tl.store(out + i, moved + tl.load(shift + i, mask=i < n, other=0), mask=i < n)


@jit
def stored_between(x, scale, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i), axis=0)
    tl.store(scale + i, i + n)
    tl.store(out + i, tl.load(scale + i) + total)


@jit
def returns_between(x, scale, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i), axis=0)
    if total == n:
        return
    tl.store(out + i, tl.load(scale + i) + total)


@jit
def by_total(x, scale, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i), axis=0)
    tl.store(out + i, tl.load(scale + (i + total * total) % n) + total)


@jit
def backwards(x, scale, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i), axis=0)
    tl.store(out + i, tl.load(scale + BLOCK - 1 - i) + total + n)


@jit
def passed_on(x, n, BLOCK: tl.constexpr):
    """Each iteration loads what other threads have stored in the one before."""
    i = tl.arange(0, BLOCK)
    for _ in range(n):
        tl.store(x + i, tl.load(x + BLOCK - 1 - i) + 1)


@jit
def stored_around(x, out, n, BLOCK: tl.constexpr):
    """A loop loads what was stored in front of it, and a store behind it writes there."""
    i, total = tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.int32)
    tl.store(x + i, tl.load(x + i) * 2)
    for k in range(n):
        total += tl.load(x + BLOCK - 1 - i) * k
    tl.store(x + i, total)
    tl.store(out + i, tl.load(x + BLOCK - 1 - i))


@jit
def summed(x, labels, out, columns, BLOCK: tl.constexpr):
    i, total, most = tl.arange(0, BLOCK), 0, 0
    for at in range(0, columns, BLOCK):
        values = tl.load(x + at + i, mask=at + i < columns, other=0)
        most = tl.maximum(most, tl.max(values, axis=0))
        total = total + tl.sum(values * most, axis=0)
    tl.store(out, total + tl.load(x + tl.load(labels)))


def values(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, SIZE).astype(np.int32)


def wanted(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, n: int) -> np.ndarray:
    inner = np.where(np.arange(SIZE) < n, x, 0)
    largest = (inner + inner.sum()).max()
    return (scale * (inner + largest) + shift)[:n].astype(np.int32)


@pytest.mark.parametrize("n", [SIZE, SIZE - 5])
@pytest.mark.parametrize("alias", ["", "x", "scale", "shift"])
def test_results_over_arguments(n, alias):
    arrays = {name: values(seed) for seed, name in enumerate(("x", "scale", "shift", "out"))}
    want = wanted(arrays["x"], arrays["scale"], arrays["shift"], n)
    if alias:
        arrays["out"] = arrays[alias]
    args = [*arrays.values(), n]
    module, threads = by_threads(program(scaled, args, WARPS, BLOCK=SIZE), True)
    place = list(arrays).index(alias or "out")
    got = by_turns(module, args, threads)
    assert any(np.array_equal(each[:n], want) for each in (got[place], got[3]))


@pytest.mark.parametrize("function", [stored_between, returns_between, by_total])
def test_what_comes_between(function):
    args = [values(1), values(2), np.zeros(SIZE, np.int32), 640]
    module, threads = by_threads(program(function, args, WARPS, BLOCK=SIZE), True)
    i, total = np.arange(SIZE), values(1).sum()
    want = {
        stored_between: i + 640 + total,
        returns_between: values(2) + total,
        by_total: values(2)[(i + total * total) % 640] + total,
    }[function]
    np.testing.assert_array_equal(by_turns(module, args, threads)[2], want)


def test_elements_of_other_threads():
    args = [values(1), values(2), np.zeros(SIZE, np.int32), 3]
    module, threads = by_threads(program(backwards, args, WARPS, BLOCK=SIZE), True)
    want = values(2)[::-1] + values(1).sum() + 3
    np.testing.assert_array_equal(by_turns(module, args, threads)[2], want)


def test_iterations_that_pass_values_on():
    x = values(1)
    module, threads = by_threads(program(passed_on, [x, 3], WARPS, BLOCK=SIZE), True)
    np.testing.assert_array_equal(by_turns(module, [x, 3], threads)[0], x[::-1] + 3)


@pytest.mark.parametrize("n", [0, 3])
def test_stores_around_a_loop(n):
    args = [values(1), np.zeros(SIZE, np.int32), n]
    module, threads = by_threads(program(stored_around, args, WARPS, BLOCK=SIZE), True)
    want = values(1)[::-1] * 2 * sum(range(n))
    got = by_turns(module, args, threads)
    np.testing.assert_array_equal(got[0], want)
    np.testing.assert_array_equal(got[1], want[::-1])


def test_loads_of_loops_that_store_nothing_wait_for_nobody():
    """Where each iteration reduces, threads meet behind its loads, and behind the loop no more."""
    x, labels, out = np.tile(values(1), 3), np.array([77]), np.zeros(1, np.int32)
    args = [x, labels, out, x.size]
    module, threads = by_threads(program(summed, args, WARPS, BLOCK=SIZE), True)
    loop = next(op for op in module.kernel.body.walk() if isinstance(op, control.Loop))
    kinds = [type(op) for op in loop.body.walk()]
    wide = [op for op in loop.body.walk() if isinstance(op, memory.Load)]
    assert kinds.index(grid.Barrier) > kinds.index(memory.Load)
    assert kinds.count(grid.Barrier) == 3 and len(wide) > 1
    behind = module.kernel.body.ops[module.kernel.body.ops.index(loop) + 1 :]
    kinds = [type(op) for each in behind for op in (each, *_inside(each))]
    assert kinds.count(grid.Barrier) == 1
    assert kinds.index(memory.Load) < kinds.index(grid.Barrier) < kinds.index(memory.Store)
    blocks = x.reshape(3, SIZE).astype(np.int64)
    most = np.maximum.accumulate(blocks.max(1).clip(0))
    want = (blocks.sum(1) * most).sum() + x[77]
    assert by_turns(module, args, threads)[2][0] == want


def _inside(op: Op) -> list[Op]:
    return [inner for region in op.regions() for inner in region.walk()]


@pytest.mark.parametrize("device", DEVICES)
def test_devices(device):
    args = [*map(values, range(4)), SIZE - 5]
    module = program(scaled, args, WARPS, BLOCK=SIZE)
    block = block_of(backend(device), WARPS)
    outcome = run_on(device, module, (1, 1, 1), block, args[:4], (SIZE - 5,))
    np.testing.assert_array_equal(outcome.arrays[3][: SIZE - 5], wanted(*args[:3], SIZE - 5))
