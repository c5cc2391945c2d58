"""Reductions of whole tiles to numbers, each behind one barrier of the block's threads."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES, run_on
from tests.passes.tiles.test_products import by_threads, by_turns, program

from gridlane import tiles
from gridlane.backends import backend
from gridlane.compiler.programs import block_of
from gridlane.ir.ops import grid

jit, tl = tiles.jit, tiles.language


@jit
def in_turn(x, out, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    first = tl.sum(values, axis=0)
    second = tl.max(values - first, axis=0)
    third = tl.sum(values * second, axis=0)
    tl.store(out, first)
    tl.store(out + 1, second)
    tl.store(out + 2, third)
    tl.store(out + 3 + tl.arange(0, BLOCK), values + tl.min(values, axis=0))


@jit
def in_loops(x, out, count, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    total = tl.sum(values, axis=0)
    for n in range(count):
        total = (total + tl.sum(values + total, axis=0) + n) % 101
        if total % 2 == 0:
            total -= tl.max(values - total, axis=0)
    other = total
    for n in range(count):
        other = other % 7 + tl.sum(values * other, axis=0)
    tl.store(out, total)
    tl.store(out + 1, other)


@jit
def places(x, out, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    low, at = tl.min(values, axis=0, return_indices=True)
    tl.store(out, tl.argmax(values - low, axis=0))
    tl.store(out + 1, at)


def wanted_in_turn(x: np.ndarray) -> np.ndarray:
    first = x.sum(dtype=np.int32)
    second = (x - first).max()
    third = (x * second).sum(dtype=np.int32)
    return np.array([first, second, third, *(x + x.min())], np.int32)


def wanted_in_loops(x: np.ndarray, count: int) -> np.ndarray:
    total = int(x.sum())
    for n in range(count):
        total = int(np.fmod(total + int((x + total).sum()) + n, 101))
        if total % 2 == 0:
            total -= int((x - total).max())
    other = total
    for _ in range(count):
        other = int(np.fmod(other, 7)) + int((x * other).sum())
    return np.array([total, other], np.int32)


def values(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(-1, 2, size).astype(np.int32)


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("size", [32, 256, 2048])
def test_one_after_the_other(size, warps):
    x, out = values(size), np.zeros(size + 3, np.int32)
    module, threads = by_threads(program(in_turn, [x, out], warps, BLOCK=size), True)
    np.testing.assert_array_equal(by_turns(module, [x, out], threads)[1], wanted_in_turn(x))
    barriers = sum(isinstance(op, grid.Barrier) for op in module.kernel.body.walk())
    if size == 2048 and warps > 2:  # else threads have too many elements for registers
        assert barriers == 6  # with two between stores to one array


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_places(warps):
    x = np.random.default_rng(1).integers(-90, 90, 1024).astype(np.int32)
    module, threads = by_threads(
        program(places, [x, np.zeros(2, np.int32)], warps, BLOCK=1024), True
    )
    got = by_turns(module, [x, np.zeros(2, np.int32)], threads)[1]
    assert got.tolist() == [x.argmax(), x.argmin()]


@pytest.mark.parametrize("warps", [1, 2, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_in_loops(count, warps):
    x, out = values(512), np.zeros(2, np.int32)
    module, threads = by_threads(program(in_loops, [x, out, count], warps, BLOCK=512), True)
    got = by_turns(module, [x, out, count], threads)[1]
    np.testing.assert_array_equal(got, wanted_in_loops(x, count))


@pytest.mark.parametrize("device", DEVICES)
def test_devices(device):
    x = values(1024)
    for function, numbers, want in (
        (in_turn, (), wanted_in_turn(x)),
        (in_loops, (3,), wanted_in_loops(x, 3)),
    ):
        out = np.zeros(len(want), np.int32)
        module = program(function, [x, out, *numbers], 4, BLOCK=1024)
        block = block_of(backend(device), 4)
        outcome = run_on(device, module, (1, 1, 1), block, [x, out], numbers)
        np.testing.assert_array_equal(outcome.arrays[1], want)
