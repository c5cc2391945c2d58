"""Products by shuffles give what the op does, bit for bit, whatever the registers hold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.legalizing import check, ops_of

from gridlane.conformance.cases import Case
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import DType, f32, f64, i32, u32
from gridlane.ir.ops.products import COLUMNS, Factor, Mma
from gridlane.ir.ops.warp import Shuffle
from gridlane.ir.values import Module
from gridlane.passes.legalise.products import products_by_shuffles
from gridlane.passes.legalise.warps_by_blocks import warps_by_blocks
from gridlane.passes.structure.inline import inline_calls

KINDS = [
    (Factor.F16, Factor.F16, 16, 16, f32),
    (Factor.F16, Factor.F16, 16, 8, u32),
    (Factor.BF16, Factor.BF16, 16, 16, f32),
    (Factor.TF32, Factor.TF32, 16, 4, f32),
    (Factor.E4M3, Factor.E5M2, 16, 32, f32),
    (Factor.F64, Factor.F64, 16, 8, f64),
    (Factor.S8, Factor.U8, 8, 16, i32),
    (Factor.U4, Factor.S4, 16, 64, i32),
]


def product(left: Factor, right: Factor, rows: int, depth: int, kind: DType, limited: bool) -> Case:
    """A product of registers of any bits; in the second of two warps, of small numbers."""
    kernel, rng, arrays = Kernel(), np.random.default_rng(depth), []
    word = f64 if left is Factor.F64 else u32
    per_word = 32 * left.in_word
    counts = rows * depth // per_word, COLUMNS * depth // per_word, rows // 4
    counts = *counts[:2], counts[2] // (2 if kind is u32 else 1)
    loaded = []
    for count, dtype in zip(counts, (word, word, kind), strict=True):
        for _ in range(count):
            values = rng.standard_normal(64).astype(dtype.numpy)
            if dtype is f64 or dtype is f32:
                values[:8] = [np.inf, np.nan, -np.inf, -0.0, 1e38, -1e38, 1e-40, 0]
            else:
                values = rng.integers(0, 1 << 32, 64, np.uint32)
                values[0 if kind is u32 else 32 :] &= 0x3F3F3F3F  # no NaN, which may be any
                values = values.view(dtype.numpy)
            arrays.append(values)
            loaded.append(kernel.load(dtype))
    a, b, c = (
        tuple(loaded[start : start + count])
        for start, count in zip((0, counts[0], counts[0] + counts[1]), counts, strict=True)
    )
    for result in kernel.builder.emit(Mma(rows, depth, left, right, limited, a, b, c)).results:
        kernel.store(result)
        arrays.append(np.zeros(64, result.type.numpy))
    labels = [str(n) for n in range(len(arrays))]
    return Case("mma", kernel.module, arrays, (1, 1, 1), (64, 1, 1), labels=labels)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0].value}-{kind[3]}")
@pytest.mark.parametrize("fp64", ["", "exact"])
def test_products(kind, fp64):
    for limited in (False, True)[: 1 + kind[0].is_integer]:
        changed = check(product(*kind, limited), lambda module: products_by_shuffles(module, fp64))
        assert not any(isinstance(op, Mma) for op in ops_of(changed))


def test_pairs_of_f32_have_no_products_beyond_their_range():
    """There products are of f32, so the sums of random bf16 are those of everyday numbers alone."""
    case = product(*KINDS[0], False)
    check(case, lambda module: products_by_shuffles(module, "emulate"))


def by_blocks(module: Module) -> None:
    products_by_shuffles(module)
    inline_calls(module)
    assert sum(isinstance(op, Shuffle) for op in ops_of(module)) == 4 * 4 + 2 * 8
    warps_by_blocks(module)


def test_shuffles_of_one_word_share_barriers():
    changed = check(product(*KINDS[0], False), by_blocks)
    words = 4 + 2
    assert sum(op.barrier for op in ops_of(changed)) == 1 + 2 * words
