"""Products of tiles on processors: factors that are in memory by columns are kept so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_products import RNG, TYPES, by_turns, program

from gridlane.backends import backend
from gridlane.compiler.generation import copied
from gridlane.compiler.programs import block_of, machine_of
from gridlane.conformance.module_runner import run_on
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops.memory_products import WarpProduct
from gridlane.ir.stages import KERNEL
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.tiles import lower_tiles

M, N, K, DEPTH = 32, 64, 16, 40


@jit
def product(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUMS: tl.constexpr,
            BY_COLUMNS: tl.constexpr, TRANS: tl.constexpr, TWICE: tl.constexpr):  # fmt: skip
    """Factors by rows, or by columns, each loaded as it is or as its transpose."""
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a_row, a_inner = (1, M) if BY_COLUMNS else (depth, 1)
    b_inner, b_column = (1, depth) if BY_COLUMNS else (N, 1)
    total = tl.zeros((M, N), dtype=SUMS)
    for at in range(0, depth, K):
        inside = s < depth - at
        if TRANS:
            x = tl.load(a + i[None, :] * a_row + (at + s)[:, None] * a_inner,
                        mask=inside[:, None], other=0)  # fmt: skip
            y = tl.load(b + (at + s)[None, :] * b_inner + j[:, None] * b_column,
                        mask=inside[None, :], other=0)  # fmt: skip
            x, y = tl.trans(x), tl.trans(y)
        else:
            x = tl.load(a + i[:, None] * a_row + (at + s)[None, :] * a_inner,
                        mask=inside[None, :], other=0)  # fmt: skip
            y = tl.load(b + (at + s)[:, None] * b_inner + j[None, :] * b_column,
                        mask=inside[:, None], other=0)  # fmt: skip
        total = tl.dot(x, y, total)
        if TWICE:
            total += tl.sum(x.to(SUMS), 1)[:, None]
    tl.store(c + i[:, None] * N + j[None, :], total)


def by_processors(module: Module) -> Module:
    changed = copied(module)
    lower_tiles(changed, machine_of(backend("cpu")))
    changed.program_warps = 0
    verify(changed, KERNEL)
    return changed


def turned_factors(module: Module) -> tuple[bool, bool]:
    (op,) = [each for each in module.kernel.body.walk() if isinstance(each, WarpProduct)]
    return op.turned_left, op.turned_right


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_factors_by_columns(kind: str, by_columns: bool, trans: bool, twice: bool) -> None:
    """A factor of words is kept as it is in memory, unless something else needs it as well."""
    shapes = (M, DEPTH), (DEPTH, N)
    a, b = [RNG.integers(-4, 5, shape).astype(TYPES[kind]) for shape in shapes]
    sums = np.dtype(np.int32 if kind == "i8" else np.float32)
    want = a.astype(np.float64) @ b.astype(np.float64)
    if twice:
        want += a.astype(np.float64).sum(1)[:, None]
    if by_columns:
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    args: list[Any] = [a, b, np.zeros((M, N), sums), DEPTH]
    constants: dict[str, Any] = {
        "M": M, "N": N, "K": K, "SUMS": tl.int32 if kind == "i8" else tl.float32,
        "BY_COLUMNS": by_columns, "TRANS": trans, "TWICE": twice,
    }  # fmt: skip
    module = program(product, args, 1, **constants)
    changed = by_processors(module)
    words = kind != "i8"
    left = trans if twice else by_columns  # one that a sum needs as well has its tile's rows
    assert turned_factors(changed) == (words and left, words and by_columns)
    threads = block_of(backend("cpu"), 1)
    np.testing.assert_array_equal(by_turns(changed, args, threads[0])[2], want.astype(sums))
    outcome = run_on("cpu", module, (1, 1, 1), threads, args[:3], (DEPTH,))
    np.testing.assert_array_equal(outcome.arrays[2], want.astype(sums))


@jit
def masked(a, b, c, rows, depth, columns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           SUMS: tl.constexpr, WIDE: tl.constexpr):  # fmt: skip
    """Factors of arrays of any extents, that may be converted, in blocks beyond their ends."""
    i, j, s = tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, K)
    left, right = a + i[:, None] * depth + s[None, :], b + s[:, None] * columns + j[None, :]
    total = tl.zeros((M, N), dtype=SUMS)
    for at in range(0, depth, K):
        inside = s < depth - at
        x = tl.load(left, mask=(i < rows)[:, None] & inside[None, :], other=0)
        y = tl.load(right, mask=inside[:, None] & (j < columns)[None, :], other=0)
        if WIDE:
            x, y = x.to(SUMS) + 1 - 1, y.to(SUMS) * 2
        total = tl.dot(x, y, total)
        left += K
        right += K * columns
    tl.store(c + i[:, None] * columns + j[None, :], total,
             mask=(i < rows)[:, None] & (j < columns)[None, :])  # fmt: skip


def on_both(module: Module, changed: Module, args: list[Any], grid: int) -> list[np.ndarray]:
    """The third array after the lowered program in the interpreter, and the program on the CPU."""
    results, block = [], block_of(backend("cpu"), 1)
    for device, each, threads in (("interp", changed, (32, 1, 1)), ("cpu", module, block)):
        arrays = [np.copy(array) for array in args[:3]]
        outcome = run_on(device, each, (grid, 1, 1), threads, arrays, tuple(args[3:]))
        assert not outcome.raised
        results.append(outcome.arrays[2])
    return results


@pytest.mark.parametrize(
    ("kind", "wide"), [("f32", False), ("f32", True), ("f16", False), ("f16", True), ("i8", False)]
)
def test_right_factors_are_packed_by_panels(kind, wide):
    m, n, k, rows, depth, columns = 64, 128, 128, 61, 300, 250
    whole = [
        RNG.integers(-4, 5, each).astype(TYPES[kind]) for each in ((rows, depth), (depth, columns))
    ]
    sums, out = (tl.int32, np.int32) if kind == "i8" else (tl.float32, np.float32)
    args = [*whole, np.zeros((rows, columns), out), rows, depth, columns]
    module = program(masked, args, 1, M=m, N=n, K=k, SUMS=sums, WIDE=wide)
    changed = by_processors(module)
    (product,) = [op for op in changed.kernel.body.walk() if isinstance(op, WarpProduct)]
    assert (product.columns, product.pitch) == (32, n)
    assert product.counts  # fetches what is loaded next
    wanted = whole[0].astype(out) @ whole[1].astype(out) * (2 if wide else 1)
    for each in on_both(module, changed, args, 2):
        np.testing.assert_array_equal(each, wanted)


@jit
def stored_between(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + s[None, :])
    y = tl.load(b + s[:, None] * N + j[None, :])
    tl.store(b + s[:, None] * N + j[None, :], tl.full((K, N), 9, tl.float32))
    tl.store(c + i[:, None] * N + j[None, :], tl.dot(x, y))


@jit
def around_a_loop(a, b, c, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + s[None, :])
    y = tl.load(b + s[:, None] * N + j[None, :])
    total = tl.zeros((M, N), tl.float32)
    for _ in range(count):
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * N + j[None, :], total)


def test_factors_that_a_store_overwrites_or_a_loop_reads_again_are_stored():
    m, n, k = 32, 64, 64
    a, b = (RNG.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    for function, more, times in ((stored_between, (), 1), (around_a_loop, (3,), 3)):
        args = [a, b, np.zeros((m, n), np.float32), *more]
        module = program(function, args, 1, M=m, N=n, K=k)
        changed = by_processors(module)
        for each in on_both(module, changed, args, 1):
            np.testing.assert_array_equal(each, times * (a @ b))
        products = [op for op in changed.kernel.body.walk() if isinstance(op, WarpProduct)]
        assert [op.columns for op in products] == [n]
