"""Loads behind reductions, of what stores overwrite, and whose addresses reductions decide."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES, run_on
from tests.passes.tiles.test_products import by_threads, by_turns, program

from gridlane import tiles
from gridlane.backends import backend
from gridlane.compiler.programs import block_of

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


@pytest.mark.parametrize("device", DEVICES)
def test_devices(device):
    args = [*map(values, range(4)), SIZE - 5]
    module = program(scaled, args, WARPS, BLOCK=SIZE)
    block = block_of(backend(device), WARPS)
    outcome = run_on(device, module, (1, 1, 1), block, args[:4], (SIZE - 5,))
    np.testing.assert_array_equal(outcome.arrays[3][: SIZE - 5], wanted(*args[:3], SIZE - 5))
