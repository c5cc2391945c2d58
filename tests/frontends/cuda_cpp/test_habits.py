"""Habits of programs in CUDA C++, compiled by clang: their kernels against numpy."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import PtxError
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parent / "programs" / "habits.cu"
KERNELS = (
    *("old_sum<float>", "old_sum<double>", "chosen", "parts<float>", "parts<double>"),
    *("integers", "halves", "copied", "fill", "vectors"),
)
RNG = np.random.default_rng(13)


@pytest.fixture(params=["interp", "cpu"])
def module(request):
    current.choose(get_device(request.param))
    # Options of makefiles that are not the device's compiler's have no effect.
    options = ["-rdc=true", "-Xcompiler", "-fopenmp", "-gencode", "arch=compute_80,code=sm_80"]
    return cuda.RawModule(
        path=SOURCE, name_expressions=KERNELS, backend="clang", options=tuple(options)
    )


@pytest.mark.parametrize("name, kind", [("float", "f4"), ("double", "f8")])
def test_a_warp_in_lockstep(module, name, kind):
    values, out = RNG.integers(-99, 99, 128).astype(kind), np.zeros(1, kind)
    module.get_function(f"old_sum<{name}>")(1, 64, (values, out), shared_mem=96 * out.itemsize)
    assert out[0] == values.sum()


def test_lanes_without_a_value(module):
    values, out, count = RNG.integers(0, 99, 150).astype(np.int32), np.zeros(150, np.int32), [0]
    count = np.zeros(1, np.int32)
    module.get_function("chosen")(3, 64, (values, out, count, 150))
    want = values[values % 3 == 0]
    assert count[0] == len(want) and (np.sort(out[: count[0]]) == np.sort(want)).all()


@pytest.mark.parametrize("name, kind", [("float", np.float32), ("double", np.float64)])
def test_parts_of_numbers(module, name, kind):
    values = np.array([0.5, -2.5, 3.0, 1e-40, -7.25, 100.5, 0.375, -0.125], kind)
    out = np.zeros((14, 8))
    module.get_function(f"parts<{name}>")(1, 8, (values, out, 8))
    for row, v in zip(out.T, map(float, values), strict=True):
        mantissa, exponent = math.frexp(v)
        rest = math.remainder(v, 0.75)
        quotient = round((v - rest) / 0.75)
        want = [mantissa, exponent, *math.modf(v), round(v)]
        want += [math.copysign(math.floor(abs(v) + 0.5), v), int(v), exponent - 1, exponent - 1]
        want += [rest, rest, math.copysign(abs(quotient) % 8, quotient) % 8, v * 8, v * 2 + 1]
        assert list(row) == want


def signed(value: int, bits: int = 32) -> int:
    return (value & (1 << bits) - 1) - (value >> bits - 1 & 1) * (1 << bits)


def lanes(bits: int, f, *words: int) -> int:
    """A function of each of the parts of words."""
    mask = (1 << bits) - 1
    each = [[w >> at & mask for w in words] for at in range(0, 32, bits)]
    return sum((f(*parts) & mask) << bits * n for n, parts in enumerate(each))


def third_bit_from_5(word: int) -> int:
    return ([at for at in range(5, 32) if word >> at & 1] + [2**32 - 1] * 3)[2]


def test_integers(module):
    words = RNG.integers(0, 2**32, 34, np.uint32)
    words[:4] = [2**32 - 1, 2**31, 0, 0xFF80FF7F]
    out = np.zeros((9, 32), np.uint32)
    module.get_function("integers")(1, 32, (words, out, 32))

    for i, row in enumerate(out.T):
        a, b, c = map(int, words[i : i + 3])
        x, y, z = map(signed, (a, b, c))
        want = [
            third_bit_from_5(a),
            max(x, y, z),
            min(a, b, c),
            max(signed(a + b), z, 0),
            min(a + b & 2**32 - 1, c),
        ]
        want += [lanes(16, lambda *each: max(0, min(signed(v, 16) for v in each)), a, b, c)]
        want += [lanes(16, lambda p, q, r: max(p + q & 0xFFFF, r), a, b, c), max(x, y), x >= y]
        assert [int(v) for v in row] == [v & 2**32 - 1 for v in want]


def test_halves(module):
    values, out = np.array([1.7007, -3.25, np.nan], np.float32), np.zeros(9, np.float32)
    module.get_function("halves")(1, 1, (values, out))
    c, b = (np.float16(v) for v in values[:2])
    a, less = c + np.float16(1), b - np.float16(1)
    cut = (values[:1].view(np.uint32) & 0xFFFF0000).view(np.float32)[0]
    assert cut != values[0].astype(ml_dtypes.bfloat16)
    assert list(out[:6]) == [a, c, b, less, cut, 0]
    assert np.isnan(out[6]) and out[7] == a and out[8] == a * a + c


def test_copies_by_a_group(module):
    values, out = RNG.integers(0, 99, 64).astype(np.int32), np.zeros(65, np.int32)
    count = np.zeros(1, np.int32)
    module.get_function("copied")(1, 64, (values, out, count))
    assert (out[:64] == 2 * values[::-1]).all() and out[64] == 64 and count[0] == 5


def test_a_name_of_std(module):
    out = np.zeros(64, np.uint32)
    module.get_function("fill")(1, 64, (out,))
    assert (out == np.arange(64) % 32 + 6400).all()


def test_vectors_of_the_samples(module):
    p = np.array([[1, -2, 3, 4], [0.5, -1.25, 2, -3]], np.float32)
    out = np.zeros((4, 4), np.float32)
    module.get_function("vectors")(1, 1, (p, out))
    b = p[1, :3]
    a = np.clip((p[0, :3] + 2 * b) / 4, -1, [1, 2, 0.5])
    want = [
        [*(np.cross(a, b) - a), a @ b],
        (p[0] + (p[1] - p[0]) / 4) * p[1],
        [*(np.maximum(-np.floor(b), -1) * 3), 5],
        [*(a - 2 * b * (b @ a)), 0.25**2 * 2.5],
    ]
    assert np.allclose(out, want, rtol=1e-6)


def test_what_is_not_there():
    current.choose(get_device("cpu"))
    code = """__device__ int absent(int x);
__global__ void whole(int *x) { *x = absent(1); }"""
    module = cuda.RawModule(code=code, name_expressions=("whole",), backend="clang")
    with pytest.raises(PtxError, match=r"absent.* is extern, and nothing defines it"):
        module.get_function("whole")(1, 1, (np.zeros(1, np.int32),))
    unnamed = cuda.RawModule(code=code, backend="clang")
    with pytest.raises(PtxError, match=r'no kernel whole .* name_expressions=\("whole",\)'):
        unnamed.get_function("whole")(1, 1, (np.zeros(1, np.int32),))


def test_atomics_with_an_order_and_a_scope(module):
    """The numbers are what nvcc's build gives."""
    x, y, f = (
        np.arange(0, 1600, 100, dtype=np.int32),
        np.ones(1, np.uint64),
        np.zeros(1, np.float32),
    )
    module.get_function("ordered")(1, 32, (x, y, f))
    assert list(x[:9]) == [496, 100, -31, 0x3FFFFFFF, 5, 400, 1500, 700, 4]
    assert (y[0], f[0]) == (2779530283277761, 16)
