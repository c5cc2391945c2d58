"""Products of matrices on processors: packed factors, which one op of the warp multiplies."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f16
from gridlane.ir.ops import tiles
from gridlane.ir.ops.memory_products import FACTORS, WarpProduct
from gridlane.ir.types import tile
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import in_place, rounded, sum_type


def dot_on_processor(state: State, op: tiles.TileDot) -> Storage:
    """Compute a product; the memory of the result."""
    left, right = (_packed(state, value, sum_type(op)) for value in (op.lhs, op.rhs))
    storage = in_place(state, op)
    if storage is not None and storage.type.element is sum_type(op):
        _multiply(state, op, (left, right, storage))
        return storage
    result = storage or state.allocate(type_of(op.results[0]), False, op.loc, op.results[0])
    is_exact = result.type.element is sum_type(op)
    sums = result
    if not is_exact:
        sums = state.allocate(tile(result.type.shape, sum_type(op)), False, op.loc)
    with state.together(), state.elements(sums.type.shape) as at:
        state.write(sums, at, state.b.cast(element(state, op.acc, at), sum_type(op)))
    _multiply(state, op, (left, right, sums))
    if not is_exact:
        with state.together(), state.elements(sums.type.shape) as at:
            state.write(result, at, rounded(state, result, state.read(sums, at)))
    return result


def _packed(state: State, value: Value, sums: DType) -> Storage:
    """A factor as rows in memory: of its own type, if sums of a type take that, else of theirs."""
    stored, type_ = state.stored.get(value), type_of(value)
    if type_.element in FACTORS[sums]:
        assert isinstance(type_.element, DType)
        element_type = type_.element
    else:
        element_type = sums
    if stored is not None and not stored.own and type_.element is element_type:
        return stored
    packed = state.allocate(tile(type_.shape, element_type), False, state.b.loc)
    with state.together(), state.elements(type_.shape) as at:
        state.write(packed, at, state.b.cast(element(state, value, at), element_type))
    return packed


def _multiply(state: State, op: tiles.TileDot, matrices: tuple[Storage, Storage, Storage]) -> None:
    """Add the products of matrices in memory, one batch after the other."""
    b, (rows, depth) = state.b, type_of(op.lhs).shape[-2:]
    *batches, columns = type_of(op.rhs).shape[:-2] + type_of(op.rhs).shape[-1:]
    with state.together(), state.counted(batches[0] if batches else 1, "batch") as batch:
        pointers: list[Value] = []
        for each in matrices:
            assert not each.own
            state.touch(each.symbol, each is matrices[2])
            pointer = state.pointer_to(each.symbol)
            count = each.type.shape[-1] * each.type.shape[-2]
            if batches:
                pointer = b.offset(pointer, b.mul(batch, b.const(count, batch.type)))
            pointers.append(pointer)
        left, right, sums = pointers
        fused = op.fused or type_of(op.lhs).element is f16  # whose products f32 holds
        b.emit(WarpProduct(left, right, sums, rows, depth, columns, fused))
