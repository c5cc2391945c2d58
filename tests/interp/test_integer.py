"""The integer ops that instruction sets have, by Python's integers and the text of the PTX ISA."""

from __future__ import annotations

import pytest
from tests.interp.test_arith import results, rows, same

from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import INTEGERS, DType


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
