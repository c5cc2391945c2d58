"""Integers as f16 and bf16, rounded once: next to ties, where a rounding to f32 first may make or
break one. The oracle rounds by integers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES, run_on

from gridlane.core.dtypes import DType, bf16, f16, i32, i64, u32, u64
from gridlane.ir.parser import parse_module

FORMATS = {f16: (11, 65504, np.float16), bf16: (8, (2**8 - 1) << 120, ml_dtypes.bfloat16)}
"""Bits of the significand, the largest number, NumPy's type."""


def rounded(number: int, target: DType) -> float:
    """The nearest float, ties to even."""
    precision, largest, _ = FORMATS[target]
    size = abs(number)
    excess = max(0, size.bit_length() - precision)
    whole, rest = size >> excess, size & ((1 << excess) - 1)
    half = 1 << excess >> 1
    whole += bool(excess) and (rest > half or (rest == half and whole % 2 == 1))
    near = float(whole << excess) if whole << excess <= largest else float("inf")
    return -near if number < 0 else near


def numbers(source: DType, target: DType) -> list[int]:
    """Numbers around ties of each magnitude, and the bounds."""
    precision = FORMATS[target][0]
    every = {0, 1, source.min, source.max, 65519, 65520, 65521, 2**24 - 1, 2**24 + 1}
    for power in range(precision + 1, source.bits, 2):
        half = 1 << (power - precision - 1)
        for odd in (0, 1):
            tie = (1 << power - 1) + (2 * odd + 1) * half
            every |= {tie - 1, tie, tie + 1}
    signed = {sign * number for number in every for sign in (1, -1)}
    return sorted(number for number in signed if source.min <= number <= source.max)


@pytest.mark.parametrize("target", FORMATS, ids=str)
@pytest.mark.parametrize("source", (i32, u32, i64, u64), ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_integers(device: str, source: DType, target: DType) -> None:
    text = f"""
    kernel @k(%p: ptr<{source}, global>, %q: ptr<{target}, global>) {{
      %t: i32 = thread_idx x
      %from: ptr<{source}, global> = offset %p, %t
      %to: ptr<{target}, global> = offset %q, %t
      %x: {source} = load %from
      %z: {target} = cast %x
      store %to, %z
    }}
    """
    values, kind = numbers(source, target), FORMATS[target][2]
    arrays = [np.array(values, source.numpy), np.zeros(len(values), kind)]
    (_, got) = run_on(device, parse_module(text), (1, 1, 1), (len(values), 1, 1), arrays).arrays
    wanted = [rounded(value, target) for value in values]
    assert got.view(kind).astype(np.float64).tolist() == wanted
