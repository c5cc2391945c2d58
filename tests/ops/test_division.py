"""64-bit division: vectors below 2**53 go through binary64, which must be exact to the last one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES, run_on

from gridlane.core.dtypes import DType, i64, u64
from gridlane.ir.parser import parse_module

TEXT = """
kernel @k(%p: ptr<{t}, global>, %q: ptr<{t}, global>, %d: ptr<{t}, global>, %r: ptr<{t}, global>) {{
  %x: i32 = thread_idx x
  %y: i32 = block_idx x
  %w: i32 = block_dim x
  %s: i32 = mul %y, %w
  %n: i32 = add %s, %x
  %a: ptr<{t}, global> = offset %p, %n
  %b: ptr<{t}, global> = offset %q, %n
  %c: ptr<{t}, global> = offset %d, %n
  %e: ptr<{t}, global> = offset %r, %n
  %u: {t} = load %a
  %v: {t} = load %b
  %f: {t} = div %u, %v
  %g: {t} = rem %u, %v
  store %c, %f
  store %e, %g
}}
"""
COUNT = 1 << 14


def operands(dtype: DType, bits: int, seed: int) -> tuple[list[int], list[int]]:
    """Dividends near multiples of their divisors, of up to ``bits`` bits, of both signs."""
    random = np.random.default_rng(seed)
    top, left, right = 1 << bits, [], []
    for _ in range(COUNT):
        divisor = int(random.integers(1, 1 << int(random.integers(1, bits))))
        multiple = int(random.integers(0, top // divisor)) * divisor
        dividend = min(max(multiple + int(random.integers(-1, 2)), 0), top - 1)
        signs = random.integers(0, 2, 2) if dtype.is_signed else (0, 0)
        left.append(-dividend if signs[0] else dividend)
        right.append(-divisor if signs[1] else divisor)
    return left, right


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bits", [20, 53, 54, 63])
@pytest.mark.parametrize("dtype", [i64, u64], ids=str)
def test_division_is_exact(dtype: DType, bits: int, device: str) -> None:
    left, right = operands(dtype, bits, bits)
    arrays = [np.array(values, dtype.numpy) for values in (left, right)]
    results = [np.zeros(COUNT, dtype.numpy) for _ in range(2)]
    module = parse_module(TEXT.format(t=dtype))
    grid, block = (COUNT // 128, 1, 1), (128, 1, 1)
    got = run_on(device, module, grid, block, [*arrays, *results]).arrays
    for index, (a, b) in enumerate(zip(left, right, strict=True)):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        assert (got[2][index], got[3][index]) == (quotient, a - quotient * b), (a, b)
