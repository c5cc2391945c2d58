"""The integer ops that instruction sets have, by Python's integers and the text of the PTX ISA."""

from __future__ import annotations

import operator
import random

import numpy as np
import pytest
from tests.interp.test_arith import results, rows, same

from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import INTEGERS, DType, b1, i32, u32
from gridlane.core.errors import VerifyError
from gridlane.ir.op import REGISTRY, Scope
from gridlane.ir.values import Function, Module, Value


def saturated(exact: int, dtype: DType) -> int:
    return max(dtype.min, min(dtype.max, exact))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_saturating(dtype: DType) -> None:
    """add.sat and sub.sat limit the result to the range of the type."""
    columns = grid_of(special(dtype, 12), special(dtype, 12))
    (total,) = results("add_sat", [dtype, dtype], columns)
    (rest,) = results("sub_sat", [dtype, dtype], columns)
    same(total, [saturated(a + b, dtype) for a, b in rows(columns)], columns)
    same(rest, [saturated(a - b, dtype) for a, b in rows(columns)], columns)


def words(value: int, dtype: DType) -> list[int]:
    """An integer of three words, least significant first."""
    return [dtype.wrap(value >> dtype.bits * place) for place in range(3)]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_carries_of_long_sums(dtype: DType) -> None:
    """add.cc, addc.cc and addc in a row add integers of three words; sub.cc and so on subtract."""
    size, draw = 3 * dtype.bits, random.Random(f"{dtype}")
    ends = [0, 1, (1 << size) - 1, 1 << dtype.bits, (1 << dtype.bits) - 1, 1 << size - 1]
    ends += [draw.getrandbits(size) for _ in range(6)]
    pairs = [(a, b) for a in ends for b in ends]
    columns = [[words(a, dtype) for a, _ in pairs], [words(b, dtype) for _, b in pairs]]
    for op, exact in (("add_carry", operator.add), ("sub_borrow", operator.sub)):
        carry = np.zeros(len(pairs), bool)
        wanted = [exact(a, b) for a, b in pairs]
        for place in range(3):
            row = [np.array([w[place] for w in column], dtype.numpy) for column in columns]
            got, carry = results(op, [dtype, dtype, b1], [*row, carry])
            assert got.tolist() == [words(value, dtype)[place] for value in wanted]
        assert carry.tolist() == [value >> size != 0 for value in wanted]


def test_operands_of_other_types_are_refused() -> None:
    op = REGISTRY["add_carry"](Value(i32), Value(u32), Value(b1))  # type: ignore[call-arg]
    with pytest.raises(VerifyError, match=r"add_carry: takes .*not \(i32, u32, b1\)"):
        op.check(Scope(Module(), Function("f")))
