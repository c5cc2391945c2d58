"""Thread positions: threadIdx and its like, grid, gridsize; barriers and fences."""

from __future__ import annotations

from gridlane.core.dtypes import i32, i64, u32
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.casts import constant_integer
from gridlane.frontends.python.calls.registry import VALUES, handles, register
from gridlane.frontends.python.conversion import truth
from gridlane.frontends.python.operands import NONE, Operand, Scalar, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import grid
from gridlane.ir.values import Value

# The largest values that CUDA allows, along x, y and z.
_BLOCK = (1024, 1024, 64)
_GRID = ((1 << 31) - 1, 65535, 65535)

_QUERIES = {
    stubs.threadIdx: (grid.ThreadIdx, 0, tuple(top - 1 for top in _BLOCK)),
    stubs.blockIdx: (grid.BlockIdx, 0, tuple(top - 1 for top in _GRID)),
    stubs.blockDim: (grid.BlockDim, 1, _BLOCK),
    stubs.gridDim: (grid.GridDim, 1, _GRID),
}


def query(t: Translator, stub: stubs.Dim3Stub, axis: int) -> Scalar:
    """One of the launch's int32 values, along an axis."""
    op, lo, tops = _QUERIES[stub]
    return Scalar(t.b.value(op(grid.Axis(axis))), lo, tops[axis])


def _register_queries() -> None:
    for stub in _QUERIES:
        for axis, value in enumerate((stub.x, stub.y, stub.z)):
            VALUES[value] = lambda t, stub=stub, axis=axis: query(t, stub, axis)


_register_queries()
VALUES[stubs.laneid] = lambda t: Scalar(t.b.value(grid.LaneId()), 0, 31)
VALUES[stubs.warpsize] = lambda t: t.number(32, i32)


def dimensions(t: Translator, ndim: Operand, what: str) -> int:
    """The constant argument 1, 2 or 3 of grid and gridsize."""
    known = constant_integer(t, ndim, f"the argument of {what}")
    if known not in (1, 2, 3):
        raise t.fail(ConstantError, f"{what} takes 1, 2 or 3, not {known}")
    return known


def _per_axis(t: Translator, ndim: int, emit) -> Operand:  # type: ignore[no-untyped-def]
    items = tuple([emit(t, axis) for axis in range(ndim)])
    return items[0] if ndim == 1 else TupleOperand(items)


def _wide(t: Translator, stub: stubs.Dim3Stub, axis: int) -> Value:
    return t.b.cast(query(t, stub, axis).value, i64)


def _position(t: Translator, axis: int) -> Scalar:
    b = t.b
    blocks = b.mul(_wide(t, stubs.blockIdx, axis), _wide(t, stubs.blockDim, axis))
    value = b.add(blocks, _wide(t, stubs.threadIdx, axis))
    return Scalar(value, 0, _GRID[axis] * _BLOCK[axis])


def _extent(t: Translator, axis: int) -> Scalar:
    value = t.b.mul(_wide(t, stubs.gridDim, axis), _wide(t, stubs.blockDim, axis))
    return Scalar(value, 1, _GRID[axis] * _BLOCK[axis])


@handles(stubs.grid)
def _grid(t: Translator, ndim: Operand) -> Operand:
    return _per_axis(t, dimensions(t, ndim, "cuda.grid"), _position)


@handles(stubs.gridsize)
def _gridsize(t: Translator, ndim: Operand) -> Operand:
    return _per_axis(t, dimensions(t, ndim, "cuda.gridsize"), _extent)


# ---- barriers and fences


@handles(stubs.syncthreads)
def _syncthreads(t: Translator) -> Operand:
    t.b.emit(grid.Barrier())
    return NONE


_REDUCTIONS = {
    stubs.syncthreads_count: (grid.Reduction.COUNT, 1024),
    stubs.syncthreads_and: (grid.Reduction.ALL, 1),
    stubs.syncthreads_or: (grid.Reduction.ANY, 1),
}


def _register_reductions() -> None:
    for stub, (kind, top) in _REDUCTIONS.items():

        def emit(
            t: Translator, predicate: Operand, kind: grid.Reduction = kind, top: int = top
        ) -> Operand:
            op = grid.BarrierReduce(kind, truth(t, predicate))
            return Scalar(t.b.value(op), 0, top)

        register((stub,), stub.name, emit, stub.params)


_register_reductions()


def mask_of(t: Translator, mask: Operand | None) -> Value:
    """A lane mask as u32; all lanes where omitted."""
    if mask is None:
        return t.b.const(0xFFFFFFFF, u32)
    if not isinstance(mask, Scalar) or not mask.dtype.is_integer:
        raise t.fail(TypingError, f"Mask type must be an integer, not {mask.type_name}")
    return t.b.cast(mask.value, u32)


@handles(stubs.syncwarp)
def _syncwarp(t: Translator, mask: Operand | None) -> Operand:
    t.b.emit(grid.SyncWarp(mask_of(t, mask)))
    return NONE


_FENCES = {
    stubs.threadfence: grid.MemoryScope.DEVICE,
    stubs.threadfence_block: grid.MemoryScope.BLOCK,
    stubs.threadfence_system: grid.MemoryScope.SYSTEM,
}


def _register_fences() -> None:
    for stub, scope in _FENCES.items():

        def emit(t: Translator, scope=scope) -> Operand:  # type: ignore[no-untyped-def]
            t.b.emit(grid.Fence(scope))
            return NONE

        register((stub,), stub.name, emit, stub.params)


_register_fences()


@handles(stubs.nanosleep)
def _nanosleep(t: Translator, ns: Operand) -> Operand:
    """A hint that may return at once."""
    return NONE
