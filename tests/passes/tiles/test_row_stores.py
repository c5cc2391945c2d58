"""Sums of products are stored by 16 bytes a lane, as they are by single elements."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.triton.running import jit, type_of
from tests.passes.tiles.test_groups import by_groups, results
from tests.passes.tiles.test_products import OPTIONS, by_threads, by_turns, program

from gridlane.core.dtypes import f16, u32
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.translation import translate
from gridlane.ir.ops import memory, warp
from gridlane.ir.stages import TILE
from gridlane.ir.types import PointerType, Space, vector
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify

RNG = np.random.default_rng(12)
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i16": np.int16, "f32": np.float32}


@jit
def stored(a, b, c, columns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           MASKED: tl.constexpr, ADDED: tl.constexpr):  # fmt: skip
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + s[None, :])
    total = tl.dot(x, tl.load(b + s[:, None] * N + j[None, :]))
    where = c + i[:, None] * columns + j[None, :]
    if ADDED:
        total = total * 2 + tl.load(where).to(tl.float32)
    total = total.to(c.dtype.element_ty)
    if MASKED:
        tl.store(where, total, mask=(i[:, None] < M - 3) & (j[None, :] < columns))
    else:
        tl.store(where, total)


@jit
def blocks(a, b, c, row, column, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    total = tl.dot(a.load([0, 0]), b.load([0, 0]))
    c.store([row * M, column * N], total.to(c.dtype))


def factors(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = (RNG.integers(-3, 4, each).astype(np.float16) for each in ((m, k), (k, n)))
    return a, b, a.astype(np.float64) @ b.astype(np.float64)


def stores(module: Module) -> list[Any]:
    """The types of what is stored in device memory."""
    ops = [op for op in module.kernel.body.walk() if isinstance(op, memory.Store)]
    return [
        op.value.type
        for op in ops
        if isinstance(op.pointer.type, PointerType) and op.pointer.type.space is Space.GLOBAL
    ]


def lowered(module: Module, way: str) -> tuple[Module, int]:
    changed, threads = by_groups(module) if way == "groups" else by_threads(module, True)
    assert any(isinstance(op, warp.Shuffle) for op in changed.kernel.body.walk())
    return changed, threads


def run(way: str, module: Module, args: list[Any], threads: int) -> list[np.ndarray]:
    return (results if way == "groups" else by_turns)(module, args, threads)


SHAPES = [
    ("cores", 32, 64, 2), ("cores", 64, 128, 4), ("cores", 16, 32, 1), ("cores", 128, 32, 4),
    ("groups", 64, 32, 4), ("groups", 64, 128, 4), ("groups", 128, 256, 8), ("groups", 64, 256, 8),
]  # fmt: skip


@pytest.mark.parametrize(("way", "m", "n", "warps"), SHAPES)
@pytest.mark.parametrize("kind", ["f16", "bf16", "i16"])
def test_tiles(way, m, n, warps, kind):
    a, b, wanted = factors(m, n, 16)
    out = np.zeros((m, n), TYPES[kind])
    constants = {"M": m, "N": n, "K": 16, "MASKED": False, "ADDED": False}
    module, threads = lowered(program(stored, [a, b, out, n], warps, **constants), way)
    assert stores(module) == [vector(u32, 4)] * (m * n // threads // 8)
    got = run(way, module, [a, b, out, n], threads)[2]
    np.testing.assert_array_equal(got, wanted.astype(TYPES[kind]))


@pytest.mark.parametrize(("way", "m", "n", "warps"), SHAPES[:1] + SHAPES[4:6])
@pytest.mark.parametrize("added", [False, True])
def test_masks_and_what_is_added_in_place(way, m, n, warps, added):
    a, b, wanted = factors(m, n, 16)
    before = RNG.integers(-9, 9, (m, n)).astype(np.float16)
    wide = 2 * n  # in memory, of which what lies behind n stays
    held = np.concatenate([before, before], 1)
    constants = {"M": m, "N": n, "K": 16, "MASKED": not added, "ADDED": added}
    args = [a, b, held, wide]
    module, threads = lowered(program(stored, args, warps, **constants), way)
    got = run(way, module, args, threads)[2]
    want = held.astype(np.float64)
    want[:, :n] = wanted * 2 + before if added else wanted
    want[m - 3 :] = want[m - 3 :] if added else held[m - 3 :]
    np.testing.assert_array_equal(got, want.astype(np.float16))
    assert set(stores(module)) == {vector(u32, 4)}


def test_elements_of_other_sizes_are_no_rows():
    a, b, wanted = factors(64, 64, 16)
    out = np.zeros((64, 64), np.float32)
    constants = {"M": 64, "N": 64, "K": 16, "MASKED": False, "ADDED": False}
    module, threads = by_groups(program(stored, [a, b, out, 64], 4, **constants))
    assert set(stores(module)) == {vector(u32, 2)}
    np.testing.assert_array_equal(results(module, [a, b, out, 64], threads)[2], wanted)


@pytest.mark.parametrize(("way", "m", "n", "warps"), [SHAPES[1], SHAPES[5], SHAPES[6]])
@pytest.mark.parametrize("place", [(0, 0), (1, 1), (2, 2), (-1, 1), (1, -1), (3, 0)])
@pytest.mark.parametrize("more", [16, 8, 7])
def test_blocks(way, m, n, warps, place, more):
    """Blocks that are in the array, at its ends, and beyond: in one whose width says that each
    vector is all in it, in one where that turns out, and in one where it does not."""
    aligned = more == 16
    a, b, total = factors(m, n, 16)
    rows, columns = 2 * m + 5, 2 * n + more
    out = np.full((rows, -(-columns // 8) * 8 + 8), 7, np.float16)
    types = tuple([type_of(each) for each in (a, b, out)])
    tiles = {"a": Block((m, 16)), "b": Block((16, n)), "c": Block((m, n), mapped=True)}
    facts = dict.fromkeys("abc" if aligned else "ab", 16)
    number = type_of(0)
    constants = {"M": m, "N": n, "K": 16}
    module = translate(blocks, (*types, number, number), OPTIONS, constants, tiles, facts, warps)
    verify(module, TILE)
    lower, threads = lowered(module, way)
    kinds = stores(lower)
    assert kinds.count(vector(u32, 4)) == m * n // threads // 8
    assert {*kinds} == ({vector(u32, 4)} if aligned else {vector(u32, 4), f16})
    shapes = [(*a.shape, *a.strides), (*b.shape, *b.strides), (rows, columns, *out.strides)]
    args = [a, b, out, *[n for each in shapes for n in each], *place]
    got = run(way, lower, args, threads)[2]
    want = out.astype(np.float64)
    top, left = place[0] * m, place[1] * n
    for i in range(max(0, top), min(rows, top + m)):
        first, last = max(0, left), min(columns, left + n)
        if first < last:
            want[i, first:last] = total[i - top, first - left : last - left]
    np.testing.assert_array_equal(got, want.astype(np.float16))
