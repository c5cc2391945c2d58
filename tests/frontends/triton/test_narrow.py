"""Floats of 8 bits, against ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.triton.running import jit, run

import gridlane.frontends.triton.language as tl
from gridlane.frontends.triton.narrow import FORMATS as FORMATS_OF

RNG = np.random.default_rng(3)

KINDS = [
    (tl.float8e4nv, ml_dtypes.float8_e4m3fn, 448.0),
    (tl.float8e5, ml_dtypes.float8_e5m2, 57344.0),
    (tl.float8e4b8, ml_dtypes.float8_e4m3fnuz, 240.0),
    (tl.float8e5b16, ml_dtypes.float8_e5m2fnuz, 57344.0),
]


@jit
def decode(source, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at, tl.load(source + at))


@pytest.mark.parametrize(("kind", "dtype", "largest"), KINDS)
@pytest.mark.parametrize("target", ["f4", "f2"])
def test_all_codes_are_decoded(kind, dtype, largest, target):
    codes = np.arange(256, dtype=np.uint8)
    out = np.zeros(256, target)
    run(decode, codes, out, elements={"source": kind}, SIZE=256)
    np.testing.assert_array_equal(out, codes.view(dtype).astype(target))


@pytest.mark.parametrize(("kind", "dtype", "largest"), KINDS)
def test_numbers_are_encoded(kind, dtype, largest):
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype("f4")
    finite = np.unique(codes[np.isfinite(codes)])
    between = (finite[:-1] + finite[1:]) / 2  # ties
    near = np.nextafter(between, np.float32(np.inf)), np.nextafter(between, np.float32(-np.inf))
    some = RNG.uniform(-largest, largest, 300).astype("f4")
    values = np.concatenate([finite, between, *near, some, [0.0, -0.0, np.nan, 1e-30, -1e-42]])
    source = np.resize(values, 2048).astype("f4")
    out = np.zeros(2048, np.uint8)
    run(decode, source, out, elements={"out": kind}, SIZE=2048)
    with np.errstate(over="ignore"):
        expected = source.astype(dtype)
    is_nan = np.isnan(source)
    np.testing.assert_array_equal(np.isnan(out.view(dtype).astype("f4")), is_nan)
    assert (out[~is_nan] == expected.view(np.uint8)[~is_nan]).all()


@pytest.mark.parametrize(("kind", "dtype", "largest"), KINDS)
def test_numbers_beyond_the_largest_saturate(kind, dtype, largest):
    source = np.array([1e9, -1e9, np.inf, -np.inf], "f4")
    out = np.zeros(4, np.uint8)
    run(decode, source, out, elements={"out": kind}, SIZE=4)
    assert (out.view(dtype).astype("f4") == [largest, -largest] * 2).all()


@jit
def sizes(source, out):
    at = tl.arange(0, 256)
    tl.store(out + at, tl.abs(tl.load(source + at)))


@pytest.mark.parametrize(("kind", "dtype", "largest"), KINDS)
def test_magnitudes(kind, dtype, largest):
    codes = np.arange(256, dtype=np.uint8)
    out = np.zeros(256, np.uint8)
    run(sizes, codes, out, elements={"source": kind, "out": kind})
    expected = np.abs(codes.view(dtype).astype("f4"))
    np.testing.assert_array_equal(out.view(dtype).astype("f4"), expected)


def test_codes_with_the_bias_of_float16():
    codes = np.arange(256, dtype=np.uint8)
    bits = (codes.astype("u2") & 0x80) << 8 | (codes.astype("u2") & 0x7F) << 7
    numbers = bits.view("f2").astype("f4")
    out = np.zeros(256, "f4")
    run(decode, codes, out, elements={"source": tl.float8e4b15}, SIZE=256)
    assert (out.view("u4") == numbers.view("u4")).all()

    wide = RNG.uniform(-2.2, 2.2, 1500).astype("f4")
    small = RNG.uniform(-1e-4, 1e-4, 500).astype("f4")
    ties = (numbers[:126] + numbers[1:127]) / 2
    source = np.resize(np.concatenate([wide, small, ties, [np.inf, -np.inf]]), 2048).astype("f4")
    near = np.zeros(2048, np.uint8)
    run(decode, source, near, elements={"out": tl.float8e4b15}, SIZE=2048)
    sizes = np.abs(source.astype("f8"))[:, None]
    apart = np.abs(np.minimum(sizes, 1.75) - numbers[:127].astype("f8"))
    nearest = apart == apart.min(axis=1, keepdims=True)
    expected = np.argmax(nearest * (2 - (np.arange(127) & 1)), axis=1)  # the even one of two
    assert (near == expected + np.where(np.signbit(source), 0x80, 0)).all()


def test_nan_of_a_format_without_one():
    out = np.zeros(2, np.uint8)
    run(decode, np.array([np.nan, 1], "f4"), out, elements={"out": tl.float8e4b15}, SIZE=2)
    assert out[0] & 0x7F == 0x7E and out[1] == 0x78


@jit
def product(left, right, out):
    at = tl.arange(0, 16)
    place = at[:, None] * 16 + at[None, :]
    tl.store(out + place, tl.dot(tl.load(left + place), tl.load(right + place)))


def test_products():
    kind, dtype, _ = KINDS[0]
    left, right = RNG.integers(-4, 5, (2, 16, 16)).astype(dtype)
    out = np.zeros((16, 16), "f4")
    elements = {"left": kind, "right": kind}
    run(product, left.view(np.uint8), right.view(np.uint8), out, elements=elements)
    assert (out == left.astype("f4") @ right.astype("f4")).all()


@jit
def scaled_product(
    left, left_scale, right, right_scale, out, LEFT: tl.constexpr, RIGHT: tl.constexpr
):
    row, depth = tl.arange(0, 8), tl.arange(0, 64)
    bytes_there: tl.constexpr = 32 if LEFT == "e2m1" else 64
    packed = tl.arange(0, bytes_there)
    a = tl.load(left + row[:, None] * bytes_there + packed[None, :])
    b = tl.load(right + depth[:, None] * 8 + row[None, :])
    scales = row[:, None] * 2 + tl.arange(0, 2)[None, :]
    a_scale = tl.load(left_scale + scales)
    if right_scale is not None:
        right_scale = tl.load(right_scale + scales)
    c = tl.dot_scaled(a, a_scale, LEFT, b, right_scale, RIGHT)
    tl.store(out + row[:, None] * 8 + row[None, :], c)


FORMATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "fp16": np.float16}


@pytest.mark.parametrize("left_format", ["e2m1", "e4m3"])
@pytest.mark.parametrize("right_format", ["e5m2", "fp16"])
def test_scaled_products(left_format, right_format):
    if left_format == "e2m1":
        codes = RNG.integers(0, 16, (8, 64)).astype(np.uint8)
        left = codes[:, ::2] | codes[:, 1::2] << 4
        magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        factors = np.where(codes & 8, -1.0, 1.0) * magnitudes[codes & 7]
    else:
        floats = RNG.integers(-4, 5, (8, 64)).astype(FORMATS[left_format])
        left, factors = floats.view(np.uint8), floats.astype("f8")
    right = RNG.integers(-4, 5, (64, 8)).astype(FORMATS[right_format])
    scale, other = RNG.integers(120, 134, (2, 8, 2)).astype(np.uint8)
    has_other = right_format == "e5m2"
    bits = right.view(np.uint8 if has_other else np.uint16)
    out = np.zeros((8, 8), "f4")
    run(
        scaled_product, left, scale, bits, other if has_other else None, out,
        LEFT=left_format, RIGHT=right_format,
    )  # fmt: skip
    factors = factors * np.repeat(2.0 ** (scale.astype("f8") - 127), 32, axis=1)
    others = right.astype("f8")
    if has_other:
        others = others * np.repeat(2.0 ** (other.astype("f8") - 127), 32, axis=1).T
    np.testing.assert_allclose(out, factors @ others, rtol=1e-5, atol=1e-4)


def codes_of(values: np.ndarray, numbers: np.ndarray, towards_zero: bool) -> np.ndarray:
    """The codes without signs. Numbers ascend by their codes; numbers between two are exact."""
    sizes = np.minimum(np.abs(values), numbers[-1])
    below = np.searchsorted(numbers, sizes, side="right") - 1
    above = np.minimum(below + 1, len(numbers) - 1)
    middle = (numbers[below] + numbers[above]) / 2
    up = (sizes > middle) | ((sizes == middle) & (below % 2 == 1))
    return np.where(up & (not towards_zero), above, below)


def doubles_beside(numbers: np.ndarray) -> np.ndarray:
    """float64 at numbers and at ties between them, and so near that float32 is one of these."""
    places = np.concatenate([numbers, (numbers[:-1] + numbers[1:]) / 2])
    near = [
        places * (1 + side) for size in (24, 26, 40, 52) for side in (2.0**-size, -(2.0**-size))
    ]
    every = np.concatenate([places, *near, [1e300, 1e-300, 5e-324]])
    return np.concatenate([every, -every])


@jit
def encode(source, out, KIND: tl.constexpr, ROUNDING: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    code = tl.load(source + at).to(KIND, fp_downcast_rounding=ROUNDING)
    tl.store(out + at, code.to(tl.uint8, bitcast=True))


@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
@pytest.mark.parametrize("kind", [*(each[0] for each in KINDS), tl.float8e4b15])
def test_doubles_are_rounded_once(kind, rounding):
    numbers = np.array([FORMATS_OF[kind.name].number(code) for code in finite_codes(kind.name)])
    source = np.resize(doubles_beside(numbers), 8192)
    out = np.zeros(8192, np.uint8)
    run(encode, source, out, KIND=kind, ROUNDING=rounding, SIZE=8192)
    expected = codes_of(source, numbers, rounding == "rtz")
    signs = np.where(np.signbit(source), 0x80, 0)
    if FORMATS_OF[kind.name].is_unsigned_zero:
        signs = np.where(expected == 0, 0, signs)
    np.testing.assert_array_equal(out, expected | signs)
    with np.errstate(over="ignore"):
        rounded = source.astype("f4").astype("f8")
    by_float32 = codes_of(rounded, numbers, rounding == "rtz")
    assert (by_float32 != expected).any()


def finite_codes(name: str) -> range:
    return range(FORMATS_OF[name].largest + 1)


@pytest.mark.parametrize(("kind", "rounding"), [(tl.float16, 10), (tl.bfloat16, 7)])
def test_doubles_are_halves_by_one_rounding(kind, rounding):
    """Beside ties of 11 and 8 bits, at which float32 rounds to the tie."""
    ties = 1 + (2 * np.arange(64) + 1) * 2.0 ** -(rounding + 1)
    source = np.concatenate([ties * (1 + 2.0**-40), ties * (1 - 2.0**-40)])
    out = np.zeros(128, np.uint16)
    run(as_bits, source, out, KIND=kind)
    one = {10: 0x3C00, 7: 0x3F80}[rounding]
    np.testing.assert_array_equal(out, one + np.concatenate([np.arange(1, 65), np.arange(64)]))


@jit
def as_bits(source, out, KIND: tl.constexpr):
    at = tl.arange(0, 128)
    tl.store(out + at, tl.load(source + at).to(KIND).to(tl.uint16, bitcast=True))


@pytest.mark.parametrize("kind", [*(each[0] for each in KINDS), tl.float8e4b15])
def test_codes_of_constants(kind):
    """As the device's, which the tests above compare."""
    form = FORMATS_OF[kind.name]
    numbers = [form.number(code) for code in finite_codes(kind.name)]
    source = np.resize(doubles_beside(np.array(numbers)), 8192)
    source[:6] = [np.nan, np.inf, -np.inf, -0.0, 0.0, -1e-9]
    out = np.zeros(8192, np.uint8)
    run(encode, source, out, KIND=kind, ROUNDING="rtne", SIZE=8192)
    assert [form.code(number) for number in source.tolist()] == out.tolist()


@jit
def filled(out, KIND: tl.constexpr):
    at = tl.arange(0, 16)
    number = tl.full((16,), 1.0625 + 2.0**-30, KIND)
    tl.store(out + at, number.to(tl.uint8, bitcast=True))


def test_constants_are_rounded_once():
    out = np.zeros(16, np.uint8)
    run(filled, out, KIND=tl.float8e4nv)
    assert (out == 0x39).all()  # 1.125; float32 has 1.0625, whose even neighbour is 1
