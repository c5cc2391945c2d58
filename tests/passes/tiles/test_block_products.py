"""Products by the registers of threads, which read their factors by vectors."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit, type_of
from tests.passes.tiles.test_products import by_threads, by_turns, uses_cores

from gridlane.compiler import cuda as compiler
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.translation import translate
from gridlane.ir.ops import memory
from gridlane.ir.stages import TILE
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.tiles.layouts import blocked_layout

RNG = np.random.default_rng(3)
OPTIONS = KernelOptions(floats="float32", fma=False)
"""Without which products of float64 are by matrix instructions."""


@jit
def product(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            LEFT: tl.constexpr, RIGHT: tl.constexpr):  # fmt: skip
    """Factors whose neighbours in memory are those of a column where they are turned."""
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), c.dtype.element_ty)
    for at in range(0, depth, K):
        inside = s < depth - at
        left, right = a + i[:, None] * depth + (at + s)[None, :], b + (at + s)[:, None] * N + j
        if LEFT:
            left = a + i[:, None] + (at + s)[None, :] * M
        if RIGHT:
            right = b + (at + s)[:, None] + j[None, :] * depth
        x = tl.load(left, mask=inside[None, :], other=0)
        y = tl.load(right, mask=inside[:, None], other=0)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(c + i[:, None] * N + j[None, :], total)


def module_of(function: Any, args: list[Any], stages: int, **constants: Any) -> Module:
    aligned = {
        name: 16
        for name, value in zip(function.arg_names, args, strict=False)
        if isinstance(value, np.ndarray) or value % 16 == 0
    }
    types = tuple([type_of(each) for each in args])
    module = translate(function, types, OPTIONS, constants, warps=4, aligned=aligned, stages=stages)
    verify(module, TILE)
    return module


def vectors(module: Module) -> int:
    """The loads of 16 bytes of shared memory."""
    return sum(
        isinstance(op, memory.Load)
        and isinstance(op.pointer.type, PointerType)
        and op.pointer.type.space is Space.SHARED
        and op.results[0].type.size == 16
        for op in module.kernel.body.walk()
    )


def whole(kind: str, *shape: int) -> np.ndarray:
    """Numbers with more bits than ``tf32`` has, of whose products sums are exact."""
    return RNG.integers(-(2**11), 2**11, shape).astype(kind)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("stages", [1, 3])
def test_vectors(kind, left, right, stages):
    """Either axis of a factor may be that of neighbours."""
    if kind == "float32":
        a, b = (RNG.integers(-64, 64, shape).astype(kind) for shape in ((32, 64), (64, 64)))
    else:
        a, b = whole(kind, 32, 64), whole(kind, 64, 64)
    given = [np.ascontiguousarray(x.T) if t else x for x, t in ((a, left), (b, right))]
    args = [*given, np.zeros((32, 64), kind), 64]
    shape = {"M": 32, "N": 64, "K": 16, "LEFT": left, "RIGHT": right}
    changed, threads = by_threads(module_of(product, args, stages, **shape), True)
    assert not uses_cores(changed)
    lanes = 16 // a.itemsize
    # 4 rows and 4 columns of a thread, 16 places of the inner axis
    reads = 4 * 16 // lanes * 2
    assert vectors(changed) == reads
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], a @ b)


def test_rest_of_a_depth():
    """Rows that no vector of 16 bytes divides come by single elements, and are read by vectors."""
    a, b = whole("float32", 32, 43) % 64, whole("float32", 43, 64) % 64
    args = [a, b, np.zeros((32, 64), np.float32), 43]
    module = module_of(product, args, 2, M=32, N=64, K=16, LEFT=False, RIGHT=False)
    changed, threads = by_threads(module, True)
    assert vectors(changed) == 32
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], a @ b)


@jit
def added(a, b, c, bias, M: tl.constexpr, N: tl.constexpr):
    """A stored factor, and one that is computed."""
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(a + i[:, None] * M + i[None, :])
    y = tl.load(b + i[:, None] * N + j[None, :]) + tl.load(bias + j)[None, :]
    total = tl.dot(x, y, input_precision="ieee")
    tl.store(c + i[:, None] * N + j[None, :], total + tl.sum(total, 1)[:, None])


def test_reductions_keep_their_layout():
    a, b, bias = (RNG.integers(-9, 9, s).astype(np.float32) for s in ((32, 32), (32, 16), 16))
    args = [a, b, np.zeros((32, 16), np.float32), bias]
    changed, threads = by_threads(module_of(added, args, 1, M=32, N=16), True)
    want = a @ (b + bias)
    np.testing.assert_array_equal(
        by_turns(changed, args, threads)[2], want + want.sum(1, keepdims=True)
    )


@pytest.mark.parametrize(("high", "wide"), [(1, 4), (4, 1), (4, 4), (2, 2)])
@pytest.mark.parametrize("rows, columns, threads", [(128, 128, 256), (64, 64, 128), (16, 8, 32)])
def test_layouts_of_neighbours(high, wide, rows, columns, threads):
    """Each element is in one thread, which has its neighbours where it has as many."""
    layout = blocked_layout(rows, columns, threads, high, wide)
    assert layout is not None and layout.is_whole()
    for thread in range(threads):
        places = {layout.place(r, thread) for r in range(layout.count)}
        for place in places:
            row, column = divmod(place, columns)
            if layout.count >= 64:
                first = column // wide * wide
                assert {row * columns + first + n for n in range(wide)} <= places
                first = row // high * high
                assert {(first + n) * columns + column for n in range(high)} <= places


def test_lanes_that_read_the_same():
    """Lanes that differ in the lowest bit have the same columns, in the next one the same rows."""
    layout = blocked_layout(128, 128, 256, 1, 4)
    assert layout is not None
    for thread in range(32):
        place = layout.place(0, thread)
        assert place % 128 == layout.place(0, thread ^ 1) % 128
        assert place // 128 == layout.place(0, thread ^ 2) // 128


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("tile", [(128, 64, 16), (64, 64, 32)])
def test_code_spills_nothing(left, right, tile, tmp_path):
    """A thread of the library's tiles has up to 64 sums, and those of four steps of a factor."""
    m, n, k = tile
    a, b, c = (np.zeros(shape, np.float32) for shape in ((m, 256), (256, n), (m, n)))
    module = module_of(product, [a, b, c, 256], 3, M=m, N=n, K=k, LEFT=left, RIGHT=right)
    artifact = compiler.generate(module, Target("cuda", processor="sm_90a"), OPTIONS)
    (tmp_path / "kernel.ptx").write_bytes(artifact.code)
    command = ["ptxas", "-arch=sm_90a", "-v", "kernel.ptx", "-o", "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert " 0 bytes spill stores" in done.stderr
