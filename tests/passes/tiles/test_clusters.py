"""Programs of a cluster copy parts of the tiles that all of them load to all."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit, type_of
from tests.passes.tiles.test_groups import OPTIONS
from tests.passes.tiles.test_producers import (
    Described,
    _Waits,
    loads,
    lowered,
    product,
    program,
    run,
    stop,
    whole,
)

from gridlane.compiler import cuda as compiler
from gridlane.core.decisions import collecting
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.translation import translate
from gridlane.ir.ops import clusters
from gridlane.ir.values import Module
from gridlane.passes.tiles import producer_code
from gridlane.tiles.kernels.programs.described_products import described_product_tiles


def shared(module: Module) -> int:
    """The copies to several blocks."""
    return sum(isinstance(op, clusters.TensorMulticast) for op in module.kernel.body.walk())


@jit
def pairs(a, b, c, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
          ALONG: tl.constexpr, TURNED: tl.constexpr, SIZE: tl.constexpr):  # fmt: skip
    """Neighbours compute tiles below each other, which have one right factor, or ``ALONG`` side by
    side, which have one left factor; all tiles by as many programs as there are."""
    high, wide = (M, SIZE * N) if ALONG else (SIZE * M, N)
    across, rank = tl.cdiv(columns, wide), tl.program_id(0) % SIZE
    for tile in range(
        tl.program_id(0) // SIZE, tl.cdiv(rows, high) * across, tl.num_programs(0) // SIZE
    ):
        i, j = tile // across * high, tile % across * wide
        if ALONG:
            j += rank * N
        else:
            i += rank * M
        total = tl.zeros((M, N), tl.float32)
        for at in range(0, depth, K):
            y = b.load([j, at]).T if TURNED else b.load([at, j])
            total = tl.dot(a.load([i, at]), y, total)
        c.store([i, j], total.to(c.dtype))


def case(
    along: bool, turned: bool, stages: int = 3, size: int = 2, warps: int = 4, depth: int = 100
) -> Any:
    m, n, k = 64 if warps == 4 else 128, 128, 64
    rows, columns = 3 * m - 20, n + 37
    a, b = whole((rows, depth)), whole((depth, columns))
    c = np.full((rows, columns), 7, np.float16)
    right = Described(b.T, (n, k)) if turned else Described(b, (k, n))
    args = [Described(a, (m, k)), right, Described(c, (m, n)), rows, columns, depth]
    constants = {"M": m, "N": n, "K": k, "ALONG": along, "TURNED": turned, "SIZE": size}
    made = program(pairs, args, warps, stages, size, **constants)
    return lowered(made), args, a.astype(int) @ b.astype(int)


@pytest.mark.parametrize(
    ("along", "turned", "stages", "size", "warps"),
    [
        (False, False, 1, 2, 4),
        (False, False, 3, 2, 4),
        (False, True, 2, 2, 4),
        (True, False, 4, 2, 4),
        (True, True, 2, 4, 4),
        (False, False, 2, 2, 8),
    ],
)
def test_neighbours_share_a_factor(along, turned, stages, size, warps):
    """Panels are divided, or lines where there is one. No copy, a peer's neither, overwrites a
    factor in flight."""
    module, args, want = case(along, turned, stages, size, warps)
    assert module.cluster == (size, 1, 1) and shared(module)
    assert loads(module) == (2 if along and not turned else 1)  # of panels that are not shared
    got, watch = run(module, args, warps, 2 * size)
    np.testing.assert_array_equal(got[2][:, : want.shape[1]], want)
    assert watch.most == int(stages > 1)


@pytest.mark.parametrize("depth", [0, 30, 64])
def test_short_depths(depth):
    module, args, want = case(False, False, 2, depth=max(depth, 1))
    args[-1] = depth
    got, _ = run(module, args, 4, 4)
    np.testing.assert_array_equal(got[2][:, : want.shape[1]], want if depth else 0 * want)


def test_a_grid_of_two_axes():
    """Neighbours along x have one right factor."""
    depth = 120
    a, b = whole((256, depth)), whole((depth, 100))
    c = np.zeros((256, 100), np.float32)
    args = [Described(a, (64, 32)), Described(b, (32, 64)), Described(c, (64, 64)), depth]
    made = program(product, args, 4, 3, 2, M=64, N=64, K=32)
    module = lowered(made)
    assert module.cluster == (2, 1, 1) and shared(module) == 1 and loads(module) == 1


@jit
def in_place(a, b, c, tiles, M: tl.constexpr, K: tl.constexpr):
    """Each pair of tiles is computed of the one before: ``c`` may be the memory of ``a``."""
    rank = tl.program_id(0) % 2
    for tile in range(tl.program_id(0) // 2 * 2, tiles):
        total = tl.zeros((M, M), tl.float32)
        for at in range(0, M, K):
            total = tl.dot(a.load([tile * M, at]), b.load([at, rank * M]), total)
        c.store([tile * M + M, rank * M], total.to(tl.float16))


@pytest.mark.parametrize("is_one", [True, False])
def test_stores_of_a_peer_are_awaited(is_one):
    """The shared left factor is what both programs have stored, or of other memory."""
    start = np.zeros((320, 128), np.float16)
    start[:64, :64] = whole((64, 64))
    if not is_one:
        start[64:, :64] = whole((256, 64))
    turn = np.concatenate([np.roll(np.eye(64), 1, axis=1), np.roll(np.eye(64), 2, axis=1)], axis=1)
    a = Described(start, (64, 32))
    c = a if is_one else Described(0 * start, (64, 64))
    if is_one:
        c = Described(start, (64, 64))
        c.memory = a.memory
    args = [a, Described(turn.astype(np.float16), (32, 64)), c, 4]
    module = lowered(program(in_place, args, 4, 3, 2, M=64, K=32))
    assert module.cluster == (2, 1, 1) and shared(module)
    want = start.astype(float) if is_one else 0 * start.astype(float)
    for tile in range(4):
        source = want if is_one else start
        want[64 * tile + 64 : 64 * tile + 128] = source[64 * tile : 64 * tile + 64, :64] @ turn
    got = run_in_one_memory(module, args, is_one)
    np.testing.assert_array_equal(got, want)


def run_in_one_memory(module: Module, args: list[Any], is_one: bool, blocks: int = 2) -> np.ndarray:
    from tests.passes.tiles.flying import by_turns, watched

    from gridlane import interp
    from gridlane.compiler.generation import copied
    from gridlane.conformance.module_runner import arguments

    memory = interp.Memory()
    arrays = [np.array(each.memory) for each in args[:3]]
    addresses = [memory.map(each) for each in arrays]
    if is_one:
        addresses[2], arrays[2] = addresses[0], arrays[0]
    numbers: list[int] = []
    for each in args[:3]:
        numbers += [*each.shape, *each.memory.strides]
    with watched():
        changed = copied(module)
        by_turns(changed)
        given = arguments(changed, addresses, (*numbers, args[3]))
        interp.run(changed, blocks, 128 + module.extra_threads, given, memory)
    return arrays[2]


def test_wrong_releases_show():
    """A block that releases only its own stages lets its peer overwrite what it reads."""

    def own_alone(self: Any, site: Any, slot: Any) -> None:
        b = self.state.b
        lane = b.and_(self.state.thread, b.const(127, producer_code.i32))
        bar = self.barrier(site.barriers + site.stages, slot)
        with b.if_(b.eq(lane, b.const(0, producer_code.i32))):
            for _ in range(self.producer.cluster):
                self.arrive(bar)

    _, args, want = case(False, False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(producer_code._Code, "_free", own_alone)
        wrong, *_ = case(False, False)
    with pytest.raises((AssertionError, _Waits)), pytest.MonkeyPatch.context() as patch:
        stop(patch)
        got, _ = run(wrong, args, 4, 2)
        np.testing.assert_array_equal(got[2][:, : want.shape[1]], want)


@jit
def early(a, b, c, depth, M: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M
    if i > depth:
        return
    total = tl.zeros((M, M), tl.float32)
    for at in range(0, depth, K):
        total = tl.dot(a.load([i, at]), b.load([at, 0]), total)
    c.store([i, 0], total)


@jit
def apart(a, b, c, depth, M: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M
    total = tl.zeros((M, M), tl.float32)
    for at in range(0, depth, K):
        total = tl.dot(a.load([i, at]), b.load([at, i]), total)
    c.store([i, 0], total)


@jit
def uneven(a, b, c, depth, M: tl.constexpr, K: tl.constexpr):
    """Programs have loops of other lengths, though the place of the right factor is common."""
    i = tl.program_id(0) * M
    total = tl.zeros((M, M), tl.float32)
    for at in range(0, depth - i, K):
        total = tl.dot(a.load([i, at]), b.load([at, 0]), total)
    c.store([i, 0], total)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (early, "a program may end early, while others copy to it"),
        (apart, "all its programs need other blocks"),
        (uneven, "all its programs need other blocks"),
    ],
)
def test_no_cluster(function, why):
    a, b = whole((128, 64)), whole((64, 128))
    c = np.zeros((128, 64), np.float32)
    args = [Described(a, (64, 32)), Described(b, (32, 64)), Described(c, (64, 64)), 64]
    made = program(function, args, 4, 3, 2, M=64, K=32)
    with collecting() as found:
        module = lowered(made)
    assert module.cluster == (1, 1, 1) and not shared(module) and loads(module)
    assert any(why in str(each) for each in found)


def library_case(
    m: int, n: int, extra: int, k: int, turned: bool, extents: tuple[int, int, int]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The arguments of the library's products, their constants, and blocks of descriptors."""
    rows, columns, depth = extents
    a, b = whole((rows, depth)), whole((depth, columns))
    out = np.full((rows, columns), 7, np.float16)
    y = np.ascontiguousarray(b.T) if turned else b
    blocks = [(each, k) if turned else (k, each) for each in (n, extra)]
    count = -(-rows // (2 * m)) * -(-columns // (n + extra))
    given: dict[str, Any] = {"a": Described(a, (m, k)), "b": Described(y, blocks[0])}
    if extra:
        given["more_b"] = Described(y, blocks[1])
    given["out"] = Described(out, (m, n))
    if extra:
        given["more_out"] = Described(out, (m, extra))
    given |= {"count": count, "whole": count, "m": rows, "n": columns, "k": depth, "parts": 1}
    constants = {
        "split": None, "more": None, "batches": None, "out_steps": (0,) * 4,
        "more_steps": (0, 0, 0, (0,) * 4), "MOVES": 0, "TURNED_A": False, "TURNED_B": turned,
        "DESCRIBED": True, "ACTIVATION": None, "M": m, "N": n, "EXTRA": extra, "K": k, "GROUP": 4,
        "SUM": tl.float32, "INDEX": tl.int32, "CLUSTER": 2,
        "APART": False,
    }  # fmt: skip
    if not extra:
        constants |= {"more_b": None, "more_out": None}
    mapped = {name: each.block for name, each in given.items() if isinstance(each, Described)}
    return given, constants, mapped


@pytest.mark.parametrize("turned", [False, True])
def test_the_librarys_products(turned):
    """Tiles of 64 columns and of 64 more, both of which programs share."""
    given, constants, mapped = library_case(64, 64, 64, 64, turned, (187, 168, 135))
    types = tuple([type_of(getattr(each, "memory", each)) for each in given.values()])
    aligned = dict.fromkeys(mapped, 16)
    made = translate(
        described_product_tiles, types, OPTIONS, constants, mapped, aligned, 4, stages=3, cluster=2
    )
    module = lowered(made)
    assert module.cluster == (2, 1, 1) and shared(module) == 2
    got, watch = run(module, [*given.values()], 4, 2)
    a, b = (given[name].memory.astype(int)[:, :135] for name in "ab")
    b = b.T if turned else given["b"].memory.astype(int)
    want, extra = a @ b[:135, :168], np.arange(168) % 128 >= 64
    np.testing.assert_array_equal(got[3][:, :168][:, ~extra], want[:, ~extra])
    np.testing.assert_array_equal(got[4][:, :168][:, extra], want[:, extra])
    assert watch.most == 1


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("whole_lines", [True, False])
@pytest.mark.parametrize(("m", "n", "extra"), [(128, 256, 0), (256, 128, 64), (128, 128, 64)])
def test_code_spills_nothing(m, n, extra, whole_lines, tmp_path):
    """Registers suffice for the tiles of products that programs of clusters have, also where lines
    of the result may end in a chunk of 16 bytes."""
    given, constants, mapped = library_case(m, n, extra, 64, True, (4 * m, 2 * (n + extra), 512))
    types = tuple([type_of(getattr(each, "memory", each)) for each in given.values()])
    aligned = {name: 16 for name in mapped if whole_lines or name != "out"}
    made = translate(
        described_product_tiles, types, OPTIONS, constants, mapped, aligned, 8, stages=3, cluster=2
    )
    artifact = compiler.generate(made, Target("cuda", processor="sm_90a"), OPTIONS)
    assert artifact.cluster == (2, 1, 1)
    assert (b"bulk_group" in artifact.code) == (not extra)
    (tmp_path / "kernel.ptx").write_bytes(artifact.code)
    command = ["ptxas", "-arch=sm_90a", "-v", "kernel.ptx", "-o", "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "serialized" not in done.stderr and " 0 bytes spill stores" in done.stderr
