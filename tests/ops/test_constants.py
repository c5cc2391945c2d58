"""Arithmetic of constants, which compilers of devices compute themselves: signs of 0 above all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.devices import DEVICES, assert_same, run_on

from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i32
from gridlane.ir.builder import Builder
from gridlane.ir.ops import grid
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Function, Module, Param, Value

VALUES = (0.0, -0.0, 1.0, -1.0)
OPS = ("add", "sub", "mul")


def of_constants(dtype: DType) -> Module:
    """A kernel that stores what each op gives of each pair."""
    out = Value(pointer(dtype, Space.GLOBAL), None, "out")
    module, function = Module(), Function("kernel", [Param(out, 0)], is_kernel=True)
    module.functions["kernel"] = function
    b = Builder(module, function)
    with b.if_(b.eq(b.value(grid.ThreadIdx(grid.Axis.X)), b.const(0, i32))):
        for n, (op, x, y) in enumerate(product(OPS, VALUES, VALUES)):
            made = getattr(b, op)(b.const(x, dtype), b.const(y, dtype))
            b.store(b.offset(out, b.const(n, i32)), made)
    return module


@pytest.mark.parametrize("dtype", [bf16, f16, f32, f64], ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_signs_of_zero(device: str, dtype: DType) -> None:
    count = len(OPS) * len(VALUES) ** 2
    launch = (of_constants(dtype), (1, 1, 1), (32, 1, 1), [np.zeros(count, f"u{dtype.size}")])
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    assert_same(got.arrays, wanted.arrays, ["of constants"])
    if dtype is f64:
        with np.errstate(all="ignore"):
            computed = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
            exact = [computed[op](x, y) for op, x, y in product(OPS, VALUES, VALUES)]
        assert_same([wanted.arrays[0].view("u8")], [np.array(exact).view("u8")], ["of numpy"])
