"""Headers that programs include: matrices, 8-bit floats, special functions, cuda::std."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import mpmath
import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import GridlaneError
from gridlane.launch import current
from gridlane.launch.devices import get_device

FOLDER = Path(__file__).parent / "programs"
RNG = np.random.default_rng(17)


@pytest.fixture
def load():
    current.choose(get_device("cpu"))

    def made(name: str, *expressions: str, backend: str = "clang") -> list[cuda.RawKernel]:
        path = FOLDER / f"{name}.cu"
        module = cuda.RawModule(path=path, name_expressions=expressions, backend=backend)
        return [module.get_function(each) for each in expressions]

    return made


KINDS = {
    "half": ("half", "half", np.dtype(np.float16)),
    "bfloat": ("__nv_bfloat16", "__nv_bfloat16", np.dtype(ml_dtypes.bfloat16)),
    "tf32": ("wmma::precision::tf32", "float", np.dtype(np.float32)),
    "double": ("double", "double", np.dtype(np.float64)),
    "signed": ("signed char", "signed char", np.dtype(np.int8)),
    "unsigned": ("unsigned char", "unsigned char", np.dtype(np.uint8)),
}
SUMS = {"float": "f4", "half": "f2", "int": "i4", "double": "f8"}
PRODUCTS = [
    ((16, 16, 16), "half", "float", "row", "col"), ((32, 8, 16), "half", "half", "col", "row"),
    ((8, 32, 16), "bfloat", "float", "row", "row"), ((16, 16, 16), "bfloat", "float", "col", "col"),
    ((32, 8, 16), "signed", "int", "row", "col"), ((8, 32, 16), "unsigned", "int", "col", "row"),
    ((16, 16, 8), "tf32", "float", "row", "col"), ((8, 8, 4), "double", "double", "col", "row"),
]  # fmt: skip


def test_products_of_matrices(load):
    names = [
        f"product<{m}, {n}, {k}, {KINDS[kind][0]}, {KINDS[kind][1]}, {sums}, wmma::{a}_major, "
        f"wmma::{b}_major>"
        for (m, n, k), kind, sums, a, b in PRODUCTS
    ]
    for place, kernel in enumerate(load("matrices", *names)):
        ((m, n, k), kind, sums, of_a, of_b), by_rows = PRODUCTS[place], place % 3 != 1
        low = 0 if kind == "unsigned" else -8
        left, right, given = (RNG.integers(low, 9, size) for size in ((m, k), (k, n), (m, n)))
        element = KINDS[kind][2]
        a = np.ascontiguousarray(left if of_a == "row" else left.T).astype(element)
        b = np.ascontiguousarray(right if of_b == "row" else right.T).astype(element)
        c = np.ascontiguousarray(given if by_rows else given.T).astype(SUMS[sums])
        d = np.zeros_like(c)
        if kind == "bfloat":
            a, b = a.view(np.int16), b.view(np.int16)
        kernel(1, 32, (a, b, c, d, np.bool_(by_rows)))
        want = left @ right + given
        assert (d == (want if by_rows else want.T)).all(), (m, n, k, kind, sums, of_a, of_b)


def test_elements_of_matrices(load):
    relu, limited, rounded = load("matrices", "relu", "limited", "rounded")
    a, b = (RNG.integers(-8, 9, (16, 16)) for _ in range(2))
    d = np.zeros((16, 16), np.float32)
    relu(1, 32, (a.astype("f2"), b.astype("f2"), d, np.float32(0.5)))
    assert (d == np.maximum(a @ b.T, 0)).all()
    top = np.full((16, 16), 127, np.int8)
    sums = np.full((16, 16), 2**31 - 5, np.int32)
    limited(1, 32, (top, top, sums))
    assert (sums == 2**31 - 1).all()
    x = RNG.normal(size=32).astype(np.float32)
    y = np.zeros_like(x)
    rounded(1, 32, (x, y))
    bits = x.view(np.uint32)
    assert (y.view(np.uint32) == (bits + 0x1000) & 0xFFFFE000).all()


def test_matrices_of_another_shape():
    with pytest.raises(GridlaneError, match="fragment"):
        cuda.compile_cpp(
            "#include <mma.h>\n__global__ void k() { nvcuda::wmma::fragment<"
            "nvcuda::wmma::matrix_a, 4, 4, 4, half, nvcuda::wmma::row_major> f; }",
            backend="clang",
        )


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_exchange_before_volta(load, device):
    current.choose(get_device(device))
    (exchanged,) = load("warps", "exchanged")
    v, lane = RNG.integers(0, 100, 32).astype(np.int32), np.arange(32)
    out = np.zeros((32, 8), np.int32)
    exchanged(1, 32, (v, out))
    down, up = np.minimum(lane + 3, 31), np.where(lane % 8 >= 2, lane - 2, lane)
    want = [v[np.where(lane + 3 < 32, down, lane)], v[up], v[lane ^ 5], v[[7] * 32]]
    want.append(v[lane // 16 * 16 + 9])
    assert (out[:, :5] == np.stack(want, 1)).all()
    odd = v[1::2]
    votes = [(1 << np.arange(1, 32, 2)[odd > 50]).sum(), 10 * (odd > 98).any() + 1, v[3]]
    assert (out[1::2, 5:].astype(np.uint32) == np.array(votes).astype(np.uint32)).all()


def test_eights(load):
    edges = [0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 463.9, 57344, 61440, 61439, 2**-10,
             1.5 * 2**-9, 2**-17, 3 * 2**-18, -1e-30, 1e30, 1.0625, 1.1875, 1e-42]  # fmt: skip
    scaled = RNG.normal(size=400) * 2.0 ** RNG.integers(-20, 20, 400)
    x = np.concatenate([edges, RNG.uniform(-500, 500, 300), scaled]).astype(np.float32)
    u = x.astype(np.float64)
    u[18:20] += -1e-15, 1e-15
    u[21:321] += RNG.normal(0, 1e-9, 300)
    results = []
    for backend in ("clang", "nvrtc"):
        narrowed, widened = load("eights", "narrowed", "widened", backend=backend)
        out = np.zeros((11, len(x)), np.uint8)
        narrowed(-(-len(x) // 64), 64, (x, u, out, np.int32(len(x))))
        halves, integers = np.zeros(512, np.uint16), np.zeros(1280, np.int32)
        floats = np.zeros(512, np.float32)
        widened(1, 256, (halves, integers, floats))
        results.append((out, halves, integers, floats))
    for ours, theirs in zip(*results, strict=True):
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype == np.float32)


def test_eights_by_another_library(load):
    (narrowed,) = load("eights", "narrowed")
    x = RNG.normal(size=500).astype(np.float32) * np.float32(20)
    out = np.zeros((11, 500), np.uint8)
    narrowed(8, 64, (x, x.astype(np.float64), out, np.int32(500)))
    assert (out[0] == x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)).all()
    assert (out[2] == x.astype(ml_dtypes.float8_e5m2).view(np.uint8)).all()


BESSEL = [
    mpmath.j0, mpmath.j1, lambda v: mpmath.bessely(0, v), lambda v: mpmath.bessely(1, v),
    lambda v: mpmath.besselj(7, v), lambda v: mpmath.bessely(5, v),
    lambda v: mpmath.besseli(0, v), lambda v: mpmath.besseli(1, v),
    lambda v: mpmath.exp(v * v) * mpmath.erfc(v),
]  # fmt: skip


def test_special_functions(load):
    (functions,) = load("special", "functions")
    x = np.concatenate([
        RNG.uniform(0.01, 8, 60), RNG.uniform(8, 30, 40), RNG.uniform(30, 80, 20),
        [24.999, 25.0, 1e-5, 2.4048255576957727, 7.999, 8.0],
    ]).astype(np.float32).astype(np.float64)  # fmt: skip
    n = len(x)
    doubles, floats = np.zeros((9, n)), np.zeros((3, n), np.float32)
    functions(-(-n // 32), 32, (x, doubles, floats, np.int32(n)))
    with mpmath.workprec(120):
        want = np.array([[float(f(mpmath.mpf(v))) for v in x] for f in BESSEL])
    # Near its zeros an oscillating function is close absolutely.
    room = np.maximum(np.abs(want), np.array([1.0] * 6 + [0.0] * 3)[:, None])
    assert (np.abs(doubles - want) <= 4e-15 * room).all()
    assert (np.abs(floats - want[[0, 3, 6]]) <= 1.3e-7 * room[[0, 3, 6]]).all()


def test_edges_of_special_functions(load):
    (edges,) = load("special", "edges")
    out = np.zeros(19)
    edges(1, 1, (out,))
    inf, nan = np.inf, np.nan
    want = [1, 0, -inf, -inf, nan, 0, 0, 0, nan, -inf, inf, 0, -0.5767248077568734,
            -0.12894324947440206, 0.22389077914123567, nan, -0.565159103992485, 13,
            1 / 13]  # fmt: skip
    assert np.allclose(out, want, rtol=1e-14, atol=0, equal_nan=True)


def test_an_assertion_without_its_header(load):
    (checked,) = load("special", "checked")
    values = np.arange(4, dtype=np.int32)
    checked(1, 4, (values,))
    assert list(values) == [1, 2, 3, 4]
    with pytest.raises(GridlaneError, match="Assertion"):
        checked(1, 4, (np.full(4, -1, np.int32),))


def test_the_standard_library(load):
    words, complexes = load("standard", "words", "complexes")
    out, counter = np.zeros(16, np.int32), np.zeros(1, np.int32)
    words(1, 1, (out, np.int32(7), counter))
    want = [1, 7, 8, 5, 9, 7, 16, 1508, 4064, 3, 1, 32767, 10, 9, 4721, 13]
    assert list(out) == want and counter[0] == 2
    given = np.array([1.5 - 2j, 0.25 + 3j], np.complex64)
    out = np.zeros(7, np.complex64)
    complexes(1, 1, (given.view(np.float32), out.view(np.float32)))
    x, y = given.astype(complex)
    want = [x * y, x / y, x + y, np.exp(x), np.sqrt(x), x.conjugate() * abs(y)]
    want.append(x**2 + np.log(x) + 2 * x / abs(x))
    assert np.allclose(out, want, rtol=1e-6)


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_barriers_and_pipelines(load, device):
    current.choose(get_device(device))
    reversed_, staged, alone = load("stages", "reversed", "staged", "alone")
    numbers, out = RNG.integers(0, 99, (5, 64)).astype(np.int32), np.zeros((5, 64), np.int32)
    reversed_(1, 64, (numbers, out, np.int32(5)))
    assert (out == numbers[:, ::-1]).all()
    values, sums = RNG.integers(0, 99, (5, 64)).astype(np.float32), np.zeros(64, np.float32)
    staged(1, 64, (values, sums, np.int32(5)))
    assert (sums == 2.0 ** np.arange(4, -1, -1) @ values[:, ::-1]).all()
    alone(1, 64, (numbers, out))
    assert (out[0] == numbers[0, np.arange(64) ^ 1]).all()


@pytest.mark.parametrize(
    "name, kind, threads, each",
    [("float", "f4", 64, 2), ("short", "i2", 40, 3), ("unsigned long long", "u8", 32, 1)],
)
def test_a_block_sorts(load, name, kind, threads, each):
    (kernel,) = load("blocks", f"sorted<{name}, {threads}, {each}>")
    keys = RNG.integers(0 if kind[0] == "u" else -500, 500, (2, threads * each)).astype(kind)
    out, down = np.zeros_like(keys), np.zeros_like(keys)
    kernel(2, threads, (keys, out, down))
    assert (out == np.sort(keys)).all() and (down == np.sort(keys)[:, ::-1]).all()


def test_a_block_sorts_pairs(load):
    (pairs,) = load("blocks", "pairs")
    keys, places = RNG.integers(0, 2**32, 96, np.uint32), np.zeros(96, np.int32)
    padded = np.where(np.arange(96) < 90, keys, 0xFFFFFFFF)
    got = keys.copy()
    pairs(1, 48, (got, places, np.int32(90)))
    order = np.argsort(padded >> 4 & 15, kind="stable")
    assert (places == order).all() and (got[:90] == padded[order][:90]).all()
    assert (got[90:] == keys[90:]).all()


def test_a_block_arranges(load):
    (arranged,) = load("blocks", "arranged")
    items = np.sort(RNG.integers(0, 10, 192)).astype(np.int32)
    out, flags, bins = np.zeros(192, np.int32), np.zeros(192, np.int32), np.zeros(10, np.uint32)
    sums = np.zeros((3, 192), np.int32)
    arranged(1, 64, (items, out, flags, bins, sums))
    assert (out == items).all() and (bins == np.bincount(items, minlength=10)).all()
    assert (flags == np.concatenate([[1], items[1:] != items[:-1]])).all()
    assert (sums[0] == np.maximum.accumulate(items)).all()
    before = np.cumsum(items) - items
    assert (sums[1] == 1000 + before).all() and (sums[2] == 1000 + items.sum() + before).all()


def test_the_standard_library_of_another_standard():
    code = (FOLDER / "standard.cu").read_text()
    ptx = cuda.compile_cpp(code, backend="clang", options=("-std=c++20",))
    assert ".entry words" in ptx and ".entry complexes" in ptx


PRIMES = 4294967087, 4294944443
STEPS = (
    np.array([[0, 1, 0], [0, 0, 1], [-810728, 1403580, 0]], object),
    np.array([[0, 1, 0], [0, 0, 1], [-1370589, 0, 527612]], object),
)


def mrg(seed: int, skipped: int) -> float:
    """A number of MRG32k3a after a number of steps, from 1 to the first prime."""
    halves = (seed & 0xFFFFFFFF) ^ 0x55555555, (seed >> 32) ^ 0xAAAAAAAA
    made = []
    for which, (prime, step) in enumerate(zip(PRIMES, STEPS, strict=True)):
        state = np.array(
            [12345 * (halves[(i + which) % 2] if seed else 1) for i in range(3)], object
        )
        power, left = step, skipped + 1
        while left:
            state = power @ state % prime if left & 1 else state
            power, left = power @ power % prime, left >> 1
        made.append(int(state[2]))
    return float((made[0] - made[1] - 1) % PRIMES[0] + 1)


def test_the_oracle_of_mrg():
    # The first number of L'Ecuyer's implementation, whose state starts as 12345.
    assert round(mrg(0, 0) / (PRIMES[0] + 1), 12) == 0.127011122047


@pytest.mark.parametrize(
    "seed, subsequence, offset", [(0, 0, 0), (1234, 7, 5), (2**40 + 99, 2**30 + 3, 2**35)]
)
def test_mrg(load, seed, subsequence, offset):
    (words,) = load("mrg", "words")
    out, doubles = np.zeros((4, 5), np.uint32), np.zeros(4)
    words(1, 4, (out, doubles, np.uint64(seed), np.uint64(subsequence), np.uint64(offset)))
    for i in range(4):
        at = (subsequence + i) * 2**76 + offset
        places = [at, at + 1, at + 2, at + 12345678904, at + 12345678905 + 3 * 2**127]
        want = [min(int(mrg(seed, each) * 1.000000048662), 2**32 - 1) for each in places]
        assert list(out[i]) == want
        assert doubles[i] == mrg(seed, places[-1] + 1) * 2.3283065498378288e-10


@pytest.mark.parametrize("mean", [3.5, 100.0, 5000.0])
def test_poisson(load, mean):
    (numbers,) = load("mrg", "numbers")
    counts, normals = np.zeros(256, np.uint32), np.zeros(256, np.float32)
    numbers(1, 256, (counts, normals, mean))
    assert abs(counts.mean() - mean) < 4 * np.sqrt(mean / 256)
    assert 0.6 * mean < counts.var() < 1.5 * mean
    assert abs(normals.mean()) < 0.25 and 0.75 < normals.std() < 1.25


def linear(seed: int, factor: int, steps: int) -> int:
    """A number of a linear congruential engine modulo 2^31 - 1."""
    return (seed % 2147483647 or 1) * pow(factor, steps, 2147483647) % 2147483647


def test_thrust(load):
    drawn, complexes = load("parallel", "drawn", "complexes")
    reals, integers = np.zeros(32, np.float32), np.zeros(32, np.int32)
    words = np.zeros((2, 32), np.uint32)
    drawn(1, 32, (reals, integers, words))
    for i in range(32):
        parts = [(linear(100 * i, 48271, 3 * i + n) - 1) / 2147483646 for n in (1, 2)]
        assert abs(reals[i] - (4 * parts[0] - 1)) < 1e-6
        assert integers[i] == np.trunc(15 * parts[1] - 5)  # as thrust has it
        assert words[0, i] == linear(100 * i, 48271, 3 * i + 3)
        assert words[1, i] == linear(i, 16807, 1)
    given = (RNG.normal(size=32) + 1j * RNG.normal(size=32)).astype(np.complex64)
    out = np.zeros(32, np.complex64)
    complexes(1, 32, (given.view(np.float32), out.view(np.float32)))
    want = abs(given) ** 2 + np.exp(given) + np.arange(32) + 1j * np.maximum(abs(given), 2)
    assert np.allclose(out, want, rtol=1e-5)


def test_a_main_with_much_of_the_host(load):
    (zipped,) = load("hosts", "zipped")
    out = np.zeros(32, np.float32)
    zipped(1, 32, (out,))
    assert (out == 1 + 2 * np.arange(32)).all()


BETWEEN = "".join(f"#define {letter} 7\n" for letter in "ABCDEFGHIJKLMNOPQRSUVWXYZ")
"""Macros that programs have in front of their includes; T is a name of NVIDIA's headers, too."""
HEADERS = (
    *("mma.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "curand_kernel.h", "cuComplex.h"),
    *("cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h"),
    *("cuda/atomic", "cuda/barrier", "cuda/pipeline", "cuda/std/array", "cuda/std/tuple"),
    *("cuda/std/optional", "cuda/std/limits", "cuda/std/span", "cuda/std/bit", "cuda_pipeline.h"),
    *("cub/cub.cuh", "thrust/complex.h", "thrust/tuple.h", "thrust/device_vector.h"),
    *("thrust/sort.h", "thrust/random.h", "complex", "cuda_runtime.h", "cuda.h", "nvml.h"),
    *("nvrtc.h", "cuda_gl_interop.h", "math_constants.h", "cublas_v2.h", "cufft.h", "curand.h"),
    *("cusparse.h", "cusolverDn.h", "cuda/latch", "cuda/semaphore", "cuda/functional"),
    *("cuda/annotated_ptr", "cuda/cmath", "cuda/std/string_view", "nv/target"),
)


@pytest.mark.parametrize(
    ("before", "standard", "order"),
    [(BETWEEN, "c++17", 1), ("", "c++14", 1), (BETWEEN, "c++20", -1)],
    ids=["macros", "c++14", "reversed"],
)
def test_all_headers_twice(before, standard, order):
    """No capital but T is taken, and a warning stands for no defect."""
    includes = "".join(f"#include <{each}>\n" for each in (*HEADERS, *HEADERS)[::order])
    code = before + includes + 'extern "C" __global__ void k(int *x) { *x = 1; }'
    options = (f"-std={standard}", "-Wall", "-Werror")
    assert ".entry k" in cuda.compile_cpp(code, options=options, backend="clang")
