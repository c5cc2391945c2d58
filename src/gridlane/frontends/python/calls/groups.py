"""Cooperative groups: the grid, the block, and what ``cuda.cg`` writes its other groups with."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import b1, i64
from gridlane.core.errors import ConstantError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.casts import constant_integer
from gridlane.frontends.python.calls.grid import query
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import scalar
from gridlane.frontends.python.operands import NONE, Operand, Scalar, Static, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import grid

_AXES = range(3)


@handles(stubs.this_grid)
def _this_grid(t: Translator) -> Operand:
    return Static(stubs.THIS_GRID)


@handles(stubs.this_thread_block)
def _this_thread_block(t: Translator) -> Operand:
    return Static(stubs.THIS_BLOCK)


@handles(stubs.GridGroup.sync)
def _grid_sync(t: Translator) -> Operand:
    t.b.emit(grid.GridSync())
    return NONE


@handles(stubs.ThreadBlock.sync)
def _block_sync(t: Translator) -> Operand:
    t.b.emit(grid.Barrier())
    return NONE


@handles(stubs.GridGroup.is_valid)
def _is_valid(t: Translator) -> Operand:
    return t.number(True, b1)


# --- places and extents


def _all(stub: stubs.Dim3Stub) -> Callable[[Translator], Operand]:
    return lambda t: TupleOperand(tuple([query(t, stub, axis) for axis in _AXES]))


def _count(t: Translator, stub: stubs.Dim3Stub) -> Scalar:
    """The product of extents; that of a block fits in an int32."""
    sizes = [query(t, stub, axis).value for axis in _AXES]
    if stub is stubs.gridDim:
        sizes = [t.b.cast(size, i64) for size in sizes]
    x, y, z = sizes
    return Scalar(t.b.mul(x, t.b.mul(y, z)))


def _rank(t: Translator, place: stubs.Dim3Stub, extent: stubs.Dim3Stub) -> Scalar:
    """The number of a place, x fastest."""
    b = t.b
    (x, y, z), (wide, high) = (
        [query(t, stub, axis).value for axis in range(count)]
        for stub, count in ((place, 3), (extent, 2))
    )
    if extent is stubs.gridDim:
        x, y, z, wide, high = (b.cast(each, i64) for each in (x, y, z, wide, high))
    return Scalar(b.add(x, b.mul(wide, b.add(y, b.mul(high, z)))))


def _threads_of_block(t: Translator) -> Operand:
    return Scalar(_count(t, stubs.blockDim).value, 1, 1024)


def _rank_in_block(t: Translator) -> Operand:
    return Scalar(_rank(t, stubs.threadIdx, stubs.blockDim).value, 0, 1023)


def _threads_of_grid(t: Translator) -> Operand:
    blocks, threads = (_count(t, stub).value for stub in (stubs.gridDim, stubs.blockDim))
    return Scalar(t.b.mul(blocks, t.b.cast(threads, i64)))


def _rank_in_grid(t: Translator) -> Operand:
    b, block = t.b, _rank(t, stubs.blockIdx, stubs.gridDim).value
    threads = b.cast(_count(t, stubs.blockDim).value, i64)
    own = b.cast(_rank(t, stubs.threadIdx, stubs.blockDim).value, i64)
    return Scalar(b.add(b.mul(block, threads), own))


_FACTS: dict[stubs.Stub, Callable[[Translator], Operand]] = {
    stubs.GridGroup.thread_rank: _rank_in_grid,
    stubs.GridGroup.size: _threads_of_grid,
    stubs.GridGroup.num_threads: _threads_of_grid,
    stubs.GridGroup.block_rank: lambda t: _rank(t, stubs.blockIdx, stubs.gridDim),
    stubs.GridGroup.num_blocks: lambda t: _count(t, stubs.gridDim),
    stubs.GridGroup.block_index: _all(stubs.blockIdx),
    stubs.GridGroup.dim_blocks: _all(stubs.gridDim),
    stubs.ThreadBlock.thread_rank: _rank_in_block,
    stubs.ThreadBlock.size: _threads_of_block,
    stubs.ThreadBlock.num_threads: _threads_of_block,
    stubs.ThreadBlock.thread_index: _all(stubs.threadIdx),
    stubs.ThreadBlock.dim_threads: _all(stubs.blockDim),
    stubs.ThreadBlock.group_index: _all(stubs.blockIdx),
    stubs.ThreadBlock.group_dim: _all(stubs.blockDim),
}

for _stub, _emit in _FACTS.items():
    register((_stub,), _stub.name, _emit, _stub.params)


# --- what the groups of cuda/cg.py are written with


@handles(stubs.tile_length)
def _tile_length(t: Translator, size: Operand) -> Operand:
    known = constant_integer(t, size, "the size of a tile")
    if known not in (1, 2, 4, 8, 16, 32):
        raise t.fail(ConstantError, f"a tile has 1, 2, 4, 8, 16 or 32 threads, not {known}")
    return size


@handles(stubs.of_type)
def _of_type(t: Translator, value: Operand, model: Operand) -> Operand:
    wanted = scalar(t, model, "a number").dtype
    return Scalar(t.b.cast(scalar(t, value, "a number").value, wanted))


@handles(stubs.zero_of)
def _zero_of(t: Translator, model: Operand) -> Operand:
    return Scalar(t.b.zero(scalar(t, model, "a number").dtype))
