"""Products of matrices on processors: packed factors, which one op of the warp multiplies."""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core.dtypes import DType, f16
from gridlane.ir.op import Op
from gridlane.ir.ops import tile_memory, tiles
from gridlane.ir.ops.memory_products import FACTORS, WarpProduct
from gridlane.ir.types import tile
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import in_place, rounded, sum_type


class _Factor(NamedTuple):
    """A factor in memory; ``turned``: by columns."""

    storage: Storage
    turned: bool


def is_along_columns(state: State, op: Op) -> bool:
    """Whether a load's neighbours in memory are those of a column."""
    if not isinstance(op, tile_memory.TileLoad) or op in state.placement.layouts:
        return False
    runs = [axis.run for axis in state.contiguity.of(op.pointers).axes]
    return len(runs) > 1 and runs[-2] > runs[-1]


def is_turned_factor(state: State, op: Op) -> bool:
    """Whether a load is kept by columns: as they are in memory, for products that take that."""
    if not state.machine.lockstep or not is_along_columns(state, op):
        return False
    (value,) = op.results
    type_, uses = type_of(value), state.placement.uses[value]
    if len(type_.shape) != 2 or not isinstance(type_.element, DType) or type_.element.size == 1:
        return False
    roots = [use.root for use in uses if isinstance(use.root, tiles.TileDot)]
    factors = [[factor_of(each)[0] for each in (dot.lhs, dot.rhs)] for dot in roots]
    return len(roots) == len(uses) and all(value in each for each in factors)


def dot_on_processor(state: State, op: tiles.TileDot) -> Storage:
    """Compute a product; the memory of the result."""
    left, right = (_packed(state, value, sum_type(op)) for value in (op.lhs, op.rhs))
    storage = in_place(state, op)
    if storage is not None and storage.type.element is sum_type(op):
        _multiply(state, op, (left, right), storage)
        return storage
    result = storage or state.allocate(type_of(op.results[0]), False, op.loc, op.results[0])
    is_exact = result.type.element is sum_type(op)
    sums = result
    if not is_exact:
        sums = state.allocate(tile(result.type.shape, sum_type(op)), False, op.loc)
    with state.together(), state.elements(sums.type.shape) as at:
        state.write(sums, at, state.b.cast(element(state, op.acc, at), sum_type(op)))
    _multiply(state, op, (left, right), sums)
    if not is_exact:
        with state.together(), state.elements(sums.type.shape) as at:
            state.write(result, at, rounded(state, result, state.read(sums, at)))
    return result


def _packed(state: State, value: Value, sums: DType) -> _Factor:
    """A factor in memory: of its own type, if sums of a type take that, else of theirs."""
    stored, turned, type_ = state.stored.get(value), False, type_of(value)
    if stored is None:
        source, turned = factor_of(value)
        stored = state.stored.get(source) if len(type_of(source).shape) == 2 else None
        turned = turned and stored is not None
    if type_.element in FACTORS[sums]:
        assert isinstance(type_.element, DType)
        element_type = type_.element
    else:
        element_type = sums
    by_columns = stored is not None and stored.turned != turned
    if element_type.size == 1 and by_columns:
        stored, by_columns = None, False
    if stored is not None and not stored.own and type_.element is element_type:
        return _Factor(stored, by_columns)
    packed = state.allocate(tile(type_.shape, element_type), False, state.b.loc, turned=by_columns)
    shape = type_.shape[::-1] if by_columns else type_.shape
    with state.together(), state.elements(shape) as place:
        at = place[::-1] if by_columns else place
        state.write(packed, at, state.b.cast(element(state, value, at), element_type))
    return _Factor(packed, by_columns)


def _multiply(
    state: State, op: tiles.TileDot, factors: tuple[_Factor, _Factor], sums: Storage
) -> None:
    """Add the products of matrices in memory, one batch after the other."""
    b, (rows, depth) = state.b, type_of(op.lhs).shape[-2:]
    *batches, columns = type_of(op.rhs).shape[:-2] + type_of(op.rhs).shape[-1:]
    with state.together(), state.counted(batches[0] if batches else 1, "batch") as batch:
        pointers: list[Value] = []
        for each in (*[factor.storage for factor in factors], sums):
            assert not each.own
            state.touch(each.symbol, each is sums)
            pointer = state.pointer_to(each.symbol)
            count = each.type.shape[-1] * each.type.shape[-2]
            if batches:
                pointer = b.offset(pointer, b.mul(batch, b.const(count, batch.type)))
            pointers.append(pointer)
        left, right, total = pointers
        turned = factors[0].turned, factors[1].turned
        fused = op.fused or type_of(op.lhs).element is f16  # whose products f32 holds
        b.emit(WarpProduct(left, right, total, rows, depth, columns, fused, *turned))
