"""Products of matrices on processors: packed factors, which one op of the warp multiplies."""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core.dtypes import DType, f16, i32
from gridlane.ir.op import Op
from gridlane.ir.ops import tiles
from gridlane.ir.ops.memory_products import FACTORS, WarpProduct
from gridlane.ir.types import TileType, tile
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.indices import BitIndex, Bits, log2
from gridlane.passes.tiles.late_factors import is_along_columns, panels_of
from gridlane.passes.tiles.next_lines import next_panel, share
from gridlane.passes.tiles.state import NextLines, State, Storage
from gridlane.passes.tiles.sums import in_place, rounded, sum_type


class _Factor(NamedTuple):
    """A factor in memory; ``turned``: by columns."""

    storage: Storage
    turned: bool


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
    by_panels = op.rhs.op in state.placement.spared and op.rhs not in state.stored
    left = _packed(state, op.lhs, sum_type(op))
    right = None if by_panels else _packed(state, op.rhs, sum_type(op))
    storage = in_place(state, op)
    if storage is not None and storage.type.element is sum_type(op):
        _multiply(state, op, left, right, storage)
        return storage
    result = storage or state.allocate(type_of(op.results[0]), False, op.loc, op.results[0])
    is_exact = result.type.element is sum_type(op)
    sums = result
    if not is_exact:
        sums = state.allocate(tile(result.type.shape, sum_type(op)), False, op.loc)
    with state.together(), state.elements(sums.type.shape) as at:
        state.write(sums, at, state.b.cast(element(state, op.acc, at), sum_type(op)))
    _multiply(state, op, left, right, sums)
    if not is_exact:
        with state.together(), state.elements(sums.type.shape) as at:
            state.write(result, at, rounded(state, result, state.read(sums, at)))
    return result


def _packed_type(type_: TileType, sums: DType) -> DType:
    """The elements of a packed factor: its own, if sums of a type take that, else theirs."""
    assert isinstance(type_.element, DType)
    return type_.element if type_.element in FACTORS[sums] else sums


def _packed(state: State, value: Value, sums: DType) -> _Factor:
    """A factor in memory: of its own type, if sums of a type take that, else of theirs."""
    stored, turned, type_ = state.stored.get(value), False, type_of(value)
    if stored is None:
        source, turned = factor_of(value)
        stored = state.stored.get(source) if len(type_of(source).shape) == 2 else None
        turned = turned and stored is not None
    element_type = _packed_type(type_, sums)
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
    state: State, op: tiles.TileDot, left: _Factor, right: _Factor | None, sums: Storage
) -> None:
    """Add the products of matrices in memory, one batch after the other. Without a right factor
    that is packed already this is done by panels."""
    if right is None:
        _by_panels(state, op, left, sums)
        return
    b, (rows, depth) = state.b, type_of(op.lhs).shape[-2:]
    *batches, columns = type_of(op.rhs).shape[:-2] + type_of(op.rhs).shape[-1:]
    with state.together(), state.counted(batches[0] if batches else 1, "batch") as batch:
        pointers: list[Value] = []
        for each in (left.storage, right.storage, sums):
            pointer = _pointer(state, each, each is sums)
            count = each.type.shape[-1] * each.type.shape[-2]
            if batches:
                pointer = b.offset(pointer, b.mul(batch, b.const(count, batch.type)))
            pointers.append(pointer)
        one, two, total = pointers
        turned = left.turned, right.turned
        b.emit(WarpProduct(one, two, total, rows, depth, columns, _is_fused(op), *turned))


def _is_fused(op: tiles.TileDot) -> bool:
    return op.fused or type_of(op.lhs).element is f16  # whose products f32 holds


def _pointer(state: State, storage: Storage, writes: bool = False) -> Value:
    """The address of a matrix, which is accessed."""
    assert not storage.own
    state.touch(storage.symbol, writes)
    return state.pointer_to(storage.symbol)


def _by_panels(state: State, op: tiles.TileDot, left: _Factor, sums: Storage) -> None:
    """Pack some columns of the right factor at a time, and multiply by these. The lines that the
    loop loads next are divided among the panels."""
    b, rows, (depth, columns) = state.b, type_of(op.lhs).shape[-2], type_of(op.rhs).shape
    element_type, count = _packed_type(type_of(op.rhs), sum_type(op)), panels_of(op)
    width, bits = columns // count, log2(columns // count)
    assert bits is not None
    panel = state.allocate(tile((depth, width), element_type), False, op.loc)
    following = state.next_lines[op]() if op in state.next_lines else NextLines()
    soon = next_panel(state, op, width)
    with state.counted(count, "panel") as number:
        first = BitIndex(0, (Bits(number, 0, count.bit_length() - 1, 0, False),))
        with state.together(), state.elements((depth, width)) as (k, column):
            assert isinstance(column, BitIndex)
            at = k, first.joined(column, bits)
            state.write(panel, (k, column), b.cast(element(state, op.rhs, at), element_type))
        if soon is not None:
            soon.write(state, number)
        with state.together():
            aheads = [share(state, following, number, count)]
            aheads += [] if soon is None else [soon.ahead(state)]
            arrays, counts, lines = (sum(each, ()) for each in zip(*aheads, strict=True))
            total = b.offset(_pointer(state, sums, True), b.mul(number, b.const(width, i32)))
            one, two = _pointer(state, left.storage), _pointer(state, panel)
            product = WarpProduct(
                one, two, total, rows, depth, width, _is_fused(op), left.turned, False,
                arrays, counts, lines, columns,
            )  # fmt: skip
            b.emit(product)
