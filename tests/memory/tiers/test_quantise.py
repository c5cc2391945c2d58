"""Quantised arrays: the error is within the bound, by exact rationals, and is nearly reached."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.effort import examples

from gridlane.memory.tiers import BlockStore
from gridlane.memory.tiers.quantise import KINDS, quantise, unpack

TYPES = {"float32": 32, "float64": 64}
LARGEST = {"bf16": Fraction(255, 256) * 2**128, "fp8_e4m3": 448, "fp8_e5m2": 57344, "int8": 127}


def documented(kind: str, most: Fraction, scale: Fraction) -> Fraction:
    """The bound of the docstring."""
    slack = 1 + Fraction(1, 2**15)
    if kind == "int8":
        return (scale / 2 + most / 2**24) * slack
    relative, least = {
        "bf16": (8, 134),
        "fp8_e4m3": (4, 10),
        "fp8_e5m2": (3, 17),
    }[kind]
    power = Fraction(2) ** (math.frexp(float(most))[1] - 1) if most else Fraction(0)
    assert power <= most < 2 * power or not most
    return max(power / 2**relative, scale / 2**least) * slack


@st.composite
def numbers(draw, dtype):
    """Arrays of which some are of one magnitude, and some of all."""
    width = TYPES[dtype]
    most = 3.0e38
    floats = (
        st.floats(-most, most, width=width)
        if width == 64
        else st.floats(-float(np.float32(most)), float(np.float32(most)), width=32)
    )
    near = st.integers(-(2**20), 2**20).map(lambda n: n / 2**17)
    kind = draw(st.sampled_from([floats, near, st.sampled_from([0.0, 1.0, -1.0, 448.0, 465.0])]))
    return draw(arrays.arrays(dtype, st.integers(0, 40), elements=kind.map(np.dtype(dtype).type)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(100, 5000))
@given(st.data(), st.integers(1, 20))
def test_errors_are_within_the_bound(kind, dtype, data, block):
    array = data.draw(numbers(dtype))
    small = quantise(array, kind, block)
    back = small.restore()
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    for n, (given_, got) in enumerate(zip(array.tolist(), back.tolist(), strict=True)):
        row = n // block
        most = max(abs(Fraction(x)) for x in array[row * block : (row + 1) * block].tolist())
        scale = Fraction(float(small.scales[row]))
        bound = Fraction(float(small.bounds[row]))
        assert abs(Fraction(given_) - Fraction(got)) <= bound
        assert abs(bound - documented(kind, most, scale)) <= bound / 2**40 + Fraction(1, 2**1072)
        if kind.startswith("fp8") and most:
            assert scale.numerator == 1 or scale.denominator == 1
            assert most / scale <= LARGEST[kind]
            assert most / scale * 2 > LARGEST[kind] or scale == Fraction(1, 2**130)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_measured(kind, dtype):
    """Of a million random numbers the worst is at 90 % of the bound or more."""
    array = np.random.default_rng(3).standard_normal(1_000_000).astype(dtype)
    small = quantise(array, kind, 100)
    error = np.abs(small.restore().astype(np.longdouble) - array).reshape(-1, 100).max(axis=1)
    worst = float((error / small.bounds).max())
    assert 0.9 < worst <= 1
    assert small.codes.nbytes == array.size * (2 if kind == "bf16" else 1)


def test_known_codes():
    assert quantise(np.array([1, -0.5, 0.25]), "int8").codes.tolist() == [127, -64, 32]
    small = quantise(np.array([448, -1, 2**-9, 0.3]), "fp8_e4m3")
    assert small.scales.tolist() == [1]
    assert small.codes.view(np.uint8).tolist() == [0x7E, 0xB8, 0x01, 0x2A]
    small = quantise(np.array([57344, 1.0]), "fp8_e5m2")
    assert small.codes.view(np.uint8).tolist() == [0x7B, 0x3C]
    array = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    bits = array.view(np.uint32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    assert np.array_equal(quantise(array, "bf16").codes.view(np.uint16), rounded)


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_numbers(kind):
    for dtype in (np.float32, np.float64):
        info = np.finfo(dtype)
        tiny = float(info.smallest_subnormal)
        for values in ([tiny, -tiny], [190 * tiny, 3 * tiny], [float(info.tiny)] * 3):
            array = np.array(values, dtype)
            small = quantise(array, kind)
            errors = [
                abs(Fraction(a) - Fraction(b)) for a, b in zip(values, small.restore().tolist())
            ]
            assert max(errors) <= Fraction(float(small.bounds[0]))
        if kind != "bf16":
            array = np.array([info.max, -info.max / 3], dtype)
            small = quantise(array, kind)
            back = small.restore()
            assert np.isfinite(back).all()
            assert (np.abs(back / 4 - array / 4) <= small.bounds[0] / 4).all()


def test_numbers_that_are_refused():
    for kind in ("int8", "fp8_e4m3", "fp8_e5m2"):
        for bad in (np.nan, np.inf):
            with pytest.raises(ValueError, match=f"not finite, which {kind}"):
                quantise(np.array([1.0, bad]), kind)
    back = quantise(np.array([np.nan, np.inf, -np.inf, 1.0]), "bf16").restore()
    assert np.isnan(back[0]) and back[1:].tolist() == [np.inf, -np.inf, 1.0]
    with pytest.raises(ValueError, match="largest of bf16"):
        quantise(np.array([np.finfo(np.float32).max]), "bf16")
    with pytest.raises(TypeError, match="int32"):
        quantise(np.array([1], np.int32), "int8")
    with pytest.raises(TypeError, match="bfloat16"):
        quantise(np.array([1], ml_dtypes.bfloat16), "int8")
    with pytest.raises(ValueError, match="kinds are bf16"):
        quantise(np.array([1.0]), "fp4")
    with pytest.raises(ValueError, match="block of 0"):
        quantise(np.array([1.0]), "int8", 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(7, 5), (0, 3), (), (1000,)])
def test_quantised_arrays_in_a_store(tmp_path, kind, shape):
    array = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    array = np.asarray(array)
    small = quantise(array, kind, 16)
    with BlockStore(tmp_path) as store:
        store["a"] = small.pack()
        back = unpack(store["a"])
        assert np.array_equal(back.restore(), small.restore())
        assert np.array_equal(back.bounds, small.bounds) and back.block == 16
        for bad in (b"", store["a"][:-1], store["a"] + b"1", b"x" * 40):
            with pytest.raises(ValueError, match="not of a quantised array"):
                unpack(bad)
