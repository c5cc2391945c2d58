"""cuda.bf16 against ml_dtypes and exact fractions, on every device."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.cuda import bf16

BITS = np.array(
    [0x0000, 0x8000, 0x0001, 0x3F80, 0xBF80, 0x3FC0, 0x4049, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80]
    + [0x7FC0, 0x4300, 0xC2FF, 0x3B00, 0x3F7F, 0x4EFF, 0xCF00],
    np.uint16,
)
BFLOAT16: Any = np.dtype(ml_dtypes.bfloat16)


@cuda.jit
def binary(out, a, b):
    i = cuda.grid(1)
    if i < a.size:
        x, y = bf16.uint16_as_bfloat16(a[i]), bf16.uint16_as_bfloat16(b[i])
        out[0, i] = bf16.bfloat16_as_uint16(bf16.hadd(x, y))
        out[1, i] = bf16.bfloat16_as_uint16(bf16.hsub(x, y))
        out[2, i] = bf16.bfloat16_as_uint16(bf16.hmul(x, y))
        out[3, i] = bf16.heq(x, y)
        out[4, i] = bf16.hne(x, y)
        out[5, i] = bf16.hltu(x, y)
        out[6, i] = bf16.bfloat16_as_uint16(bf16.habs(x))
        out[7, i] = bf16.bfloat16_as_uint16(bf16.hneg(x))
        out[8, i] = bf16.hisinf(x) + 1
        out[9, i] = bf16.hisnan(x)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_arithmetic(device):
    normal = BITS[BITS != 1]  # shaders may flush subnormals
    a, b = (each.ravel() for each in np.meshgrid(normal, normal))
    out = np.zeros((10, a.size), np.uint16)
    with gridlane.device(device):
        binary[a.size // 32 + 1, 32](out, a, b)
    x, y = a.view(BFLOAT16), b.view(BFLOAT16)
    with np.errstate(all="ignore"):
        for row, expected in zip(out, (x + y, x - y, x * y), strict=False):
            np.testing.assert_array_equal(row.view(BFLOAT16).astype("f"), expected.astype("f"))
    with np.errstate(all="ignore"):
        less_or_unordered = ~(x >= y)
    nan = np.isnan(x) | np.isnan(y)
    expected = (x == y, (x != y) & ~nan, less_or_unordered, a & 0x7FFF, a ^ 0x8000)
    for row, each in zip(out[3:], expected, strict=False):
        np.testing.assert_array_equal(row, each)
    infinite = np.where(np.isinf(x), np.where(a < 0x8000, 2, 0), 1)
    np.testing.assert_array_equal(out[8], infinite)
    np.testing.assert_array_equal(out[9], np.isnan(x))


def nearest(value: Fraction) -> float:
    """The bfloat16 nearest to a fraction, by its neighbours."""
    near = np.array([float(value)]).astype(BFLOAT16).view(np.uint16)[0]
    around = [int(near) + step for step in (-1, 0, 1)]
    numbers = {bits: float(np.array([bits], np.uint16).view(BFLOAT16)[0]) for bits in around}
    best = min(around, key=lambda bits: (abs(Fraction(numbers[bits]) - value), bits & 1))
    return numbers[best]


def test_fused_sums_are_rounded_once():
    @cuda.jit
    def kernel(out, a, b, c):
        i = cuda.grid(1)
        x, y = bf16.uint16_as_bfloat16(a[i]), bf16.uint16_as_bfloat16(b[i])
        out[i] = bf16.bfloat16_as_uint16(bf16.hfma(x, y, bf16.uint16_as_bfloat16(c[i])))

    rng = np.random.default_rng(3)
    a = rng.integers(0x3F00, 0x4080, 256).astype(np.uint16)
    b = rng.integers(0x3F00, 0x4080, 256).astype(np.uint16)
    c = (rng.integers(0x3000, 0x3800, 256) | rng.integers(0, 2, 256) << 15).astype(np.uint16)
    a[0], b[0], c[0] = 0x3F81, 0x3FC0, 0xB000  # a product between two, and a little less
    out = np.zeros(256, np.uint16)
    kernel[8, 32](out, a, b, c)
    numbers = [[Fraction(float(x)) for x in each.view(BFLOAT16)] for each in (a, b, c)]
    expected = [nearest(x * y + z) for x, y, z in zip(*numbers, strict=True)]
    assert out.view(BFLOAT16).astype(float).tolist() == expected
    naive = (a.view(BFLOAT16).astype(np.float32) * b.view(BFLOAT16)) + c.view(BFLOAT16).astype("f")
    assert (naive.astype(BFLOAT16) != out.view(BFLOAT16)).any()


@cuda.jit
def directed(out, x, n):
    out[0] = bf16.bfloat16_as_uint16(bf16.float32_to_bfloat16_rn(x))
    out[1] = bf16.bfloat16_as_uint16(bf16.float32_to_bfloat16_rz(x))
    out[2] = bf16.bfloat16_as_uint16(bf16.float32_to_bfloat16_rd(x))
    out[3] = bf16.bfloat16_as_uint16(bf16.float32_to_bfloat16_ru(x))
    out[4] = bf16.bfloat16_as_uint16(bf16.int32_to_bfloat16_rn(n))
    out[5] = bf16.bfloat16_as_uint16(bf16.int32_to_bfloat16_rz(n))
    out[6] = bf16.bfloat16_as_uint16(bf16.int32_to_bfloat16_rd(n))
    out[7] = bf16.bfloat16_as_uint16(bf16.int32_to_bfloat16_ru(n))


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("number", [16777217 + 65536, -(16777217 + 65536), 12, 2**31 - 1])
def test_conversions_by_direction(device, number):
    out = np.zeros(8, np.uint16)
    with gridlane.device(device):
        directed[1, 1](out, np.float32(number), np.int32(number))
    found = out.view(BFLOAT16).astype(float)
    for (near, zero, down, up), value in (
        (found[:4], float(np.float32(number))),
        (found[4:], float(number)),
    ):
        assert near == nearest(Fraction(value))
        assert down <= value <= up
        assert zero == (down if value > 0 else up)
        assert (up == down) == (float(np.array(value).astype(BFLOAT16)) == value)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_conversions_to_integers(device):
    @cuda.jit
    def kernel(out, bits):
        i = cuda.grid(1)
        x = bf16.uint16_as_bfloat16(bits[i])
        out[0, i] = bf16.bfloat16_to_int32_rd(x)
        out[1, i] = bf16.bfloat16_to_int32_ru(x)
        out[2, i] = bf16.bfloat16_to_int16_rn(x)
        out[3, i] = bf16.bfloat16_to_uint8_rz(x)
        out[4, i] = bf16.bfloat16_to_int32_rn(bf16.htrunc(x))

    numbers = np.array([1.5, -1.5, 2.5, 300, -300, 1e9, -1e9, 0.25]).astype(BFLOAT16)
    out = np.zeros((5, 8), np.int32)
    with gridlane.device(device):
        kernel[1, 8](out, numbers.view(np.uint16))
    exact = numbers.astype(float)
    np.testing.assert_array_equal(out[0], np.floor(exact))
    np.testing.assert_array_equal(out[1], np.ceil(exact))
    np.testing.assert_array_equal(out[2], np.clip(np.rint(exact), -(2**15), 2**15 - 1))
    np.testing.assert_array_equal(out[3], np.clip(np.trunc(exact), 0, 255))
    np.testing.assert_array_equal(out[4], np.trunc(exact))


def test_conversions_have_cudas_names_too():
    assert bf16.ll2bfloat16_rn is bf16.int64_to_bfloat16_rn
    assert bf16.bfloat162ushort_rz is bf16.bfloat16_to_uint16_rz
    assert bf16.float2bfloat16 is bf16.float32_to_bfloat16
    assert bf16.bfloat162float is bf16.bfloat16_to_float32
    assert bf16.double2bfloat16 is bf16.float64_to_bfloat16
    assert bf16.short_as_bfloat16 is bf16.int16_as_bfloat16
    assert not hasattr(bf16, "char2bfloat16_rn")  # CUDA has none
