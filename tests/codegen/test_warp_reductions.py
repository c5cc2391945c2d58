"""The neutral elements that reductions over a warp begin with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gridlane.codegen.spirv import warps
from gridlane.core.dtypes import INTEGERS, DType
from gridlane.ir.ops.warp import WarpReduction
from gridlane.passes.legalise.warps_by_blocks import lanes

NUMPY: dict[WarpReduction, Callable[..., np.ndarray]] = {
    WarpReduction.ADD: np.add,
    WarpReduction.MIN: np.minimum,
    WarpReduction.MAX: np.maximum,
    WarpReduction.AND: np.bitwise_and,
    WarpReduction.OR: np.bitwise_or,
    WarpReduction.XOR: np.bitwise_xor,
}


@pytest.mark.parametrize("module", (warps, lanes))
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("kind", WarpReduction)
def test_a_neutral_element_changes_nothing(module, kind: WarpReduction, dtype: DType) -> None:
    numbers = np.array([dtype.min, dtype.min + 1, 0, 1, 5, dtype.max], dtype.numpy)
    neutral = np.array(dtype.wrap(module._NEUTRAL[kind](dtype)), dtype.numpy)
    assert np.array_equal(NUMPY[kind](numbers, neutral), numbers)
