"""Products of tiles by warpgroups are what the tiles say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.codegen.test_nvptx import checked_by_ptxas
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit
from tests.passes.tiles.flying import watched
from tests.passes.tiles.test_products import (
    OPTIONS,
    TYPES,
    attention,
    by_turns,
    matrices,
    product,
    program,
)

from gridlane import cuda
from gridlane.backends import backend
from gridlane.compiler import cuda as compiler
from gridlane.compiler.generation import copied
from gridlane.compiler.programs import machine_with_groups
from gridlane.conformance.module_runner import run_on
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import copies, products, warpgroups
from gridlane.ir.stages import KERNEL
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.passes.legalise.expand_ops import expand_ops
from gridlane.passes.tiles import lower_tiles
from gridlane.passes.tiles.layouts import group_layout, groups_of

MACHINE = replace(machine_with_groups(backend("cuda")), static=0)


def by_groups(module: Module) -> tuple[Module, int]:
    """The same for the threads of a block, and how many there are."""
    changed = copied(module)
    threads = MACHINE.threads(module.program_warps)
    lower_tiles(changed, MACHINE)
    changed.program_warps = 0
    verify(changed, KERNEL)
    return changed, threads


def results(module: Module, args: list[Any], threads: int, grid: int = 1) -> list[np.ndarray]:
    """The arrays after a launch. The warps of a lone warpgroup take turns, others run in step."""
    if threads == 128:
        module = copied(module)
        expand_ops(module, frozenset(REGISTRY.values()) - {warpgroups.WarpgroupWait})
        return by_turns(module, args, threads, grid)
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    numbers = tuple([each for each in args if not isinstance(each, np.ndarray)])
    return run_on("interp", module, (grid, 1, 1), (threads, 1, 1), arrays, numbers).arrays


def check(kind: str, m: int, n: int, k: int, steps: int, warps: int, left: bool, right: bool,
          stages: int = 1, less: int = 3) -> Module:  # fmt: skip
    a, b, bias, depth, rows, out = matrices(kind, m, n, k * steps - less, m - 5)
    args = [a, b, out, bias, depth, rows]
    shape = {"M": m, "N": n, "K": k, "LEFT": left, "RIGHT": right, "SUMS": tl.float32}
    changed, threads = by_groups(program(product, args, warps, stages, **shape))
    want = a.astype(np.float64) @ b.astype(np.float64) + bias
    want = np.where(want > 0, want, 2 * want)
    want[rows:] = 0
    kinds = [type(op) for op in changed.kernel.body.walk()]
    assert warpgroups.WarpgroupMma in kinds and products.Mma not in kinds
    np.testing.assert_array_equal(results(changed, args, threads)[2], want.astype(out.dtype))
    return changed


SHAPES = [
    (64, 16, 16, 4), (64, 32, 32, 4), (128, 64, 64, 4), (128, 32, 128, 8), (64, 128, 16, 8),
    (64, 128, 64, 4),
]  # fmt: skip


@pytest.mark.parametrize("m, n, k, warps", SHAPES)
@pytest.mark.parametrize("left, right", [(False, False), (True, True), (False, True)])
def test_products(m, n, k, warps, left, right):
    check("bf16" if left else "f16", m, n, k, 2, warps, left, right)


@pytest.mark.parametrize("left, right, stages", [(False, False, 3), (True, True, 2)])
def test_copies_ahead(left, right, stages):
    module = check("f16", 64, 64, 64, 4, 4, left, right, stages, 16 if right else 0)
    sizes = {op.bytes for op in module.kernel.body.walk() if isinstance(op, copies.AsyncCopy)}
    assert sizes == {16}
    names = [op.name for op in module.kernel.body.walk()]
    first, last = names.index("warpgroup_commit"), names.index("warpgroup_wait")
    assert "async_copy" in names[first:last]  # they start while products run


@jit
def tiles_of(a, b, c, tiles, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The sums begin anew for each tile, whose depth differs and may be 0."""
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    for tile in range(tiles):
        total = tl.zeros((M, N), dtype=tl.float32)
        for at in range(0, tile * depth, K):
            x = tl.load(a + i[:, None] * 256 + (at + s)[None, :])
            y = tl.load(b + (at + s)[:, None] * N + j[None, :])
            total = tl.dot(x, y, total)
        tl.store(c + (tile * M + i[:, None]) * N + j[None, :], total)


@pytest.mark.parametrize("warps, stages, flies", [(4, 3, False), (4, 4, True), (8, 5, True)])
@pytest.mark.parametrize("depth", [16, 64])
def test_products_in_flight(warps, stages, flies, depth):
    """One product is in flight while the next iteration begins; no copy fills what it reads."""
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((128, 256), (256, 64)))
    args = [a, b, np.zeros((4, 128, 64), np.float32), 4, depth]
    module = program(tiles_of, args, warps, stages, M=128, N=64, K=16)
    changed, threads = by_groups(module)
    waits = [op for op in changed.kernel.body.walk() if isinstance(op, warpgroups.WarpgroupWait)]
    assert sorted(op.pending for op in waits) == ([0, 1] if flies else [0])
    arrays = args[:3]
    with watched() as watch:
        got = run_on("interp", changed, (1, 1, 1), (threads, 1, 1), arrays, (4, depth)).arrays[2]
    assert watch.most == int(flies)
    for tile in range(4):
        end = tile * depth
        want = a[:, :end].astype(int) @ b[:end].astype(int)
        np.testing.assert_array_equal(got[tile], want)
    np.testing.assert_array_equal(results(changed, args, threads)[2], got)


@jit
def read_again(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Each iteration reads the sums."""
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, depth, K):
        x = tl.load(a + i[:, None] * depth + (at + s)[None, :])
        y = tl.load(b + (at + s)[:, None] * N + j[None, :])
        total = tl.dot(x, y, total)
        tl.store(c + (at // K * M + i[:, None]) * N + j[None, :], total)


def test_products_whose_sums_are_read():
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 128), (128, 64)))
    args = [a, b, np.zeros((4, 64, 64), np.float32), 128]
    changed, _ = by_groups(program(read_again, args, 4, 4, M=64, N=64, K=32))
    waits = [op for op in changed.kernel.body.walk() if isinstance(op, warpgroups.WarpgroupWait)]
    assert [op.pending for op in waits] == [0]
    with watched() as watch:
        run_on("interp", changed, (1, 1, 1), (128, 1, 1), args[:3], (128,))
    assert watch.most == 0


def test_attention():
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((128, 64)).astype(np.float16) for _ in range(3))
    args = [q, k, v, np.zeros_like(q), 128]
    module = program(attention, args, 4, 2, M=64, N=64, WIDTH=64)
    changed, threads = by_groups(module)
    assert any(isinstance(op, warpgroups.WarpgroupMma) for op in changed.kernel.body.walk())
    out = results(changed, args, threads, 2)[3]
    scores = q.astype(float) @ k.astype(float).T * 0.25
    powers = np.exp(scores - scores.max(1, keepdims=True))
    want = powers @ v.astype(float) / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(out, want, atol=2e-3)


@jit
def latent(q, k, out, keys, N: tl.constexpr, WIDTH: tl.constexpr):
    """One tile is the right factor of a product, and as its transpose that of another one."""
    i, j, d = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, WIDTH)
    mine = tl.load(q + i[:, None] * WIDTH + d[None, :])
    total = tl.zeros((64, WIDTH), tl.float32)
    for at in range(0, keys, N):
        key = tl.load(k + (at + j)[:, None] * WIDTH + d[None, :])
        scores = tl.dot(mine, tl.trans(key))
        total = tl.dot(scores.to(tl.float16), key, total)
    tl.store(out + i[:, None] * WIDTH + d[None, :], total)


@pytest.mark.parametrize("n, warps, both", [(32, 8, True), (64, 4, False)])
def test_factors_that_other_products_read_as_well(n, warps, both):
    """Products too small for warpgroups read them from memory in another order."""
    rng = np.random.default_rng(3)
    q, k = (rng.integers(-1, 2, (rows, 128)).astype(np.float16) for rows in (64, 2 * n))
    out = np.zeros((64, 128), np.float32)
    module = program(latent, [q, k, out, 2 * n], warps, N=n, WIDTH=128)
    changed, threads = by_groups(module)
    kinds = {type(op) for op in changed.kernel.body.walk()}
    assert warpgroups.WarpgroupMma in kinds and (products.Mma in kinds) == both
    wide = k.astype(np.float64)
    np.testing.assert_array_equal(
        results(changed, [q, k, out, 2 * n], threads)[2], q @ wide.T @ wide
    )


@pytest.mark.parametrize("rows, columns, groups", [(64, 32, 1), (128, 64, 2), (64, 256, 2)])
def test_layouts(rows, columns, groups):
    """A warp has 16 of the 64 rows of each instruction."""
    division = groups_of(rows, columns, groups)
    assert division is not None
    layout = group_layout(rows, columns, division)
    assert layout.is_whole()
    wide = columns // division.across
    for thread in range(128 * groups):
        group, warp, lane = thread // 128, thread // 32 % 4, thread % 32
        down, across = divmod(group, division.across)
        for register in range(layout.count):
            block, number = divmod(register, wide // 2)
            row = rows // division.down * down + 64 * block + 16 * warp
            row += lane // 4 + 8 * (number // 2 % 2)
            column = wide * across + 8 * (number // 4) + lane % 4 * 2 + number % 2
            assert layout.place(register, thread) == row * columns + column


@jit
def along(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUMS: tl.constexpr):
    """Items of both factors are consecutive along the depth."""
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), dtype=SUMS)
    for at in range(0, depth, K):
        x = tl.load(a + i[:, None] * depth + (at + s)[None, :])
        y = tl.load(b + j[:, None] * depth + (at + s)[None, :])
        total = tl.dot(x, tl.trans(y), total)
    tl.store(c + i[:, None] * N + j[None, :], total)


def text_of(module: Module, processor: str, identity: str = "") -> str:
    target = Target("cuda", processor=processor, identity=identity)
    return compiler.generate(copied(module), target, OPTIONS).code.decode()


def large(m: int, n: int, k: int, depth: int, warps: int, stages: int, right: bool) -> Any:
    a, b, bias, depth, rows, out = matrices("f16", m, n, depth, m)
    args = [a, b, out, bias, depth, rows]
    shape = {"M": m, "N": n, "K": k, "LEFT": False, "RIGHT": right, "SUMS": tl.float32}
    return args, program(product, args, warps, stages, **shape)


@pytest.mark.parametrize("warps, right", [(4, False), (8, True)])
def test_their_ptx(warps, right):
    """The PTX, read by the frontend of PTX, computes the product; the shared memory of its launch
    is dynamic."""
    args, module = large(128, 64, 64, 256, warps, 3, right)
    target = Target("cuda", processor="sm_90a")
    artifact = compiler.generate(copied(module), target, OPTIONS)
    text = artifact.code.decode()
    assert "wgmma.mma_async" in text and ".local" not in text
    assert "fence.proxy.async.shared::cta" in text
    current.choose(get_device("interp"))
    given = (*args[:4], *map(np.int32, args[4:]))
    function = cuda.RawModule(code=text).get_function("product")
    function((1,), (32 * warps,), given, shared_mem=artifact.own_dynamic)
    want = args[0].astype(int) @ args[1].astype(int) + args[3]
    np.testing.assert_array_equal(args[2], np.where(want > 0, want, 2 * want))


def test_which_processors_have_them():
    """A device's own driver compiles for that device alone, if it knows the processor's name."""
    _, module = large(64, 64, 64, 128, 4, 2, False)
    for processor, identity, has in (
        ("sm_90a", "", True),
        ("sm_90", "driver 12000", True),
        ("sm_90", "driver 11080", False),
        ("sm_90", "", False),
        ("sm_100", "driver 13000", False),
    ):
        text = text_of(module, processor, identity)
        assert ("wgmma" in text) == has == (".target sm_90a" in text), (processor, identity)


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
def test_ptxas_accepts_them(tmp_path):
    texts = [
        text_of(large(*shape)[1], "sm_90a")
        for shape in ((128, 128, 64, 256, 4, 3, False), (128, 256, 32, 256, 8, 4, True))
    ]
    for kind, sums in (("i8", tl.int32), ("f32", tl.float32)):
        a, c = np.zeros((64, 128), TYPES[kind]), np.zeros((64, 64), np.int32)
        shape = {"M": 64, "N": 64, "K": 64, "SUMS": sums}
        texts.append(text_of(program(along, [a, a, c, 128], 4, 2, **shape), "sm_90a"))
        assert f"wgmma.mma_async.sync.aligned.m64n64k{8 if kind == 'f32' else 32}" in texts[-1]
    checked_by_ptxas(texts, "sm_90a", tmp_path)


@pytest.mark.parametrize("kind", ["i8", "f32"])
@pytest.mark.parametrize("k, stages", [(32, 1), (64, 3)])
def test_factors_of_other_sizes(kind, k, stages):
    rng, depth = np.random.default_rng(1), 4 * k
    a, b = (rng.integers(-4, 5, (n, depth)).astype(TYPES[kind]) for n in (64, 32))
    sums = tl.int32 if kind == "i8" else tl.float32
    out = np.zeros((64, 32), np.int32 if kind == "i8" else np.float32)
    module = program(along, [a, b, out, depth], 4, stages, M=64, N=32, K=k, SUMS=sums)
    changed, threads = by_groups(module)
    assert any(isinstance(op, warpgroups.WarpgroupMma) for op in changed.kernel.body.walk())
    got = results(changed, [a, b, out, depth], threads)[2]
    np.testing.assert_array_equal(got, a.astype(int) @ b.astype(int).T)


def test_others_across_the_depth_are_not_theirs():
    a, b, bias, depth, rows, out = matrices("i8", 64, 32, 64, 64)
    args = [a, b, out, bias, depth, rows]
    shape = {"M": 64, "N": 32, "K": 32, "LEFT": False, "RIGHT": False, "SUMS": tl.int32}
    changed, _ = by_groups(program(product, args, 4, **shape))
    kinds = {type(op) for op in changed.kernel.body.walk()}
    assert products.Mma in kinds and warpgroups.WarpgroupMma not in kinds


@pytest.mark.parametrize("n, has", [(128, True), (256, False)])
def test_more_sums_than_registers_are_not_theirs(n, has):
    """Blocks of 512 threads have 128 registers for each."""
    _, module = large(256, n, 64, 128, 16, 2, False)
    changed, _ = by_groups(module)
    kinds = {type(op) for op in changed.kernel.body.walk()}
    assert (warpgroups.WarpgroupMma in kinds) == has == (products.Mma not in kinds)
