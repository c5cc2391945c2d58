"""Functions of the language on tiles, in the interpreter against numpy."""

from __future__ import annotations

import math

import ml_dtypes
import mpmath
import numpy as np
import pytest
from tests.frontends.triton.running import jit, module_of, run

import gridlane.frontends.triton.language as tl
from gridlane.core import argtypes
from gridlane.frontends.triton.language.extra import libdevice
from gridlane.ir.ops.tile_memory import TileStore

RNG = np.random.default_rng(11)


@jit
def unary(source, out, FUNCTION: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at, FUNCTION(tl.load(source + at)))


@jit
def binary(left, right, out, FUNCTION: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at, FUNCTION(tl.load(left + at), tl.load(right + at)))


UNARY = {
    tl.exp: np.exp, tl.log2: np.log2, tl.sqrt: np.sqrt, tl.floor: np.floor, tl.ceil: np.ceil,
    tl.abs: np.abs, tl.sin: np.sin, tl.cumsum: np.cumsum, tl.sort: np.sort, tl.flip: np.flip,
    libdevice.tanh: np.tanh, libdevice.asinh: np.arcsinh, libdevice.rint: np.rint,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_float(function, dtype):
    source = RNG.uniform(0.1, 3, 32).astype(dtype)
    out = np.zeros_like(source)
    run(unary, source, out, FUNCTION=function, SIZE=32)
    np.testing.assert_allclose(out, UNARY[function](source), rtol=1e-6)


def test_a_function_of_libdevice_that_is_no_op():
    source = np.linspace(-0.9, 0.9, 16)
    out = np.zeros_like(source)
    run(unary, source, out, FUNCTION=libdevice.erfinv, SIZE=16)
    back = [math.erf(x) for x in out]
    np.testing.assert_allclose(back, source, rtol=1e-12, atol=1e-15)


@jit
def divide(x, y):
    return x // y


@jit
def rest(x, y):
    return x % y


@pytest.mark.parametrize(("function", "numpy"), [(divide, np.fmod), (rest, np.fmod)])
def test_quotients_round_towards_zero(function, numpy):
    left = np.array([7, -7, 7, -7, 1, 0, -128 + 1, 100], "i4")
    right = np.array([2, 2, -2, -2, 3, 5, 3, -7], "i4")
    out = np.zeros_like(left)
    run(binary, left, right, out, FUNCTION=function, SIZE=8)
    remainder = numpy(left, right)
    assert (out == (remainder if function is rest else (left - remainder) // right)).all()


# ---- types

I8, I16, I32, I64, U8, U32, U64, F16, BF16, F32, F64 = (
    "i8", "i16", "i32", "i64", "u8", "u32", "u64", "f16", "bf16", "f32", "f64",
)  # fmt: skip
TYPES = {
    I8: argtypes.int8, I16: argtypes.int16, I32: argtypes.int32, I64: argtypes.int64,
    U8: argtypes.uint8, U32: argtypes.uint32, U64: argtypes.uint64, F16: argtypes.float16,
    BF16: argtypes.bfloat16, F32: argtypes.float32, F64: argtypes.float64,
}  # fmt: skip


@jit
def typed(left, right, out, FUNCTION: tl.constexpr):
    at = tl.arange(0, 4)
    value = FUNCTION(tl.load(left + at), tl.load(right + at))
    tl.store(out.to(tl.pointer_type(value.dtype)) + at, value)


@jit
def plus(x, y):
    return x + y


@jit
def over(x, y):
    return x / y


@jit
def plus_one(x, y):
    return x + 1


@jit
def plus_half(x, y):
    return x + 0.5


@jit
def maximal(x, y):
    return tl.maximum(x, y)


@jit
def least(x, y):
    return tl.min(x, axis=0) + tl.zeros((4,), x.dtype)


# The rules are those of Triton's documentation, "Semantics", and of C's usual conversions.
PROMOTIONS = [
    (plus, I8, I32, I32), (plus, I32, U32, U32), (plus, I64, U32, I64), (plus, I8, U8, U8),
    (plus, F16, I64, F16), (plus, F16, BF16, F16), (plus, BF16, F32, F32), (plus, BF16, I32, F32),
    (plus, F32, F64, F64), (plus, BF16, BF16, BF16), (over, I32, I32, F32), (over, F16, F16, F32),
    (over, F64, F32, F64), (over, BF16, BF16, F32), (plus_one, F16, I8, F16),
    (plus_one, I8, I8, I8), (plus_half, I64, I8, F32), (plus_half, F16, I8, F16),
    (plus_half, BF16, I8, BF16), (maximal, BF16, BF16, F32), (least, I8, I8, I32),
    (least, F16, F16, F32),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "left", "right", "result"), PROMOTIONS, ids=lambda x: getattr(x, "__name__", x)
)
def test_the_type_of_a_result(function, left, right, result):
    types = TYPES[left][::1], TYPES[right][::1], argtypes.int8[::1]
    module = module_of(typed, *types, FUNCTION=function)
    (store,) = [op for op in module.kernel.body.walk() if isinstance(op, TileStore)]
    assert str(store.value.type.element) == result


# ---- along an axis


@jit
def reduced(source, out, FUNCTION: tl.constexpr, AXIS: tl.constexpr):
    rows, columns = tl.arange(0, 4), tl.arange(0, 8)
    value = FUNCTION(tl.load(source + rows[:, None] * 8 + columns[None, :]), axis=AXIS)
    if AXIS == 0:
        tl.store(out + columns, value)
    else:
        tl.store(out + rows, value)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("function", "numpy"),
    [(tl.sum, np.sum), (tl.max, np.max), (tl.min, np.min), (tl.argmax, np.argmax),
     (tl.argmin, np.argmin), (tl.xor_sum, np.bitwise_xor.reduce)],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["i4", "i1", "u2", "f4"])
def test_reductions(function, numpy, axis, dtype):
    if function is tl.xor_sum and dtype == "f4":
        return
    source = RNG.integers(0, 5, (4, 8)).astype(dtype)  # with ties, of which the first counts
    expected = numpy(source, axis=axis)
    out = np.zeros(
        expected.shape, "f4" if dtype == "f4" and "arg" not in function.__name__ else "i8"
    )
    run(reduced, source, out, FUNCTION=function, AXIS=axis)
    assert (out == expected).all()


@jit
def sum_and_count(total, count, other, others):
    return total + other, count + others


@jit
def two_at_once(source, out):
    at = tl.arange(0, 16)
    x = tl.load(source + at)
    total, count = tl.reduce((x, tl.full((16,), 1, tl.int32)), 0, sum_and_count)
    tl.store(out, total)
    tl.store(out + 1, count.to(tl.float32))
    tl.store(out + 2 + at, tl.associative_scan(x, 0, maximal, reverse=True))


def test_reductions_by_functions_of_the_program():
    source = RNG.integers(0, 50, 16).astype("f4")
    out = np.zeros(18, "f4")
    run(two_at_once, source, out)
    assert (out[:2] == [source.sum(), 16]).all()
    assert (out[2:] == np.maximum.accumulate(source[::-1])[::-1]).all()


@jit
def shapes(source, out):
    at = tl.arange(0, 16)
    x = tl.load(source + at).reshape(4, 4)
    low, high = tl.split(x.reshape(4, 2, 2))
    tl.store(out + at, tl.join(high, low).reshape(16))
    tl.store(out + 16 + at, tl.trans(x).ravel())
    tl.store(out + 32 + at, tl.interleave(low, high).ravel())
    tl.store(out + 48 + at, tl.cat(low.ravel(), high.ravel(), can_reorder=True))
    tl.store(
        out + 64 + at,
        tl.gather(x, (3 - tl.arange(0, 4))[None, :] + tl.zeros((4, 4), tl.int32), 1).ravel(),
    )
    tl.store(out + 80 + tl.arange(0, 4), tl.topk(x.ravel(), 4))
    tl.store(out + 84 + tl.arange(0, 4), tl.histogram(x.ravel(), 4))


def test_shapes():
    source = RNG.permutation(16).astype("i4")
    out = np.zeros(88, "i4")
    run(shapes, source, out)
    x = source.reshape(4, 4)
    pairs = source.reshape(4, 2, 2)
    assert (out[:16] == pairs[..., ::-1].ravel()).all()
    assert (out[16:32] == x.T.ravel()).all()
    assert (out[32:48] == source).all()
    assert (out[48:64] == np.concatenate([pairs[..., 0].ravel(), pairs[..., 1].ravel()])).all()
    assert (out[64:80] == x[:, ::-1].ravel()).all()
    assert (out[80:84] == [15, 14, 13, 12]).all()
    assert (out[84:] == [1, 1, 1, 1]).all()


# ---- memory


@jit
def counts(places, out, old, count):
    at = tl.arange(0, 16)
    tl.atomic_add(out + tl.load(places + at), 1, mask=at < count)
    tl.store(old, tl.atomic_max(out, 100, sem="relaxed"))
    tl.store(old + 1, tl.atomic_cas(out + 1, tl.load(out + 1), 7))


def test_atomics():
    places = RNG.integers(0, 4, 16).astype("i4")
    out, old = np.zeros(4, "i4"), np.zeros(2, "i4")
    run(counts, places, out, old, 13)
    expected = np.bincount(places[:13], minlength=4)
    assert (old == expected[:2]).all()
    assert (out == [100, 7, *expected[2:]]).all()


@jit
def one_at_a_time(source, out, flag):
    tl.store(out, tl.load(source, mask=flag > 0, other=5))
    tl.store(out + 1, 3, mask=flag > 0)


@pytest.mark.parametrize("flag", [0, 2])
def test_masks_of_scalars(flag):
    source, out = np.array([9], "i4"), np.zeros(2, "i4")
    run(one_at_a_time, source, out, np.int32(flag))
    assert (out == ([9, 3] if flag else [5, 0])).all()


# ---- casts


@jit
def casts(source, out, bits):
    at = tl.arange(0, 8)
    x = tl.load(source + at)
    tl.store(out + at, x.to(tl.bfloat16, fp_downcast_rounding="rtz"))
    tl.store(bits + at, x.to(tl.int32, bitcast=True))


def test_rounding_towards_zero_and_bits():
    source = RNG.standard_normal(8).astype("f4")
    out, bits = np.zeros(8, ml_dtypes.bfloat16), np.zeros(8, "i4")
    run(casts, source, out, bits)
    cut = (source.view("u4") & np.uint32(0xFFFF0000)).view("f4")
    assert (out.astype("f4") == cut).all()
    assert (bits == source.view("i4")).all()


# ---- random numbers


def philox(counter: list[int], key: list[int], bits: int) -> list[int]:
    """Philox 4x32-10 or 4x64-10 on Python's integers, by the paper's figure."""
    factors, raises = {
        32: ((0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)),
        64: (
            (0xD2E7470EE14C6C93, 0xCA5A826395121157),
            (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
        ),
    }[bits]
    most = (1 << bits) - 1
    for _ in range(10):
        first, second = factors[0] * counter[0], factors[1] * counter[2]
        counter = [
            (second >> bits) ^ counter[1] ^ key[0],
            second & most,
            (first >> bits) ^ counter[3] ^ key[1],
            first & most,
        ]
        key = [(key[0] + raises[0]) & most, (key[1] + raises[1]) & most]
    return counter


@jit
def random_bits(out, uniform, seed):
    at = tl.arange(0, 8)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(out + at, a)
    tl.store(out + 8 + at, b)
    tl.store(out + 16 + at, c)
    tl.store(out + 24 + at, d)
    tl.store(uniform + at, tl.rand(seed, at))


def test_random_numbers_are_those_of_philox():
    # The vector of Random123 for zeros.
    assert philox([0] * 4, [0, 0], 32) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    seed = 0x123456789AB
    out, uniform = np.zeros((4, 8), "u4"), np.zeros(8, "f4")
    run(random_bits, out, uniform, np.int64(seed))
    words = np.array(
        [philox([n, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32], 32) for n in range(8)], "u4"
    )
    assert (out == words.T).all()
    signed = words[:, 0].view("i4").astype("i8")
    folded = np.where(signed < 0, -signed - 1, signed).astype("f4")
    assert (uniform == folded * np.float32(4.6566127342e-10)).all()


# ---- instructions of PTX


@jit
def instructions(source, out, halves):
    at = tl.arange(0, 16)
    x = tl.load(source + at)
    total, rest = tl.inline_asm_elementwise(
        "add.s32 $0, $2, $3; // a sum\nsub.s32 $1, $2, $3;",
        "=r,=r,r,r", [x, 3], dtype=(tl.int32, tl.int32), is_pure=True, pack=1,
    )  # fmt: skip
    tl.store(out + at, total)
    tl.store(out + 16 + at, rest)
    small = x.to(tl.uint8)
    shifted = tl.inline_asm_elementwise(
        "{ .reg .b32 kept; and.b32 kept, $1, 0x1F1F1F1F; shl.b32 $0, kept, 3; }",
        "=r,r", [small], dtype=tl.uint8, is_pure=True, pack=4,
    )  # fmt: skip
    tl.store(out + 32 + at, shifted)
    y = tl.load(halves + at)
    doubled = tl.inline_asm_elementwise(
        "add.rn.f16x2 $0, $1, $1;", "=r,r", [y], dtype=tl.float16, is_pure=True, pack=2
    )
    tl.store(halves + at, doubled)


def test_instructions_of_ptx():
    source = RNG.integers(0, 200, 16).astype("i4")
    out = np.zeros(48, "i4")
    halves = RNG.standard_normal(16).astype("f2")
    before = halves.copy()
    run(instructions, source, out, halves)
    assert (out[:16] == source + 3).all()
    assert (out[16:32] == source - 3).all()
    assert (out[32:] == (source & 0x1F) << 3).all()
    assert (halves == before * 2).all()


@jit
def vectors(a, b, c, d, out, FUNCTION: tl.constexpr, COUNT: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    w, x, y, z = tl.load(a + at), tl.load(b + at), tl.load(c + at), tl.load(d + at)
    if COUNT == 2:
        tl.store(out + at, FUNCTION(w, x))
    elif COUNT == 3:
        tl.store(out + at, FUNCTION(w, x, y))
    else:
        tl.store(out + at, FUNCTION(w, x, y, z))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("name", "count"),
    [("rhypot", 2), ("norm3d", 3), ("norm4d", 4), ("rnorm3d", 3), ("rnorm4d", 4)],
)
def test_lengths_of_vectors(name, count, dtype):
    """Against exact sums of squares; large, tiny, infinite and no numbers as well."""
    bits = mpmath.workdps(50)
    large, tiny = (1e30, 1e-30) if dtype == "f4" else (1e300, 1e-300)
    rows = RNG.standard_normal((16, 4))
    rows[:4] *= large
    rows[4:8] *= tiny
    rows[8] = 0
    rows[9, 0], rows[9, 1] = np.inf, np.nan
    rows[10, 1] = np.nan
    rows = rows.astype(dtype)
    out = np.zeros(16, dtype)
    run(vectors, *rows.T.copy(), out, FUNCTION=getattr(libdevice, name), COUNT=count, SIZE=16)
    with bits:
        for row, found in zip(rows[:, :count].tolist(), out.tolist(), strict=True):
            if math.inf in row:
                wanted = 0.0 if name[0] == "r" else math.inf
            else:
                length = mpmath.sqrt(sum(mpmath.mpf(x) ** 2 for x in row))
                if name[0] == "r":
                    length = 1 / length if length else mpmath.inf
                wanted = float(length)
            limit = np.finfo(dtype).max
            wanted = math.inf if wanted > limit else wanted
            np.testing.assert_allclose(found, wanted, rtol=2.5 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", [0, 1])
def test_modified_bessel_functions(order, dtype):
    most = 90.0 if dtype == "f4" else 713.0
    source = [0.0, 1e-30, 1e-4, 0.5, 1, 2, 5, 12, 19.99, 20, 20.01, 35, 60, most]
    source = np.array([*source, -3, -25, np.inf, -np.inf, np.nan], dtype)
    source = np.pad(source, (0, 32 - len(source)), constant_values=4)
    out = np.zeros_like(source)
    run(unary, source, out, FUNCTION=getattr(libdevice, f"cyl_bessel_i{order}"), SIZE=32)
    with mpmath.workdps(40):
        wanted = [
            x if math.isnan(x) else abs(x) if math.isinf(x) and not order
            else x if math.isinf(x) else float(mpmath.besseli(order, x))
            for x in source.tolist()
        ]  # fmt: skip
    rtol = 2e-7 if dtype == "f4" else 5e-15
    np.testing.assert_allclose(out, np.array(wanted, dtype), rtol=rtol)


@jit
def bits_of(source, back, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    bits = libdevice.float_as_uint(tl.load(source + at))
    tl.store(out + at, bits)
    tl.store(back + at, libdevice.uint_as_float(bits.to(tl.uint32)))


def test_bits_of_floats():
    source = np.array([1.5, -0.0, np.inf, -2.0], np.float32)
    back, out = np.zeros(4, np.float32), np.zeros(4, np.int32)
    run(bits_of, source, back, out, SIZE=4)
    assert (out == source.view(np.int32)).all()
    assert (back.view(np.int32) == out).all()


@jit
def loaded(source, out, MASKED: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    mask = at < SIZE // 2 if MASKED else None
    value = tl.atomic_load(source + at, mask=mask, sem="relaxed")
    tl.atomic_store(out + at, value, mask=mask)
    tl.atomic_store(out + SIZE, tl.atomic_load(source + 1))


@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
@pytest.mark.parametrize("masked", [False, True])
def test_atomic_loads_and_stores(dtype, masked):
    source = np.array([-0.0, 2, 3, 4] if dtype[0] == "f" else [0, 2, 3, 4], dtype)
    before = source.copy()
    out = np.full(5, 9, dtype)
    run(loaded, source, out, MASKED=masked, SIZE=4)
    wanted = [*source[:2], 9, 9, 2] if masked else [*source, 2]
    assert out.tobytes() == np.array(wanted, dtype).tobytes()
    assert source.tobytes() == before.tobytes()


@jit
def wrong_order(source, out, KIND: tl.constexpr):
    if KIND == 0:
        tl.store(out, tl.atomic_load(source, sem="release"))
    elif KIND == 1:
        tl.atomic_store(out, 1, sem="acquire")
    else:
        tl.store(out, tl.atomic_poll(source, 1))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (0, "atomic_load only supports acquire and relaxed"),
        (1, "atomic_store only supports release and relaxed"),
        (2, "atomic_poll waits for other programs"),
    ],
)
def test_atomics_that_are_refused(kind, message):
    with pytest.raises(Exception, match=message):
        run(wrong_order, np.zeros(1, np.int32), np.zeros(1, np.int32), KIND=kind)


@jit
def facts(out):
    if tl.target_info.is_cuda() or tl.target_info.cuda_capability_geq(9, 0):
        tl.store(out, -1)
    elif tl.target_info.current_target() is None:
        tl.extra.cuda.gdc_wait()
        tl.store(out, tl.extra.cuda.num_threads())
        tl.extra.cuda.gdc_launch_dependents()
        tl.store(out + 1, tl.extra.cuda.num_warps())


def test_facts_of_the_target():
    out = np.zeros(2, np.int32)
    run(facts, out)
    assert out.tolist() == [128, 4]
