"""Accesses of threads to device memory by vectors: what the tiles say, on any extent."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codegen.test_nvptx import checked_by_ptxas
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_products import OPTIONS, by_threads, by_turns, program, text_of

from gridlane import compiler, cuda
from gridlane.backends import backend
from gridlane.compiler.programs import block_of
from gridlane.conformance.module_runner import run_on
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import memory
from gridlane.ir.types import VectorType
from gridlane.ir.values import Module
from gridlane.launch import current
from gridlane.launch.devices import get_device

RNG = np.random.default_rng(8)
TYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.int16, np.int64]


@jit
def combine(x, y, out, n, other, SIZE: tl.constexpr, WITH: tl.constexpr):
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    left = tl.load(x + i, mask=i < n, other=other) if WITH else tl.load(x + i, mask=i < n)
    tl.store(out + i, left + tl.load(y + i), mask=i < n)


@jit
def normalise(x, scale, out, columns, SIZE: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, SIZE)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    result = powers / tl.sum(powers, axis=0) * tl.load(scale + i, mask=i < columns)
    tl.store(out + row * columns + i, result.to(out.dtype.element_ty), mask=i < columns)


@jit
def rows(x, bias, out, sums, M: tl.constexpr, N: tl.constexpr):
    """Of both axes: a bias along columns, sums along rows and columns, a loop that carries a
    tile."""
    i, j = tl.arange(0, M), tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    total = tl.zeros((M, N), tl.float32)
    for turn in range(3):
        total += tl.load(x + at) * turn
    total += tl.load(bias + j)[None, :]
    tl.store(out + at, total)
    tl.store(sums + i, tl.sum(total, 1))
    tl.store(sums + M + j, tl.max(total, 0))


def widths(module: Module) -> tuple[set[int], set[int]]:
    """The bytes of the vectors of device memory that are loaded and stored."""
    loads, stores = set[int](), set[int]()
    for op in module.kernel.body.walk():
        if isinstance(op, memory.Load) and isinstance(op.results[0].type, VectorType):
            loads.add(op.results[0].type.size)
        if isinstance(op, memory.Store) and isinstance(op.value.type, VectorType):
            stores.add(op.value.type.size)
    return loads, stores


def outcome(function: Any, args: list[Any], warps: int, grid: int, **constants: Any):
    """What threads and the tiles compute, and the module."""
    module = program(function, args, warps, **constants)
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    numbers = tuple([each for each in args if not isinstance(each, np.ndarray)])
    want = run_on("interp", module, (grid, 1, 1), (1, 1, 1), arrays, numbers).arrays
    changed, threads = by_threads(module, True)
    return by_turns(changed, args, threads, grid), want, changed


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(TYPES),
    st.sampled_from([128, 256, 1024]),
    st.integers(1, 300),
    st.booleans(),
    st.sampled_from([1, 2, 4]),
    st.booleans(),
)
def test_elements(dtype, size, n, is_multiple, warps, with_other):
    n = 16 * (n // 16 + 1) if is_multiple else n
    x, y = (RNG.integers(-50, 50, 2 * size).astype(dtype) for _ in range(2))
    args = [x, y, np.zeros_like(x), min(n, 2 * size), 7]
    got, want, changed = outcome(combine, args, warps, 2, SIZE=size, WITH=with_other)
    np.testing.assert_array_equal(got[2], want[2])
    if is_multiple:
        count = min(16 // x.itemsize, size // (32 * warps))
        wide = {count * x.itemsize} if count > 1 and count * x.itemsize > 4 else set()
        assert widths(changed) == (wide, wide)


@pytest.mark.parametrize("columns, vectors", [(256, {16}), (240, {16}), (250, set())])
@pytest.mark.parametrize("warps", [1, 4])
def test_rows_that_are_normalised(columns, vectors, warps):
    x = RNG.standard_normal((3, columns)).astype(np.float32)
    scale = RNG.standard_normal(columns).astype(np.float32)
    args = [x.ravel(), scale, np.zeros(x.size, np.float32), columns]
    got, want, changed = outcome(normalise, args, warps, 3, SIZE=256)
    np.testing.assert_allclose(got[2], want[2], rtol=1e-5)
    wide = {8 if warps == 4 else 16} if vectors else set()
    assert widths(changed) == (wide, wide)


@pytest.mark.parametrize("m, n, warps", [(16, 64, 1), (8, 128, 4), (64, 16, 2)])
def test_two_axes(m, n, warps):
    x, bias = RNG.integers(-9, 9, m * n).astype(np.float32), np.arange(n, dtype=np.float32)
    args = [x, bias, np.zeros_like(x), np.zeros(m + n, np.float32)]
    got, want, changed = outcome(rows, args, warps, 1, M=m, N=n)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)
    loads, stores = widths(changed)
    assert 16 in loads
    assert 16 in stores


@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each == "cpu")])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_their_ptx(device, dtype):
    x, y = (RNG.integers(-50, 50, 512).astype(dtype) for _ in range(2))
    out, n = np.zeros_like(x), 400
    module = program(combine, [x, y, out, n, 7], 1, SIZE=512, WITH=True)
    text = text_of(module, "sm_90")
    assert "ld.global.v4" in text
    assert "st.global.v4" in text
    current.choose(get_device(device))
    given = (x, y, out, np.int32(n), np.int32(7))
    cuda.RawModule(code=text).get_function("combine")((1,), (32,), given)
    np.testing.assert_array_equal(out, np.where(np.arange(512) < n, x + y, np.zeros_like(x)))


@pytest.mark.parametrize("spread", [1, 60])
def test_their_ptx_of_exponentials_and_quotients(spread):
    """Those of common tests, and the others."""
    x = (RNG.standard_normal((3, 256)) * spread).astype(np.float32)
    scale, out = np.ones(256, np.float32), np.zeros_like(x)
    text = text_of(program(normalise, [x, scale, out, 256], 1, SIZE=256), "sm_90")
    assert text.count("ex2.approx.ftz.f32") >= 8
    current.choose(get_device("interp"))
    given = (x, scale, out, np.int32(256))
    cuda.RawModule(code=text).get_function("normalise")((3,), (32,), given)
    powers = np.exp((x - x.max(1, keepdims=True)).astype(np.float64))
    want = powers / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(out, want, rtol=2e-6, atol=2.0**-147)


@pytest.mark.parametrize("n", [0, 16, 400, 512])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_masks_of_vectors_are_predicates(dtype, n):
    """Memory beyond a mask is not accessed, and nothing branches."""
    x, y = (RNG.integers(-50, 50, n or 4).astype(dtype) for _ in range(2))
    out = np.full(512, 3, dtype)
    module = program(masked, [x, y, out, n], 1, SIZE=512)
    text = text_of(module, "sm_90")
    assert re.search(r"@%p\d+ ld\.global\.v4\.b32", text)
    assert re.search(r"@%p\d+ ld\.global\.cg\.v4\.b32", text)
    assert re.search(r"@%p\d+ st\.global\.v4\.b32", text)
    assert "bra" not in text
    current.choose(get_device("interp"))
    cuda.RawModule(code=text).get_function("masked")((1,), (32,), (x, y, out, np.int32(n)))
    np.testing.assert_array_equal(out[:n], (x + 2 * y)[:n])
    np.testing.assert_array_equal(out[n:], 3)


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize("n", [0, 512])
def test_masks_that_llvm_knows(n, tmp_path):
    args = [np.zeros(512, np.float16)] * 3
    text = text_of(program(known, args, 1, SIZE=512, N=n), "sm_90")
    checked_by_ptxas([text], "sm_90", tmp_path)


@jit
def known(x, y, out, SIZE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, SIZE)
    tl.store(out + i, tl.load(x + i, mask=i < N) + tl.load(y + i, mask=i < N), mask=i < N)


@jit
def masked(x, y, out, n, SIZE: tl.constexpr):
    """The masks of y are narrower than that of the store, which needs what is in their place."""
    i = tl.arange(0, SIZE)
    left = tl.load(x + i, mask=i < n)
    right = tl.load(y + i, mask=i < n - 16, other=5.0, cache_modifier=".cg")
    rest = tl.load(y + i, mask=(i < n) & (i >= n - 16), other=5.0)
    tl.store(out + i, left + (right + rest - 5) * 2, mask=i < n)


@jit
def cached(x, out, SIZE: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr):
    i = tl.arange(0, SIZE)
    tl.store(out + i, tl.load(x + i, cache_modifier=LOAD), cache_modifier=STORE)


@pytest.mark.parametrize(
    "load, store, words",
    [("ca", "wb", "v4.b32"), ("cg", "cg", "v4.b32"), ("cs", "wt", "v2.b32"), ("cv", "cs", "b32")],
)
def test_cache_policies(load, store, words):
    size = 64 if words == "v2.b32" else 128
    x, out = RNG.standard_normal(size).astype(np.float32), np.zeros(size, np.float32)
    how = {"SIZE": size, "LOAD": f".{load}", "STORE": f".{store}"}
    text = text_of(program(cached, [x, out], 1, **how), "sm_90")
    assert f"ld.global.{load}.{words}" in text
    stored = "v4.b32" if words == "b32" else words
    assert f"st.global.{store}.{stored}" in text
    current.choose(get_device("interp"))
    cuda.RawModule(code=text).get_function("cached")((1,), (32,), (x, out))
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("n", [992, 1001])
def test_on_every_device(device, dtype, n):
    x, y = (RNG.integers(-9, 9, n).astype(dtype) for _ in range(2))
    args = [x, y, np.zeros(n, dtype), n, 0]
    module = program(combine, args, 2, SIZE=512, WITH=False)
    block = block_of(backend(device), 2)
    got = run_on(device, module, (2, 1, 1), block, args[:3], (n, 0)).arrays[2]
    np.testing.assert_array_equal(got, x + y)


@pytest.mark.parametrize("language", ["webgpu", "opengl"])
@pytest.mark.parametrize("n", [992, 1001])
def test_neighbours_in_a_word_are_stored_without_atomics(language, n):
    """Where memory is words, and masks do not divide these."""
    args = [*[np.zeros(n, np.float16)] * 3, n, 0]
    module = program(combine, args, 2, SIZE=512, WITH=False)
    target = Target(language, block=(64, 1, 1))
    text = compiler.text(module, target, "asm", OPTIONS)
    assert ("atomic" in text) is (n % 2 == 1)
