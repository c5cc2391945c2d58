"""Products of several matrices at once: what matrix instructions compute is what the tiles say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.codegen.test_nvptx import checked_by_ptxas
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_groups import by_groups
from tests.passes.tiles.test_products import (
    TYPES,
    by_threads,
    by_turns,
    program,
    text_of,
    uses_cores,
)

from gridlane import cuda
from gridlane.backends import backend
from gridlane.compiler.programs import block_of
from gridlane.conformance.module_runner import run_on
from gridlane.core.decisions import collecting
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import copies
from gridlane.ir.values import Module
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.passes.tiles import layouts

RNG = np.random.default_rng(15)


@jit
def product(
    a, b, c, bias, depth, rows, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """``LEFT``, ``RIGHT``: a factor lies transposed."""
    n, i, j, s = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((B, M, N), dtype=SUMS)
    for at in range(0, depth, K):
        inside = s < depth - at
        if LEFT:
            where = (
                a + n[:, None, None] * depth * M + (at + s)[None, :, None] * M + i[None, None, :]
            )
            x = tl.load(where, mask=inside[None, :, None], other=0).permute(0, 2, 1)
        else:
            where = a + (n[:, None, None] * M + i[None, :, None]) * depth + (at + s)[None, None, :]
            x = tl.load(where, mask=inside[None, None, :], other=0)
        if RIGHT:
            where = b + (n[:, None, None] * N + j[None, :, None]) * depth + (at + s)[None, None, :]
            y = tl.load(where, mask=inside[None, None, :], other=0).permute(0, 2, 1)
        else:
            where = (
                b + n[:, None, None] * depth * N + (at + s)[None, :, None] * N + j[None, None, :]
            )
            y = tl.load(where, mask=inside[None, :, None], other=0)
        total = tl.dot(x, y, total)
    total += tl.load(bias + j)[None, None, :]
    total = tl.where(total > 0, total, total * 2)
    where = c + (n[:, None, None] * M + i[None, :, None]) * N + j[None, None, :]
    tl.store(where, total, mask=(i < rows)[None, :, None])


def matrices(kind: str, count: int, m: int, n: int, depth: int, left: bool, right: bool) -> Any:
    """Small whole numbers, of whose products all sums are exact, and what the program computes."""
    a, b = (
        RNG.integers(-4, 5, shape).astype(TYPES[kind])
        for shape in ((count, m, depth), (count, depth, n))
    )
    sums = np.int32 if kind == "i8" else np.float32
    bias, rows = RNG.integers(-9, 9, n).astype(sums), m - 5
    want = a.astype(np.float64) @ b.astype(np.float64) + bias
    want = np.where(want > 0, want, 2 * want)
    want[:, rows:] = 0
    factors = [
        np.ascontiguousarray(x.swapaxes(1, 2)) if turned else x
        for x, turned in ((a, left), (b, right))
    ]
    return [*factors, np.zeros((count, m, n), sums), bias, depth, rows], want.astype(sums)


def case(kind: str, count: int, m: int, n: int, k: int, depth: int, warps: int, left: bool,
         right: bool, stages: int = 1) -> tuple[Module, list[Any], np.ndarray]:  # fmt: skip
    args, want = matrices(kind, count, m, n, depth, left, right)
    sums = tl.int32 if kind == "i8" else tl.float32
    shape = {"B": count, "M": m, "N": n, "K": k, "LEFT": left, "RIGHT": right, "SUMS": sums}
    return program(product, args, warps, stages, **shape), args, want


def check(*shape: Any, cores: bool = True, stages: int = 1) -> Module:
    module, args, want = case(*shape, stages=stages)
    changed, threads = by_threads(module, cores)
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], want)
    return changed


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([*TYPES]),
    st.sampled_from([1, 2, 4, 8]),
    *[st.sampled_from([8, 16, 32])] * 3,
    st.sampled_from([13, 32, 40]),
    st.sampled_from([1, 2, 4, 8]),
    *[st.booleans()] * 3,
)
@example("i8", 2, 16, 16, 32, 40, 4, False, False, True)
def test_products(kind, count, m, n, k, depth, warps, left, right, cores):
    check(kind, count, m, n, k, depth, warps, left, right, cores=cores)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("left, right", [(False, False), (True, True)])
@pytest.mark.parametrize("count, warps", [(4, 2), (2, 8), (4, 4), (1, 2)])
def test_matrix_instructions_compute_them(kind, left, right, count, warps):
    """Warps have whole matrices, one each, or parts of one."""
    assert uses_cores(check(kind, count, 32, 32, 32, 61, warps, left, right))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("left, right, stages", [(False, False, 3), (True, True, 2)])
def test_copies_ahead(kind, left, right, stages):
    """Copies of later iterations are in flight: without a race, and none beyond the arrays."""
    module = check(kind, 2, 32, 16, 32, 128, 4, left, right, stages=stages)
    sizes = {op.bytes for op in module.kernel.body.walk() if isinstance(op, copies.AsyncCopy)}
    assert sizes == {16} and uses_cores(module)


@pytest.mark.parametrize(
    ("count", "m", "n", "warps", "sums"),
    [(4, 16, 16, 2, 16), (2, 32, 8, 4, 4), (64, 2, 2, 2, 4), (4, 8, 4, 8, 0), (4, 64, 32, 1, 0)],
)
def test_threads_compute_blocks(count, m, n, warps, sums):
    """Where no instruction does: some rows by some columns of each of its matrices; element by
    element where threads would have too few or too many."""
    with collecting() as decisions:
        module = check("f32", count, m, n, 8, 13, warps, False, True, cores=False)
    assert not uses_cores(module)
    (how,) = [each.how for each in decisions if each.what == "product"]
    if sums:
        assert how == f"multiply-adds, with {sums} sums in the registers of each thread"
    else:
        assert how == "each element by itself, from memory"


def test_where_warpgroups_are():
    """Warps multiply there as well."""
    module, args, want = case("f16", 2, 64, 32, 32, 64, 4, False, True, 2)
    changed, threads = by_groups(module)
    assert uses_cores(changed)
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], want)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["f16", "f32", "i8"])
def test_devices(device, kind):
    module, args, want = case(kind, 2, 32, 16, 16, 13, 2, False, True)
    block = block_of(backend(device), 2)
    outcome = run_on(device, module, (1, 1, 1), block, args[:4], tuple(args[4:]))
    np.testing.assert_array_equal(outcome.arrays[2], want)


@jit
def chained(a, b, c, out, B: tl.constexpr, M: tl.constexpr):
    """The second product's left factor is computed of the first one's sums, by rows."""
    n, i = tl.arange(0, B), tl.arange(0, M)
    where = (n[:, None, None] * M + i[None, :, None]) * M + i[None, None, :]
    total = tl.dot(tl.load(a + where), tl.load(b + where))
    total -= tl.max(total, 2)[:, :, None]
    total = tl.dot(total.to(tl.float16), tl.load(c + where), out_dtype=tl.float32)
    tl.store(out + where, total)
    tl.store(out + B * M * M + n[:, None] * M + i[None, :], tl.sum(total, 1))


@pytest.mark.parametrize("count, warps", [(4, 4), (4, 1), (2, 4)])
def test_what_is_computed_of_sums(count, warps):
    """Reductions along rows and columns, and factors that are sums."""
    m = 16
    a, b, c = (RNG.integers(-2, 3, (count, m, m)).astype(np.float16) for _ in range(3))
    out = np.zeros(count * m * (m + 1), np.float32)
    module, threads = by_threads(program(chained, [a, b, c, out], warps, B=count, M=m), True)
    assert uses_cores(module)
    first = a.astype(int) @ b.astype(int)
    want = (first - first.max(2, keepdims=True)) @ c.astype(int)
    got = by_turns(module, [a, b, c, out], threads)[3]
    np.testing.assert_array_equal(got[: count * m * m].reshape(want.shape), want)
    np.testing.assert_array_equal(got[count * m * m :].reshape(count, m), want.sum(1))


def test_layouts():
    """Each element is in one register of one thread; a warp has matrices that follow each other."""
    warps = layouts.Warps(2, 1)
    made = layouts.batched_layout(8, layouts.core_layout(32, 16, warps), 2)
    assert made.is_whole() and made.is_sole() and made.count == 4 * 32 * 16 // 64
    for thread in (0, 70, 127):
        matrices_ = [made.place(register, thread) // (32 * 16) for register in range(made.count)]
        assert (
            matrices_ == sorted(matrices_) and {*matrices_} == {*range(4)}
            if thread < 64
            else {*matrices_} == {*range(4, 8)}
        )


def test_explained():
    module, *_ = case("f16", 4, 32, 32, 32, 32, 8, False, False)
    with collecting() as decisions:
        by_threads(module, True)
    (how,) = [each.how for each in decisions if each.what == "product"]
    assert "16x8x16 f16, by 2 warps down and 1 across for each of 4 parts, with 16 sums" in how


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each == "cpu")])
def test_their_ptx(kind, device):
    """The PTX, read by the frontend of PTX, computes the products."""
    module, args, want = case(kind, 2, 32, 16, 32, 112, 4, False, True, 3)
    text = text_of(module, "sm_80")
    assert "cp.async.cg.shared.global [%rd" in text and "mma.sync" in text
    assert "ldmatrix.sync.aligned.m8n8.x4.shared" in text and ".local" not in text
    current.choose(get_device(device))
    words = [each.view(np.uint16) if kind == "bf16" else each for each in args[:2]]
    given = [*words, *args[2:4], *map(np.int32, args[4:])]
    cuda.RawModule(code=text).get_function("product")((1,), (128,), tuple(given))
    np.testing.assert_array_equal(args[2], want)


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
def test_ptxas_accepts_them(tmp_path):
    for processor in ("sm_75", "sm_80", "sm_90a"):
        texts = [
            text_of(case(kind, 4, 64, 32, 32, 64, 4, False, False, 2)[0], processor)
            for kind in TYPES
        ]
        for text in texts:
            assert ("mma.sync" in text) == (processor != "sm_75")
        checked_by_ptxas(texts, processor, tmp_path)
