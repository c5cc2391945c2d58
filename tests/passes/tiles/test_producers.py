"""Loads by a warp of their own: programs compute the same, whatever warp is ahead."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit, type_of
from tests.passes.tiles.flying import Watch, by_turns, watched
from tests.passes.tiles.test_groups import MACHINE, OPTIONS

from gridlane import cuda, interp
from gridlane.compiler import cuda as compiler
from gridlane.compiler.generation import copied
from gridlane.conformance.module_runner import run_on
from gridlane.core.decisions import collecting
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.translation import translate
from gridlane.interp import machine
from gridlane.ir.ops import copies, tensors, warpgroups
from gridlane.ir.ops.grid import BarrierArrive, RunOthers
from gridlane.ir.stages import KERNEL, TILE
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.passes.tiles import lower_tiles, producer_code
from gridlane.tiles.kernels.programs.described_attention import described_attention_tiles

RNG = np.random.default_rng(11)


class Described:
    """An array that a host's descriptor describes, with the shape of its blocks. Its lines begin at
    multiples of 16 bytes; each has ``room`` further elements, 0, that are not the array's."""

    def __init__(
        self, array: np.ndarray, block: tuple[int, ...], padding: str = "zero", room: int = 0
    ) -> None:
        size, (*others, columns) = array.dtype.itemsize, array.shape
        wide = -(-(columns + room) * size // 16) * 16 // size
        self.memory = np.zeros((*others, wide), array.dtype)
        self.memory[..., :columns] = array
        self.shape, self.block = array.shape, Block(block, padding, mapped=True)


def program(
    function: Any, args: list[Any], warps: int, stages: int, cluster: int = 1, **constants: Any
) -> Module:
    """The module of a program; its descriptors are such that tensor maps describe them."""
    names = function.arg_names[: len(args)]
    blocks = {n: a.block for n, a in zip(names, args, strict=True) if isinstance(a, Described)}
    plain = [each.memory if isinstance(each, Described) else each for each in args]
    aligned = {n: 16 for n, a in zip(names, args, strict=True) if _is_aligned(a)}
    types = tuple(map(type_of, plain))
    module = translate(
        function, types, OPTIONS, constants, blocks, aligned, warps, stages=stages, cluster=cluster
    )
    verify(module, TILE)
    return module


def _is_aligned(value: Any) -> bool:
    """Whether launches say that an array's memory, or a descriptor's with all steps and its last
    extent, are multiples of 16."""
    if isinstance(value, Described):
        numbers = *value.memory.strides[:-1], value.shape[-1]
        return all(each % 16 == 0 for each in numbers)
    return isinstance(value, np.ndarray)


def lowered(module: Module) -> Module:
    changed = copied(module)
    lower_tiles(changed, MACHINE)
    changed.program_warps = 0
    verify(changed, KERNEL)
    return changed


def loads(module: Module) -> int:
    return sum(isinstance(op, tensors.TensorLoad) for op in module.kernel.body.walk())


def run(module: Module, args: list[Any], warps: int, grid: int = 1) -> tuple[list[Any], Watch]:
    """The arrays after a launch in the interpreter, where one warp runs until it waits."""
    arrays, numbers = list[np.ndarray](), list[int]()
    for each in args:
        if isinstance(each, Described):
            arrays.append(each.memory)
            numbers += [*each.shape, *each.memory.strides]
        elif isinstance(each, np.ndarray):
            arrays.append(each)
        else:
            numbers.append(each)
    block = 32 * warps + module.extra_threads
    with watched() as watch:
        changed = copied(module)
        by_turns(changed)
        got = run_on("interp", changed, (grid, 1, 1), (block, 1, 1), arrays, tuple(numbers))
    assert not got.raised
    return got.arrays, watch


def whole(shape: tuple[int, ...], kind: Any = np.float16) -> np.ndarray:
    """Small whole numbers, of whose products all sums are exact."""
    return RNG.integers(-4, 5, shape).astype(kind)


@jit
def product(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        total = tl.dot(a.load([i, at]), b.load([at, j]), total)
    c.store([i, j], total)


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("warps, m, n, k", [(4, 64, 32, 32), (8, 128, 64, 64), (8, 128, 128, 16)])
def test_products(warps, m, n, k, stages):
    """Extents are odd: what is beyond the arrays is zero, and so is what is not there at all."""
    depth = 4 * k - 3
    a, b = whole((m - 3, depth)), whole((depth, n - 5))
    c = np.zeros((m - 3, n - 5), np.float32)
    args = [Described(a, (m, k)), Described(b, (k, n)), Described(c, (m, n)), depth]
    module = lowered(program(product, args, warps, stages, M=m, N=n, K=k))
    assert loads(module) and module.extra_threads == (32 if warps == 4 else 128)
    assert not any(isinstance(op, copies.AsyncCopy) for op in module.kernel.body.walk())
    got, watch = run(module, args, warps)
    np.testing.assert_array_equal(got[2][:, : n - 5], a.astype(int) @ b.astype(int))
    assert watch.most == int(stages > 1)


@jit
def turned(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Both factors lie transposed."""
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        total = tl.dot(a.load([at, 0]).T, b.load([0, at]).T, total)
    c.store([0, 0], total)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("m, k", [(64, 64), (128, 32)])
def test_transposed_tensors(kind, m, k):
    a, b, c = whole((150, m), kind), whole((48, 150), kind), np.zeros((m, 64), np.float32)
    args = [Described(a, (k, m)), Described(b, (64, k)), Described(c, (m, 64)), 150]
    module = lowered(program(turned, args, 4, 3, M=m, N=64, K=k))
    assert loads(module)
    want = a.astype(float).T @ b.astype(float).T
    np.testing.assert_array_equal(run(module, args, 4)[0][2][:, :48], want)


@pytest.mark.parametrize("kind", [np.float32, np.int8])
def test_factors_of_other_sizes(kind):
    """Along the depth alone."""
    sums = tl.int32 if kind is np.int8 else tl.float32

    a, b = whole((64, 112), kind), whole((32, 112), kind)
    c = np.zeros((64, 32), np.int32 if kind is np.int8 else np.float32)
    args = [Described(a, (64, 32)), Described(b, (32, 32)), Described(c, (64, 32)), 112]
    module = lowered(program(along, args, 4, 2, M=64, N=32, K=32, SUMS=sums))
    assert loads(module)
    want = a.astype(int) @ b.astype(int).T
    np.testing.assert_array_equal(run(module, args, 4)[0][2], want)


@jit
def along(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUMS: tl.constexpr):
    total = tl.zeros((M, N), SUMS)
    for at in range(0, depth, K):
        total = tl.dot(a.load([0, at]), b.load([0, at]).T, total)
    c.store([0, 0], total)


@jit
def batched(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            LEFT: tl.constexpr, RIGHT: tl.constexpr):  # fmt: skip
    """A product of each pair of matrices, of which factors may lie transposed."""
    batch = tl.program_id(0)
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        if LEFT:
            x = a.load([batch, at, 0]).reshape(K, M).T
        else:
            x = a.load([batch, 0, at]).reshape(M, K)
        if RIGHT:
            y = b.load([batch, 0, 0, at]).permute(0, 1, 3, 2).reshape(K, N)
        else:
            y = b.load([batch, 0, at, 0]).reshape(K, N)
        total = tl.dot(x, y, total)
    c.store([batch, 0, 0], total.reshape(1, M, N).to(c.dtype))


@pytest.mark.parametrize("left, right", [(False, False), (True, True)])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_blocks_of_batches(left, right, kind):
    """What is beyond one matrix is zero, and not of the next one."""
    a, b = whole((3, 61, 75), np.float16), whole((3, 75, 38), np.float16)
    b = np.where(b == 0, np.float16(1), b)
    c = np.zeros((3, 61, 38), kind)
    x = a.transpose(0, 2, 1) if left else a
    y = (b.transpose(0, 2, 1) if right else b)[:, None]
    args = [
        Described(x, (1, 32, 64) if left else (1, 64, 32)),
        Described(y, (1, 1, 64, 32) if right else (1, 1, 32, 64)),
        Described(c, (1, 64, 64)), 75,
    ]  # fmt: skip
    module = lowered(program(batched, args, 4, 3, M=64, N=64, K=32, LEFT=left, RIGHT=right))
    assert loads(module) == 2
    want = a.astype(int) @ b.astype(int)
    for grid in (1, 3):
        got = run(module, args, 4, grid)[0][2][..., :38]
        np.testing.assert_array_equal(got[:grid], want[:grid])
        assert not got[grid:].any()


@jit
def beside(a, b, more, c, d, rows, columns, depth, M: tl.constexpr, N: tl.constexpr,
           E: tl.constexpr, K: tl.constexpr, TURNED: tl.constexpr):  # fmt: skip
    """Sums of N columns and of E more, of one left factor."""
    across = tl.cdiv(columns, N + E)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, tl.num_programs(0)):
        i, j = tile // across * M, tile % across * (N + E)
        total, extra = tl.zeros((M, N), tl.float32), tl.zeros((M, E), tl.float32)
        for at in range(0, depth, K):
            if TURNED:
                y, z = b.load([j, at]).T, more.load([j + N, at]).T
            else:
                y, z = b.load([at, j]), more.load([at, j + N])
            x = a.load([i, at])
            total, extra = tl.dot(x, y, total), tl.dot(x, z, extra)
        c.store([i, j], total.to(c.dtype))
        d.store([i, j + N], extra.to(c.dtype))


def beside_case(n: int, e: int, turned: bool, warps: int, stages: int, k: int = 64) -> Any:
    m = 64 if warps == 4 else 128
    rows, columns, depth = m + 40, 2 * (n + e) - 21, 3 * k - 10
    a, b = whole((rows, depth)), whole((depth, columns))
    y = np.ascontiguousarray(b.T) if turned else b
    blocks = [(each, k) if turned else (k, each) for each in (n, e)]
    right, more = Described(y, blocks[0]), Described(y, blocks[1])
    c = Described(np.full((rows, columns), 7, np.float16), (m, n))
    d = Described(np.full((rows, columns), 7, np.float16), (m, e))
    args = [Described(a, (m, k)), right, more, c, d, rows, columns, depth]
    constants = {"M": m, "N": n, "E": e, "K": k, "TURNED": turned}
    module = lowered(program(beside, args, warps, stages, **constants))
    return module, args, a.astype(int) @ b.astype(int)


def columns_of(module: Module) -> set[int]:
    """The columns of the instructions of warpgroups."""
    ops = module.kernel.body.walk()
    return {op.columns for op in ops if isinstance(op, warpgroups.WarpgroupMma)}


@pytest.mark.parametrize(("n", "e"), [(64, 64), (128, 64)])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("warps, stages", [(4, 3), (8, 2), (4, 1)])
def test_right_factors_that_lie_one_behind_the_other(n, e, turned, warps, stages):
    """One instruction has the columns of both, where these are in flight."""
    module, args, want = beside_case(n, e, turned, warps, stages)
    assert loads(module) == 3 + (not turned and n == 128)
    assert columns_of(module) == ({n + e} if stages > 1 else {n, e})
    got, watch = run(module, args, warps, 2)
    width = want.shape[1]
    places = np.arange(width) // n % 2 if n == e else np.arange(width) % (n + e) // n
    np.testing.assert_array_equal(got[3][:, :width][:, places == 0], want[:, places == 0])
    np.testing.assert_array_equal(got[4][:, :width][:, places == 1], want[:, places == 1])
    assert (got[3][:, :width][:, places == 1] == 7).all()
    assert watch.most == int(stages > 1)


@pytest.mark.parametrize(("turned", "n", "e", "k"), [(False, 64, 32, 64), (True, 64, 32, 128)])
def test_right_factors_that_are_apart(turned, n, e, k):
    """Panels of half a line, and several along the depth."""
    module, args, want = beside_case(n, e, turned, 4, 3, k)
    assert columns_of(module) == {n, e}
    got, _ = run(module, args, 4)
    first = np.arange(want.shape[1]) % (n + e) < n
    np.testing.assert_array_equal(got[3][:, : want.shape[1]][:, first], want[:, first])
    np.testing.assert_array_equal(got[4][:, : want.shape[1]][:, ~first], want[:, ~first])


def test_padding_of_nan():
    a, b = whole((64, 72)), whole((72, 32))
    c = np.zeros((64, 32), np.float32)
    args = [Described(a, (64, 32), "nan"), Described(b, (32, 32)), Described(c, (64, 32)), 72]
    module = lowered(program(product, args, 4, 2, M=64, N=32, K=32))
    assert [use.nan for use in module.tensor_maps] == [True, False]
    assert np.isnan(run(module, args, 4)[0][2]).all()
    assert np.array_equal(run(module, [*args[:3], 64], 4)[0][2], a[:, :64].astype(int) @ b[:64])


@jit
def persistent(a, b, c, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
               LESS: tl.constexpr):  # fmt: skip
    """Tiles of the result, of which each program has several; some have a shorter depth."""
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, tl.num_programs(0)):
        i, j = tile // across * M, tile % across * N
        end = depth
        if LESS:
            if tile % 3 == 1:
                end = 0
            elif tile % 3 == 2:
                end = K
        total = tl.zeros((M, N), tl.float32)
        for at in range(0, end, K):
            total = tl.dot(a.load([i, at]), b.load([at, j]), total)
        c.store([i, j], total.to(c.dtype))


def persistent_case(rows: int, depth: int, less: bool, warps: int = 4, stages: int = 3) -> Any:
    a, b = whole((rows, max(depth, 1))), whole((max(depth, 1), 72))
    c = np.full((rows, 72), 7, np.float16)
    args = [Described(a, (64, 16)), Described(b, (16, 32)), Described(c, (64, 32)), rows, 72, depth]
    module = lowered(program(persistent, args, warps, stages, M=64, N=32, K=16, LESS=less))
    want = a[:, :depth].astype(int) @ b[:depth].astype(int)
    if less:
        for tile in range(-(-rows // 64) * 3):
            i, j, end = tile // 3 * 64, tile % 3 * 32, (depth, 0, 16)[tile % 3]
            part = a[i : i + 64, :end].astype(int) @ b[:end, j : j + 32].astype(int)
            want[i : i + 64, j : j + 32] = part
    return module, args, want


@pytest.mark.parametrize("depth", [0, 16, 32, 100])
@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_persistent_programs(depth, less, stages):
    """The producer is ahead across tiles; it waits for stores where arrays may be one memory."""
    module, args, want = persistent_case(200, depth, less, stages=stages)
    assert loads(module) == 2
    for grid in (1, 5):
        got, _ = run(module, args, 4, grid)
        np.testing.assert_array_equal(got[2], want)


def test_wrong_parities_show():
    """The tests see a side that waits for the other phase: it goes on too early, or never."""
    _, args, want = persistent_case(200, 100, False)
    before = producer_code._Code.other
    for number in range(2):
        seen = iter(range(1000))

        def other(self: Any, parity: Any, wraps: Any = None, number: int = number) -> Any:
            return (
                parity
                if wraps is not None and next(seen) == number
                else before(self, parity, wraps)
            )

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(producer_code._Code, "other", other)
            wrong = lowered(program(persistent, args, 4, 3, M=64, N=32, K=16, LESS=False))
        with pytest.raises((AssertionError, _Waits)), pytest.MonkeyPatch.context() as patch:
            stop(patch)
            got, _ = run(wrong, args, 4)
            np.testing.assert_array_equal(got[2], want)


class _Waits(Exception):
    """Warps wait in vain."""


def stop(patch: pytest.MonkeyPatch) -> None:
    """End a launch in the interpreter in which warps have waited in vain for long."""
    count, run_others = [0], machine.OBSERVE[RunOthers]

    def counted(*args: Any) -> Any:
        count[0] += 1
        if count[0] > 20000:
            raise _Waits
        return run_others(*args)

    patch.setitem(machine.OBSERVE, RunOthers, counted)  # type: ignore[arg-type]  # of this class


@jit
def attention(q, k, v, out, length, tiles, M: tl.constexpr, N: tl.constexpr, W: tl.constexpr,
              CAUSAL: tl.constexpr):  # fmt: skip
    j, d = tl.arange(0, N), tl.arange(0, W)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        first = tile * M
        i = first + tl.arange(0, M)
        mine = q.load([first, 0])
        largest = tl.full((M,), -float("inf"), tl.float32)
        weight = tl.zeros((M,), tl.float32)
        total = tl.zeros((M, W), tl.float32)
        end = first + M if CAUSAL else length
        for at in range(0, end, N):
            scores = tl.dot(mine, k.load([at, 0]).T) * 0.25
            if CAUSAL:
                scores = tl.where(i[:, None] >= at + j[None, :], scores, -1.0e30)
            higher = tl.maximum(largest, tl.max(scores, 1))
            powers = tl.exp(scores - higher[:, None])
            less = tl.exp(largest - higher)
            weight = weight * less + tl.sum(powers, 1)
            values = v.load([at, 0])
            total = tl.dot(powers.to(tl.float16), values, total * less[:, None])
            largest = higher
        tl.store(out + i[:, None] * W + d[None, :], (total / weight[:, None]).to(tl.float16))


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(stages, causal):
    """Blocks in a loop, each of a ring of its own, and one in front of it. The blocks of the first
    iteration and of the last product, which stand apart, have the loop's rings."""
    length = 192
    q, k, v = (RNG.standard_normal((length, 32)).astype(np.float16) for _ in range(3))
    boxes = [Described(q, (64, 32)), Described(k, (64, 32)), Described(v, (64, 32))]
    args = [*boxes, np.zeros_like(q), length, 3]
    constants = {"M": 64, "N": 64, "W": 32, "CAUSAL": causal}
    module = lowered(program(attention, args, 4, stages, **constants))
    assert loads(module) == (3 if stages == 1 else 5)
    tile = 64 * 32 * 2
    room = sum(item.size for item in module.static_shared())
    assert (1 + 2 * stages) * tile < room < (2 + 2 * stages) * tile  # with mbarriers
    scores = q.astype(float) @ k.astype(float).T * 0.25
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -1e30)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    want = powers @ v.astype(float) / powers.sum(1, keepdims=True)
    for grid in (1, 3):
        np.testing.assert_allclose(run(module, args, 4, grid)[0][3], want, atol=3e-3)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_two_warpgroups(stages, causal):
    """They take turns, through all loops of a program of several tiles."""
    length = 256
    q, k, v = (RNG.standard_normal((length, 32)).astype(np.float16) for _ in range(3))
    boxes = [Described(q, (128, 32)), Described(k, (64, 32)), Described(v, (64, 32))]
    args = [*boxes, np.zeros_like(q), length, 2]
    constants = {"M": 128, "N": 64, "W": 32, "CAUSAL": causal}
    module = lowered(program(attention, args, 8, stages, **constants))
    kinds = [type(op) for op in module.kernel.body.walk()]
    assert kinds.count(BarrierArrive) == 2  # in front of the loop, and of each iteration
    scores = q.astype(float) @ k.astype(float).T * 0.25
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -1e30)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    want = powers @ v.astype(float) / powers.sum(1, keepdims=True)
    for grid in (1, 2):
        np.testing.assert_allclose(run(module, args, 8, grid)[0][3], want, atol=3e-3)


@jit
def in_place(a, b, c, tiles, M: tl.constexpr, K: tl.constexpr):
    """Each tile is computed of those before: ``c`` is the memory of ``a``."""
    for tile in range(tiles):
        total = tl.zeros((M, M), tl.float32)
        for at in range(0, M, K):
            total = tl.dot(a.load([tile * M, at]), b.load([at, 0]), total)
        c.store([tile * M + M, 0], total.to(tl.float16))


@pytest.mark.parametrize("whole_stores", [True, False])
def test_loads_of_what_the_program_has_stored(whole_stores):
    """A load behind a store waits for it, if they may be of one memory."""
    start = np.zeros((320, 64), np.float16)
    start[:64] = whole((64, 64))
    turn = np.roll(np.eye(64), 1, axis=1).astype(np.float16)
    a = Described(start, (64, 16))
    function = in_place if whole_stores else in_place_by_pointers
    other = Described(start, (64, 64)) if whole_stores else start.copy()
    args = [a, Described(turn, (16, 64)), other, 4]
    module = lowered(program(function, args, 4, 3, M=64, K=16))
    assert loads(module) == 2
    want = np.concatenate([np.roll(start[:64], n, axis=1) for n in range(5)])
    got = run_as_one(module, args)
    np.testing.assert_array_equal(got, want)


@jit
def in_place_by_pointers(a, b, c, tiles, M: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    for tile in range(tiles):
        total = tl.zeros((M, M), tl.float32)
        for at in range(0, M, K):
            total = tl.dot(a.load([tile * M, at]), b.load([at, 0]), total)
        rows = tile * M + M + i
        tl.store(c + rows[:, None] * M + i[None, :], total.to(tl.float16))


@jit
def chosen(a, b, c, rows, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LATE: tl.constexpr):
    """Memory decides where the rows of a block begin, and how many blocks there are."""
    first = tl.load(rows)
    if LATE:
        tl.store(rows + 1, 3 * K)
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, tl.load(rows + 1), K):
        total = tl.dot(a.load([first, at]), b.load([at, 0]), total)
    c.store([0, 0], total)
    tl.store(rows, 7)


@pytest.mark.parametrize("late", [False, True])
def test_scalars_of_memory(late):
    """The producer reads what the program does not change; else there is none."""
    a, b, c = whole((100, 96)), whole((96, 32)), np.zeros((64, 32), np.float32)
    rows = np.array([21, 64], np.int32)
    args = [Described(a, (64, 32)), Described(b, (32, 32)), Described(c, (64, 32)), rows]
    with collecting() as notes:
        module = lowered(program(chosen, args, 4, 3, M=64, N=32, K=32, LATE=late))
    assert loads(module) == (0 if late else 2)
    assert any("memory decides" in str(each) for each in notes) == late
    got, _ = run(module, args, 4)
    depth = 96 if late else 64
    np.testing.assert_array_equal(got[2], a[21:85, :depth].astype(int) @ b[:depth])
    assert got[3][0] == 7


@jit
def shifted(a, b, c, first, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            STEP: tl.constexpr):  # fmt: skip
    """Blocks that begin at multiples of ``STEP`` elements of a line."""
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, 2 * K, K):
        rows = a.load([at, first * STEP]).T
        total = tl.dot(rows, b.load([at, 0]), total)
    c.store([0, 0], total)


@pytest.mark.parametrize("step", [16, 8, 4, 1])
def test_boxes_begin_at_multiples_of_16_bytes(step):
    """Others are loaded by threads: GPUs end a launch that copies them."""
    a, b, c = whole((64, 200)), whole((64, 32)), np.zeros((64, 32), np.float32)
    args = [Described(a, (32, 64)), Described(b, (32, 32)), Described(c, (64, 32)), 3]
    module = program(shifted, args, 4, 3, M=64, N=32, K=32, STEP=step)
    reason = "no warp of its own copies blocks by tensor maps: a block may begin at no multiple of"
    assert any(each.startswith(reason) for each in why(module)) == (step < 8)
    changed = lowered(module)
    assert loads(changed) == 1 + (step >= 8)
    got, _ = run(changed, args, 4)
    at = 3 * step
    np.testing.assert_array_equal(got[2], a[:, at : at + 64].T.astype(int) @ b)


def run_as_one(module: Module, args: list[Any]) -> np.ndarray:
    """The memory of the first array after a launch where it is the third as well."""
    a, b, c, tiles = args
    memory = interp.Memory()
    first, second = a.memory.copy(), b.memory.copy()
    start, other = memory.map(first, "a"), memory.map(second, "b")
    numbers = [start, *a.shape, *a.memory.strides, other, *b.shape, *b.memory.strides, start]
    if isinstance(c, Described):
        numbers += [*c.shape, *c.memory.strides]
    numbers += [tiles, *[0 for _ in module.tensor_maps]]
    with watched():
        changed = copied(module)
        by_turns(changed)
        block = 32 * 4 + module.extra_threads
        assert interp.run(changed, 1, block, numbers, memory).error is None
    return first


def test_a_store_is_waited_for_only_where_it_may_meet_a_load():
    waits = list[bool]()

    def fence(frame: Any, op: tensors.ProxyFence, mask: Any) -> None:
        if not op.shared:
            waits.append(True)

    module, args, want = persistent_case(200, 32, False)
    start = np.zeros((320, 64), np.float16)
    whole_array = Described(start, (64, 64))
    turn = Described(np.eye(64, dtype=np.float16), (16, 64))
    near = [Described(start, (64, 16)), turn, whole_array, 4]
    other = lowered(program(in_place, near, 4, 3, M=64, K=16))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(machine.OBSERVE, tensors.ProxyFence, fence)  # type: ignore[arg-type]
        np.testing.assert_array_equal(run(module, args, 4)[0][2], want)
        assert not waits
        run_as_one(other, near)
        assert len(waits) == 4 * (4 + 1)  # of each warp and the producer


def why(module: Module) -> list[str]:
    """What ``explain`` shows of loads."""
    with collecting() as decisions:
        lower_tiles(copied(module), MACHINE)
    return [each.how for each in decisions if each.what == "load"]


@jit
def decided_by_memory(a, b, c, depths, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, tl.load(depths, volatile=True), K):
        total = tl.dot(a.load([0, at]), b.load([at, 0]), total)
    c.store([0, 0], total)


def test_where_there_is_no_producer():
    a, b, c = whole((64, 64)), whole((64, 32)), np.zeros((64, 32), np.float32)
    args = [Described(a, (64, 32)), Described(b, (32, 32)), Described(c, (64, 32)), 64]
    shape = {"M": 64, "N": 32, "K": 32}
    assert why(program(product, args, 4, 3, **shape)) == [
        "a warp of its own copies the 2 blocks by tensor maps, in 3 stages"
    ]
    by_memory = program(decided_by_memory, [*args[:3], np.array([64], np.int32)], 4, 3, **shape)
    (reason,) = why(by_memory)
    assert reason.endswith("memory decides what is loaded")
    module = lowered(by_memory)
    assert not loads(module) and not module.extra_threads and not module.tensor_maps
    got, _ = run(module, [*args[:3], np.array([64], np.int32)], 4)
    np.testing.assert_array_equal(got[2], a.astype(int) @ b.astype(int))
    for each in args[:2]:
        each.block = Block(each.block.shape)
    assert not loads(lowered(program(product, args, 4, 3, **shape)))


@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each == "cpu")])
def test_their_ptx(device):
    """The PTX, read by the frontend of PTX, computes the product; its maps are the launch's."""
    m, n, k, depth = 128, 64, 64, 200
    a, b, c = whole((m - 3, depth)), whole((depth, n)), np.zeros((m - 3, n), np.float32)
    boxes = [Described(a, (m, k)), Described(b, (k, n)), Described(c, (m, n))]
    module = program(product, [*boxes, depth], 8, 3, M=m, N=n, K=k)
    target = Target("cuda", processor="sm_90a")
    artifact = compiler.generate(copied(module), target, OPTIONS)
    text = artifact.code.decode()
    assert artifact.extra_threads == 128 and ".maxntid 384, 1, 1" in text
    assert "cp.async.bulk.tensor.2d" in text and "mbarrier.try_wait.parity" in text
    assert ".local" not in text
    current.choose(get_device(device))
    arrays = [cuda.to_device(each.memory) for each in boxes]
    given, numbers = list[Any](), list[int]()
    for each, array in zip(boxes, arrays, strict=True):
        given.append(array)
        values = *each.shape, *each.memory.strides
        given += map(np.int64, values)
        numbers += [array.address, *values]
    maps = [use.of(numbers.__getitem__).encode() for use in artifact.tensor_maps]
    given = [*given, np.int32(depth), *[np.frombuffer(each, np.uint8) for each in maps]]
    function = cuda.RawModule(code=text).get_function("product")
    function((1,), (384,), tuple(given), shared_mem=artifact.own_dynamic)
    got = arrays[2].copy_to_host()[:, :n]
    np.testing.assert_array_equal(got, a.astype(int) @ b.astype(int))


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
def test_ptxas_keeps_products_in_flight(tmp_path):
    """No spill, no more registers than a block of so many threads has, no serialised product."""
    a = np.zeros((256, 256), np.float16)
    for function, m, n, warps, stages in (
        (persistent, 128, 256, 8, 4), (product, 256, 128, 8, 4), (persistent, 128, 128, 4, 4),
        (persistent, 128, 128, 8, 5),
    ):  # fmt: skip
        args = [Described(a, (m, 64)), Described(a, (64, n)), Described(a, (m, n))]
        args += [256] * (3 if function is persistent else 1)
        constants = {"M": m, "N": n, "K": 64} | ({"LESS": False} if len(args) == 6 else {})
        kind = args[2] if function is persistent else Described(a.astype(np.float32), (m, n))
        module = program(function, [*args[:2], kind, *args[3:]], warps, stages, **constants)
        code = compiler.generate(module, Target("cuda", processor="sm_90a"), OPTIONS).code
        source = tmp_path / "kernel.ptx"
        source.write_bytes(code)
        command = ["ptxas", "-arch", "sm_90a", "-v", str(source), "-o", str(tmp_path / "k.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "serialized" not in done.stderr and " 0 bytes spill stores" in done.stderr
        registers = int(done.stderr.split("Used ")[1].split()[0])
        assert registers <= (256 if warps == 4 else 168)


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize("causal", [False, True])
def test_ptxas_keeps_products_of_attention_in_flight(tmp_path, causal):
    x = np.zeros((1, 2, 1024, 128), np.float16)
    args = [Described(x, (1, 1, 128, 128))] * 3
    constants = {
        "SCALE": 0.1, "CAUSAL": causal, "WINDOW": False, "RAGGED": False, "BLIND": False,
        "PERSISTENT": not causal, "M": 128, "N": 128, "WIDTH": 128, "VALUES": 128,
        "INDEX": tl.int32, "SOFTCAP": None, "scales": None, "scale_steps": None,
    }  # fmt: skip
    logs = np.zeros((1, 2, 1024), np.float32)
    numbers = [16, 8, 2, 1, 1024, 1024, 0, 128, (1 << 18, 1 << 17, 128, 1)]
    every = [*args, x, logs, *numbers]
    module = program(described_attention_tiles, every, 8, 2, **constants)
    code = compiler.generate(module, Target("cuda", processor="sm_90a"), OPTIONS).code
    source = tmp_path / "kernel.ptx"
    source.write_bytes(code)
    command = ["ptxas", "-arch", "sm_90a", "-v", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "serialized" not in done.stderr and " 0 bytes spill stores" in done.stderr


@jit
def jumping(a, b, c, rows, skipped, end, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Loops that end by what they compute, and a program that ends at once."""
    if tl.program_id(0) * M >= rows:
        return
    tile = tl.program_id(0)
    while (tile * M < rows) & (tile != end):
        at, depth = 0, 64
        total = tl.zeros((M, N), tl.float32)
        if tile != skipped:
            while at < depth:
                total = tl.dot(a.load([tile * M, at]), b.load([at, 0]), total)
                at += K
                if tile > skipped:
                    depth = 3 * K
        else:
            total += 1
        c.store([tile * M, 0], total)
        tile += tl.num_programs(0)


@pytest.mark.parametrize("grid", [1, 2, 9])
@pytest.mark.parametrize("stages", [1, 3])
def test_jumps(grid, stages):
    a, b, c = whole((400, 64)), whole((64, 32)), np.zeros((400, 32), np.float32)
    args = [Described(a, (64, 16)), Described(b, (16, 32)), Described(c, (64, 32)), 400, 2, 5]
    module = lowered(program(jumping, args, 4, stages, M=64, N=32, K=16))
    assert loads(module) == 2
    want = a.astype(int) @ b
    want[192:] = a[192:, :48].astype(int) @ b[:48]
    want[128:192] = 1
    want[320:384] = 0
    if grid == 1:
        want[384:] = 0  # the program ends in front of it
    got = run(module, args, 4, grid)[0][2]
    np.testing.assert_array_equal(got, want)


def test_a_limit_of_registers_stays():
    """Warpgroups share no registers out that the launch does not have."""
    a = np.zeros((256, 256), np.float16)
    args = [Described(a, (128, 64)), Described(a, (64, 64)), Described(a, (128, 64)), 256]
    constants = {"M": 128, "N": 64, "K": 64}
    args[2] = Described(a.astype(np.float32), (128, 64))
    module, target = program(product, args, 8, 3, **constants), Target("cuda", processor="sm_90a")
    for limit in (None, 128):
        options = replace(OPTIONS, max_registers=limit)
        text = compiler.generate(copied(module), target, options).code.decode()
        assert "cp.async.bulk.tensor" in text
        assert ("setmaxnreg" in text) == (limit is None)
        assert (".maxnreg 128" in text) == (limit is not None)
