"""Rows and columns of products, and left factors, are in the registers of the threads that need
them; the results are what the tiles say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_groups import by_groups, results
from tests.passes.tiles.test_products import OPTIONS, attention, by_threads, by_turns, program

from gridlane import cuda
from gridlane.compiler import cuda as compiler
from gridlane.compiler.generation import copied
from gridlane.core.dtypes import DType
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import grid, memory, warpgroups
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Module
from gridlane.launch import current
from gridlane.launch.devices import get_device

RNG = np.random.default_rng(8)


@jit
def rows(x, y, sums, both, out, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Sums of rows that a loop carries, are stored, and are needed along rows or columns."""
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M,), tl.float32)
    product = tl.zeros((M, N), tl.float32)
    for step in range(count):
        a = tl.load(x + i[:, None] * K + s[None, :])
        b = tl.load(y + s[:, None] * N + j[None, :])
        product = tl.dot(a, b)
        more = tl.sum(product, 1) + step
        total = total * 0.5 + more
        product = product - more[:, None]
    tl.store(sums + i, total)
    if M == N:
        product += total[None, :]
    tl.store(both + i, total + 1)
    tl.store(out + i[:, None] * N + j[None, :], product + total[:, None])


def arrays(m: int, n: int, k: int) -> list[Any]:
    x, y = (RNG.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return [x, y, *[np.zeros(m, np.float32) for _ in range(2)], np.zeros((m, n), np.float32), 2]


def wanted(args: list[Any]) -> list[np.ndarray]:
    x, y, *_, count = args
    product = x.astype(np.float32) @ y.astype(np.float32)
    total = np.zeros(len(x), np.float32)
    for step in range(count):
        more = product.sum(1) + step
        total = total * 0.5 + more
    out = product - more[:, None] + total[:, None]
    return [total, total + 1, out + total if product.shape[0] == product.shape[1] else out]


def shared_stores(module: Module) -> int:
    """The ops that store single elements in shared memory."""
    stores = [op for op in module.kernel.body.walk() if isinstance(op, memory.Store)]
    types = [op.pointer.type for op in stores if isinstance(op.value.type, DType)]
    return sum(isinstance(each, PointerType) and each.space is Space.SHARED for each in types)


@pytest.mark.parametrize("m, n, warps", [(64, 32, 4), (64, 64, 4), (64, 128, 8), (128, 64, 8)])
def test_rows_of_warpgroups(m, n, warps):
    """Of 64 rows by 8 warps, two warpgroups have each row."""
    args = arrays(m, n, 32)
    changed, threads = by_groups(program(rows, args, warps, M=m, N=n, K=32))
    assert any(isinstance(op, warpgroups.WarpgroupMma) for op in changed.kernel.body.walk())
    got = results(changed, args, threads)[2:]
    for one, want in zip(got, wanted(args), strict=True):
        np.testing.assert_array_equal(one, want)


@pytest.mark.parametrize("m, n, warps", [(32, 32, 2), (64, 16, 4), (16, 64, 4), (64, 32, 8)])
@pytest.mark.parametrize("cores", [False, True])
def test_rows_of_warps(m, n, warps, cores):
    args = arrays(m, n, 32)
    changed, threads = by_threads(program(rows, args, warps, M=m, N=n, K=32), cores)
    got = by_turns(changed, args, threads)[2:]
    for one, want in zip(got, wanted(args), strict=True):
        np.testing.assert_array_equal(one, want)


@pytest.mark.parametrize("is_group", [False, True])
def test_attention_is_in_registers(is_group):
    """Nothing of a loop but the copies of keys and values is in shared memory, and it has one
    barrier."""
    q, k, v = (RNG.standard_normal((128, 64)).astype(np.float16) for _ in range(3))
    args = [q, k, v, np.zeros_like(q), 128]
    module = program(attention, args, 4, 2, M=64, N=32, WIDTH=64)
    changed, threads = by_groups(module) if is_group else by_threads(module, True)
    assert not shared_stores(changed)
    [loop] = [op for op in changed.kernel.body.walk() if op.name == "loop"]
    assert sum(isinstance(op, grid.Barrier) for op in loop.body.walk()) == 1
    products = [op for op in loop.body.walk() if isinstance(op, warpgroups.WarpgroupMma)]
    assert sum(not op.in_memory for op in products) == (2 if is_group else 0)
    out = (results if is_group else by_turns)(changed, args, threads, 2)[3]
    scores = q.astype(float) @ k.astype(float).T * 0.25
    powers = np.exp(scores - scores.max(1, keepdims=True))
    want = powers @ v.astype(float) / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(out, want, atol=2e-3)


@jit
def powers_of_2(q, k, v, out, length, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr):
    i, j, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, WIDTH)
    mine = tl.load(q + i[:, None] * WIDTH + d[None, :])
    largest = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, WIDTH), tl.float32)
    for at in range(0, length, N):
        keys = tl.load(k + (at + j)[:, None] * WIDTH + d[None, :])
        scores = tl.dot(mine, tl.trans(keys))
        higher = tl.maximum(largest, tl.max(scores, 1) * 0.25)
        powers = tl.exp2(scores * 0.25 - higher[:, None])
        less = tl.exp2(largest - higher)
        weight = weight * less + tl.sum(powers, 1)
        values = tl.load(v + (at + j)[:, None] * WIDTH + d[None, :])
        total = tl.dot(powers.to(values.dtype), values, total * less[:, None])
        largest = higher
    result = total * (1 / weight)[:, None]
    tl.store(out + i[:, None] * WIDTH + d[None, :], result.to(out.dtype.element_ty))


@jit
def chained(x, y, z, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + i[:, None] * K + s[None, :])
    b = tl.load(y + s[:, None] * N + j[None, :])
    scores = (tl.dot(a, b) * 0.125).to(a.dtype)
    c = tl.load(z + j[:, None] * K + s[None, :])
    tl.store(out + i[:, None] * K + s[None, :], tl.dot(scores, c))


@pytest.mark.parametrize(
    "m, n, warps, is_group",
    [(128, 32, 4, True), (128, 64, 8, True), (64, 128, 4, True), (32, 32, 2, False),
     (16, 256, 1, False), (16, 64, 4, False)],
)  # fmt: skip
def test_left_factors(m, n, warps, is_group):
    """Of several blocks of rows; deeper than what is written out; of 16 rows by 4 warps, they are
    in shared memory, as each warp needs all columns."""
    k = 32
    x, y, z = (RNG.integers(-2, 3, s).astype(np.float16) for s in ((m, k), (k, n), (n, k)))
    args = [x, y, z, np.zeros((m, k), np.float32)]
    module = program(chained, args, warps, M=m, N=n, K=k)
    changed, threads = by_groups(module) if is_group else by_threads(module, True)
    assert (shared_stores(changed) > 0) == (m < 16 * warps)
    got = (results if is_group else by_turns)(changed, args, threads)[3]
    scores = (x.astype(np.float32) @ y.astype(np.float32) * 0.125).astype(np.float16)
    np.testing.assert_array_equal(got, scores.astype(np.float32) @ z.astype(np.float32))


def test_their_ptx():
    """Two sums become halves at once, powers of 2 are one instruction each; the PTX, read by the
    frontend of PTX, computes the same."""
    q, k, v = (RNG.standard_normal((128, 64)).astype(np.float16) for _ in range(3))
    args = [q, k, v, np.zeros_like(q), 128]
    module = program(powers_of_2, args, 4, 2, M=64, N=64, WIDTH=64)
    artifact = compiler.generate(copied(module), Target("cuda", processor="sm_90a"), OPTIONS)
    text = artifact.code.decode()
    assert text.count("cvt.rn.f16x2.f32") == 3 * 16  # powers, of which the first, and the result
    assert text.count("ex2.approx.ftz.f32") == text.count("ex2.") == 2 * (32 + 2)
    assert "st.shared.b16" not in text and ".local" not in text
    current.choose(get_device("interp"))
    function = cuda.RawModule(code=text).get_function("powers_of_2")
    function((2,), (128,), (*args[:4], np.int32(128)), shared_mem=artifact.own_dynamic)
    scores = q.astype(float) @ k.astype(float).T * 0.25
    powers = np.exp2(scores - scores.max(1, keepdims=True))
    want = powers @ v.astype(float) / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(args[3], want, atol=2e-3)
