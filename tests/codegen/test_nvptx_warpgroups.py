"""Hopper's instructions: products of warpgroups assemble, and boxes are copied by their PTX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.codegen.test_nvptx import PTXAS, checked_by_ptxas, ptx_of

from gridlane import cuda, interp
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import DType, b1, f32, i32, u8, u32, u64
from gridlane.core.errors import TargetError
from gridlane.core.tensor_map import Element, TensorMap
from gridlane.ir.ops import clusters, grid, memory, tensors, warpgroups
from gridlane.ir.ops.atomic import AtomicKind
from gridlane.ir.ops.mbarriers import MbarrierArrive, MbarrierInit, MbarrierPassed
from gridlane.ir.ops.products import Factor
from gridlane.ir.ops.shared_matrix import layout_of
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Module, Value
from gridlane.launch import current
from gridlane.launch.devices import get_device

PROCESSOR = "sm_90a"
PAIRS = (
    *((each, each) for each in (Factor.F16, Factor.BF16, Factor.TF32, Factor.S8, Factor.U8)),
    *((a, b) for a in (Factor.E4M3, Factor.E5M2) for b in (Factor.E4M3, Factor.E5M2)),
    (Factor.S8, Factor.U8),
    (Factor.U8, Factor.S8),
)


def shared(kernel: Kernel, count: int) -> Value:
    """A pointer to so many words of shared memory."""
    kernel.module.globals["memory"] = Global("memory", u32, count, Space.SHARED, 1024)
    start = memory.GlobalAddress("memory", pointer(u32, Space.SHARED))
    return kernel.builder.value(start)


def products(left: Factor, right: Factor, kind: DType, in_memory: bool, most: int = 256) -> Module:
    """A product of each number of columns, each added to the first sums of the one before."""
    kernel = Kernel()
    b = kernel.builder
    start = b.recast(shared(kernel, 8192), pointer(u8, Space.SHARED))
    layout, scale = b.const(layout_of(16, 1024, 128), u64), kernel.load(b1)
    a = (start, layout) if in_memory else tuple(kernel.load(u32) for _ in range(4))
    step = 16 if left.is_integer else 8
    b.emit(warpgroups.WarpgroupFence())
    values: list[Value] = []
    for columns in (*range(8, 33, 8), *range(32 + step, most + 1, step)):
        count = columns // (4 if kind is u32 else 2)
        c = [*values, *(b.const(0, kind) for _ in range(count - len(values)))][:count]
        is_16 = left.bits == 16
        op = warpgroups.WarpgroupMma(
            columns, left, right, left is Factor.S8, left is Factor.F16, is_16 and in_memory,
            is_16, columns % 64 == 0, a, start, layout, scale, tuple(c),
        )  # fmt: skip
        values = list(b.emit(op).results)
        b.emit(warpgroups.WarpgroupCommit())
        values = list(b.emit(warpgroups.WarpgroupWait(0, False, tuple(values))).results)
    kernel.store(values[-1])
    return kernel.module


@pytest.mark.parametrize("in_memory", [False, True], ids=["registers", "memory"])
@pytest.mark.parametrize(("left", "right"), PAIRS, ids=str)
def test_each_product_assembles(
    left: Factor, right: Factor, in_memory: bool, tmp_path: Path
) -> None:
    sums = (i32,) if left.is_integer else (f32, u32)
    if left in (Factor.BF16, Factor.TF32):
        sums = (f32,)
    texts = [ptx_of(products(left, right, kind, in_memory), PROCESSOR) for kind in sums]
    count = 18 if left.is_integer else 32
    assert all(text.count("wgmma.mma_async") == count for text in texts)
    if PTXAS is not None:
        checked_by_ptxas(texts, PROCESSOR, tmp_path)


def test_other_processors_multiply_by_mma() -> None:
    module = products(Factor.F16, Factor.F16, f32, True, 40)
    for processor in ("sm_80", "sm_90"):
        text = ptx_of(module, processor)
        assert "mma.sync.aligned.m16n8k16" in text and "wgmma" not in text


def boxes(map_space: Space = Space.GLOBAL) -> Module:
    """Copy a box to shared memory, all of it to another tensor, and add it to a third one."""
    kernel = Kernel()
    b = kernel.builder
    maps = [kernel.param(pointer(u64, map_space)) for _ in range(3)]
    box = b.recast(shared(kernel, 1024), pointer(u8, Space.SHARED))
    kernel.module.globals["bar"] = Global("bar", u64, 1, Space.SHARED, 8)
    bar = b.value(memory.GlobalAddress("bar", pointer(u64, Space.SHARED)))
    block = b.value(grid.BlockIdx(grid.Axis.X))
    corner = (b.mul(block, b.const(8, i32)), b.mul(block, b.const(5, i32)))
    first = b.eq(kernel.local, b.const(0, i32))
    with b.if_(first):
        b.emit(MbarrierInit(bar, b.const(1, u32)))
        b.emit(tensors.ProxyFence())
        b.emit(MbarrierArrive(bar, b.const(1, u32), b.const(256, u32), True))
        b.emit(tensors.TensorLoad(box, maps[0], bar, corner))
        with b.loop():
            b.break_if(b.value(MbarrierPassed(bar, b.const(0, u32), True, True)))
        b.emit(tensors.TensorStore(box, maps[1], corner))
        b.emit(tensors.TensorReduce(AtomicKind.ADD, box, maps[2], corner))
        b.emit(tensors.BulkCommit())
        b.emit(tensors.BulkWait(0))
    return kernel.module


def described(addresses: list[int]) -> list[np.ndarray]:
    made = [
        TensorMap(address, Element.I32, (14, 11), (64,), (8, 8), (1, 1), 1) for address in addresses
    ]
    return [np.frombuffer(each.encode(), np.uint64).copy() for each in made]


def test_boxes_by_their_ptx(tmp_path: Path) -> None:
    text = ptx_of(boxes(), "sm_90")
    assert "cp.async.bulk.tensor.2d.shared::cluster.global.tile" in text
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90", tmp_path)
    given = np.arange(16 * 11, dtype=np.int32).reshape(11, 16)
    wanted = [np.zeros_like(given), np.ones_like(given)]
    for row, column in ((0, 0), (5, 8)):
        rows, columns = slice(row, row + 8), slice(column, min(14, column + 8))
        wanted[0][rows, columns] = given[rows, columns]
        wanted[1][rows, columns] += given[rows, columns]
    for device in ("interp", "cpu"):
        current.choose(get_device(device))
        arrays = [cuda.to_device(each) for each in (given, wanted[0] * 0, wanted[1] * 0 + 1)]
        maps = described([each.address for each in arrays])
        kernel = cuda.RawModule(code=text).get_function("kernel")
        kernel((2,), (32,), tuple(maps))
        for array, each in zip(arrays[1:], wanted, strict=True):
            np.testing.assert_array_equal(array.copy_to_host(), each)


def test_boxes_by_the_interpreter() -> None:
    given = np.arange(16 * 11, dtype=np.int32).reshape(11, 16)
    memory_ = interp.Memory()
    others = [np.zeros_like(given), np.zeros_like(given)]
    maps = described([memory_.map(each) for each in (given, *others)])
    interp.run(boxes(), 2, 32, [memory_.map(each) for each in maps], memory_)
    assert (others[0][:8, :8] == given[:8, :8]).all()
    assert (others[1][5:, 8:14] == given[5:, 8:14]).all()


def test_a_description_in_other_memory_is_refused() -> None:
    with pytest.raises(TargetError, match="is in global memory on NVIDIA devices, not in generic"):
        ptx_of(boxes(Space.GENERIC), "sm_90")
    with pytest.raises(TargetError, match=r"tensor_load needs compute capability 9\.0"):
        ptx_of(boxes(), "sm_80")


def spread() -> Module:
    """Each block of a cluster of two copies a box to both, and releases the peer's."""
    kernel = Kernel()
    b = kernel.builder
    map_ = kernel.param(pointer(u64, Space.GLOBAL))
    box = b.recast(shared(kernel, 1024), pointer(u8, Space.SHARED))
    kernel.module.globals["bar"] = Global("bar", u64, 1, Space.SHARED, 8)
    bar = b.value(memory.GlobalAddress("bar", pointer(u64, Space.SHARED)))
    zero, other = b.const(0, i32), b.sub(b.const(1, i32), b.value(clusters.ClusterRank()))
    b.emit(clusters.ClusterSync())
    b.emit(clusters.TensorMulticast(box, map_, bar, b.const(3, u32), (zero, zero)))
    b.emit(clusters.MbarrierArrivePeer(bar, b.cast(other, u32), b.const(1, u32)))
    b.emit(clusters.ClusterSync())
    kernel.module.cluster = 2, 1, 1
    return kernel.module


def test_copies_to_blocks_of_a_cluster(tmp_path: Path) -> None:
    text = ptx_of(spread(), "sm_90a")
    assert ".reqnctapercluster 2" in text
    assert "complete_tx::bytes.multicast::cluster [" in text
    assert "mbarrier.arrive.shared::cluster.b64 _, [there]" in text
    if PTXAS is not None:
        checked_by_ptxas([text], "sm_90a", tmp_path)
    with pytest.raises(TargetError, match=r"needs compute capability 9\.0"):
        ptx_of(spread(), "sm_80")
