"""float64 on devices without it: in pairs of float32 within what is documented, and in float32."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES, WORDS, assert_same, run_on
from tests.passes.test_fp64_ways import (
    EMULATED,
    close_to_integers,
    columns_of,
    from_integers,
    numbers,
    through_pairs,
    to_integers,
)

from gridlane.conformance.cases import over
from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import INTEGERS, f32, f64, i64, u64
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.ir.ops import arith, math
from gridlane.ir.types import Type

WITHOUT = [device for device in DEVICES if device in WORDS]
BINARY = (arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Min, arith.Max, math.Copysign)
UNARY = (math.Sqrt, arith.Neg, arith.Abs, math.Floor, math.Ceil, math.Trunc, math.Rint, math.Round)
SMALL = 2.0**-70
"""Below that the second number of a pair has no room."""


def all_of(classes):
    """A builder with a result of each op."""
    return lambda b, *values: [b.value(cls(*values)) for cls in classes]


def assert_near(wanted: tuple[np.ndarray, ...], got: tuple[np.ndarray, ...], name: str) -> None:
    """Of pairs: the same infinities, NaN and signs of zeros, else an error of EMULATED at most."""
    with np.errstate(all="ignore"):
        exact, made = (
            np.where(np.isinf(hi), hi, hi.astype(np.float64) + lo) for hi, lo in (wanted, got)
        )
        error = np.abs(made - exact) / np.abs(exact)
    odd = ~np.isfinite(exact) | (exact == 0)
    same = (exact == made) & (np.signbit(exact) == np.signbit(made))
    same |= np.isnan(exact) & np.isnan(made)
    assert same[odd].all(), (name, exact[odd & ~same], made[odd & ~same])
    plain = ~odd & (np.abs(exact) >= SMALL)
    assert error[plain].max() <= EMULATED, name


@pytest.mark.parametrize("device", WITHOUT)
@pytest.mark.parametrize("classes", [UNARY, BINARY], ids=["unary", "binary"])
def test_pairs_are_near(classes, device: str) -> None:
    count = len(classes[0].OPERAND_FIELDS)
    build = through_pairs(all_of(classes))
    types: list[Type] = [f32] * (2 * count)
    case = over("pairs", "", types, columns_of(numbers(count)), build)
    launch = (case.module, case.grid, case.block, case.arrays)
    options = KernelOptions(fp64="emulate")
    wanted = run_on("interp", *launch).arrays[2 * count :]
    got = run_on(device, *launch, options=options).arrays[2 * count :]
    for n, cls in enumerate(classes):
        part = slice(2 * n, 2 * n + 2)
        assert_near(tuple(wanted[part]), tuple(got[part]), cls.name)


@pytest.mark.parametrize("device", WITHOUT)
def test_rounding_of_pairs_to_integers_is_that_of_binary64(device: str) -> None:
    build = through_pairs(all_of((math.Floor, math.Ceil, math.Trunc, math.Rint)))
    case = over("pairs", "", [f32, f32], close_to_integers(), build)
    launch = (case.module, case.grid, case.block, case.arrays)
    wanted = run_on("interp", *launch).arrays[2:]
    got = run_on(device, *launch, options=KernelOptions(fp64="emulate")).arrays[2:]
    names = [f"{name}.{part}" for name in ("floor", "ceil", "trunc", "rint") for part in "01"]
    assert_same(got, wanted, names)


@pytest.mark.parametrize("device", WITHOUT)
def test_pairs_become_integers_as_binary64_does(device: str) -> None:
    case = to_integers()
    launch = (case.module, case.grid, case.block, case.arrays)
    wanted = run_on("interp", *launch).arrays[2:]
    got = run_on(device, *launch, options=KernelOptions(fp64="emulate")).arrays[2:]
    assert_same(got, wanted, [str(dtype) for dtype in INTEGERS])


@pytest.mark.parametrize("device", WITHOUT)
@pytest.mark.parametrize("dtype", [i64, u64], ids=str)
def test_integers_become_the_pairs_of_their_binary64(dtype, device: str) -> None:
    case, wanted = from_integers(dtype)
    launch = (case.module, case.grid, case.block, case.arrays)
    got = run_on(device, *launch, options=KernelOptions(fp64="emulate")).arrays[1:]
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("device", WITHOUT)
def test_narrow_is_f32(device: str) -> None:
    """Arrays of f64 give what arrays of f32 give."""
    build = all_of((*BINARY, arith.Rem))
    columns = grid_of(special(f32, 3), special(f32, 3))
    wide = [column.astype(np.float64) for column in columns]
    small, case = (
        over("narrow", "", [f32] * 2, columns, build),
        over("", "", [f64] * 2, wide, build),
    )
    wanted = run_on("interp", small.module, small.grid, small.block, small.arrays)
    options = KernelOptions(fp64="narrow")
    got = run_on(device, case.module, case.grid, case.block, case.arrays, options=options)
    widened = [array.astype(np.float64) for array in wanted.arrays[2:]]
    assert_same(got.arrays[2:], widened, [cls.name for cls in (*BINARY, arith.Rem)])


@pytest.mark.parametrize("device", WITHOUT)
@pytest.mark.parametrize("way, says", [("emulate", "not keep it"), ("refuse", "does not allow")])
def test_refused(way: str, says: str, device: str) -> None:
    """Arrays in pairs, and all of f64 where that is asked for."""
    case = over("add", "", [f64] * 2, [np.ones(3)] * 2, all_of((arith.Add,)))
    with pytest.raises(TargetError, match=says) as caught:
        options = KernelOptions(fp64=way)
        run_on(device, case.module, case.grid, case.block, case.arrays, options=options)
    assert f"the {device} target" in caught.value.message and "float64" in caught.value.message
