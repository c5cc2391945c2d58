"""Stores by tensor maps go on while the next tile is computed; nothing is overwritten or lost."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_producers import Described, lowered, program, run, whole

from gridlane.core.decisions import collecting
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import tensors
from gridlane.ir.values import Module
from gridlane.passes.tiles import tensor_stores


def stores(module: Module) -> int:
    return sum(isinstance(op, tensors.TensorStore) for op in module.kernel.body.walk())


@jit
def tiles(a, b, c, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
          AGAIN: tl.constexpr, MORE: tl.constexpr):  # fmt: skip
    """Each tile, or ``AGAIN`` the first one with ever more columns of the depth; ``MORE`` is added,
    also beyond the end of the array."""
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, tl.num_programs(0)):
        i, j = tile // across * M, tile % across * N
        end = depth
        if AGAIN:
            i, j, end = 0, 0, (tile + 1) * K
        total = tl.zeros((M, N), tl.float32)
        for at in range(0, end, K):
            total = tl.dot(a.load([i, at]), b.load([at, j]), total)
        c.store([i, j], (total + MORE).to(c.dtype))


def case(
    kind: Any = np.float16, warps: int = 4, n: int = 128, depth: int = 70, again: bool = False,
    size: int = 1, columns: int = 0,
) -> Any:  # fmt: skip
    m = 64 if warps == 4 else 128
    rows, columns = 2 * m - 13, columns or n + 37
    a, b = whole((rows, depth), kind), whole((depth, columns), kind)
    c = Described(np.full((rows, columns), 7, kind), (m, n), room=32)
    args = [Described(a, (m, 32)), Described(b, (32, n)), c, rows, columns, depth]
    made = program(tiles, args, warps, 3, size, M=m, N=n, K=32, AGAIN=again, MORE=0 if again else 1)
    want = a.astype(float) @ b.astype(float) + (not again)
    return lowered(made), args, want.astype(kind)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("warps, n", [(4, 64), (4, 256), (8, 128)])
def test_tiles(kind, warps, n):
    """Boxes at the ends are in part beyond the array; what is beside its lines stays."""
    module, args, want = case(kind, warps, n)
    assert stores(module) == n // 64
    for grid in (1, 2):
        got = run(module, args, warps, grid)[0][2]
        np.testing.assert_array_equal(got[:, : want.shape[1]], want)
        assert not got[:, want.shape[1] :].any()


@pytest.mark.parametrize("columns", [129, 132, 135, 136, 144, 192])
def test_chunks_at_the_ends_of_lines(columns):
    """A tensor map stores whole chunks of 16 bytes: where lines end in one, and a tile does not end
    before, threads store elements, of which none is beyond the array."""
    module, args, want = case(columns=columns)
    assert stores(module) == 2
    got = run(module, args, 4)[0][2]
    np.testing.assert_array_equal(got[:, :columns], want)
    assert not got[:, columns:].any()


def test_stores_to_one_place_are_in_order():
    """Behind a barrier of the program nothing of an earlier store is in flight."""
    module, args, want = case(depth=128, again=True)
    assert stores(module)
    got = run(module, args, 4)[0][2]
    np.testing.assert_array_equal(got[:64, :128], want[:64, :128])
    assert (got[64:, : want.shape[1]] == 7).all()


@jit
def in_place(a, b, c, tiles, M: tl.constexpr, K: tl.constexpr):
    """Each tile is computed of those before: ``c`` is the memory of ``a``."""
    for tile in range(tiles):
        total = tl.zeros((M, M), tl.float32)
        for at in range(0, M, K):
            total = tl.dot(a.load([tile * M, at]), b.load([at, 0]), total)
        c.store([tile * M + M, 0], total.to(tl.float16))


def test_what_is_loaded_later_is_written_before():
    from tests.passes.tiles.test_clusters import run_in_one_memory

    start = np.zeros((320, 64), np.float16)
    start[:64] = whole((64, 64))
    turn = np.roll(np.eye(64), 1, axis=1).astype(np.float16)
    a, c = (Described(start, block) for block in ((64, 32), (64, 64)))
    args = [a, Described(turn, (32, 64)), c, 4]
    module = lowered(program(in_place, args, 4, 3, M=64, K=32))
    assert stores(module)
    want = start.astype(float)
    for tile in range(4):
        want[64 * tile + 64 : 64 * tile + 128] = want[64 * tile : 64 * tile + 64] @ turn
    np.testing.assert_array_equal(run_in_one_memory(module, args, True, 1), want)


@pytest.mark.parametrize("lost", ["read", "whole", "last"])
def test_lost_waits_show(lost, monkeypatch):
    """The tests see a wait that is missing."""
    wait = tensors.BulkWait
    lacking = {"read": (1, True), "whole": (0, False), "last": (0, True)}[lost]

    def fewer(pending: int, only_reads: bool = False) -> Any:
        return wait(99 if (pending, only_reads) == lacking else pending, only_reads or pending > 9)

    for module in (tensor_stores, __import__("gridlane.passes.tiles.state", fromlist=["x"]),
                   __import__("gridlane.passes.tiles.producer_code", fromlist=["x"])):  # fmt: skip
        monkeypatch.setattr(module, "BulkWait", lambda *args: fewer(*args))
    wrong, args, want = case(n=256, depth=128, again=lost == "whole", columns=296)
    with pytest.raises(AssertionError):
        got = run(wrong, args, 4)[0][2]
        rows = 64 if lost == "whole" else len(want)
        columns = 256 if lost == "whole" else want.shape[1]
        np.testing.assert_array_equal(got[:rows, :columns], want[:rows, :columns])


@jit
def twice(a, b, c, d, count, M: tl.constexpr, K: tl.constexpr):
    """Two stores in an iteration."""
    for tile in range(count):
        total = tl.zeros((M, M), tl.float32)
        for at in range(0, M, K):
            total = tl.dot(a.load([tile * M, at]), b.load([at, 0]), total)
        c.store([tile * M, 0], total.to(tl.float16))
        d.store([tile * M, 0], (total + 1).to(tl.float16))


@jit
def once(a, b, c, d, count, M: tl.constexpr, K: tl.constexpr):
    """A store that nothing is computed behind."""
    total = tl.zeros((M, M), tl.float32)
    for at in range(0, M, K):
        total = tl.dot(a.load([0, at]), b.load([at, 0]), total)
    c.store([0, 0], total.to(tl.float16))


@jit
def either(a, b, c, d, count, M: tl.constexpr, K: tl.constexpr):
    """Of two stores each iteration has one."""
    for tile in range(count):
        total = tl.zeros((M, M), tl.float32)
        for at in range(0, M, K):
            total = tl.dot(a.load([tile * M, at]), b.load([at, 0]), total)
        if tile % 2 == 0:
            c.store([tile * M, 0], total.to(tl.float16))
        else:
            d.store([tile * M, 0], (total + 1).to(tl.float16))


@pytest.mark.parametrize(("function", "count"), [(twice, 0), (once, 0), (either, 2)])
def test_which_stores(function, count):
    a, b = whole((128, 64)), whole((64, 64))
    c, d = (Described(np.zeros((128, 64), np.float16), (64, 64)) for _ in range(2))
    args = [Described(a, (64, 32)), Described(b, (32, 64)), c, d, 2]
    made = program(function, args, 4, 2, M=64, K=32)
    with collecting() as found:
        module = lowered(made)
    assert stores(module) == count
    assert any("by a tensor map, while" in str(each) for each in found) == bool(count)
    got = run(module, args, 4)[0]
    want = a.astype(int) @ b.astype(int)
    rows = {twice: slice(0, 128), once: slice(0, 64), either: slice(0, 64)}[function]
    np.testing.assert_array_equal(got[2][rows], want[rows])
    if function is not once:
        others = slice(64, 128) if function is either else rows
        np.testing.assert_array_equal(got[3][others], want[others] + 1)


def test_clusters_store_so_too():
    from tests.passes.tiles.test_clusters import case as cluster_case

    module, args, want = cluster_case(False, False, 2)
    assert stores(module) == 2
    np.testing.assert_array_equal(run(module, args, 4, 2)[0][2][:, : want.shape[1]], want)
