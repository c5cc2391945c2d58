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
