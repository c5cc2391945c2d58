"""Functions of f32 for targets whose fused multiply-add rounds once, on every 100,000th float."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gridlane.conformance.kernels import elementwise
from gridlane.conformance.module_runner import run_on
from gridlane.core.dtypes import f32
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops import math
from gridlane.passes.legalise.math.functions import FUSED_SINGLE

EXACT: dict[type[Op], Callable[[np.ndarray], np.ndarray]] = {math.Exp: np.exp, math.Tanh: np.tanh}


@pytest.mark.parametrize("op", FUSED_SINGLE)
def test_errors_of_at_most_an_ulp(op):
    """Of random floats, and of those where the functions are neither 0, 1 nor infinite."""
    bits = np.arange(0, 1 << 32, 100_003, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.linspace(-110, 110, 60_000, dtype=np.float32)])
    x = np.concatenate([x, np.linspace(-1, 1, 60_000, dtype=np.float32)])
    count = x.size // 256 * 256
    module, _ = elementwise([f32], lambda b, value: [b.unary(op, value)], count)
    arrays = [x[:count], np.zeros(count, np.float32)]
    options = KernelOptions(own_functions=True, fma=False)
    result = run_on("cpu", module, (count // 256, 1, 1), (256, 1, 1), arrays, options=options)
    with np.errstate(all="ignore"):
        exact = EXACT[op](arrays[0].astype(np.float64))
        nearest = exact.astype(np.float32)
        ulp = np.spacing(np.minimum(np.abs(nearest), np.finfo(np.float32).max))
        error = np.abs(result.arrays[1].astype(np.float64) - exact) / ulp
    same = (result.arrays[1] == nearest) | (np.isnan(nearest) & np.isnan(result.arrays[1]))
    assert np.where(same, 0, error).max() <= 1.0
    zeros = nearest == 0
    assert np.array_equal(np.signbit(result.arrays[1][zeros]), np.signbit(nearest[zeros]))
